"""Timing for grid_engine.py: contenders take turns, so that a busy machine slows all of them alike."""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reward_envs.grid.env import GridVector
from reward_envs.grid.tasks import grid_vector
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k

Play = Callable[[int], None]  # makes so many steps


class Cost(NamedTuple):
    """Microseconds an item, medians."""

    cpu: float
    wall: float

    @property
    def per_second(self) -> float:
        """Items in a second of CPU."""
        return 1e6 / self.cpu


class Turns(NamedTuple):
    """How long a timed stretch lasts at least, in seconds of CPU, and how many there are of each contender."""

    seconds: float
    repeats: int

    def __call__(self, contenders: Mapping[str, tuple[Play, int]]) -> dict[str, Cost]:
        """The cost of each contender's items, given as (play, items in a step)."""
        steps = {name: self._steps(play) for name, (play, _) in contenders.items()}
        cpu: dict[str, list[float]] = {name: [] for name in contenders}
        wall: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(self.repeats):
            for name, (play, items) in contenders.items():
                gc.collect()
                took = _time(play, steps[name])
                cpu[name].append(took[0] / (steps[name] * items) * 1e6)
                wall[name].append(took[1] / (steps[name] * items) * 1e6)
        return {name: Cost(statistics.median(cpu[name]), statistics.median(wall[name])) for name in contenders}

    def _steps(self, play: Play) -> int:
        play(2)  # compiles
        steps = 1
        while (cpu := _time(play, steps)[0]) < self.seconds / 4:
            steps *= 2
        return max(1, round(1.1 * steps * self.seconds / cpu))


def _time(play: Play, steps: int) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    play(steps)
    return time.process_time() - cpu, time.perf_counter() - wall


def random_actions(n: int, actions: int) -> list[Any]:
    """Rows of random actions for n worlds, to be gone through again and again."""
    rows = min(max(2**20 // n, 64), 4096)
    return list(np.random.default_rng(0).integers(0, actions, (rows, n)))


def vector(task: str, n: int, **kwargs: Any) -> GridVector:
    """A vector without copies whose worlds are at different steps of their episodes, so that ends come evenly."""
    envs = grid_vector(task, n, autoreset_mode="SameStep", copy=False, **kwargs)
    envs.reset(seed=0)
    envs.worlds.state[:, k.STEP] = np.random.default_rng(1).integers(0, envs.max_steps, n)
    return envs


def vector_play(envs: Any, n: int, actions: int = 7) -> tuple[Play, int]:
    """Steps of a vector environment that resets by itself."""
    rows = itertools.cycle(random_actions(n, actions))

    def play(steps: int) -> None:
        for row in itertools.islice(rows, steps):
            envs.step(row)

    return play, n


def worlds_play(worlds: Worlds) -> tuple[Play, int]:
    """`Worlds.step`, and `Worlds.begin` for those that are over."""
    rows = itertools.cycle(random_actions(worlds.n, worlds.spec.actions))

    def play(steps: int) -> None:
        for row in itertools.islice(rows, steps):
            if worlds.step(row):
                worlds.begin(np.flatnonzero(worlds.terminated | worlds.truncated))

    return play, worlds.n


def single_play(env: Any) -> tuple[Play, int]:
    """Steps of a single environment, with its resets."""
    actions = itertools.cycle(np.random.default_rng(0).integers(0, 7, 4096).tolist())
    env.reset(seed=0)

    def play(steps: int) -> None:
        for action in itertools.islice(actions, steps):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return play, 1


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(_text(cell) for cell in row)} |", flush=True)


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if cell >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
