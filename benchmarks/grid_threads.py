"""Two threads beside one, for grid_engine.py: a process of its own, since OpenMP reads its settings when it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

COUNTS = (1024, 4096)
POLICIES = {"as it comes": {}, "passive": {"OMP_WAIT_POLICY": "passive"}}  # how OpenMP's threads wait for each other


def measured(tasks: tuple[str, ...], seconds: float, repeats: int) -> dict[str, dict[str, dict[str, float]]]:
    """By policy and then by what ran, microseconds of wall clock a world step with "1" and with "2" threads."""
    command = [sys.executable, __file__, str(seconds), str(repeats), *tasks]
    found = {}
    for policy, settings in POLICIES.items():
        environ = {**os.environ, "NUMBA_NUM_THREADS": "2", **settings}
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
        found[policy] = json.loads(done.stdout)
    return found


def _costs(seconds: float, repeats: int, tasks: list[str]) -> dict[str, dict[str, float]]:
    from grid_turns import Turns, vector, vector_play, worlds_play

    turns, found = Turns(seconds, repeats), {}
    for task in tasks:
        for n in COUNTS:
            threads = (1, 2)
            plays = {f"GridVector/{t}": vector_play(vector(task, n, threads=t), n) for t in threads}
            plays |= {f"Worlds/{t}": worlds_play(vector(task, n, threads=t).worlds) for t in threads}
            costs = turns(plays)
            for what in ("GridVector", "Worlds"):
                found[f"{task}, {what} {n:,}"] = {str(t): costs[f"{what}/{t}"].wall for t in threads}
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(json.dumps(_costs(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
