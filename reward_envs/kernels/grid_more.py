"""Layouts that MiniGrid lacks: mazes, one of several drawings, a screen of noise; and what a monitor shows.

Layout kernels are as in `grid_fields`: `(cells uint16[N, H * W], state, words, rows, p)`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import (
    BLUE,
    EMPTY,
    FLOOR,
    OPEN,
    WALL,
    Cells,
    Int,
    R,
    State,
    Words,
    X,
    Y,
    draw,
    flicker,
)
from reward_envs.kernels.grid_build import put_agent
from reward_envs.kernels.grid_fields import GOAL_CELL, four_rooms

Bool: TypeAlias = NDArray[np.bool_]
BLUE_FLOOR: Final = FLOOR | BLUE << 4
ALWAYS: Final = 1 << 32  # a chance is an integer of so many
_DX: Final = (1, 0, -1, 0)
_DY: Final = (0, 1, 0, -1)


# mazes


@kernel
def maze(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """A maze of ways one cell wide: a tree, of whose dead ends p[2] percent are then opened.

    Its places are the cells with odd coordinates, so width and height are odd. The agent begins in a random one, and
    the goal lies in one that is farthest from it.
    """
    width, height = p[0], p[1]
    wide = (width - 1) // 2
    places = wide * ((height - 1) // 2)
    queue, far = np.empty(width * height, np.int64), np.empty(width * height, np.int64)
    for i in rows:
        cells[i, :] = WALL
        place = draw(words, i, places)
        at = (place // wide * 2 + 1) * width + place % wide * 2 + 1
        _carve(cells[i], words, i, width, height, at, queue)
        for place in range(places):
            if draw(words, i, 100) < p[2]:
                _open(cells[i], words, i, width, height, place % wide * 2 + 1, place // wide * 2 + 1)
        put_agent(state[i], width, at, draw(words, i, 4))
        cells[i, _farthest(cells[i], width, at, queue, far)] = GOAL_CELL


@kernel
def _carve(cells: Cells, words: Words, i: int, width: int, height: int, at: int, stack: Int) -> None:
    """Cut a random tree from `at`: go on to a place that is still wall, or else back (depth first search)."""
    ways = np.empty(4, np.int64)
    cells[at] = EMPTY
    stack[0] = at
    top = 1
    while top > 0:
        here = stack[top - 1]
        found = 0
        for d in range(4):
            x, y = here % width + 2 * _DX[d], here // width + 2 * _DY[d]
            if 0 < x < width and 0 < y < height and cells[y * width + x] == WALL:
                ways[found] = _DX[d] + _DY[d] * width
                found += 1
        if found == 0:
            top -= 1
            continue
        way = ways[draw(words, i, found)]
        cells[here + way] = EMPTY
        cells[here + 2 * way] = EMPTY
        stack[top] = here + 2 * way
        top += 1


@kernel
def _open(cells: Cells, words: Words, i: int, width: int, height: int, x: int, y: int) -> None:
    """Where the place (x, y) is a dead end, open a random one of its walls to another place."""
    ways = np.empty(4, np.int64)
    found = 0
    for d in range(4):
        inside = 0 < x + 2 * _DX[d] < width and 0 < y + 2 * _DY[d] < height
        wall = (y + _DY[d]) * width + x + _DX[d]
        if inside and cells[wall] == WALL:
            ways[found] = wall
            found += 1
    walls = found + (x == 1) + (y == 1) + (x == width - 2) + (y == height - 2)
    if walls == 3 and found > 0:
        cells[ways[draw(words, i, found)]] = EMPTY


@kernel
def _farthest(cells: Cells, width: int, at: int, queue: Int, far: Int) -> int:
    """The place that a breadth first search from `at` reaches last."""
    far[:] = -1
    far[at] = 0
    queue[0] = at
    head, tail, last = 0, 1, at
    while head < tail:
        here = queue[head]
        head += 1
        if here % width % 2 == 1 and here // width % 2 == 1:
            last = here
        for d in range(4):
            there = here + _DX[d] + _DY[d] * width
            if cells[there] == EMPTY and far[there] < 0:
                far[there] = far[here] + 1
                queue[tail] = there
                tail += 1
    return last


@kernel
def phases(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """One of p[3] layouts: number p[2], or a random one where that is -1. The register R holds its number.

    p[4], p[5], p[6] are the agent's x, y and direction, then come the cells of each layout.
    """
    area = cells.shape[1]
    for i in rows:
        phase = p[2] if p[2] >= 0 else draw(words, i, p[3])
        for k in range(area):
            cells[i, k] = p[7 + phase * area + k]
        put_agent(state[i], p[0], p[5] * p[0] + p[4], p[6])
        state[i, R] = phase


# four rooms with something in them


@kernel
def screen_rooms(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Four rooms, and in a room without the goal a screen of p[2] by p[3] floor cells, placed at random.

    The registers R to R + 3 hold its left, top, width and height, as the rule SCREEN needs them.
    """
    four_rooms(cells, state, words, rows, p)
    width = p[0]
    w, h = width // 2, p[1] // 2
    for i in rows:
        home = 0
        for at in range(cells.shape[1]):
            if cells[i, at] == GOAL_CELL:
                home = int(at % width > w) + 2 * int(at // width > h)
        room = draw(words, i, 3)
        room += room >= home
        state[i, R] = room % 2 * w + 1 + draw(words, i, w - p[2])
        state[i, R + 1] = room // 2 * h + 1 + draw(words, i, h - p[3])
        state[i, R + 2] = p[2]
        state[i, R + 3] = p[3]
        flicker(cells[i], state[i], words, i, width)


@kernel
def area_rooms(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Four rooms, with blue floor in all cells left of column p[2]."""
    four_rooms(cells, state, words, rows, p)
    for i in rows:
        for at in range(cells.shape[1]):
            if cells[i, at] == EMPTY and at % p[0] < p[2]:
                cells[i, at] = BLUE_FLOOR


# monitors


@kernel
def watch(cells: Cells, state: State, words: Words, skip: Bool, p: Int, seen: Bool, running: Bool) -> None:
    """Which worlds show the reward of the step just made, and in which the monitor runs; neither where `skip`.

    `p` int64[7]: the grid's width; left, top, right and bottom of the cells where everything is shown, right and bottom
    no longer in it; the cell of the door that is the switch, or -1; the chance of any other step, of `ALWAYS`.
    """
    for i in range(len(seen)):
        seen[i] = running[i] = False
        if skip[i]:
            continue
        running[i] = p[5] >= 0 and (cells[i, p[5]] >> 7) & 3 == OPEN
        inside = p[1] <= state[i, X] < p[3] and p[2] <= state[i, Y] < p[4]
        chance = p[6] == ALWAYS or (p[6] > 0 and draw(words, i, ALWAYS) < p[6])
        seen[i] = running[i] or inside or chance
