"""Gridworlds as arrays: what a cell holds, one step of many worlds, and what their agents see. MiniGrid's rules.

Many worlds of one size lie side by side:

    cells   uint16[P + N + P, H * W]  what lies in each cell, row by row; see `pack`. The P worlds at both ends are
                               padding of walls, where a view may reach. Opaque cells enclose all that light reaches
    state   int32[N, COLUMNS]  the agent and the episode; columns X, Y, DIR, ... below
    words   uint64[N]          one word of random state a world, the only randomness there is

A cell is `type | colour << 4 | door state << 7 | OPAQUE | content << 10 | OPENED`: types, colours and door states are
MiniGrid's numbers, OPAQUE hides what lies behind, content is 1 + the colour of the key in a box, OPENED marks a door
that was opened in this episode.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel

Cells: TypeAlias = NDArray[np.uint16]
State: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]
Int: TypeAlias = NDArray[np.int64]
Arrays: TypeAlias = tuple[
    Cells,
    State,
    Words,
    Int,
    NDArray[np.bool_],
    Int,
    Int,
    NDArray[np.uint16],
    NDArray[np.uint8],
    Int,
    NDArray[np.float64],
    NDArray[np.bool_],
]

UNSEEN, EMPTY, WALL_TYPE, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA = range(10)
RED, GREEN, BLUE, PURPLE, YELLOW, GREY = range(6)
OPEN, CLOSED, LOCKED = range(3)
OPAQUE: Final = 1 << 9
OPENED: Final = 1 << 13
KIND: Final = 0x7F  # type and colour
WALL: Final = WALL_TYPE | GREY << 4 | OPAQUE

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)

# columns of the state; from R on, what the task's rule needs
X, Y, DIR, CARRY, STEP, MISSION, MARKS, DOORS, TOGGLES, LIFTS, R = range(11)
REGISTERS: Final = 10
COLUMNS: Final = R + REGISTERS
TOOK_KEY, UNLOCKED, SUCCEEDED, FAILED = 1, 2, 4, 8  # bits of MARKS; DOORS counts the doors opened,
# TOGGLES the changes of doors, LIFTS those of other things

# What ends an episode, besides the goal and lava, and what the registers hold:
#   PLAIN                                        TAKE     R: type and colour to pick up
#   UNLOCK   R: cell of the door                 FETCH    R: as TAKE; picking up anything else fails
#   GO_TO    R, R+1: x, y of the target          PUT_NEAR R: kind to move, R+1, R+2: x, y of the target
#   RED_BLUE R, R+1: cells of the two doors      MEMORY   R, R+1: cells of success and of failure
#   DODGE    R: number of balls, then their cells
#   SCREEN   R .. R+3: left, top, width and height of the floor cells that change colour at every step; else as PLAIN
PLAIN, TAKE, UNLOCK, FETCH, GO_TO, PUT_NEAR, RED_BLUE, MEMORY, DODGE, SCREEN = range(10)

# entries of `shape`, int64[7]
WIDTH, HEIGHT, MAX_STEPS, RULE, VIEW, SEE_THROUGH, PAD = range(7)
TABLE_VIEW: Final = 7  # the largest view whose rows are looked up instead of worked out

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_DX: Final = (1, 0, -1, 0)
_DY: Final = (0, 1, 0, -1)


@kernel
def mixed(z: np.uint64) -> np.uint64:
    """The output of splitmix64 for a counter (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def draw(words: Words, i: int, n: int) -> int:
    """An integer from 0 to n - 1 of world i's stream: the upper half of `mixed`, times n."""
    words[i] = words[i] + _GOLDEN
    return np.int64(((mixed(words[i]) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))  # type: ignore[return-value]


@kernel
def seed_words(words: Words, rows: Int, seeds: Words) -> None:
    """Begin the streams of the worlds `rows`, each with its seed."""
    for k in range(len(rows)):
        words[rows[k]] = mixed((seeds[k] + np.uint64(1)) * _GOLDEN)


@kernel
def pack(kind: int, colour: int, door: int) -> int:
    """A cell's code; closed and locked doors and walls are opaque. `door` is 0 for what is no door."""
    opaque = kind == WALL_TYPE or (kind == DOOR and door != OPEN)
    return kind | colour << 4 | door << 7 | (OPAQUE if opaque else 0)


@kernel
def step(arrays: Arrays) -> int:
    """Move every world by its action, and write what its agent then sees; worlds in `skip` stay as they are.

    `arrays` are, in this order: `cells`, `state`, `words` as above; `actions` int64[N]; `skip` bool[N]; `moves`
    int64[N, K], cells that the balls of DODGE go to (-1: stays), K = 0 draws them; `shape`; `table` of `light_table`;
    and, written: `image` uint8[N, size, size, 3], `direction` int64[N], `reward` float64[N], `flags` bool[3, N] for
    terminated, truncated, success. Returns the number of episodes that ended, or -1 - i where action i is no action;
    then nothing has moved.
    """
    wrong = _no_action(arrays[3], arrays[4], arrays[6])
    if wrong >= 0:
        return -1 - wrong
    return _step_block(0, len(arrays[3]), arrays)


@kernel(parallel=True)
def step_threaded(arrays: Arrays, blocks: int) -> int:
    """The same as `step`, with the worlds in so many blocks, a thread each."""
    wrong = _no_action(arrays[3], arrays[4], arrays[6])
    if wrong >= 0:
        return -1 - wrong
    n, ended = len(arrays[3]), 0
    for b in numba.prange(blocks):
        ended += _step_block(b * n // blocks, (b + 1) * n // blocks, arrays)
    return ended


@kernel
def _no_action(actions: Int, skip: NDArray[np.bool_], shape: Int) -> int:
    """The first world whose action is none, -1 where all are."""
    last = FORWARD if shape[RULE] == DODGE else DONE
    for i in range(len(actions)):
        if not skip[i] and not 0 <= actions[i] <= last:
            return i
    return -1


@kernel
def _step_block(first: int, end: int, arrays: Arrays) -> int:
    cells, state, words, actions, skip, moves, shape, table, image, direction, reward, flags = arrays
    flat, pad, area = cells.reshape(-1), shape[PAD], cells.shape[1]
    seen = np.empty(shape[VIEW] * shape[VIEW], np.uint16)
    ended = 0
    for i in range(first, end):
        if skip[i]:
            continue
        reward[i] = _step_one(cells[i + pad], state[i], words, i, actions[i], moves, shape, flags)
        ended += flags[0, i] or flags[1, i]
        direction[i] = state[i, DIR]
        _see(flat, (i + pad) * area, state[i], shape, table, seen, image[i])
    return ended


@kernel
def look(
    cells: Cells,
    state: State,
    rows: Int,
    shape: Int,
    table: NDArray[np.uint16],
    image: NDArray[np.uint8],
    direction: Int,
) -> None:
    """Write what the agents of the worlds `rows` see."""
    flat, pad, area = cells.reshape(-1), shape[PAD], cells.shape[1]
    seen = np.empty(shape[VIEW] * shape[VIEW], np.uint16)
    for i in rows:
        direction[i] = state[i, DIR]
        _see(flat, (i + pad) * area, state[i], shape, table, seen, image[i])


@kernel
def _step_one(
    cells: Cells, state: State, words: Words, i: int, action: int, moves: Int, shape: Int, flags: NDArray[np.bool_]
) -> float:
    width, rule = shape[WIDTH], shape[RULE]
    if rule == MEMORY and action == PICKUP:
        action = TOGGLE
    state[STEP] += 1
    at = state[Y] * width + state[X]
    heading = state[DIR]
    front = at + _DX[heading] + _DY[heading] * width
    cell = np.int64(cells[front])
    kind = cell & 15
    carried = state[CARRY]
    red_open = rule == RED_BLUE and (cells[state[R]] >> 7) & 3 == OPEN
    blue_open = rule == RED_BLUE and (cells[state[R + 1]] >> 7) & 3 == OPEN
    blocked = kind != EMPTY and kind != GOAL
    if rule >= DODGE:
        if rule == DODGE:
            _move_balls(cells, state, words, i, moves, width, shape[HEIGHT])
        else:
            flicker(cells, state, words, i, width)
        cell = np.int64(cells[front])
        kind = cell & 15
    over, won = False, False
    if action == LEFT:
        state[DIR] = (heading + 3) & 3
    elif action == RIGHT:
        state[DIR] = (heading + 1) & 3
    elif action == FORWARD:
        if kind in (EMPTY, FLOOR) or kind >= GOAL or (kind == DOOR and (cell >> 7) & 3 == OPEN):
            state[X] += _DX[heading]
            state[Y] += _DY[heading]
            at = front
            over = kind >= GOAL
            won = kind == GOAL
    elif action == PICKUP:
        if KEY <= kind <= BOX and carried == 0:
            state[CARRY] = cell
            cells[front] = EMPTY
            state[LIFTS] += 1
            if kind == KEY:
                state[MARKS] |= TOOK_KEY
    elif action == DROP:
        if kind == EMPTY and carried != 0:
            cells[front] = carried
            state[LIFTS] += 1
            state[CARRY] = 0
    elif action == TOGGLE:
        cells[front] = _toggled(cell, carried, state)
    if rule != PLAIN:
        over, won = _judge(cells, state, rule, action, at, front, carried, blocked, red_open, blue_open, over, won)
    flags[0, i] = over
    flags[1, i] = state[STEP] >= shape[MAX_STEPS]
    flags[2, i] = won
    if won:
        state[MARKS] |= SUCCEEDED
        return 1 - 0.9 * (state[STEP] / shape[MAX_STEPS])
    if over:
        state[MARKS] |= FAILED
        if rule == DODGE and action == FORWARD and blocked:
            return -1.0
    return 0.0


@kernel
def _toggled(cell: int, carried: int, state: State) -> int:
    """What stands in the cell in front after a toggle."""
    kind = cell & 15
    if kind == BOX:
        state[LIFTS] += 1
        content = (cell >> 10) & 7
        return KEY | (content - 1) << 4 if content else EMPTY
    if kind != DOOR:
        return cell
    door = (cell >> 7) & 3
    if door == OPEN:
        state[TOGGLES] += 1
        return cell | CLOSED << 7 | OPAQUE
    if door == LOCKED:
        if carried & KIND != (KEY | (cell & 0x70)):
            return cell
        state[MARKS] |= UNLOCKED
    state[TOGGLES] += 1
    if not cell & OPENED:
        state[DOORS] += 1
    return (cell & KIND) | OPENED


@kernel
def _judge(
    cells: Cells,
    state: State,
    rule: int,
    action: int,
    at: int,
    front: int,
    carried: int,
    blocked: bool,
    red_open: bool,
    blue_open: bool,
    over: bool,
    won: bool,
) -> tuple[bool, bool]:
    """Whether the episode is over and whether it is won, by the task's own rule."""
    holds = state[CARRY]
    if rule == TAKE:
        if action == PICKUP and holds & KIND == state[R]:
            return True, True
    elif rule == UNLOCK:
        if action == TOGGLE and (cells[state[R]] >> 7) & 3 == OPEN:
            return True, True
    elif rule == FETCH:
        if holds != 0:
            return True, holds & KIND == state[R]
    elif rule == GO_TO:
        if action == DONE:
            return True, abs(state[X] - state[R]) + abs(state[Y] - state[R + 1]) == 1
        return over or action == TOGGLE, won
    elif rule == PUT_NEAR:
        if action == PICKUP and holds != 0 and holds & KIND != state[R]:
            return True, False
        if action == DROP and carried != 0:
            heading = state[DIR]
            far_x = abs(state[X] + _DX[heading] - state[R + 1])
            far_y = abs(state[Y] + _DY[heading] - state[R + 2])
            return True, holds == 0 and far_x <= 1 and far_y <= 1
    elif rule == RED_BLUE:
        if (cells[state[R + 1]] >> 7) & 3 == OPEN:
            return True, red_open
        if (cells[state[R]] >> 7) & 3 == OPEN and blue_open:
            return True, False
    elif rule == MEMORY:
        if at == state[R]:
            return True, True
        if at == state[R + 1]:
            return True, False
    elif rule == DODGE and action == FORWARD and blocked:
        return True, False
    return over, won


@kernel
def _move_balls(cells: Cells, state: State, words: Words, i: int, moves: Int, width: int, height: int) -> None:
    """Each ball goes to an empty cell among its eight neighbours, not the agent's; it stays where it finds none."""
    for k in range(state[R]):
        here = state[R + 1 + k]
        there = -1
        if moves.shape[1] > 0:
            there = moves[i, k]
        else:
            x, y = here % width, here // width
            left, top = max(x - 1, 0), max(y - 1, 0)
            for _ in range(101):
                px = left + draw(words, i, min(left + 3, width) - left)
                py = top + draw(words, i, min(top + 3, height) - top)
                if cells[py * width + px] == EMPTY and not (px == state[X] and py == state[Y]):
                    there = py * width + px
                    break
        if there >= 0:
            cells[there] = cells[here]
            cells[here] = EMPTY
            state[R + 1 + k] = there


@kernel
def flicker(cells: Cells, state: State, words: Words, i: int, width: int) -> None:
    """Each cell of the screen becomes floor of a random colour."""
    for y in range(state[R + 1], state[R + 1] + state[R + 3]):
        for x in range(state[R], state[R] + state[R + 2]):
            cells[y * width + x] = FLOOR | draw(words, i, 6) << 4


# what the agent sees


@kernel
def light(lit: int, clear: int, size: int) -> int:
    """One row of MiniGrid's visibility rule: bits of the row that are lit in the end, and, shifted by `size`, bits that
    it lights in the row ahead; `lit` are the bits lit from the row behind, `clear` the cells that hide nothing."""
    ahead = 0
    for i in range(size - 1):
        if (lit >> i) & 1 and (clear >> i) & 1:
            lit |= 2 << i
            ahead |= 3 << i
    for i in range(size - 1, 0, -1):
        if (lit >> i) & 1 and (clear >> i) & 1:
            lit |= 1 << (i - 1)
            ahead |= 3 << (i - 1)
    return lit | ahead << size


@kernel
def light_table(size: int) -> NDArray[np.uint16]:
    """`light` of every row, at index `lit << size | clear`; for views of at most 7."""
    table = np.empty(1 << 2 * size, np.uint16)
    for lit in range(1 << size):
        for clear in range(1 << size):
            table[lit << size | clear] = light(lit, clear, size)
    return table


@kernel
def _see(
    flat: Cells,
    base: int,
    state: State,
    shape: Int,
    table: NDArray[np.uint16],
    seen: NDArray[np.uint16],
    image: NDArray[np.uint8],
) -> None:
    """Write the partial view, uint8[size, size, 3]: type, colour and door state; 0 where nothing is seen.

    `flat` are all cells of all worlds, of which this one's begin at `base`; `seen` uint16[size * size] is room to work
    in.
    """
    if shape[SEE_THROUGH] != 0:
        _see_through(flat, base, state, shape, seen)
    elif shape[VIEW] == 7:
        _see_walls(flat, base, state, shape, table, seen, 7)
    else:
        _see_walls(flat, base, state, shape, table, seen, shape[VIEW])
    size = shape[VIEW]
    seen[size // 2] = state[CARRY] if state[CARRY] != 0 else EMPTY
    if size == 7:
        _write(seen, image, 7)
    else:
        _write(seen, image, size)


@kernel(inline=True)
def _see_walls(
    flat: Cells, base: int, state: State, shape: Int, table: NDArray[np.uint16], seen: NDArray[np.uint16], size: int
) -> None:
    """What is lit, row by row away from the agent. Beyond the outer wall it reads cells of other worlds, or of the
    padding: no light falls there."""
    width = shape[WIDTH]
    heading = state[DIR]
    ahead = _DX[heading] + _DY[heading] * width
    right = _DX[heading] * width - _DY[heading]
    at = base + state[Y] * width + state[X] - (size // 2) * right
    lit = 1 << (size // 2)
    for back in range(size):
        clear = 0
        for i in range(size):
            code = flat[np.uint64(at + right * i)]
            clear |= ((np.int64(code >> 9) & 1) ^ 1) << i
            seen[np.uint64(back * size + i)] = code
        found = np.int64(table[np.uint64(lit << size | clear)]) if size <= TABLE_VIEW else light(lit, clear, size)
        for i in range(size):
            seen[np.uint64(back * size + i)] &= np.uint16(-((found >> i) & 1))
        lit = found >> size
        at += ahead


@kernel
def _see_through(flat: Cells, base: int, state: State, shape: Int, seen: NDArray[np.uint16]) -> None:
    """Every cell, walls beyond the grid."""
    width, height, size = shape[WIDTH], shape[HEIGHT], shape[VIEW]
    fx, fy = _DX[state[DIR]], _DY[state[DIR]]
    for back in range(size):
        for i in range(size):
            aside = i - size // 2
            x, y = state[X] + fx * back - fy * aside, state[Y] + fy * back + fx * aside
            inside = 0 <= x < width and 0 <= y < height
            seen[back * size + i] = flat[base + y * width + x] if inside else np.uint16(WALL)


@kernel(inline=True)
def _write(seen: NDArray[np.uint16], image: NDArray[np.uint8], size: int) -> None:
    for i in range(size):
        for j in range(size):
            code = seen[np.uint64((size - 1 - j) * size + i)]
            image[i, j, 0] = np.uint8(code & 15)
            image[i, j, 1] = np.uint8((code >> 4) & 7)
            image[i, j, 2] = np.uint8((code >> 7) & 3)


@kernel
def see_all(cells: Cells, state: State, rows: Int, shape: Int, image: NDArray[np.uint8]) -> None:
    """Write the whole grid of the worlds `rows`, uint8[N, W, H, 3], with the agent as (10, red, direction)."""
    width, height, pad = shape[WIDTH], shape[HEIGHT], shape[PAD]
    for i in rows:
        for x in range(width):
            for y in range(height):
                code = cells[i + pad, y * width + x]
                image[i, x, y, 0] = code & 15
                image[i, x, y, 1] = (code >> 4) & 7
                image[i, x, y, 2] = (code >> 7) & 3
        image[i, state[i, X], state[i, Y], 0] = 10
        image[i, state[i, X], state[i, Y], 1] = RED
        image[i, state[i, X], state[i, Y], 2] = state[i, DIR]
