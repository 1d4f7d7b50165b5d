"""The fewest actions to success in a gridworld, from every cell and direction at once.

A pose is `cell * 4 + direction`. Two fields of poses are kept for a world: `late`, for an agent that holds the key (or
has done the task's first part), and `early`, for one that has not, whose way leads to the key and on from there by
`late`. A door costs what opening it costs, so one field serves all ways; it is worked out anew when a door or a thing
has changed. Shortest ways by label correction from the goal backwards.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import (
    BOX,
    CARRY,
    CLOSED,
    DIR,
    DODGE,
    DOOR,
    EMPTY,
    FAILED,
    FETCH,
    FLOOR,
    GO_TO,
    GOAL,
    KEY,
    KIND,
    LIFTS,
    LOCKED,
    MARKS,
    MEMORY,
    OPEN,
    PLAIN,
    PUT_NEAR,
    RED_BLUE,
    RULE,
    SCREEN,
    SUCCEEDED,
    TAKE,
    TOGGLES,
    UNLOCK,
    WALL_TYPE,
    WIDTH,
    Cells,
    Int,
    R,
    State,
    X,
    Y,
)

Field: TypeAlias = NDArray[np.int32]
FAR: Final = 1 << 20  # no way
EARLY, LATE = 0, 1
EARLY_TOGGLES, EARLY_LIFTS, LATE_TOGGLES, LATE_LIFTS, DOORS_AT, DOORS_ARE = range(6)  # columns of `known`
TWO_PARTS, LIFTS_MATTER = 1, 2  # bits of DOORS_ARE
_DX: Final = (1, 0, -1, 0)
_DY: Final = (0, 1, 0, -1)


@kernel
def steps_to_go(
    cells: Cells,
    state: State,
    shape: Int,
    rows: Int,
    fields: NDArray[np.int32],
    known: NDArray[np.int32],
    room: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """The distance of the agent of each of the worlds `rows`, `out` float64[V]: inf where there is no way, 0 after
    success.

    Parameters
    ----------
    cells, state, shape
        As of `kernels.grid`, cells without the padding.
    fields
        int32[N, 2, H * W * 4]: room for `early` and `late`.
    known
        int32[N, 6]: the changes of doors and things at which each field was worked out, and how the doors stand; -1
        where that is unknown.
    room
        int32[3, H * W * 4 + 1]: to work in.
    """
    for v in range(len(rows)):
        i = rows[v]
        s = state[i]
        if s[MARKS] & SUCCEEDED:
            out[v] = 0.0
            continue
        if s[MARKS] & FAILED:
            out[v] = np.inf
            continue
        about, toggles, lifts = known[i], s[TOGGLES], s[LIFTS]
        if about[DOORS_AT] != toggles:
            about[DOORS_AT], about[DOORS_ARE] = toggles, _doors(cells[i], shape[RULE])
        two = about[DOORS_ARE] & TWO_PARTS != 0
        layer = LATE if _is_late(cells[i], s, shape) else EARLY
        if two or layer == LATE:
            moved = about[LATE_LIFTS] != lifts and about[DOORS_ARE] & LIFTS_MATTER
            if moved or about[LATE_TOGGLES] != toggles:
                _fill(cells[i], s, shape, LATE, two, fields[i], room)
                about[LATE_TOGGLES], about[LATE_LIFTS] = toggles, lifts
                about[EARLY_TOGGLES] = -1
        if layer == EARLY and (about[EARLY_TOGGLES] != toggles or about[EARLY_LIFTS] != lifts):
            _fill(cells[i], s, shape, EARLY, two, fields[i], room)
            about[EARLY_TOGGLES], about[EARLY_LIFTS] = toggles, lifts
        distance = fields[i, layer, (s[Y] * shape[WIDTH] + s[X]) * 4 + s[DIR]]
        out[v] = np.inf if distance >= FAR else np.float64(distance)


@kernel
def _doors(cells: Cells, rule: int) -> int:
    """Whether something must be fetched or opened first, and whether the late field changes with what is lifted."""
    locked = closed = 0
    for code in cells:
        if code & 15 == DOOR:
            locked |= (code >> 7) & 3 == LOCKED
            closed |= (code >> 7) & 3 == CLOSED
    two = rule in (PUT_NEAR, RED_BLUE) or (locked > 0 and rule not in (FETCH, GO_TO, MEMORY, DODGE))
    return TWO_PARTS * two | LIFTS_MATTER * (rule not in (PLAIN, SCREEN) or closed > 0)


@kernel
def _is_late(cells: Cells, state: State, shape: Int) -> bool:
    """Whether the first part is done: the key, or the thing to move, is held, or the red door is open."""
    if shape[RULE] == RED_BLUE:
        return (cells[state[R]] >> 7) & 3 == OPEN
    if shape[RULE] == PUT_NEAR:
        return state[CARRY] != 0
    return state[CARRY] & 15 == KEY


@kernel
def _fill(cells: Cells, state: State, shape: Int, layer: int, two: bool, fields: Field, room: Field) -> None:
    """Work one layer out; `two`: the early one leads to the late one. Walls close a grid, so no way leaves it."""
    field, queue, waits, tolls = fields[layer], room[0], room[1], room[2]
    field[:] = FAR
    waits[:] = 0
    width = shape[WIDTH]
    for at in range(len(cells)):
        inside = 0 < at % width < width - 1 and width <= at < len(cells) - width
        tolls[at] = _toll(cells, state, shape[RULE], layer, at) if inside else FAR
    head, tail = 0, _begin(cells, state, shape, layer, two, fields, room)
    while head != tail:
        pose = queue[head]
        head = head + 1 if head + 1 < len(queue) else 0
        waits[pose] = 0
        at, heading, cost = pose >> 2, pose & 3, field[pose]
        for turned in (at * 4 + ((heading + 1) & 3), at * 4 + ((heading + 3) & 3)):
            if cost + 1 < field[turned]:
                field[turned] = cost + 1
                tail = _join(queue, waits, tail, turned)
        behind = at - _ahead(heading, width)
        pose = behind * 4 + heading
        if tolls[behind] < FAR and cost + tolls[at] < field[pose]:
            field[pose] = cost + tolls[at]
            tail = _join(queue, waits, tail, pose)


@kernel
def _begin(cells: Cells, state: State, shape: Int, layer: int, two: bool, fields: Field, room: Field) -> int:
    """Put the poses into the queue whose distance is known without going on; how many they are."""
    width, rule, tail = shape[WIDTH], shape[RULE], 0
    anywhere = rule in (GO_TO, MEMORY, PUT_NEAR)  # may succeed at, or before, an empty cell
    for cell in range(len(cells)):
        if anywhere:
            for heading in range(4):
                tail = _enter(cells, state, width, rule, layer, two, fields, room, cell, heading, tail)
        elif cells[cell] & 15 not in (EMPTY, WALL_TYPE, FLOOR):
            for heading in range(4):
                tail = _enter(cells, state, width, rule, layer, two, fields, room, cell, heading, tail)
                before = cell - _ahead(heading, width)
                if 0 <= before < len(cells):
                    tail = _enter(cells, state, width, rule, layer, two, fields, room, before, heading, tail)
    return tail


@kernel
def _enter(
    cells: Cells,
    state: State,
    width: int,
    rule: int,
    layer: int,
    two: bool,
    fields: Field,
    room: Field,
    at: int,
    heading: int,
    tail: int,
) -> int:
    """Put one pose into the queue if its distance is known; the new end."""
    pose = at * 4 + heading
    if room[2, at] >= FAR or room[1, pose]:
        return tail
    cost = _start(cells, state, width, rule, layer, two, fields, at, heading)
    if cost >= FAR:
        return tail
    fields[layer, pose] = cost
    return _join(room[0], room[1], tail, pose)


@kernel
def _ahead(heading: int, width: int) -> int:
    """From a cell to the one before it."""
    return _DX[heading] + _DY[heading] * width


@kernel
def _join(queue: Field, waits: Field, tail: int, pose: int) -> int:
    """Put a pose at the end of the queue unless it waits there; the new end."""
    if waits[pose]:
        return tail
    waits[pose] = 1
    queue[tail] = pose
    return tail + 1 if tail + 1 < len(queue) else 0


@kernel
def _toll(cells: Cells, state: State, rule: int, layer: int, at: int) -> int:
    """Actions that it takes to enter a cell from before it: opening its door, or taking what lies there."""
    code = np.int64(cells[at])
    kind = code & 15
    if kind in (EMPTY, FLOOR, GOAL):
        return FAR if rule == MEMORY and at == state[R + 1] else 1
    if kind == DOOR:
        door = (code >> 7) & 3
        if rule == GO_TO and door != OPEN:
            return FAR  # opening it ends the episode
        if door == CLOSED and layer == LATE and state[CARRY] == 0:
            return 1  # the way to the key may have opened it
        return 1 if door == OPEN else FAR if door == LOCKED and layer == EARLY else 2
    if not KEY <= kind <= BOX or rule in (MEMORY, FETCH):
        return FAR
    if rule == DODGE:
        return 1
    if rule == PUT_NEAR:
        if code & KIND == state[R]:
            return 1 if layer == LATE else FAR
        return _box_toll(state, layer) if kind == BOX else FAR
    if rule in (TAKE, GO_TO):
        return 2
    return 1 if layer == LATE else 2  # the key, which is in the agent's hand by then


@kernel
def _box_toll(state: State, layer: int) -> int:
    """Opening a box that is in the way, and going on; less where that may be done by then."""
    return 1 if layer == LATE and state[CARRY] == 0 else 2


@kernel
def _start(
    cells: Cells, state: State, width: int, rule: int, layer: int, two: bool, fields: Field, at: int, heading: int
) -> int:
    """Actions to success from a pose where the rest is known without going on, FAR where it is not."""
    if rule == GO_TO:
        return 1 if abs(at % width - state[R]) + abs(at // width - state[R + 1]) == 1 else FAR
    if rule == MEMORY:
        return 0 if at == state[R] else FAR
    front = at + _ahead(heading, width)
    code = np.int64(cells[front])
    if layer == EARLY and two:
        first = _first_part(code, front, state, rule)
        if first > 0:
            return first + fields[LATE, at * 4 + heading]
    if rule == PUT_NEAR:
        near = abs(front % width - state[R + 1]) <= 1 and abs(front // width - state[R + 2]) <= 1
        if layer == EARLY or not near:
            return FAR
        if code == EMPTY or code & KIND == state[R]:
            return 1
        return _box_toll(state, layer) if code & 15 == BOX else FAR
    if rule == RED_BLUE:
        return 1 if layer == LATE and front == state[R + 1] else FAR
    if rule == UNLOCK:
        return 1 if front == state[R] and (layer == LATE or (code >> 7) & 3 != LOCKED) else FAR
    if rule in (TAKE, FETCH):
        held = rule == TAKE and state[CARRY] != 0 and layer == LATE
        return (2 if held else 1) if code & KIND == state[R] else FAR
    return 0 if cells[at] & 15 == GOAL else FAR


@kernel
def _first_part(code: int, front: int, state: State, rule: int) -> int:
    """Actions that fetch or open, from before it, what the second part needs; 0 where it is not there."""
    if rule == RED_BLUE:
        return 1 if front == state[R] else 0
    if rule == PUT_NEAR:
        return 1 if code & KIND == state[R] else 0
    if rule in (FETCH, GO_TO, MEMORY, DODGE):
        return 0
    if code & 15 == KEY:
        return 1
    return 2 if code & 15 == BOX and (code >> 10) & 7 else 0
