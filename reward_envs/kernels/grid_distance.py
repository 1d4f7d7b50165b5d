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
    PUT_NEAR,
    RED_BLUE,
    RULE,
    SUCCEEDED,
    TAKE,
    TOGGLES,
    UNLOCK,
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
_DX: Final = (1, 0, -1, 0)
_DY: Final = (0, 1, 0, -1)


@kernel
def steps_to_go(
    cells: Cells,
    state: State,
    shape: Int,
    fields: NDArray[np.int32],
    known: NDArray[np.int32],
    queue: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """The distance of each world's agent: float64[N], inf where there is no way, 0 after success.

    Parameters
    ----------
    cells, state, shape
        As of `kernels.grid`, cells without the padding.
    fields
        int32[N, 2, H * W * 4]: room for `early` and `late`.
    known
        int32[N, 4]: the changes of doors and things at which each field was worked out; -1 has none.
    queue
        int32[2, H * W * 4 + 1]: room to work in.
    """
    for i in range(len(out)):
        s = state[i]
        if s[MARKS] & SUCCEEDED:
            out[i] = 0.0
            continue
        if s[MARKS] & FAILED:
            out[i] = np.inf
            continue
        layer = LATE if _is_late(cells[i], s, shape) else EARLY
        two = _has_two_parts(shape[RULE], cells[i], s)
        if (two or layer == LATE) and (known[i, 2] != s[TOGGLES] or known[i, 3] != s[LIFTS]):
            _fill(cells[i], s, shape, LATE, two, fields[i], queue)
            known[i, 2], known[i, 3] = s[TOGGLES], s[LIFTS]
            known[i, 0] = -1
        if layer == EARLY and (known[i, 0] != s[TOGGLES] or known[i, 1] != s[LIFTS]):
            _fill(cells[i], s, shape, EARLY, two, fields[i], queue)
            known[i, 0], known[i, 1] = s[TOGGLES], s[LIFTS]
        distance = fields[i, layer, (s[Y] * shape[WIDTH] + s[X]) * 4 + s[DIR]]
        out[i] = np.inf if distance >= FAR else np.float64(distance)


@kernel
def _has_two_parts(rule: int, cells: Cells, state: State) -> bool:
    """Whether something must be fetched or opened first."""
    if rule in (PUT_NEAR, RED_BLUE):
        return True
    if rule in (FETCH, GO_TO, MEMORY, DODGE):
        return False
    locked = 0
    for code in cells:
        locked += code & 15 == DOOR and (code >> 7) & 3 == LOCKED
    return locked > 0


@kernel
def _is_late(cells: Cells, state: State, shape: Int) -> bool:
    """Whether the first part is done: the key, or the thing to move, is held, or the red door is open."""
    if shape[RULE] == RED_BLUE:
        return (cells[state[R]] >> 7) & 3 == OPEN
    if shape[RULE] == PUT_NEAR:
        return state[CARRY] != 0
    return state[CARRY] & 15 == KEY


@kernel
def _fill(cells: Cells, state: State, shape: Int, layer: int, two: bool, fields: Field, queues: Field) -> None:
    """Work one layer out; `two`: the early one leads to the late one."""
    field, queue, waits = fields[layer], queues[0], queues[1]
    field[:] = FAR
    waits[:] = 0
    room = len(queue)
    head = tail = 0
    width, rule = shape[WIDTH], shape[RULE]
    for at in range(len(cells)):
        for heading in range(4):
            cost = _start(cells, state, width, rule, layer, two, fields, at, heading)
            if cost < FAR:
                field[at * 4 + heading] = cost
                queue[tail] = at * 4 + heading
                waits[at * 4 + heading] = 1
                tail += 1
    while head != tail:
        pose = queue[head]
        head = (head + 1) % room
        waits[pose] = 0
        at, heading, cost = pose // 4, pose % 4, field[pose]
        for turned in (at * 4 + ((heading + 1) & 3), at * 4 + ((heading + 3) & 3)):
            if cost + 1 < field[turned]:
                field[turned] = cost + 1
                tail = _join(queue, waits, tail, turned)
        toll = _toll(cells, state, rule, layer, at)
        behind = _beside(at, -_DX[heading], -_DY[heading], width, len(cells))
        if toll < FAR and behind >= 0:
            pose = behind * 4 + heading
            if cost + toll < field[pose] and _toll(cells, state, rule, layer, behind) < FAR:
                field[pose] = cost + toll
                tail = _join(queue, waits, tail, pose)


@kernel
def _join(queue: Field, waits: Field, tail: int, pose: int) -> int:
    """Put a pose at the end of the queue unless it waits there; the new end."""
    if waits[pose]:
        return tail
    waits[pose] = 1
    queue[tail] = pose
    return (tail + 1) % len(queue)


@kernel
def _beside(at: int, dx: int, dy: int, width: int, area: int) -> int:
    """The neighbouring cell, -1 beyond the grid."""
    x, beside = at % width + dx, at + dx + dy * width
    return beside if 0 <= x < width and 0 <= beside < area else -1


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
    if _toll(cells, state, rule, layer, at) >= FAR:
        return FAR
    if rule == GO_TO:
        return 1 if abs(at % width - state[R]) + abs(at // width - state[R + 1]) == 1 else FAR
    if rule == MEMORY:
        return 0 if at == state[R] else FAR
    front = _beside(at, _DX[heading], _DY[heading], width, len(cells))
    if front < 0:
        return FAR
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
