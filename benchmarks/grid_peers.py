"""The other engines of gridworlds for grid_engine.py: a virtual environment each, and the scripts of peers/ in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
BATCHES = (16, 256, 1024, 4096)  # at which ours is measured too
IDS = {
    "envpool": {"DoorKey-8x8-v0": "MiniGrid-DoorKey-8x8-v0", "MultiRoom-N6-v0": "MiniGrid-MultiRoom-N6-v0"},
    "navix": {"DoorKey-8x8-v0": "Navix-DoorKey-8x8-v0"},
    "xminigrid": {"DoorKey-8x8-v0": "MiniGrid-DoorKey-8x8"},
}
PACKAGES = {
    "envpool": ["envpool"],
    "navix": ["jax", "navix"],
    "xminigrid": ["jax", "xminigrid"],
    "gymnasium-robotics": ["gymnasium-robotics>=1.4,<2", "mujoco>=3.3,<3.12"],
}


def engines(task: str) -> list[str]:
    """Those that have the task."""
    return [name for name, ids in IDS.items() if task in ids]


def installed(name: str, folder: Path) -> Path | str:
    """The interpreter of an engine's environment, made where it is missing; or the reason why there is none."""
    python = folder / name / "bin" / "python"
    if (folder / name / "installed").exists():
        return python
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder / name)],
        [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[name]],
    ):
        done = subprocess.run(command, env=_environ(), capture_output=True, text=True, check=False)
        if done.returncode:
            return _last_line(done)
    (folder / name / "installed").touch()
    return python


def measure(name: str, task: str, python: Path, seconds: float, repeats: int) -> dict[int, tuple[float, float]] | str:
    """By batch, microseconds of CPU and of wall clock a world step, medians; or the reason why there are none."""
    found: dict[int, tuple[float, float]] = {}
    for arguments in _runs(name, task, seconds):
        command = [str(python), str(PEERS / f"{name}_step.py"), *arguments, "--repeats", str(repeats)]
        done = subprocess.run(command, env=_environ(), capture_output=True, text=True, check=False)
        if done.returncode:
            return _last_line(done)
        said = json.loads(done.stdout.splitlines()[-1])
        for key, figure in said["figures"].items():
            batch = int(key.split("/b")[1].split("/")[0])
            found[batch] = figure["us_cpu"]["med"], figure["us_wall"]["med"]
        if not said["figures"]:
            return str(said["failed"])
    return found


def _runs(name: str, task: str, seconds: float) -> list[list[str]]:
    """The arguments of each run. JAX scans a fixed number of steps in a call, enough for the seconds at 1 us a step."""
    its_id = ["--ids", IDS[name][task]]
    if name == "envpool":
        return [[*its_id, "--batch", *map(str, BATCHES), "--nthread", "1", "--target-s", str(seconds)]]
    view = ["--obs", "symbolic_first_person"] if name == "navix" else []
    return [[*its_id, *view, "--batch", str(b), "--steps", str(int(seconds * 1e6 / b))] for b in BATCHES[2:]]


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
