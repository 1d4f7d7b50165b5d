"""The walls of a maze given as a text map, and the shortest ways among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.task import Float
from reward_envs.kernels.maze import between_corners, shortest_ways

# The mazes of D4RL (Fu et al. 2020, arXiv 2004.07219), which PointMaze and AntMaze are known for.
U_MAZE = ("11111", "10001", "11101", "10001", "11111")
MEDIUM = ("11111111", "10011001", "10010001", "11000111", "10010001", "10100101", "10001001", "11111111")
LARGE = (
    "111111111111",
    "100001000001",
    "101101010101",
    "100000010001",
    "101111011101",
    "100101000001",
    "110101010111",
    "100100010001",
    "111111111111",
)
SLACK = 1e-9  # of a cell: how far a line may enter a wall
PINCH = 1e-6  # of a cell: half the side of the plug between two walls that touch at a corner


class Walls:
    """Walls on a grid of square cells around (0, 0): x grows with the column, y falls with the row.

    Attributes: `cell` (m), `free` float64[F, 2] (centres of the free cells), `boxes` float64[B, 4] (x0, y0, x1, y1 of
    each straight run of wall), `corners` float64[K, 2] (those that ways bend around), `half` float64[2] (half of the
    extent in x and y), `span` (the longest way between the centres of two cells, m) and `longest` (what no way between
    two places exceeds, m).

    Parameters
    ----------
    maze_map
        Rows of 1 for wall and 0 for free, from the top.
    cell
        Length of a cell's side, m.
    clearance
        How far ways keep from the walls, m, less than half a cell; more than 0 plans for a body of some width.

    Raises ValueError, with the reason, for a map that is no rectangle of 0 and 1, that is not closed all around, or in
    which some free cell cannot be reached from another.

    >>> walls = Walls(["1111", "1001", "1101", "1111"], cell=1.0)
    >>> walls.free.tolist()
    [[-0.5, 0.5], [0.5, 0.5], [0.5, -0.5]]
    >>> float(walls.distance([-0.5, 0.25], [0.25, -0.5]))  # around the corner at (0, 0)
    1.118033988749895
    """

    def __init__(self, maze_map: Sequence[str], cell: float, clearance: float = 0.0) -> None:
        self.map, self.cell = tuple(maze_map), cell
        wall = _parsed(self.map)
        self.shape: tuple[int, int] = wall.shape
        rows, columns = self.shape
        self.half = np.array([columns, rows]) * cell / 2
        self.free = self.centre(np.argwhere(~wall))
        self.boxes = np.array([self._box(*run) for run in _runs(wall)])
        self.corners, plugs = self._vertices(wall, clearance)
        slack = (SLACK * cell - clearance) * np.array([1.0, 1.0, -1.0, -1.0])
        self._solid = np.concatenate([self.boxes + slack, np.hstack([plugs - PINCH * cell, plugs + PINCH * cell])])
        self._between = np.empty((len(self.corners), len(self.corners)))
        between_corners(self.corners, self._solid, self._between)
        apart = self.distance(self.free[:, None], self.free[None])
        if not np.isfinite(apart).all():
            here, there = (self.where(self.free[k]) for k in (0, int(np.argmax(np.isinf(apart[0])))))
            raise ValueError(f"maze_map={list(self.map)}: cell {there} cannot be reached from {here} (row, column).")
        self.span = float(apart.max())
        self.longest = self.span + math.sqrt(2) * cell

    def centre(self, cells: Any) -> Float:
        """float64[..., 2]: the centres of cells (row, column)."""
        rows, columns = np.moveaxis(np.asarray(cells, np.float64), -1, 0)
        return np.stack([(columns + 0.5) * self.cell - self.half[0], self.half[1] - (rows + 0.5) * self.cell], axis=-1)

    def where(self, point: Any) -> tuple[int, int]:
        """Row and column of the cell that a point lies in."""
        x, y = np.asarray(point)
        return math.floor((self.half[1] - y) / self.cell), math.floor((x + self.half[0]) / self.cell)

    def distance(self, a: Any, b: Any) -> Any:
        """float64[...]: exact length of the shortest way of a point from a to b, float64[..., 2], m; they broadcast.

        inf where there is none, as from inside a wall. A body with an extent may have to go a little farther.
        Raises ValueError for places that are not finite. Source: Lozano-Perez and Wesley 1979, An Algorithm for
        Planning Collision-Free Paths Among Polyhedral Obstacles.
        """
        return self._ways(a, b)[0]

    def toward(self, a: Any, b: Any) -> tuple[Any, Any]:
        """(float64[..., 2], bool[...]): where the shortest way from a to b first leads, and whether it bends there."""
        _, bend, there = self._ways(a, b)
        if not len(self.corners):
            return there, np.zeros(np.shape(bend), np.bool_)
        return np.where(bend[..., None] >= 0, self.corners[bend], there), bend >= 0

    def _ways(self, a: Any, b: Any) -> tuple[Any, Any, Any]:
        one, two = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
        shape, one, two = one.shape[:-1], one.reshape(-1, 2), two.reshape(-1, 2)
        if not np.isfinite(one.sum() + two.sum()):
            raise ValueError("distances are between places with finite coordinates.")
        length, bend = np.empty(len(one)), np.empty(len(one), np.int64)
        one, two = np.ascontiguousarray(one), np.ascontiguousarray(two)
        shortest_ways(one, two, self._solid, self.corners, self._between, length, bend)
        return length.reshape(shape)[()], bend.reshape(shape)[()], two.reshape(*shape, 2)

    def _box(self, top: int, left: int, bottom: int, right: int) -> list[float]:
        x, y = self.half
        size = self.cell
        return [left * size - x, y - bottom * size, right * size - x, y - top * size]

    def _vertices(self, wall: NDArray[np.bool_], clearance: float) -> tuple[Float, Float]:
        """Corners of walls, `clearance` away from them, and the points at which two walls touch."""
        upper_left, upper_right = wall[:-1, :-1] * 1, wall[:-1, 1:] * 1
        lower_left, lower_right = wall[1:, :-1] * 1, wall[1:, 1:] * 1
        around = upper_left + upper_right + lower_left + lower_right
        single, touching = around == 1, (around == 2) & (upper_left == lower_right)
        to_right = (upper_left + lower_left - upper_right - lower_right)[single]
        upwards = (lower_left + lower_right - upper_left - upper_right)[single]
        corners = self.centre(np.argwhere(single) + 0.5) + clearance * np.column_stack([to_right, upwards])
        return corners, self.centre(np.argwhere(touching) + 0.5)

    def geoms(self, height: float) -> str:
        """The walls in MJCF, `height` m high."""
        boxes = (
            f'<geom class="wall" pos="{(x0 + x1) / 2} {(y0 + y1) / 2} {height / 2}" '
            f'size="{(x1 - x0) / 2} {(y1 - y0) / 2} {height / 2}"/>'
            for x0, y0, x1, y1 in self.boxes.tolist()
        )
        return "\n".join(boxes)


def _parsed(rows: tuple[str, ...]) -> NDArray[np.bool_]:
    """bool[rows, columns], or ValueError."""
    if not rows or not rows[0] or any(set(row) - {"0", "1"} or len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"maze_map={list(rows)}: it is rows of one length, of 1 for wall and 0 for free.")
    wall = np.array([[sign == "1" for sign in row] for row in rows])
    closed = np.concatenate([wall[0], wall[-1], wall[:, 0], wall[:, -1]])
    if not closed.all():
        raise ValueError(f"maze_map={list(rows)}: it is not closed; the outermost rows and columns are all 1.")
    if np.count_nonzero(~wall) < 2:
        raise ValueError(f"maze_map={list(rows)}: no goal can be reached; it needs two free cells or more.")
    return wall


def _runs(wall: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """(top, left, bottom, right) of the longest runs in rows and columns: every seam between two walls lies in one."""
    found = [(i, left, i + 1, right) for i, row in enumerate(wall) for left, right in _stretches(row)]
    found += [(top, j, bottom, j + 1) for j, column in enumerate(wall.T) for top, bottom in _stretches(column)]
    return [run for run in dict.fromkeys(found) if not any(_inside(run, other) for other in found)]


def _inside(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> bool:
    return a != b and b[0] <= a[0] and b[1] <= a[1] and a[2] <= b[2] and a[3] <= b[3]


def _stretches(line: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
