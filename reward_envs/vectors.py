"""Vectors of worlds that move together: seeds, resets and ends, as Gymnasium and as Stable-Baselines3 want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, SupportsIndex

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from reward_envs.hooks import check_render_mode

Rows = NDArray[np.int64]
RESET_FIRST = "step() before the first reset(): call reset(seed=...) first."


def check_worlds(n: SupportsIndex, threads: SupportsIndex) -> tuple[int, int]:
    """Both as ints; raises TypeError or ValueError where either is no whole number of at least 1."""
    for what, value in (("num_envs", n), ("threads", threads)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{what}={value!r}: it is a whole number of at least 1.")
        if int(value) < 1:
            raise ValueError(f"{what}={value}: it is a whole number of at least 1.")
    return int(n), int(threads)


class Engine(Protocol):
    """What has moved N worlds; its arrays are overwritten by the next move."""

    n: int
    all: Rows

    @property
    def reward(self) -> NDArray[np.float64]: ...
    @property
    def terminated(self) -> NDArray[np.bool_]: ...
    @property
    def truncated(self) -> NDArray[np.bool_]: ...
    @property
    def success(self) -> NDArray[np.bool_]: ...


class Moved:
    """What a family writes for its vectors: how its engine is seeded, begun and moved, and what is seen of it."""

    @property
    def engine(self) -> Any:
        """The `Engine`."""
        raise NotImplementedError

    def _seed_rows(self, rows: Rows, seeds: Sequence[int]) -> None:
        """Begin the random streams of the worlds `rows`."""
        raise NotImplementedError

    def _start(self, rows: Rows) -> None:
        """Begin new episodes in the worlds `rows`: nothing paid, nothing ended."""
        raise NotImplementedError

    def _move(self, actions: Any, skip: NDArray[np.bool_] | None) -> int:
        """Move all worlds that are not in `skip`; how many episodes ended. Raises for what is no action."""
        raise NotImplementedError

    def _seen(self) -> Any:
        """The observations of all worlds."""
        raise NotImplementedError

    def _columns(self, rows: Rows) -> Mapping[str, Any]:
        """What `info` holds of the worlds `rows` beside `is_success`: one fresh column a name, a value for each."""
        raise NotImplementedError


class RowsVector(Moved, gym.vector.VectorEnv[Any, Any, Any]):
    """A Gymnasium vector environment in the three autoreset modes; seed s gives the worlds s, s + 1, ...

    A family calls `_set_up` once its engine stands, and writes the methods of `Moved` and `_seen_of`.
    """

    def _set_up(
        self,
        observation: spaces.Space[Any],
        action: spaces.Space[Any],
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
    ) -> None:
        n = self.num_envs = self.engine.n
        self.render_mode = check_render_mode(render_mode, self.metadata)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space, self.action_space = batch_space(observation, n), batch_space(action, n)
        self._over = np.zeros(n, np.bool_)
        self._begun = False

    def _seen_of(self, i: int) -> Any:
        """The observation of world i alone, a copy."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        rows = self.engine.all
        if options is not None and "reset_mask" in options:
            rows = np.flatnonzero(_as_mask(options["reset_mask"], self.num_envs))
        self._seed(seed, rows)
        self._begin(rows)
        return self._seen(), self._infos(rows)

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        if not self._begun:
            raise gym.error.ResetNeeded(RESET_FIRST)
        engine, skip = self.engine, None
        if self._over.any():
            if self.autoreset_mode is AutoresetMode.DISABLED:
                at = int(np.flatnonzero(self._over)[0])
                raise ValueError(f"the episode of world {at} is over: reset(options={{'reset_mask': mask}}) first.")
            skip = self._over.copy()
        ended = self._move(actions, skip)
        if skip is not None:
            self._begin(np.flatnonzero(skip))
        paid = engine.reward.copy(), engine.terminated.copy(), engine.truncated.copy()
        if not ended:
            return self._seen(), *paid, self._infos(engine.all)
        self._over = paid[1] | paid[2]
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return self._seen(), *paid, self._infos(engine.all)
        ends, columns = np.flatnonzero(self._over), self._columns(engine.all)
        last = self._last(ends, columns)
        self._begin(ends)
        for name, fresh in self._columns(ends).items():  # those of the others are what they were
            columns[name][ends] = fresh
        return self._seen(), *paid, {**self._infos(engine.all, columns), **last}

    def _seed(self, seed: int | Sequence[int | None] | None, rows: Rows) -> None:
        if seed is None:
            return
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            self._seed_rows(rows, (rows + int(seed)).tolist())
            return
        if len(seed) != self.num_envs:
            raise ValueError(f"{len(seed)} seeds for {self.num_envs} worlds: give one each, or one integer.")
        there = np.array([i for i in rows.tolist() if seed[i] is not None], np.int64)
        self._seed_rows(there, [int(seed[i] or 0) for i in there])

    def _begin(self, rows: Rows) -> None:
        self._start(rows)
        self._over[rows] = False
        self._begun = True

    def _infos(self, rows: Rows, columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Success and columns (of all worlds) with the mask of the rows, which have them."""
        mask = np.zeros(self.num_envs, np.bool_)
        mask[rows] = True
        infos: dict[str, Any] = {"is_success": self.engine.success & mask, "_is_success": mask}
        for name, column in (self._columns(self.engine.all) if columns is None else columns).items():
            infos[name], infos[f"_{name}"] = column, mask
        return infos

    def _last(self, rows: Rows, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The last observations and infos of the episodes that are over."""
        final = np.full(self.num_envs, None, object)
        over = np.zeros(self.num_envs, np.bool_)
        over[rows] = True
        for i in rows.tolist():
            final[i] = self._seen_of(i)
        infos = self._infos(rows, {name: column.copy() for name, column in columns.items()})
        return {"final_obs": final, "_final_obs": over, "final_info": infos, "_final_info": over}


def _as_mask(mask: Any, n: int) -> NDArray[np.bool_]:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (n,) or not mask.any():
        raise ValueError(f"reset_mask={mask!r}: it is a numpy array of {n} booleans, at least one of them true.")
    return mask
