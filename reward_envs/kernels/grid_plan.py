"""Exact numbers of steps in key-and-door gridworlds, for every state of a layout at once.

A layout has F cells that are no wall. A state is (cell, direction, where the key is, how the doors stand), coded as
`((cell * 4 + direction) * K + key) * 3**D + doors`: K = F + 1 places of the key, the last one the agent's hand (K = 1
without a key), doors in base 3 with 0 open, 1 closed, 2 locked. Directions are east, south, west, north; actions are
left, right, forward, pickup, drop, toggle, as MiniGrid has them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel

Int: TypeAlias = NDArray[np.int64]

FREE, GOAL, LAVA, TARGET, DOOR = 0, 1, 2, 3, 4  # DOOR + d is door d
SUCCESS, NOWHERE = -1, -2


@kernel
def successor(code: int, action: int, ahead: Int, kind: Int, fits: Int, has_key: bool, n_doors: int) -> int:
    """The state after an action, SUCCESS where it solves the task, NOWHERE where it ends in failure.

    `ahead` int64[F, 4] is the next cell in each direction (-1 at a wall), `kind` int64[F] what fills a cell for good
    (TARGET is the object to pick up), `fits` int64[D] whether the key opens the door.
    """
    cells = len(kind)
    places = cells + 1 if has_key else 1
    combos = 3**n_doors
    doors = code % combos
    key = (code // combos) % places
    direction = (code // combos // places) % 4
    cell = code // combos // places // 4
    if action == 0:
        direction = (direction + 3) % 4
    elif action == 1:
        direction = (direction + 1) % 4
    else:
        front = ahead[cell, direction]
        if front < 0:
            return code
        what = kind[front]
        holds = has_key and key == cells
        if action == 2:
            if has_key and key == front:
                return code
            if what == GOAL:
                return SUCCESS
            if what == LAVA:
                return NOWHERE
            if what == FREE or (what >= DOOR and (doors // 3 ** (what - DOOR)) % 3 == 0):
                cell = front
        elif action == 3:
            if what == TARGET and not holds:
                return SUCCESS
            if has_key and key == front:
                key = cells
        elif action == 4:
            if holds and what == FREE:
                key = front
        elif what >= DOOR:
            power = 3 ** (what - DOOR)
            stands = (doors // power) % 3
            if stands != 2:
                doors += power if stands == 0 else -power
            elif holds and fits[what - DOOR]:
                doors -= 2 * power
    after: int = ((cell * 4 + direction) * places + key) * combos + doors
    return after


@kernel
def steps_to_success(ahead: Int, kind: Int, fits: Int, has_key: bool) -> NDArray[np.float64]:
    """float64[states]: the fewest actions to success from every state, inf where there is no way.

    A breadth-first search from success over the reversed graph of all states.
    """
    cells, n_doors = len(kind), len(fits)
    states = cells * 4 * (cells + 1 if has_key else 1) * 3**n_doors
    after = np.empty((states, 6), np.int64)
    starts = np.zeros(states + 1, np.int64)
    distance = np.full(states, np.inf)
    queue = np.empty(states, np.int64)
    head = tail = 0
    for code in range(states):
        for action in range(6):
            nxt = successor(code, action, ahead, kind, fits, has_key, n_doors)
            after[code, action] = nxt
            if nxt == SUCCESS and distance[code] == np.inf:
                distance[code] = 1.0
                queue[tail] = code
                tail += 1
            elif nxt >= 0 and nxt != code:
                starts[nxt + 1] += 1
    for code in range(states):
        starts[code + 1] += starts[code]
    before = np.empty(starts[states], np.int64)
    filled = starts[:states].copy()
    for code in range(states):
        for action in range(6):
            nxt = after[code, action]
            if nxt >= 0 and nxt != code:
                before[filled[nxt]] = code
                filled[nxt] += 1
    while head < tail:
        code = queue[head]
        head += 1
        for i in range(starts[code], starts[code + 1]):
            previous = before[i]
            if distance[previous] == np.inf:
                distance[previous] = distance[code] + 1.0
                queue[tail] = previous
                tail += 1
    return distance
