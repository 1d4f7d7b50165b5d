"""Text tasks as a Gymnasium vector environment, in this process or in workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from reward_envs.text.env import _Texts, episode_seed
from reward_envs.text.task import Source
from reward_envs.text.workers import Local, Workers
from reward_envs.vectors import Rows, RowsVector


class Slots:
    """What the last move of N slots paid and ended."""

    def __init__(self, n: int) -> None:
        self.n, self.all = n, np.arange(n)
        self.reward = np.zeros(n)
        self.terminated, self.truncated, self.success = np.zeros((3, n), np.bool_)

    def write(self, row: int, reward: float, terminated: bool, truncated: bool, success: bool) -> None:
        """What a slot did."""
        self.reward[row], self.success[row] = reward, success
        self.terminated[row], self.truncated[row] = terminated, truncated


class TextVector(_Texts, RowsVector):
    """N text tasks as a Gymnasium vector environment; slot i goes through the same as a `TextEnv` of its seed.

    Observations and actions are tuples of N texts.

    Parameters
    ----------
    source
        Where tasks come from.
    num_envs
        N.
    workers
        0 plays in this process. k starts k processes once, which play all slots between them; the source is pickled. A
        task that ends its process or does not answer costs its own episode, which truncates with an unknown reward and
        `infos["error"]`; the process is replaced, and its other episodes are played again to where they were.
    patience
        Seconds that a worker's answer may take.
    autoreset_mode
        As of Gymnasium: NEXT_STEP, SAME_STEP or DISABLED.
    split, reward_mode, hooks, render_mode, max_steps, seconds, max_action, max_output
        As of `TextEnv`; nothing is rendered.

    Raises ValueError where the number of actions is not N, or that of workers is negative.
    """

    def __init__(
        self,
        source: Source,
        num_envs: int,
        *,
        workers: int = 0,
        patience: float = 60.0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        split: str = "train",
        reward_mode: str = "sparse",
        hooks: Iterable[str] = (),
        render_mode: str | None = None,
        max_steps: int | None = None,
        seconds: float = math.inf,
        max_action: int = 4_000,
        max_output: int = 16_000,
    ) -> None:
        if workers < 0:
            raise ValueError(f"workers={workers}: it is 0 for none, or a number of processes.")
        self._open(source, split, reward_mode, max_steps, seconds, max_action, max_output)
        self._engine = Slots(num_envs)
        self._set_up(*self._spaces(), autoreset_mode, render_mode)
        self.hooks = self._asked(hooks)
        self._texts = [""] * num_envs
        self._told: list[dict[str, Any]] = [{} for _ in range(num_envs)]
        self._rngs = [seeding.np_random()[0] for _ in range(num_envs)]
        self._run = Workers(self.plan, num_envs, workers, patience) if workers else Local(self.plan, num_envs)

    @property
    def engine(self) -> Slots:
        """What the last step paid and ended."""
        return self._engine

    def request_hooks(self, hooks: Iterable[str]) -> None:
        """Give these hooks in `infos` from the next reset on; they add to those asked for before."""
        self.hooks = self._asked(hooks, self.hooks)

    def _seed_rows(self, rows: Rows, seeds: Sequence[int]) -> None:
        for row, seed in zip(rows.tolist(), seeds, strict=True):
            self._rngs[row] = seeding.np_random(seed)[0]

    def _start(self, rows: Rows) -> None:
        jobs = [(row, episode_seed(self._rngs[row])) for row in rows.tolist()]
        for (row, _), (seen, info) in zip(jobs, self._run.begin(jobs, self.hooks), strict=True):
            self._texts[row], self._told[row] = seen, info
            self._engine.write(row, 0.0, False, False, False)

    def _move(self, actions: Any, skip: NDArray[np.bool_] | None) -> int:
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise ValueError(f"{self.num_envs} slots take a sequence of {self.num_envs} texts, one each.")
        jobs = [(row, action) for row, action in enumerate(actions) if skip is None or not skip[row]]
        ended = 0
        for (row, _), turn in zip(jobs, self._run.play(jobs), strict=True):
            self._texts[row], self._told[row] = turn.seen, turn.info
            self._engine.write(row, turn.reward, turn.terminated, turn.truncated, turn.info["is_success"])
            ended += turn.terminated or turn.truncated
        return ended

    def _seen(self) -> tuple[str, ...]:
        return tuple(self._texts)

    def _seen_of(self, i: int) -> str:
        return self._texts[i]

    def _columns(self, rows: Rows) -> dict[str, Any]:
        return {}

    def _infos(self, rows: Rows, columns: Any = None) -> dict[str, Any]:
        """As of any vector; a slot's mask is false where its info lacks the name."""
        infos = super()._infos(rows, columns)
        names = dict.fromkeys(name for row in rows.tolist() for name in self._told[row] if name != "is_success")
        for name in names:
            there = [row for row in rows.tolist() if name in self._told[row]]
            mask = np.zeros(self.num_envs, np.bool_)
            mask[there] = True
            infos[name], infos[f"_{name}"] = _column({r: self._told[r][name] for r in there}, self.num_envs), mask
        return infos

    def close_extras(self, **kwargs: Any) -> None:
        """End the workers and let go of all tasks."""
        self._run.close()


def _column(values: dict[int, Any], n: int) -> NDArray[Any]:
    """Numbers as float64[n, ...], NaN where there is none, all else as objects."""
    first = next(iter(values.values()))
    numbers = isinstance(first, int | float | np.ndarray)
    column = np.full((n, *np.shape(first)), np.nan) if numbers else np.full(n, None, object)
    for row, value in values.items():
        column[row] = value
    return column
