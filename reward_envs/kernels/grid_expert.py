"""Ways to success in a gridworld, from any state of any task: a search over what the agent can do to things.

The agent walks freely between two deeds (take, drop, toggle, say done, enter the goal), so a node of the search is a
world just after a deed, and its successors are all deeds within walking distance. The engine's own step does the deed.
A* with the way to success through doors and things as if they were air, which is never longer than the real one.

A pose is `cell * 4 + direction`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

import numpy as np

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import (
    BOX,
    CARRY,
    COLUMNS,
    DIR,
    DONE,
    DOOR,
    DROP,
    EMPTY,
    FAILED,
    FETCH,
    FLOOR,
    FORWARD,
    GO_TO,
    GOAL,
    KEY,
    KIND,
    LAVA,
    LEFT,
    LOCKED,
    MARKS,
    MEMORY,
    OPEN,
    PICKUP,
    PUT_NEAR,
    RED_BLUE,
    RIGHT,
    RULE,
    SUCCEEDED,
    TAKE,
    TOGGLE,
    UNLOCK,
    WALL_TYPE,
    WIDTH,
    Cells,
    Int,
    R,
    State,
    Words,
    X,
    Y,
    _step_one,
    mixed,
)

FAR: Final = 1 << 20
FOUND, NO_WAY, NO_ROOM = range(3)
_DX: Final = (1, 0, -1, 0)
_DY: Final = (0, 1, 0, -1)
_LAST: Final = (FORWARD, PICKUP, TOGGLE, PICKUP, DONE, DROP, TOGGLE, FORWARD, FORWARD, FORWARD)  # what wins, by rule
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_PARENT, _DEED, _COST = range(3)  # of a row of `deeds`; a deed is `pose * 8 + action`
_DEED_BITS: Final = 36


@kernel
def fingerprint(cells: Cells, state: State) -> np.uint64:
    """Of all that decides what can come of a world: its cells, but no floor's colour; the agent; the registers."""
    total = np.uint64(0)
    for at in range(len(cells)):
        code = np.int64(cells[at])
        total += mixed(np.uint64(at << 16 | (FLOOR if code & 15 == FLOOR else code)) * _ODD)
    for column in range(COLUMNS):
        if column <= CARRY or column >= R:
            total += mixed(np.uint64((column + 1) << 40 | np.int64(state[column])) * _ODD)
    return total


@kernel
def next_actions(cells: Cells, state: State, plans: Int, marks: Words, at: Int, actions: Int) -> None:
    """Write the planned action of each world to `actions` int64[N]; -1 where the world is not on its plan.

    Parameters
    ----------
    cells, state
        As of `kernels.grid`, cells without the padding.
    plans, marks
        int64[N, L], uint64[N, L]: the actions of each world's plan, -1 behind its end, and the `fingerprint` before
        each.
    at
        int64[N]: how far each has come.
    """
    for i in range(len(actions)):
        actions[i] = -1
        if state[i, MARKS] & (SUCCEEDED | FAILED):
            actions[i] = DONE
            continue
        mark = fingerprint(cells[i], state[i])
        for k in range(at[i], min(at[i] + 2, plans.shape[1])):
            if marks[i, k] == mark and plans[i, k] >= 0:
                at[i] = k
                actions[i] = plans[i, k]
                break


@kernel
def plan(cells: Cells, state: State, shape: Int, tidy: bool, weight: int, room: int) -> tuple[int, Int, Words]:
    """How the search ended (FOUND, NO_WAY, NO_ROOM), the actions to success int64[L], the fingerprints before them.

    Parameters
    ----------
    cells, state
        uint16[H * W] and int32[COLUMNS] of one world.
    tidy
        Drop things only where that costs least and parts no cells from each other. Far less search where much is to be
        moved; but a way may then be overlooked, and the one found need not be the shortest.
    weight
        With 1, and not tidy, no way is shorter; with w none is shorter by more than w times, for less search.
    room
        The most nodes to keep.
    """
    rule, width = shape[RULE], shape[WIDTH]
    hope = _hope(cells, state, shape)
    nodes, states = np.empty((room, len(cells)), np.uint16), np.empty((room, COLUMNS), np.int32)
    origin, seen = np.empty(room, np.int64), np.zeros(4 * room, np.uint64)
    deeds, heap = np.empty((1024, 3), np.int64), [np.int64(0)]
    queue, walk = np.empty(len(hope), np.int64), np.empty(len(hope), np.int64)
    flags, words, moves = np.zeros((3, 1), np.bool_), np.zeros(1, np.uint64), np.zeros((1, 0), np.int64)
    nothing = np.empty(0, np.int64)
    if hope[(state[Y] * width + state[X]) * 4 + state[DIR]] == FAR:
        return NO_WAY, nothing, seen[:0]
    nodes[0], states[0] = cells, state
    _is_new(seen, fingerprint(cells, state))
    kept, node, cost, done = 1, 0, 0, 0
    heap.pop()
    while True:
        reached = _walk(nodes[node], states[node], rule, width, walk, queue)
        best = _best_drop(nodes[node], width, queue[:reached], walk, hope) if tidy else -1
        for pose in queue[:reached]:
            for action in _deeds(nodes[node], states[node], width, rule, pose, walk, hope, best):
                if action < 0:
                    continue
                if done == len(deeds):
                    deeds = np.concatenate((deeds, np.empty_like(deeds)))
                deeds[done, _PARENT], deeds[done, _DEED] = node, pose * 8 + action
                deeds[done, _COST] = cost + walk[pose] + 1
                rest = _rest(states[node, CARRY], rule, action, hope[pose])
                heappush(heap, (deeds[done, _COST] + weight * rest) << _DEED_BITS | done)
                done += 1
        while True:
            if len(heap) == 0 or kept == room:
                return (NO_WAY if len(heap) == 0 else NO_ROOM), nothing, seen[:0]
            deed = heappop(heap) & ((1 << _DEED_BITS) - 1)
            parent, pose, cost = deeds[deed, _PARENT], deeds[deed, _DEED] // 8, deeds[deed, _COST]
            nodes[kept], states[kept], origin[kept] = nodes[parent], states[parent], deed
            states[kept, X], states[kept, Y], states[kept, DIR] = pose // 4 % width, pose // 4 // width, pose % 4
            _step_one(nodes[kept], states[kept], words, 0, deeds[deed, _DEED] % 8, moves, shape, flags)
            if flags[2, 0]:
                actions = _actions(nodes, states, origin, deeds, kept, shape, walk, queue)
                return FOUND, actions, _trace(cells, state, shape, actions)
            if not flags[0, 0] and _is_new(seen, fingerprint(nodes[kept], states[kept])):
                node = kept
                kept += 1
                break


@kernel
def dodge(cells: Cells, state: State, shape: Int, actions: Int) -> None:
    """Write each world's next action among moving balls: along the shortest way, never against what lies ahead now.

    To run into a ball is to go forward where one lies before the step; one that comes there during the step only keeps
    the agent where it is. So an agent that waits until the cell ahead is empty never runs into one.
    """
    width = shape[WIDTH]
    for i in range(len(actions)):
        hope = _hope(cells[i], state[i], shape)
        at, heading = state[i, Y] * width + state[i, X], state[i, DIR]
        front = at + _DX[heading] + _DY[heading] * width
        left, right = hope[at * 4 + ((heading + 3) & 3)], hope[at * 4 + ((heading + 1) & 3)]
        ahead = FAR
        if cells[i, front] & 15 == GOAL:
            ahead = 0
        elif cells[i, front] == EMPTY:
            ahead = hope[front * 4 + heading]
        actions[i] = LEFT if left < right else RIGHT
        if ahead < FAR and ahead <= left and ahead <= right:
            actions[i] = FORWARD


@kernel
def _is_new(seen: Words, mark: np.uint64) -> bool:
    """Whether a fingerprint is not yet in the table, which it then enters."""
    size = np.uint64(len(seen))
    slot = mark % size
    while seen[slot] != 0:
        if seen[slot] == mark:
            return False
        slot = (slot + np.uint64(1)) % size
    seen[slot] = mark
    return True


@kernel
def _is_free(cells: Cells, state: State, rule: int, at: int) -> bool:
    """Whether the agent can enter a cell and the episode goes on."""
    code = np.int64(cells[at])
    if rule == MEMORY and at in (state[R], state[R + 1]):
        return False
    kind = code & 15
    return kind in (EMPTY, FLOOR) or (kind == DOOR and (code >> 7) & 3 == OPEN)


@kernel
def _walk(cells: Cells, state: State, rule: int, width: int, walk: Int, queue: Int) -> int:
    """Steps from the agent's pose to all others, into `walk`; those reached stand in `queue`, near ones first. Returns
    their number."""
    walk[:] = FAR
    start = (state[Y] * width + state[X]) * 4 + state[DIR]
    walk[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        pose = queue[head]
        head += 1
        at, heading = pose // 4, pose & 3
        front = at + _DX[heading] + _DY[heading] * width
        ahead = front * 4 + heading if _is_free(cells, state, rule, front) else pose
        for after in (at * 4 + ((heading + 1) & 3), at * 4 + ((heading + 3) & 3), ahead):
            if walk[after] == FAR:
                walk[after] = walk[pose] + 1
                queue[tail] = after
                tail += 1
    return tail


@kernel
def _hope(cells: Cells, state: State, shape: Int) -> Int:
    """int64[H * W * 4]: steps to success from every pose were doors and things air; FAR where there is no way even
    then."""
    width, rule = shape[WIDTH], shape[RULE]
    hope = np.full(len(cells) * 4, FAR)
    queue = np.empty(len(cells) * 4, np.int64)
    head = tail = 0
    for pose in range(len(hope)):
        if _is_passable(cells, state, rule, pose // 4) and _is_last(cells, state, width, rule, pose // 4, pose & 3):
            hope[pose] = 1
            queue[tail] = pose
            tail += 1
    while head < tail:
        pose = queue[head]
        head += 1
        at, heading = pose // 4, pose & 3
        behind = at - _DX[heading] - _DY[heading] * width
        inside = 0 <= behind < len(cells) and _is_passable(cells, state, rule, behind)
        before = behind * 4 + heading if inside else pose
        for other in (at * 4 + ((heading + 1) & 3), at * 4 + ((heading + 3) & 3), before):
            if hope[other] == FAR:
                hope[other] = hope[pose] + 1
                queue[tail] = other
                tail += 1
    return hope


@kernel
def _is_passable(cells: Cells, state: State, rule: int, at: int) -> bool:
    """Whether the agent might enter a cell and go on, were doors and things air."""
    return cells[at] & 15 not in (WALL_TYPE, LAVA, GOAL) and not (rule == MEMORY and at in (state[R], state[R + 1]))


@kernel
def _is_last(cells: Cells, state: State, width: int, rule: int, at: int, heading: int) -> bool:
    """Whether one deed from this pose may win."""
    if rule == GO_TO:
        return bool(abs(at % width - state[R]) + abs(at // width - state[R + 1]) == 1)
    front = at + _DX[heading] + _DY[heading] * width
    if not 0 <= front < len(cells):
        return False
    if rule in (UNLOCK, MEMORY):
        return bool(front == state[R])
    if rule == RED_BLUE:
        return bool(front == state[R + 1])
    if rule == PUT_NEAR:
        return bool(abs(front % width - state[R + 1]) <= 1 and abs(front // width - state[R + 2]) <= 1)
    if rule in (TAKE, FETCH):
        return bool(cells[front] & KIND == state[R])
    return bool(cells[front] & 15 == GOAL)


@kernel
def _deeds(
    cells: Cells, state: State, width: int, rule: int, pose: int, walk: Int, hope: Int, best: int
) -> tuple[int, int]:
    """What is worth doing to the cell before a pose, -1 for nothing. `best` is of `_best_drop`, -1 to drop anywhere."""
    heading = pose & 3
    code = np.int64(cells[pose // 4 + _DX[heading] + _DY[heading] * width])
    kind, held = code & 15, np.int64(state[CARRY])
    if hope[pose] == 1 and _LAST[rule] in (FORWARD, DONE):
        return _LAST[rule], -1
    if kind == EMPTY and held != 0:
        is_cheap = best < 0 or (walk[pose] + hope[pose] <= best and _is_harmless(cells, width, pose))
        return DROP if is_cheap or (hope[pose] == 1 and rule == PUT_NEAR) else -1, -1
    if kind == DOOR:
        door = (code >> 7) & 3
        fits = held & KIND == (KEY | (code & 0x70))
        return TOGGLE if door != OPEN and (door != LOCKED or fits) else -1, -1
    if KEY <= kind <= BOX:
        return PICKUP if held == 0 else -1, TOGGLE if kind == BOX else -1
    return -1, -1


@kernel
def _rest(held: int, rule: int, action: int, hope: int) -> int:
    """The least number of actions to success after a deed: where the hand must be empty for the last, a drop too."""
    if hope == 1 and action == _LAST[rule]:
        return 0
    if rule == TAKE and (action == PICKUP or (action == TOGGLE and held != 0)):
        return hope + 1
    return hope


@kernel
def _actions(nodes: Cells, states: State, origin: Int, deeds: Int, last: int, shape: Int, walk: Int, queue: Int) -> Int:
    """The actions from the first node to the node `last`, worked out backwards."""
    width, rule = shape[WIDTH], shape[RULE]
    actions = np.empty(deeds[origin[last], _COST], np.int64)
    k = len(actions) - 1
    while last != 0:
        deed = origin[last]
        last, pose = deeds[deed, _PARENT], deeds[deed, _DEED] // 8
        actions[k] = deeds[deed, _DEED] % 8
        k -= 1
        _walk(nodes[last], states[last], rule, width, walk, queue)
        while walk[pose] > 0:
            at, heading = pose // 4, pose & 3
            before = walk[pose] - 1
            if walk[at * 4 + ((heading + 3) & 3)] == before:
                actions[k], pose = RIGHT, at * 4 + ((heading + 3) & 3)
            elif walk[at * 4 + ((heading + 1) & 3)] == before:
                actions[k], pose = LEFT, at * 4 + ((heading + 1) & 3)
            else:
                actions[k], pose = FORWARD, (at - _DX[heading] - _DY[heading] * width) * 4 + heading
            k -= 1
    return actions


@kernel
def _trace(cells: Cells, state: State, shape: Int, actions: Int) -> Words:
    """uint64[L]: the fingerprints before each of the actions."""
    cells, state = cells.copy(), state.copy()
    marks = np.empty(len(actions), np.uint64)
    words, moves, flags = np.zeros(1, np.uint64), np.zeros((1, 0), np.int64), np.zeros((3, 1), np.bool_)
    for k in range(len(actions)):
        marks[k] = fingerprint(cells, state)
        _step_one(cells, state, words, 0, actions[k], moves, shape, flags)
    return marks


@kernel
def _best_drop(cells: Cells, width: int, poses: Int, walk: Int, hope: Int) -> int:
    best = FAR
    for pose in poses:
        if walk[pose] + hope[pose] < best and _is_harmless(cells, width, pose):
            best = walk[pose] + hope[pose]
    return best


@kernel
def _is_harmless(cells: Cells, width: int, pose: int) -> bool:
    """Whether a thing dropped from a pose parts none of the cells around it from each other."""
    front = pose // 4 + _DX[pose & 3] + _DY[pose & 3] * width
    if cells[front] != EMPTY:
        return False
    ring = (-width - 1, -width, -width + 1, 1, width + 1, width, width - 1, -1)
    parts = 0
    for k in range(1, 8, 2):
        kind = cells[front + ring[k]] & 15
        corner = cells[front + ring[(k + 1) & 7]] & 15
        after = cells[front + ring[(k + 2) & 7]] & 15
        if kind != WALL_TYPE and (corner not in (EMPTY, FLOOR) or after == WALL_TYPE):
            parts += 1
    return parts <= 1
