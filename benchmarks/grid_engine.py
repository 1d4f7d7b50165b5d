"""The speed of our gridworlds beside their peers on the same work: random actions, with observation, reward and reset.

    PYTHONPATH=. python benchmarks/grid_engine.py [--quick] [--part a ...] [--ppo] [--venvs FOLDER]

Parts: a, vectors of worlds and the other engines; b, a single environment; c, cost and memory by number of worlds; d,
the first step of a fresh process; `--ppo`, PPO on the same task. Figures are medians, in microseconds a world step of
one thread. What runs in this process takes turns; engines in environments of their own, which are made under FOLDER or
a temporary folder, are measured between two measurements of ours. The parts are in `grid_turns.py` (timing),
`grid_peers.py` (the other engines), `grid_threads.py` (two threads) and `grid_ppo.py`.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import _common as common

common.set_threads(1)

import grid_peers as peers
import gymnasium as gym
import minigrid
import numpy as np
from grid_threads import measured as two_threads
from grid_turns import Cost, Turns, single_play, table, vector, vector_play, worlds_play

import reward_envs
from reward_envs.grid.env import GridVector
from reward_envs.grid.tasks import grid_vector

assert minigrid.__name__  # its import registers the ids
TASK_IDS = ("DoorKey-8x8-v0", "MultiRoom-N6-v0")
HOOK = {"hooks": ("steps_to_go",)}


def many(turns: Turns, venvs: Path | None, figures: dict[str, Any]) -> None:
    """Part a."""
    for task in TASK_IDS:
        costs: dict[str, Cost] = {}
        for n in (1024, 4096):
            costs |= turns(_ours(task, n))
            gc.collect()
        table(
            f"{task}, one thread: world steps under random actions, with observation, reward and reset",
            ("what", "us CPU", "us wall", "steps a CPU second", "steps a second, wall"),
            [(name, cost.cpu, cost.wall, cost.per_second, 1e6 / cost.wall) for name, cost in costs.items()],
        )
        figures |= {f"a/{task}/{name}": cost._asdict() for name, cost in costs.items()}
        _beside(task, turns, venvs, figures)
    _threads(turns, figures)


def _threads(turns: Turns, figures: dict[str, Any]) -> None:
    found = two_threads(TASK_IDS, *turns)
    rows = []
    for what, cost in found["as it comes"].items():
        passive = found["passive"][what]
        gains = (cost["1"] / cost["2"], passive["1"] / passive["2"])
        rows.append((what, cost["1"], cost["2"], gains[0], passive["1"], passive["2"], gains[1]))
    cells = ("1 thread, us wall", "2 threads", "times as fast")
    table(
        "Two threads, wall clock, with OpenMP's settings as they come and with OMP_WAIT_POLICY=passive. They are worth "
        "nothing where others use the cores",
        ("what", *cells, *(f"passive: {cell}" for cell in cells)),
        rows,
    )
    figures["a/threads"] = found


def _ours(task: str, n: int) -> dict[str, Any]:
    found = {
        f"GridVector {n}": vector_play(vector(task, n), n),
        f"Worlds {n}": worlds_play(vector(task, n).worlds),
    }
    if task == "DoorKey-8x8-v0":
        found[f"GridVector {n} with steps_to_go"] = vector_play(vector(task, n, **HOOK), n)
    return found


def _beside(task: str, turns: Turns, venvs: Path | None, figures: dict[str, Any]) -> None:
    """The table of the peers: ours at the same number of worlds is measured before and after each."""
    ours = {str(n): vector_play(vector(task, n), n) for n in peers.BATCHES}
    theirs = gym.vector.SyncVectorEnv([lambda: gym.make(f"MiniGrid-{task}")] * 16)
    theirs.reset(seed=0)
    both = turns({**ours, "minigrid": vector_play(theirs, 16)})
    rows = [_row("minigrid, SyncVectorEnv", 16, both["minigrid"], both["16"].cpu, both["1024"].cpu)]
    last = {n: both[str(n)].cpu for n in peers.BATCHES}
    for name in peers.engines(task) if venvs else []:
        python = peers.installed(name, venvs)
        found = peers.measure(name, task, python, *turns) if isinstance(python, Path) else python
        if isinstance(found, str):
            print(f"\n{name} is skipped: {found}", flush=True)
            continue
        now = {int(n): cost.cpu for n, cost in turns(ours).items()}
        mine = {n: (last[n] + now[n]) / 2 for n in now}
        rows += [_row(name, n, Cost(*cost), mine[n], mine[1024]) for n, cost in found.items()]
        last = now
    table(
        f"{task}, peers: microseconds of CPU a world step; ours is GridVector with as many worlds",
        ("engine", "worlds", "us CPU", "us wall", "steps a CPU second", "ours, us CPU", "ratio", "to ours at 1,024"),
        rows,
    )
    figures |= {f"a/{task}/{row[0]}/{row[1]}": {"us_cpu": row[2], "us_wall": row[3], "ratio": row[6]} for row in rows}


def _row(name: str, n: int, cost: Cost, ours: float, at_1024: float) -> tuple[Any, ...]:
    return name, n, cost.cpu, cost.wall, cost.per_second, ours, cost.cpu / ours, cost.cpu / at_1024


def single(turns: Turns, figures: dict[str, Any]) -> None:
    """Part b."""
    ids = {"ours": "reward_envs/DoorKey-8x8-v0", "minigrid": "MiniGrid-DoorKey-8x8-v0"}
    places = {"gym.make": lambda env: env, "unwrapped": lambda env: env.unwrapped}
    costs = turns(
        {f"{place}/{who}": single_play(bare(gym.make(i))) for place, bare in places.items() for who, i in ids.items()}
    )
    rows = []
    for place in places:
        ours, theirs = costs[f"{place}/ours"], costs[f"{place}/minigrid"]
        rows.append((place, ours.cpu, theirs.cpu, ours.per_second, theirs.per_second, theirs.cpu / ours.cpu))
    table(
        "DoorKey-8x8, one environment",
        ("how", "ours, us CPU", "minigrid, us CPU", "ours, steps a CPU second", "minigrid's", "ratio"),
        rows,
    )
    figures |= {f"b/{name}": cost._asdict() for name, cost in costs.items()}


def sizes(turns: Turns, counts: list[int], figures: dict[str, Any]) -> None:
    """Part c."""
    for task in TASK_IDS:
        rows = []
        for n in counts:
            began = time.perf_counter()
            envs = vector(task, n)
            made = time.perf_counter() - began
            costs = turns({"worlds": worlds_play(envs.worlds), "vector": vector_play(envs, n)})
            rows.append((n, costs["worlds"].cpu, costs["vector"].cpu, made))
            figures[f"c/{task}/{n}"] = {
                "worlds_us": costs["worlds"].cpu,
                "vector_us": costs["vector"].cpu,
                "make_s": made,
            }
            gc.collect()
        head = ("worlds", "Worlds, us CPU", "GridVector, us CPU", "making and resetting the GridVector, s wall")
        table(f"{task}: cost of a world step by the number of worlds", head, rows)
    rows = [(task, "yes" if hook else "no", *_memory(task, 1024, hook)) for task in TASK_IDS for hook in (False, True)]
    head = ("task", "steps_to_go", "arrays, bytes a world", "all that GridVector allocates, bytes a world")
    table("Memory at 1,024 worlds", head, rows)
    figures |= {f"c/memory/{row[0]}/{row[1]}": row[2:] for row in rows}


def _memory(task: str, n: int, hook: bool) -> tuple[float, float]:
    """Bytes a world: of the engine's arrays, and of all that a vector in use allocates, its spaces included."""
    tracemalloc.start()
    envs = grid_vector(task, n, autoreset_mode="SameStep", copy=False, **(HOOK if hook else {}))
    envs.reset(seed=0)
    envs.step(np.zeros(n, np.int64))
    gc.collect()
    allocated = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return sum(a.nbytes for a in _arrays(envs)) / n, allocated / n


def _arrays(envs: GridVector) -> list[Any]:
    """The arrays of the worlds and of the distances, each once though it may be seen twice."""
    owners = [envs.worlds, envs._hooks._distances]
    found = [a for owner in owners if owner is not None for a in vars(owner).values() if isinstance(a, np.ndarray)]
    return list({id(a): a for a in found}.values())


FIRST = """
import time
began = time.perf_counter()
import gymnasium as gym, numpy as np, {module}
env = gym.{make}("{name}", **{kwargs})
made = time.perf_counter()
env.reset(seed=0)
reset = time.perf_counter()
env.step({action})
print(made - began, reset - made, time.perf_counter() - reset, time.perf_counter() - began, time.process_time())
"""
STARTS = {
    "one environment": ("make", "reward_envs/DoorKey-8x8-v0", {}, "0"),
    "with steps_to_go": ("make", "reward_envs/DoorKey-8x8-v0", HOOK, "0"),
    "1,024 worlds": ("make_vec", "reward_envs/DoorKey-8x8-v0", {"num_envs": 1024}, "np.zeros(1024, int)"),
    "minigrid, one environment": ("make", "MiniGrid-DoorKey-8x8-v0", {}, "0"),
}


def first_step(repeats: int, figures: dict[str, Any]) -> None:
    """Part d."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:  # a copy, so that an edit meanwhile does not make the cache stale
        shutil.copytree(Path(reward_envs.__file__).parent, Path(folder) / "reward_envs")
        for what, start in STARTS.items():
            found: dict[str, list[Any]] = {"none": []} if what.startswith("minigrid") else {"empty": [], "warm": []}
            for _ in range(repeats):
                with tempfile.TemporaryDirectory() as cache:
                    for seconds in found.values():
                        seconds.append(_fresh(start, folder, cache))
            rows += [(what, state, *np.median(np.array(s), axis=0).tolist()) for state, s in found.items()]
    head = (
        "DoorKey-8x8",
        "numba's cache",
        "import and make",
        "reset",
        "first step",
        "all, wall",
        "all, CPU with start",
    )
    table(f"A fresh process, seconds, medians of {repeats}", head, rows)
    figures |= {f"d/{row[0]}/{row[1]}": row[2:] for row in rows}


def _fresh(start: tuple[str, str, dict[str, Any], str], folder: str, cache: str) -> list[float]:
    make, name, kwargs, action = start
    module = "minigrid" if name.startswith("MiniGrid") else "reward_envs"
    script = FIRST.format(module=module, make=make, name=name, kwargs=kwargs, action=action)
    environ = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": folder}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short measurements, to see that all runs")
    parser.add_argument("--part", action="append", choices=("a", "b", "c", "d"), help="by default all four")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement, 2 s of CPU each")
    parser.add_argument("--ppo", action="store_true", help="PPO as well")
    parser.add_argument("--venvs", type=Path, help="where the other engines' environments are kept between runs")
    parser.add_argument("--no-venvs", action="store_true", help="leave those engines out")
    given = parser.parse_args()
    turns = Turns(0.1, 3) if given.quick else Turns(2.0, given.repeats)
    parts = given.part or ["a", "b", "c", "d"]
    figures: dict[str, Any] = {}
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as temporary:
        if "a" in parts:
            many(turns, None if given.no_venvs else given.venvs or Path(temporary), figures)
    if "b" in parts:
        single(turns, figures)
    if "c" in parts:
        sizes(turns, [1, 16, 256] if given.quick else [1, 16, 64, 256, 1024, 4096, 16384, 65536], figures)
    if "d" in parts:
        first_step(1 if given.quick else 3, figures)
    loads.append(os.getloadavg()[0])
    if given.ppo:
        from grid_ppo import ppo

        figures["ppo"] = ppo(given.quick)
        loads.append(os.getloadavg()[0])
    print(f"\nLoad at the start and after the parts: {', '.join(f'{load:.1f}' for load in loads)}\n")
    common.emit("grid engine", figures, ("gymnasium", "minigrid", "numpy", "numba", "stable-baselines3", "torch"))


if __name__ == "__main__":
    main()
