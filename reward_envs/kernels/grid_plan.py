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

from reward_envs.kernels import grid
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


@kernel
def layout_of(cells: grid.Cells, width: int, target: int, held: int) -> tuple[Int, Int, Int, Int, bool]:
    """A world's layout as the planner takes it: number of each cell that is no wall, then ahead, kind, fits, has_key.

    `cells` uint16[H * W]; `target` is the type and colour to pick up, -1 where the goal is a cell; `held` is what the
    agent carries.
    """
    number = np.full(len(cells), -1)
    count = doors = 0
    key = (held >> 4) & 7 if held & 15 == grid.KEY else -1
    for at in range(len(cells)):
        if cells[at] & 15 != grid.WALL_TYPE:
            number[at] = count
            count += 1
        if cells[at] & 15 == grid.KEY:
            key = (cells[at] >> 4) & 7
        doors += cells[at] & 15 == grid.DOOR
    ahead, kind, fits = np.full((count, 4), -1), np.full(count, FREE), np.zeros(doors, np.int64)
    doors = 0
    for at in range(len(cells)):
        c = number[at]
        if c < 0:
            continue
        what = cells[at] & 15
        for heading in range(4):
            front = at + (1, width, -1, -width)[heading]
            if 0 <= front < len(cells):
                ahead[c, heading] = number[front]
        if what == grid.DOOR:
            kind[c] = DOOR + doors
            fits[doors] = (cells[at] >> 4) & 7 == key
            doors += 1
        elif what == grid.GOAL:
            kind[c] = GOAL
        elif what == grid.LAVA:
            kind[c] = LAVA
        elif cells[at] & grid.KIND == target:
            kind[c] = TARGET
    return number, ahead, kind, fits, key >= 0


@kernel
def code_of(cells: grid.Cells, state: grid.State, width: int, number: Int, count: int, has_key: bool) -> int:
    """The code of a world's present state."""
    place, doors, power = count, 0, 1
    for at in range(len(cells)):
        if cells[at] & 15 == grid.KEY:
            place = number[at]
        if cells[at] & 15 == grid.DOOR:
            doors += power * ((cells[at] >> 7) & 3)
            power *= 3
    if not has_key:
        place, places = 0, 1
    else:
        places = count + 1
    return ((number[state[grid.Y] * width + state[grid.X]] * 4 + state[grid.DIR]) * places + place) * power + doors
