"""Random play and the expert in every gridworld task: success, mean return, mean length, on the same layouts.

    PYTHONPATH=. python benchmarks/grid_experts.py [--seeds 200] [task ...]

Prints a table in Markdown. Returns are undiscounted, in monitored tasks those of the true reward. Random play draws
each action with equal chance; where it may say done, in the tasks that ask to go somewhere, it soon does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.experts import Expert
from reward_envs.grid.spec import GridSpec
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds

Policy = Callable[[], NDArray[np.int64]]


class Score(NamedTuple):
    """Means over episodes."""

    success: float
    total: float
    length: float


def begun(spec: GridSpec, seeds: int) -> Worlds:
    """Worlds with the seeds 0, 1, ... at the beginning of their first episodes."""
    worlds: Worlds = (spec.engine or Worlds)(spec, seeds)
    worlds.seed(worlds.all, list(range(seeds)))
    worlds.begin(worlds.all)
    return worlds


def at_random(spec: GridSpec, n: int) -> Policy:
    """Each action with equal chance."""
    rng = np.random.default_rng(0)
    return lambda: rng.integers(spec.actions, size=n)


def play(worlds: Worlds, policy: Policy) -> Score:
    """One episode in each world."""
    over = np.zeros(worlds.n, np.bool_)
    won, total, length = over.copy(), np.zeros(worlds.n), np.zeros(worlds.n)
    while not over.all():
        worlds.step(policy(), over)
        length += ~over
        pay: Any = getattr(worlds, "true_reward", worlds.reward)
        total[~over] += pay[~over]
        won |= worlds.success
        over |= worlds.terminated | worlds.truncated
    return Score(won.mean().item(), total.mean().item(), length.mean().item())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    print("| task | random: success | return | length | expert: success | return | length |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for name in options.tasks:
        spec = TASKS[name]
        worlds = begun(spec, options.seeds)
        chance = play(worlds, at_random(spec, options.seeds))
        worlds = begun(spec, options.seeds)
        skilled = play(worlds, Expert(worlds).actions)
        cells = (f"{score.success:.1%} | {score.total:.3f} | {score.length:.1f}" for score in (chance, skilled))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
