"""Layouts of rooms in a grid: Unlock, UnlockPickup, BlockedUnlockPickup, KeyCorridor, ObstructedMaze.

Each kernel begins an episode in the worlds `rows`: `(cells uint16[N, H * W], state, words, rows, p)`, p int64 with the
width, the height, the cells across a room (walls included, which neighbours share) and what the task needs further.
Rooms are (x, y) from the upper left; their sides are numbered as headings are: right, down, left, up. Distributions are
those of the MiniGrid package. Where that package tries until a place fits, these kernels choose among the places that
fit: the same distribution, and no loop that might not end.
"""

from __future__ import annotations

import numpy as np

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import (
    BALL,
    BLUE,
    BOX,
    CLOSED,
    DOOR,
    EMPTY,
    GREEN,
    GREY,
    KEY,
    LOCKED,
    MISSION,
    WALL,
    Cells,
    Int,
    R,
    State,
    Words,
    draw,
    pack,
)
from reward_envs.kernels.grid_build import field, put_agent, shuffle, wall_rect

SIDE_ROOMS = np.array([[2, 1], [1, 2], [0, 1], [1, 0]])  # beside the middle room of a maze of 3 x 3
CORNERS = np.array([[2, 0], [2, 2], [0, 2], [0, 0]])
SOUGHT = BALL | BLUE << 4  # what the mazes are about


@kernel
def unlock(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Two rooms with a locked door between; agent and key to its left. p[3]: whether there is a box to its right, which
    is then what to pick up; p[4]: whether a ball lies before the door."""
    doors = np.empty((1, 2, 2), np.int64)
    for i in rows:
        _rooms(cells[i], words, i, p, doors)
        door, colour = doors[0, 0, 0], draw(words, i, 6)
        cells[i, door] = pack(DOOR, colour, LOCKED)
        target, mission = door, 0
        if p[3]:
            mission = draw(words, i, 6)
            target = pack(BOX, mission, 0)
            _put(cells[i], words, i, p, 1, 0, target)
        if p[4]:
            cells[i, door - 1] = pack(BALL, draw(words, i, 6), 0)
        _put(cells[i], words, i, p, 0, 0, pack(KEY, colour, 0))
        _place_agent(cells[i], state[i], words, i, p, 0, 0)
        state[i, R] = target
        state[i, MISSION] = mission


@kernel
def key_corridor(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Three columns of rooms, the middle one a hallway: a ball in a locked room on the right, its key on the left."""
    width, step = p[0], p[2] - 1
    count = (p[1] - 1) // step
    doors = np.empty((count, 3, 2), np.int64)
    for i in rows:
        _rooms(cells[i], words, i, p, doors)
        for y in range(1, count):
            for x in range(step + 1, 2 * step):
                cells[i, y * step * width + x] = EMPTY
        room, colour, mission = draw(words, i, count), draw(words, i, 6), draw(words, i, 6)
        cells[i, doors[room, 1, 0]] = pack(DOOR, colour, LOCKED)
        _put(cells[i], words, i, p, 2, room, pack(BALL, mission, 0))
        _put(cells[i], words, i, p, 0, draw(words, i, count), pack(KEY, colour, 0))
        _place_agent(cells[i], state[i], words, i, p, 1, count // 2)
        _connect(cells[i], words, i, doors, room * 3 + 2)
        state[i, R] = pack(BALL, mission, 0)
        state[i, MISSION] = mission


@kernel
def maze_of_two(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """Two rooms with a locked door between, the blue ball behind it. p[3]: whether the key lies in a box; p[4]: whether
    a ball lies before the door."""
    doors = np.empty((1, 2, 2), np.int64)
    for i in rows:
        _rooms(cells[i], words, i, p, doors)
        colour = draw(words, i, 6)
        _lock(cells[i], p, doors, 0, 0, 0, colour)
        _put_key(cells[i], words, i, p, 0, 0, colour)
        _put(cells[i], words, i, p, 1, 0, SOUGHT)
        _place_agent(cells[i], state[i], words, i, p, 0, 0)
        state[i, R] = SOUGHT


@kernel
def maze(cells: Cells, state: State, words: Words, rows: Int, p: Int) -> None:
    """The blue ball is in a corner of 3 x 3 rooms, behind a locked door. p[3], p[4] as in `maze_of_two`; p[5] quarters
    of the maze have doors; the agent begins in room (p[6], p[7])."""
    doors = np.empty((3, 3, 2), np.int64)
    for i in rows:
        _rooms(cells[i], words, i, p, doors)
        colours = np.arange(6)
        shuffle(words, i, colours)
        for side in range(p[5]):
            x, y = SIDE_ROOMS[side, 0], SIDE_ROOMS[side, 1]
            cells[i, _door_cell(doors, 1, 1, side)] = pack(DOOR, colours[side], CLOSED)
            for turn in (-1, 1):
                _lock(cells[i], p, doors, x, y, (side + turn) % 4, colours[(side + turn) % 6])
            for turn in (-1, 1):  # after both balls, so that none comes to lie on a key
                _put_key(cells[i], words, i, p, x, y, colours[(side + turn) % 6])
        corner = draw(words, i, p[5])
        _put(cells[i], words, i, p, CORNERS[corner, 0], CORNERS[corner, 1], SOUGHT)
        _place_agent(cells[i], state[i], words, i, p, p[6], p[7])
        state[i, R] = SOUGHT


# what they are built of


@kernel
def _rooms(cells: Cells, words: Words, i: int, p: Int, doors: Int) -> None:
    """The walls. `doors` int64[rows, columns, 2] receives the cells where the doors of each room to the right and
    downwards go, should it have them; -1 where no room is."""
    width, step = p[0], p[2] - 1
    field(cells, width, p[1])
    doors[:] = -1
    for y in range(doors.shape[0]):
        for x in range(doors.shape[1]):
            left, top = x * step, y * step
            wall_rect(cells, width, left, top, step + 1, step + 1)
            if x + 1 < doors.shape[1]:
                doors[y, x, 0] = (top + 1 + draw(words, i, step - 1)) * width + left + step
            if y + 1 < doors.shape[0]:
                doors[y, x, 1] = (top + step) * width + left + 1 + draw(words, i, step - 1)


@kernel
def _door_cell(doors: Int, x: int, y: int, side: int) -> int:
    if side < 2:
        return doors[y, x, side]  # type: ignore[no-any-return]
    return doors[y, x - 1, 0] if side == 2 else doors[y - 1, x, 1]  # type: ignore[no-any-return]


@kernel
def _ahead(side: int, width: int) -> int:
    """From a cell to the next one on that side."""
    return (1 - side // 2 * 2) * (width if side % 2 else 1)


@kernel
def _put(cells: Cells, words: Words, i: int, p: Int, x: int, y: int, thing: int) -> None:
    """Put a thing into a random empty cell of the room. Not next to the middle of the grid's middle room: there
    MiniGrid has its agent stand until it is placed. Such a cell must exist."""
    width, step = p[0], p[2] - 1
    middle_x = (width - 1) // step // 2 * step + (step + 1) // 2
    middle_y = (p[1] - 1) // step // 2 * step + (step + 1) // 2
    found, at = 0, -1
    for v in range(y * step, (y + 1) * step + 1):
        for u in range(x * step, (x + 1) * step + 1):
            if cells[v * width + u] == EMPTY and abs(u - middle_x) + abs(v - middle_y) > 1:
                found += 1
                if draw(words, i, found) == 0:
                    at = v * width + u
    cells[at] = thing


@kernel
def _place_agent(cells: Cells, state: State, words: Words, i: int, p: Int, x: int, y: int) -> None:
    """Begin with the agent in a random empty cell of the room, a gap in its wall included, and a random heading such
    that it faces nothing or a wall."""
    width, step = p[0], p[2] - 1
    found, at, heading = 0, -1, 0
    for v in range(y * step, (y + 1) * step + 1):
        for here in range(v * width + x * step, v * width + (x + 1) * step + 1):
            if cells[here] != EMPTY:
                continue
            for side in range(4):
                front = cells[here + _ahead(side, width)]
                if front in (EMPTY, WALL):
                    found += 1
                    if draw(words, i, found) == 0:
                        at, heading = here, side
    put_agent(state, width, at, heading)


@kernel
def _lock(cells: Cells, p: Int, doors: Int, x: int, y: int, side: int, colour: int) -> None:
    """A locked door, and a green ball before it where p[4] says so."""
    at = _door_cell(doors, x, y, side)
    cells[at] = pack(DOOR, colour, LOCKED)
    if p[4]:
        cells[at - _ahead(side, p[0])] = pack(BALL, GREEN, 0)


@kernel
def _put_key(cells: Cells, words: Words, i: int, p: Int, x: int, y: int, colour: int) -> None:
    """A key in a random cell of the room, in a grey box where p[3] says so."""
    boxed = pack(BOX, GREY, 0) | (1 + colour) << 10
    _put(cells, words, i, p, x, y, boxed if p[3] else pack(KEY, colour, 0))


@kernel
def _connect(cells: Cells, words: Words, i: int, doors: Int, locked: int) -> None:
    """Closed doors in random walls, none of them the locked room's, until there is a way between all rooms.

    MiniGrid draws rooms and sides and skips those that have a door; that is a random order of the walls.
    """
    flat = doors.reshape(-1)  # wall w is the one of room w // 2 to the right or, for odd w, downwards
    group = np.arange(len(flat) // 2)
    apart = len(group) - 1
    for w in range(len(flat)):
        if flat[w] >= 0 and cells[flat[w]] != WALL:
            apart -= _join(group, w, doors.shape[1])
    order = np.arange(len(flat))
    shuffle(words, i, order)
    for n in range(len(order)):
        wall = int(order[n])
        if apart == 0:
            break
        if flat[wall] >= 0 and cells[flat[wall]] == WALL and locked not in (wall // 2, _beyond(wall, doors.shape[1])):
            cells[flat[wall]] = pack(DOOR, draw(words, i, 6), CLOSED)
            apart -= _join(group, wall, doors.shape[1])


@kernel
def _beyond(w: int, columns: int) -> int:
    """The room on the other side of wall w."""
    return w // 2 + (columns if w % 2 else 1)


@kernel
def _join(group: Int, w: int, columns: int) -> int:
    """Unite the groups of the rooms on both sides of wall w; 1 if they were two, else 0."""
    one, other = group[w // 2], group[_beyond(w, columns)]
    for room in range(len(group)):
        if group[room] == other:
            group[room] = one
    return 1 if one != other else 0
