"""Steps to success in gridworlds, worked out once a layout and again where doors or things changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.kernels.grid_distance import EARLY_LIFTS, EARLY_TOGGLES, FAR, steps_to_go
from reward_envs.kernels.grid_plan import code_of, layout_of, steps_to_success

Float = NDArray[np.float64]


class Distances:
    """The `steps_to_go` of all worlds of a vector, by fields of poses; see `kernels.grid_distance`."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        poses = worlds.spec.width * worlds.spec.height * 4
        self._fields = np.empty((worlds.n, 2, poses), np.int32)
        self._known = np.full((worlds.n, 6), -1, np.int32)
        self._room = np.empty((3, poses + 1), np.int32)

    def forget(self, rows: NDArray[np.int64]) -> None:
        """The layouts of these worlds are new."""
        self._known[rows] = -1

    def values(self, rows: NDArray[np.int64]) -> Float:
        """float64[V] at the present states of the worlds `rows`."""
        worlds = self._worlds
        out = np.empty(len(rows))
        steps_to_go(worlds.cells, worlds.state, worlds.shape, rows, self._fields, self._known, self._room, out)
        return out

    def poses(self, i: int) -> Float:
        """float64[H, W, 4]: of world i from every cell and direction, with what the agent holds; inf: no way."""
        self.values(self._worlds.all[i : i + 1])
        known, state = self._known[i], self._worlds.state[i]
        late = known[EARLY_TOGGLES] != state[k.TOGGLES] or known[EARLY_LIFTS] != state[k.LIFTS]
        field = self._fields[i, int(late)].astype(np.float64)
        field[field >= FAR] = np.inf
        poses: Float = field.reshape(self._worlds.spec.height, self._worlds.spec.width, 4)
        return poses


def distances(worlds: Worlds) -> Distances | Plans:
    """The `steps_to_go` of these worlds: by fields, or by search where only that is exact."""
    return (Plans if worlds.spec.rule == k.TAKE and worlds.spec.exact else Distances)(worlds)


class Plans:
    """The same by a search over all states of a layout: where things are, how doors stand. For small layouts."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._plans: list[Any] = [None] * worlds.n

    def forget(self, rows: NDArray[np.int64]) -> None:
        """The layouts of these worlds are new."""
        for i in rows.tolist():
            self._plans[i] = None

    def values(self, rows: NDArray[np.int64]) -> Float:
        """float64[V] at the present states of the worlds `rows`."""
        return np.array([self._value(i) for i in rows.tolist()])

    def poses(self, i: int) -> Float:
        """float64[H, W, 4]: of world i from every cell that can be entered, with what the agent holds; else inf."""
        worlds = self._worlds
        steps = np.full((worlds.spec.height, worlds.spec.width, 4), np.inf)
        for y, x, heading in np.ndindex(steps.shape):
            if worlds.cells[i, y * worlds.spec.width + x] & 15 in (k.EMPTY, k.FLOOR, k.DOOR):
                state = worlds.state[i].copy()
                state[[k.X, k.Y, k.DIR]] = x, y, heading
                steps[y, x, heading] = self._from(i, state)
        return steps

    def _value(self, i: int) -> float:
        state = self._worlds.state[i]
        if state[k.MARKS] & (k.SUCCEEDED | k.FAILED):
            return 0.0 if state[k.MARKS] & k.SUCCEEDED else np.inf
        return self._from(i, state)

    def _from(self, i: int, state: NDArray[np.int32]) -> float:
        worlds = self._worlds
        cells, width = worlds.cells[i], worlds.spec.width
        if self._plans[i] is None:
            number, ahead, kind, fits, has_key = layout_of(cells, width, int(state[k.R]), int(state[k.CARRY]))
            self._plans[i] = number, len(kind), has_key, steps_to_success(ahead, kind, fits, has_key)
        number, count, has_key, plan = self._plans[i]
        return float(plan[code_of(cells, state, width, number, count, has_key)])
