"""Hooks of gridworlds, for all worlds at once.

- `steps_to_go`: the fewest actions to success, 0 when done, inf where there is no way; where the card says
  `exact=False`, a number that is never above it.
- `milestones`: float64[K], 1 for each of `card.milestone_names` reached in the episode.
- `progress`: their mean.
- `caption`: the state in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.distance import Distances, Plans, distances
from reward_envs.grid.spec import COLOURS, DOOR_STATES, KINDS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k

Rows = NDArray[np.int64]
FACING = ("east", "south", "west", "north")
MARKS = {
    "take the key": k.TOOK_KEY,
    "open the locked door": k.UNLOCKED,
    "succeed": k.SUCCEEDED,
}


class GridHooks:
    """The hooks that were asked of a task, as columns over its worlds."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._distances: Distances | Plans | None = None
        with_distance = worlds.spec.steps_to_go_max is not None
        self.offers = (*(("steps_to_go",) if with_distance else ()), "progress", "milestones", "caption")
        self.asked: tuple[str, ...] = ()

    def request(self, hooks: Iterable[str]) -> None:
        """Add hooks; raises ValueError for an unknown one."""
        wanted = {hooks} if isinstance(hooks, str) else set(hooks)
        if unknown := sorted(wanted - set(self.offers)):
            raise ValueError(f"no hook {unknown[0]!r}: this task gives {', '.join(self.offers)}.")
        self.asked = tuple(h for h in self.offers if h in wanted or h in self.asked)

    def begin(self, rows: NDArray[np.int64]) -> None:
        """New episodes have begun in these worlds."""
        if self._distances is not None:
            self._distances.forget(rows)

    def values(self, rows: Rows) -> dict[str, Any]:
        """The hooks asked for, at the present states of V worlds: float64[V], float64[V, K] for milestones, texts for
        captions. First the columns that these worlds always show, float64[V]."""
        always = {name: getattr(self._worlds, name)[rows] for name in self._worlds.columns}
        return always | {name: getattr(self, name)(rows) for name in self.asked}

    def steps_to_go(self, rows: Rows) -> NDArray[np.float64]:
        """float64[V]."""
        if self._distances is None:
            self._distances = distances(self._worlds)
        return self._distances.values(rows)

    def milestones(self, rows: Rows) -> NDArray[np.float64]:
        """float64[V, K]."""
        state = self._worlds.state[rows]
        columns = []
        for name in self._worlds.spec.milestone_names:
            if name in MARKS:
                columns.append(state[:, k.MARKS] & MARKS[name] != 0)
            else:
                columns.append(state[:, k.DOORS] >= int(name.removeprefix("open door ")))
        reached: NDArray[np.float64] = np.stack(columns, axis=1).astype(np.float64)
        return reached

    def progress(self, rows: Rows) -> NDArray[np.float64]:
        """float64[V]."""
        share: NDArray[np.float64] = self.milestones(rows).mean(axis=1)
        return share

    def caption(self, rows: Rows) -> NDArray[np.object_]:
        """A text each."""
        return np.array([caption(self._worlds, i) for i in rows.tolist()], object)


def caption(worlds: Worlds, i: int) -> str:
    """The state of world i in words."""
    state, width = worlds.state[i], worlds.spec.width
    held = int(state[k.CARRY])
    hands = f"carries the {_name(held)}" if held else "carries nothing"
    place = f"column {state[k.X]}, row {state[k.Y]}"
    parts = [f"The agent is at {place}, faces {FACING[state[k.DIR]]} and {hands}."]
    for at, code in enumerate(worlds.cells[i].tolist()):
        kind = code & 15
        if kind not in (k.EMPTY, k.WALL_TYPE, k.FLOOR):
            door = f", {DOOR_STATES[code >> 7 & 3]}" if kind == k.DOOR else ""
            parts.append(f"The {_name(code)} is at column {at % width}, row {at // width}{door}.")
    return " ".join(parts)


def _name(code: int) -> str:
    kind = KINDS[code & 15]
    return kind if kind in ("goal", "lava") else f"{COLOURS[code >> 4 & 7]} {kind}"
