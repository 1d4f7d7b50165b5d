"""The speed of our control tasks beside their peers on the same work: random actions, observation, reward and reset.

    PYTHONPATH=. python benchmarks/control.py [--part mazes ...] [--seconds S] [--repeats N] [--venvs FOLDER]

Figures are medians, in microseconds a world step. What runs in this process takes turns, so that a busy machine slows
all of it alike; gymnasium-robotics, which needs an older MuJoCo, runs in a virtual environment of its own under FOLDER
or a temporary folder, between two measurements of ours.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import _common as common

common.set_threads(1)

import gymnasium as gym
import mujoco
import numpy as np
from grid_peers import PEERS, installed
from grid_turns import Turns, table

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.control.engine import Bodies
from reward_envs.control.tasks import TASKS

WORLDS = 16


def mazes(turns: Turns, venvs: Path) -> None:
    """PointMaze beside gymnasium-robotics and beside SyncVectorEnv; the ant beside bare MuJoCo, and on two threads."""
    beside_robotics("PointMaze-UMaze-v0", "PointMaze_UMaze-v3", turns, venvs)
    beside_mujoco("AntMaze-UMaze-v0", turns)


def arm(turns: Turns, venvs: Path) -> None:
    """The arm beside bare MuJoCo, and on two threads, without a cube and with one."""
    for name in ("Reach-v0", "PickPlace-v0"):
        beside_mujoco(name, turns)


def beside_robotics(name: str, its_id: str, turns: Turns, venvs: Path) -> None:
    """A task of ours at 16 worlds beside the same task of gymnasium-robotics in SyncVectorEnv."""
    make = lambda: gym.make(f"reward_envs/{name}")
    ours = {
        "ours": vector_play(gym.make_vec(f"reward_envs/{name}", WORLDS)),
        "ours with steps_to_go": vector_play(gym.make_vec(f"reward_envs/{name}", WORLDS, hooks=("steps_to_go",))),
        "ours in SyncVectorEnv": vector_play(gym.vector.SyncVectorEnv([make] * WORLDS)),
    }
    before = turns(ours)
    found = robotics(its_id, turns.repeats, venvs)
    after = turns(ours)
    mine = {what: (before[what].cpu + after[what].cpu) / 2 for what in ours}
    rows = [(what, cost, cost / mine["ours"]) for what, cost in mine.items()]
    if isinstance(found, str):
        print(f"\ngymnasium-robotics is skipped: {found}")
    else:
        rows.append((f"{its_id} in SyncVectorEnv", found, found / mine["ours"]))
    table(f"{name}, {WORLDS} worlds, one thread", ("what", "us CPU", "ratio to ours"), rows)


def robotics(its_id: str, repeats: int, venvs: Path) -> float | str:
    """Microseconds of CPU a world step of gymnasium-robotics in SyncVectorEnv; or the reason why there are none."""
    python = installed("gymnasium-robotics", venvs)
    if isinstance(python, str):
        return python
    script = PEERS / "gymrobotics_step.py"
    command = [str(python), str(script), "--ids", its_id, "--steps", "6400", "--repeats", str(repeats)]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    return float(figures[f"{its_id}/sync{WORLDS}"]["us_cpu"]["med"])


def beside_mujoco(name: str, turns: Turns) -> None:
    """Our engine at 16 worlds beside `mj_step` of the same model under the same controls, and on two threads."""
    one, two = (begun(name, threads) for threads in (1, 2))
    cost = turns(
        {
            "mj_step in a loop": bare_play(begun(name, 1)),
            "the engine": bodies_play(one),
            "the engine, two threads": bodies_play(two),
            "make_vec": vector_play(gym.make_vec(f"reward_envs/{name}", WORLDS)),
        }
    )
    bare = cost["mj_step in a loop"]
    rows = [(what, c.cpu, c.cpu / bare.cpu, c.wall, cost["the engine"].wall / c.wall) for what, c in cost.items()]
    head = ("what", "us CPU", "ratio to mj_step", "us wall", "times as fast as the engine, wall")
    table(f"{name}, {WORLDS} worlds", head, rows)


def begun(name: str, threads: int) -> Bodies:
    bodies = Bodies(TASKS[name](), WORLDS, threads)
    bodies.seed(bodies.all, range(WORLDS))
    bodies.begin(bodies.all)
    return bodies


def random_actions(size: int) -> Any:
    return itertools.cycle(np.random.default_rng(0).uniform(-1, 1, (512, WORLDS, size)))


def vector_play(envs: Any) -> Any:
    actions = random_actions(envs.single_action_space.shape[0])
    envs.reset(seed=0)

    def play(steps: int) -> None:
        for row in itertools.islice(actions, steps):
            envs.step(row)

    return play, WORLDS


def bodies_play(bodies: Bodies) -> Any:
    actions = random_actions(bodies.task.action_size)

    def play(steps: int) -> None:
        for row in itertools.islice(actions, steps):
            if bodies.step(row):
                bodies.begin(np.flatnonzero(bodies.terminated | bodies.truncated))

    return play, WORLDS


def bare_play(bodies: Bodies) -> Any:
    """The least that a loop over worlds does; each begins again with the episodes of the bodies' length."""
    model, task, full = bodies.model, bodies.task, int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    datas = [mujoco.MjData(model) for _ in range(WORLDS)]
    actions = itertools.islice(random_actions(task.action_size), 512)
    controls, clock = itertools.cycle([task.control(bodies, row) for row in actions]), itertools.count()

    def play(steps: int) -> None:
        for control in itertools.islice(controls, steps):
            if next(clock) % task.max_steps == 0:
                for data, state in zip(datas, bodies.state, strict=True):
                    mujoco.mj_setState(model, data, state, full)
            for data, ctrl in zip(datas, control, strict=True):
                data.ctrl[:] = ctrl
                mujoco.mj_step(model, data, task.substeps)

    return play, WORLDS


PARTS = {"mazes": mazes, "arm": arm}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU of a timed stretch")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--venvs", type=Path, help="where the peers' environments are kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for part in asked.part:
            PARTS[part](Turns(asked.seconds, asked.repeats), asked.venvs or Path(temporary))
