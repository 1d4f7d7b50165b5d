"""Layouts whose end is a goal: Empty, FourRooms, DoorKey, MultiRoom, the crossings, LavaGap, DistShift, LockedRoom.

Each kernel begins an episode in the worlds `rows`: `(cells uint16[N, H * W], state, words, rows, p)`, p int64 with the
width, the height and what the task needs further. Distributions are those of the MiniGrid package.
"""

from __future__ import annotations

import numpy as np

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import (
    CLOSED,
    DOOR,
    EMPTY,
    GOAL,
    GREEN,
    KEY,
    LAVA,
    LOCKED,
    MISSION,
    RED,
    WALL,
    YELLOW,
    Cells,
    Int,
    State,
    Words,
    draw,
    pack,
)
from reward_envs.kernels.grid_build import field, free_cell, put_agent, shuffle, wall_rect

GOAL_CELL = GOAL | GREEN << 4
LAVA_CELL = LAVA | RED << 4
BY_NAME = np.array([2, 1, 5, 3, 0, 4])  # colours in the order of their names: blue, green, grey, purple, red, yellow


@kernel
def empty(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2]: whether the agent begins anywhere, or else in the upper left corner facing east."""
    width, height = p[0], p[1]
    for i in rows:
        field(cells[i], width, height)
        cells[i, (height - 2) * width + width - 2] = GOAL_CELL
        if p[2]:
            at = free_cell(cells[i], words, i, width, 0, 0, width, height, -1)
            put_agent(state[i], width, at, draw(words, i, 4))
        else:
            put_agent(state[i], width, width + 1, 0)


@kernel
def four_rooms(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Four rooms with a gap in each wall between two; agent and goal anywhere."""
    width, height = p[0], p[1]
    w, h = width // 2, height // 2
    for i in rows:
        field(cells[i], width, height)
        for row in range(2):
            for column in range(2):
                left, top = column * w, row * h
                if column == 0:
                    for y in range(top, top + h):
                        cells[i, y * width + left + w] = WALL
                    cells[i, (top + 1 + draw(words, i, h - 1)) * width + left + w] = EMPTY
                if row == 0:
                    for x in range(left, left + w):
                        cells[i, (top + h) * width + x] = WALL
                    cells[i, (top + h) * width + left + 1 + draw(words, i, w - 1)] = EMPTY
        at = free_cell(cells[i], words, i, width, 0, 0, width, height, -1)
        put_agent(state[i], width, at, draw(words, i, 4))
        cells[i, free_cell(cells[i], words, i, width, 0, 0, width, height, at)] = GOAL_CELL


@kernel
def door_key(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """A wall with a locked door; agent and key to its left, the goal in the lower right corner."""
    width, height = p[0], p[1]
    for i in rows:
        field(cells[i], width, height)
        cells[i, (height - 2) * width + width - 2] = GOAL_CELL
        split = 2 + draw(words, i, width - 4)
        for y in range(height):
            cells[i, y * width + split] = WALL
        at = free_cell(cells[i], words, i, width, 0, 0, split, height, -1)
        put_agent(state[i], width, at, draw(words, i, 4))
        cells[i, (1 + draw(words, i, height - 3)) * width + split] = pack(DOOR, YELLOW, LOCKED)
        cells[i, free_cell(cells[i], words, i, width, 0, 0, split, height, at)] = pack(KEY, YELLOW, 0)


@kernel
def crossing(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2] streams of lava (p[3] = 1) or walls (0) on even lines, each with one gap on a way to the goal."""
    width, height, wanted = p[0], p[1], p[2]
    cell = LAVA_CELL if p[3] else WALL
    upright = (height - 3) // 2  # lines 2, 4, ... below height - 2
    lines = upright + (width - 3) // 2
    for i in rows:
        field(cells[i], width, height)
        put_agent(state[i], width, width + 1, 0)
        cells[i, (height - 2) * width + width - 2] = GOAL_CELL
        rivers = np.arange(lines)
        shuffle(words, i, rivers)
        rivers = np.sort(rivers[:wanted])
        across = rivers[rivers < upright] * 2 + 2  # x of upright streams
        down = (rivers[rivers >= upright] - upright) * 2 + 2  # y of level streams
        for y in down:
            cells[i, y * width + 1 : (y + 1) * width - 1] = cell
        for x in across:
            for y in range(1, height - 1):
                cells[i, y * width + x] = cell
        _open_a_way(cells[i], words, i, width, height, across, down)


@kernel
def _open_a_way(cells: Cells, words: Words, i: int, width: int, height: int, across: Int, down: Int) -> None:
    """One gap in each stream, in the order of a random way from the first field to the last."""
    turns = np.zeros(len(across) + len(down), np.int64)  # 0 crosses an upright stream, 1 a level one
    turns[len(across) :] = 1
    shuffle(words, i, turns)
    column = row = 0
    for turn in turns:
        left = across[column - 1] if column > 0 else 0
        right = across[column] if column < len(across) else width - 1
        top = down[row - 1] if row > 0 else 0
        bottom = down[row] if row < len(down) else height - 1
        if turn == 0:
            x, y = right, top + 1 + draw(words, i, bottom - top - 1)
            column += 1
        else:
            x, y = left + 1 + draw(words, i, right - left - 1), bottom
            row += 1
        cells[y * width + x] = EMPTY


@kernel
def lava_gap(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """One upright strip of lava with a gap."""
    width, height = p[0], p[1]
    for i in rows:
        field(cells[i], width, height)
        put_agent(state[i], width, width + 1, 0)
        cells[i, (height - 2) * width + width - 2] = GOAL_CELL
        x, gap = 2 + draw(words, i, width - 4), 1 + draw(words, i, height - 2)
        for y in range(1, height - 1):
            cells[i, y * width + x] = EMPTY if y == gap else LAVA_CELL


@kernel
def dist_shift(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Two strips of lava of width - 6 cells, in the first row and in row p[2]; nothing is random."""
    width, height = p[0], p[1]
    for i in rows:
        field(cells[i], width, height)
        cells[i, width + width - 2] = GOAL_CELL
        for k in range(width - 6):
            cells[i, width + 3 + k] = LAVA_CELL
            cells[i, p[2] * width + 3 + k] = LAVA_CELL
        put_agent(state[i], width, width + 1, 0)


@kernel
def multi_room(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """p[2] to p[3] rooms of 4 to p[4] cells across, walls included, in a chain of closed doors."""
    width, height, least, most, largest = p[0], p[1], p[2], p[3], p[4]
    rooms, best = np.empty((most, 6), np.int64), np.empty((most, 6), np.int64)
    for i in rows:
        wanted = least + draw(words, i, most - least + 1)
        found = 0
        while found < wanted:
            x, y = draw(words, i, width - 2), draw(words, i, width - 2)
            placed = _chain(words, i, rooms, wanted, largest, width, height, x, y)
            if placed > found:
                found = placed
                best[:found] = rooms[:found]
        cells[i, :] = EMPTY
        previous = -1
        for k in range(found):
            x, y, w, h = best[k, 0], best[k, 1], best[k, 2], best[k, 3]
            wall_rect(cells[i], width, x, y, w, h)
            if k > 0:
                colour = draw(words, i, 6 if previous < 0 else 5)
                colour += previous >= 0 and colour >= previous
                cells[i, best[k, 5] * width + best[k, 4]] = pack(DOOR, BY_NAME[colour], CLOSED)
                previous = colour
        at = free_cell(cells[i], words, i, width, best[0, 0], best[0, 1], best[0, 2], best[0, 3], -1)
        put_agent(state[i], width, at, draw(words, i, 4))
        k = found - 1
        goal = free_cell(cells[i], words, i, width, best[k, 0], best[k, 1], best[k, 2], best[k, 3], at)
        cells[i, goal] = GOAL_CELL


@kernel
def _chain(words: Words, i: int, rooms: Int, wanted: int, largest: int, width: int, height: int, x: int, y: int) -> int:
    """Rooms (x, y, w, h, door x, door y) in a chain from a first one at (x, y); how many were placed.

    Each room tries eight exits at most; a room that has been placed is never taken away, so the chain ends where the
    last room finds no exit.
    """
    if not _place_room(words, i, rooms, 0, largest, width, height, 2, x, y):
        return 0
    entry, count = 2, 1
    while count < wanted:
        x, y, w, h = rooms[count - 1, 0], rooms[count - 1, 1], rooms[count - 1, 2], rooms[count - 1, 3]
        found = False
        for _ in range(8):
            side = draw(words, i, 3)
            side += side >= entry
            if side == 0:
                door_x, door_y = x + w - 1, y + 1 + draw(words, i, h - 2)
            elif side == 1:
                door_x, door_y = x + 1 + draw(words, i, w - 2), y + h - 1
            elif side == 2:
                door_x, door_y = x, y + 1 + draw(words, i, h - 2)
            else:
                door_x, door_y = x + 1 + draw(words, i, w - 2), y
            if _place_room(words, i, rooms, count, largest, width, height, (side + 2) % 4, door_x, door_y):
                entry, found = (side + 2) % 4, True
                break
        if not found:
            return count
        count += 1
    return count


@kernel
def _place_room(
    words: Words, i: int, rooms: Int, count: int, largest: int, width: int, height: int, entry: int, x: int, y: int
) -> bool:
    """Room number `count` behind the door (x, y) in its wall `entry`; whether it fits beside the others."""
    w, h = 4 + draw(words, i, largest - 3), 4 + draw(words, i, largest - 3)
    left, top = x, y
    if count > 0:
        if entry == 0:
            left, top = x - w + 1, y - h + 2 + draw(words, i, h - 2)
        elif entry == 1:
            left, top = x - w + 2 + draw(words, i, w - 2), y - h + 1
        elif entry == 2:
            left, top = x, y - h + 2 + draw(words, i, h - 2)
        else:
            left, top = x - w + 2 + draw(words, i, w - 2), y
    if left < 0 or top < 0 or left + w > width or top + h >= height:
        return False
    for k in range(count - 1):
        a, b, c, d = rooms[k, 0], rooms[k, 1], rooms[k, 2], rooms[k, 3]
        if not (left + w < a or a + c <= left or top + h < b or b + d <= top):
            return False
    rooms[count, 0], rooms[count, 1], rooms[count, 2], rooms[count, 3] = left, top, w, h
    rooms[count, 4], rooms[count, 5] = x, y
    return True


@kernel
def locked_room(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Six rooms along a hallway, one locked with the goal in it, its key in another.

    MISSION is the colour of the locked door times six plus that of the key's room, in the order of names.
    """
    width, height = p[0], p[1]
    left, right = width // 2 - 2, width // 2 + 2
    for i in rows:
        field(cells[i], width, height)
        for y in range(height):
            cells[i, y * width + left] = WALL
            cells[i, y * width + right] = WALL
        for n in range(3):
            for x in range(width):
                if x < left or x >= right:
                    cells[i, n * (height // 3) * width + x] = WALL
        locked = draw(words, i, 6)
        cells[i, _in_room(words, i, locked, width, height, left, right)] = GOAL_CELL
        colours = np.arange(6)
        shuffle(words, i, colours)
        for room in range(6):
            x, y = left if room % 2 == 0 else right, room // 2 * (height // 3) + 3
            cells[i, y * width + x] = pack(DOOR, BY_NAME[colours[room]], LOCKED if room == locked else CLOSED)
        home = draw(words, i, 5)
        home += home >= locked
        cells[i, _in_room(words, i, home, width, height, left, right)] = pack(KEY, BY_NAME[colours[locked]], 0)
        at = free_cell(cells[i], words, i, width, left, 0, right - left, height, -1)
        put_agent(state[i], width, at, draw(words, i, 4))
        state[i, MISSION] = colours[locked] * 6 + colours[home]


@kernel
def _in_room(words: Words, i: int, room: int, width: int, height: int, left: int, right: int) -> int:
    """A random cell of a room of the locked-room task."""
    x0, y0 = 0 if room % 2 == 0 else right, room // 2 * (height // 3)
    y = y0 + 1 + draw(words, i, height // 3 - 1)
    return y * width + x0 + 1 + draw(words, i, left - 1)


@kernel
def fixed(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """One layout for all: p[2], p[3], p[4] are the agent's x, y and direction, then come the cells."""
    for i in rows:
        for k in range(cells.shape[1]):
            cells[i, k] = p[5 + k]
        put_agent(state[i], p[0], p[3] * p[0] + p[2], p[4])
