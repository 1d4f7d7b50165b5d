"""Shortest ways of a point among walls that are boxes: lines of sight, and the ways around corners.

A way that is shortest is straight from corner to corner (Lozano-Perez and Wesley 1979, An Algorithm for Planning
Collision-Free Paths Among Polyhedral Obstacles). Boxes are open: a line may touch them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel


@kernel(inline=True)
def _blocked(ax: float, ay: float, bx: float, by: float, boxes: NDArray[np.float64]) -> bool:
    """Whether the line from a to b goes through a box [x0, y0, x1, y1]."""
    dx, dy = bx - ax, by - ay
    for k in range(boxes.shape[0]):
        x0, y0, x1, y1 = boxes[k, 0], boxes[k, 1], boxes[k, 2], boxes[k, 3]
        if max(ax, bx) <= x0 or min(ax, bx) >= x1 or max(ay, by) <= y0 or min(ay, by) >= y1:
            continue
        enter, leave = 0.0, 1.0  # shares of the line
        if dx != 0.0:
            one, two = (x0 - ax) / dx, (x1 - ax) / dx
            enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
        if dy != 0.0:
            one, two = (y0 - ay) / dy, (y1 - ay) / dy
            enter, leave = max(enter, min(one, two)), min(leave, max(one, two))
        if enter < leave:
            return True
    return False


@kernel
def between_corners(corners: NDArray[np.float64], boxes: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Length of the shortest way from each corner to each other, inf where there is none.

    Parameters
    ----------
    corners : float64[K, 2]
    boxes : float64[B, 4]
        x0, y0, x1, y1.
    out : float64[K, K], written
    """
    n = corners.shape[0]
    for i in range(n):
        for j in range(n):
            ax, ay, bx, by = corners[i, 0], corners[i, 1], corners[j, 0], corners[j, 1]
            out[i, j] = np.inf if _blocked(ax, ay, bx, by, boxes) else np.hypot(bx - ax, by - ay)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                out[i, j] = min(out[i, j], out[i, k] + out[k, j])


@kernel
def shortest_ways(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    boxes: NDArray[np.float64],
    corners: NDArray[np.float64],
    between: NDArray[np.float64],
    length: NDArray[np.float64],
    bend: NDArray[np.int64],
) -> None:
    """The shortest way from each a to its b: its length, and the first corner that it goes around.

    Parameters
    ----------
    a, b : float64[N, 2]
    boxes : float64[B, 4]
    corners : float64[K, 2]
    between : float64[K, K]
        As `between_corners` writes it.
    length : float64[N], written
        inf where there is no way, as from inside a box.
    bend : int64[N], written
        The index of a corner, -1 where the way is straight or there is none.
    """
    n = corners.shape[0]
    seen, lengths = np.empty(n, np.int64), np.empty(n)
    for row in range(a.shape[0]):
        ax, ay, bx, by = a[row, 0], a[row, 1], b[row, 0], b[row, 1]
        best, first = np.inf, -1
        if not _blocked(ax, ay, bx, by, boxes):
            length[row], bend[row] = np.hypot(bx - ax, by - ay), -1
            continue
        count = 0
        for i in range(n):
            if not _blocked(ax, ay, corners[i, 0], corners[i, 1], boxes):
                seen[count], lengths[count] = i, np.hypot(corners[i, 0] - ax, corners[i, 1] - ay)
                count += 1
        for j in range(n):
            whole, via, rest = np.inf, -1, np.hypot(bx - corners[j, 0], by - corners[j, 1])
            for k in range(count):
                candidate = lengths[k] + between[seen[k], j] + rest
                if candidate < whole:
                    whole, via = candidate, seen[k]
            if whole < best and not _blocked(corners[j, 0], corners[j, 1], bx, by, boxes):
                best, first = whole, via
        length[row], bend[row] = best, first
