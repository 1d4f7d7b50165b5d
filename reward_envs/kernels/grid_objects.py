"""Layouts of tasks about things: go to a door or an object, fetch, put near, red and blue doors, memory, moving balls.

Each kernel begins an episode in the worlds `rows`: `(cells uint16[N, H * W], state, words, rows, p)`, p int64 with the
width, the height and what the task needs further. Distributions are those of the MiniGrid package. The registers hold
what the task's rule needs, MISSION the number of the words; see `grid.objects` for both.

A thing is a number from 0 to 17: six times its type (0 key, 1 ball, 2 box) plus its colour.
"""

from __future__ import annotations

import numpy as np

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import (
    BALL,
    BLUE,
    CLOSED,
    DOOR,
    EMPTY,
    GREEN,
    KEY,
    MISSION,
    RED,
    WALL,
    Cells,
    Int,
    R,
    State,
    Words,
    draw,
    pack,
)
from reward_envs.kernels.grid_build import field, free_cell, put_agent, wall_rect
from reward_envs.kernels.grid_fields import GOAL_CELL

THINGS = 18
FETCHED = 12  # the things of Fetch: keys and balls
PHRASES = 5  # ways in which Fetch says its mission


@kernel
def go_to_door(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """A room of 5 cells across up to all of the grid, in its upper left corner; a door in each wall, of four colours.

    MISSION is the colour of the door to go to.
    """
    width, height = p[0], p[1]
    doors = np.empty(4, np.int64)
    for i in rows:
        w, h = 5 + draw(words, i, width - 4), 5 + draw(words, i, height - 4)
        cells[i, :] = EMPTY
        wall_rect(cells[i], width, 0, 0, w, h)
        doors[0] = 2 + draw(words, i, w - 4)
        doors[1] = (h - 1) * width + 2 + draw(words, i, w - 4)
        doors[2] = (2 + draw(words, i, h - 4)) * width
        doors[3] = (2 + draw(words, i, h - 4)) * width + w - 1
        colours = _some(words, i, 4, 6)
        for k in range(4):
            cells[i, doors[k]] = pack(DOOR, colours[k], CLOSED)
        at = free_cell(cells[i], words, i, width, 1, 1, w - 2, h - 2, -1)
        put_agent(state[i], width, at, draw(words, i, 4))
        target = draw(words, i, 4)
        state[i, MISSION] = colours[target]
        state[i, R] = doors[target] % width
        state[i, R + 1] = doors[target] // width


@kernel
def go_to_object(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2] different things; MISSION is the thing to go to."""
    width, height, count = p[0], p[1], p[2]
    for i in rows:
        field(cells[i], width, height)
        things = _some(words, i, count, THINGS)
        goal = _anywhere(cells[i], words, i, width, height)  # as good as any other: nothing shows the order
        cells[i, goal] = _code(things[0])
        for thing in things[1:]:
            cells[i, _anywhere(cells[i], words, i, width, height)] = _code(thing)
        put_agent(state[i], width, _anywhere(cells[i], words, i, width, height), draw(words, i, 4))
        state[i, MISSION] = things[0]
        state[i, R] = goal % width
        state[i, R + 1] = goal // width


@kernel
def fetch(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2] keys and balls, which may be alike; MISSION is the phrase times FETCHED plus the thing to fetch."""
    width, height, count = p[0], p[1], p[2]
    for i in rows:
        field(cells[i], width, height)
        wanted = draw(words, i, FETCHED)
        for k in range(count):
            thing = draw(words, i, FETCHED) if k > 0 else wanted
            cells[i, _anywhere(cells[i], words, i, width, height)] = _code(thing)
        put_agent(state[i], width, _anywhere(cells[i], words, i, width, height), draw(words, i, 4))
        state[i, MISSION] = draw(words, i, PHRASES) * FETCHED + wanted
        state[i, R] = _code(wanted)


@kernel
def put_near(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2] different things, of which none touches another.

    MISSION is the thing to move times THINGS plus the one to put it near.
    """
    width, height, count = p[0], p[1], p[2]
    places = np.empty(count, np.int64)
    for i in rows:
        field(cells[i], width, height)
        things = _some(words, i, count, THINGS)
        for k in range(count):
            places[k] = _apart(cells[i], words, i, width, height, places[:k])
            cells[i, places[k]] = _code(things[k])
        put_agent(state[i], width, _anywhere(cells[i], words, i, width, height), draw(words, i, 4))
        moved, target = draw(words, i, count), draw(words, i, count - 1)
        target += target >= moved
        state[i, MISSION] = things[moved] * THINGS + things[target]
        state[i, R] = _code(things[moved])
        state[i, R + 1] = places[target] % width
        state[i, R + 2] = places[target] // width


@kernel
def red_blue_doors(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """A square room in the middle, a red door in its left wall and a blue one in its right wall."""
    width, size = p[0], p[1]
    left = size // 2
    for i in rows:
        field(cells[i], width, size)
        wall_rect(cells[i], width, left, 0, size, size)
        at = free_cell(cells[i], words, i, width, left + 1, 1, size - 2, size - 2, -1)
        put_agent(state[i], width, at, draw(words, i, 4))
        red = (1 + draw(words, i, size - 2)) * width + left
        blue = (1 + draw(words, i, size - 2)) * width + left + size - 1
        cells[i, red] = pack(DOOR, RED, CLOSED)
        cells[i, blue] = pack(DOOR, BLUE, CLOSED)
        state[i, R] = red
        state[i, R + 1] = blue


@kernel
def memory(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """A room with a key or a ball, a hallway from it to a fork with one of each. p[2]: whether the hallway's length is
    random, or else as large as fits."""
    width, height = p[0], p[1]
    middle = height // 2
    for i in rows:
        end = 4 + draw(words, i, width - 6) if p[2] else width - 3
        field(cells[i], width, height)
        for x in range(1, 5):
            cells[i, (middle - 2) * width + x] = WALL
            cells[i, (middle + 2) * width + x] = WALL
        for x in range(4, end):
            cells[i, (middle - 1) * width + x] = WALL
            cells[i, (middle + 1) * width + x] = WALL
        for y in range(height):
            if y != middle:
                cells[i, y * width + end] = WALL
            cells[i, y * width + end + 2] = WALL
        put_agent(state[i], width, middle * width + 1 + draw(words, i, end), 0)
        shown, above = draw(words, i, 2), draw(words, i, 2)
        upper, lower = (middle - 2) * width + end + 1, (middle + 2) * width + end + 1
        cells[i, (middle - 1) * width + 1] = pack(KEY + shown, GREEN, 0)
        cells[i, upper] = pack(KEY + above, GREEN, 0)
        cells[i, lower] = pack(BALL - above, GREEN, 0)
        same = shown == above
        state[i, R] = upper + width if same else lower - width
        state[i, R + 1] = lower - width if same else upper + width


@kernel
def dynamic_obstacles(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2] blue balls and a goal in the lower right corner; p[3]: whether the agent begins anywhere, or else in the
    upper left corner facing east."""
    width, height, count = p[0], p[1], p[2]
    for i in rows:
        field(cells[i], width, height)
        cells[i, (height - 2) * width + width - 2] = GOAL_CELL
        at, heading = width + 1, 0
        if p[3]:
            at, heading = _anywhere(cells[i], words, i, width, height), draw(words, i, 4)
        put_agent(state[i], width, at, heading)
        state[i, R] = count
        for k in range(count):
            ball = free_cell(cells[i], words, i, width, 1, 1, width - 2, height - 2, at)
            cells[i, ball] = pack(BALL, BLUE, 0)
            state[i, R + 1 + k] = ball


@kernel
def _code(thing: int) -> int:
    return pack(KEY + thing // 6, thing % 6, 0)


@kernel
def _some(words: Words, i: int, count: int, n: int) -> Int:
    """`count` different numbers of 0 to n - 1, in random order."""
    order = np.arange(n)
    for k in range(count):
        j = k + draw(words, i, n - k)
        order[k], order[j] = order[j], order[k]
    return order[:count]


@kernel
def _anywhere(cells: Cells, words: Words, i: int, width: int, height: int) -> int:
    """A random empty cell within the outer walls."""
    return free_cell(cells, words, i, width, 1, 1, width - 2, height - 2, -1)


@kernel
def _apart(cells: Cells, words: Words, i: int, width: int, height: int, others: Int) -> int:
    """A random empty cell that neither is nor touches one of `others`; where there is none, any empty cell."""
    fit = np.empty(len(cells), np.int64)
    count = 0
    for at in range(len(cells)):
        near = cells[at] != EMPTY
        for other in others:
            near |= abs(at % width - other % width) <= 1 and abs(at // width - other // width) <= 1
        if not near:
            fit[count] = at
            count += 1
    return fit[draw(words, i, count)] if count > 0 else _anywhere(cells, words, i, width, height)
