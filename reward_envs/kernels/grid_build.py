"""What layouts are made of: fields, walls, things at random places. All randomness is the world's own word."""

from __future__ import annotations

import numpy as np

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import COLUMNS, DIR, EMPTY, WALL, Cells, State, Words, X, Y, draw

TRIES = 1000


@kernel
def field(cells: Cells, width: int, height: int) -> None:
    """An empty field within walls; `cells` uint16[H * W]."""
    cells[:] = EMPTY
    wall_rect(cells, width, 0, 0, width, height)


@kernel
def wall_rect(cells: Cells, width: int, x: int, y: int, w: int, h: int) -> None:
    """The four walls of a rectangle whose upper left corner is (x, y)."""
    for i in range(x, x + w):
        cells[y * width + i] = WALL
        cells[(y + h - 1) * width + i] = WALL
    for j in range(y, y + h):
        cells[j * width + x] = WALL
        cells[j * width + x + w - 1] = WALL


@kernel
def free_cell(cells: Cells, words: Words, i: int, width: int, x: int, y: int, w: int, h: int, taken: int) -> int:
    """A random empty cell of a rectangle, other than `taken`; -1 where there is none."""
    for _ in range(TRIES):
        at = (y + draw(words, i, h)) * width + x + draw(words, i, w)
        if cells[at] == EMPTY and at != taken:
            return at
    for at in range(len(cells)):
        if x <= at % width < x + w and y <= at // width < y + h and cells[at] == EMPTY and at != taken:
            return at
    return -1


@kernel
def put_agent(state: State, width: int, at: int, heading: int) -> None:
    """Begin the episode with the agent in a cell; `state` int32[COLUMNS], all its other columns become 0."""
    for k in range(COLUMNS):
        state[k] = 0
    state[X] = at % width
    state[Y] = at // width
    state[DIR] = heading


@kernel
def shuffle(words: Words, i: int, items: np.ndarray) -> None:  # type: ignore[type-arg]
    """Put the items in random order (Fisher and Yates)."""
    for k in range(len(items) - 1, 0, -1):
        j = draw(words, i, k + 1)
        items[k], items[j] = items[j], items[k]
