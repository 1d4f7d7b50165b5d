"""Hindsight from a replay buffer: the books of its episodes, the draw of rows and goals, and their copy into a sample.

A buffer holds T = size * n_envs rows, row `at * n_envs + env`, of which each knows where its episode starts and how
long it is; length 0 is a row of an episode that still runs, or is being overwritten. Indices are trusted.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel
from reward_envs.kernels.grid import draw

Int32 = NDArray[np.signedinteger[Any]]
Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
Words = NDArray[np.unsignedinteger[Any]]
FUTURE: Final = 0
FINAL: Final = 1
EPISODE: Final = 2
NOT_FINITE: Final = -1
TOO_LONG: Final = -2
CACHE_LINE: Final = 64  # bytes
TOGETHER: Final = 24  # rows whose memory is waited for together


@kernel
def begin_step(rows: Words, seen: Int64, start: Int32, length: Int32, first: Int64, steps: Int64, pos: int) -> int:
    """After observations were written at `pos`: end the episodes that they do not go on from (somebody has reset), and
    forget those whose rows are overwritten.

    Parameters
    ----------
    rows : words[T, R]
        The buffer's rows, in words of any size.
    seen : int64[K, 3]
        Of each observation, in words: where it lies in a row, where its successor does, and how long both are.
    start, length : int32[size, n_envs], changed in place
    first, steps : int64[n_envs], changed in place
        Where the running episodes begin, and how long they are.

    Returns
    -------
    How many more rows of finished episodes there are, below 0 where there are fewer.
    """
    size, n_envs = length.shape
    before, gained = (pos if pos else size) - 1, 0
    for env in range(n_envs):
        if steps[env] and not _goes_on(rows, seen, before * n_envs + env, pos * n_envs + env):
            close_episode(start, length, env, first[env], steps[env])
            gained += steps[env]
            first[env], steps[env] = pos, 0
        lost = length[pos, env]
        for step in range(lost):
            length[(pos + step) % size, env] = 0
        gained -= lost
    return gained


@kernel
def _goes_on(rows: Words, seen: Int64, before: int, row: int) -> bool:
    for key in range(len(seen)):
        for i in range(seen[key, 2]):
            if rows[row, seen[key, 0] + i] != rows[before, seen[key, 1] + i]:
                return False
    return True


@kernel
def end_step(
    reward: Float32,
    done: Float32,
    timeout: Float32,
    start: Int32,
    length: Int32,
    first: Int64,
    steps: Int64,
    pos: int,
) -> tuple[int, bool]:
    """After the rest of the rows was written at `pos`: count the step, and end the episodes that are done.

    Parameters
    ----------
    reward, done, timeout : float32[size, n_envs]
    start, length : int32[size, n_envs], changed in place
    first, steps : int64[n_envs], changed in place

    Returns
    -------
    How many more rows of finished episodes there are, or NOT_FINITE for a reward, or TOO_LONG for an episode that has
    more rows than the buffer; and whether a row has terminated.
    """
    size, n_envs = length.shape
    gained, ends = 0, False
    for env in range(n_envs):
        if not np.isfinite(reward[pos, env]):
            return NOT_FINITE, ends
        if steps[env] == size:
            return TOO_LONG, ends
        steps[env] += 1
        if done[pos, env]:
            close_episode(start, length, env, first[env], steps[env])
            gained += steps[env]
            first[env], steps[env] = (pos + 1) % size, 0
            ends = ends or not timeout[pos, env]
    return gained, ends


@kernel
def close_episode(start: Int32, length: Int32, env: int, first: int, steps: int) -> None:
    """Write into each row of an episode of `steps` rows from `first` on where it starts and how long it is."""
    size = len(length)
    for step in range(steps):
        start[(first + step) % size, env] = first
        length[(first + step) % size, env] = steps


@kernel
def draw_rows(length: Int32, filled: int, word: NDArray[np.uint64], index: Int64) -> None:
    """Draw rows of finished episodes, each as likely as any; there must be one, and should be many.

    Parameters
    ----------
    length : int32[T]
    filled : int
        Rows that hold something, T once the buffer is full.
    word : uint64[1], changed in place
        State of the generator.
    index : int64[B], written
    """
    for b in range(len(index)):
        row = draw(word, 0, filled)
        while length[row] == 0:
            row = draw(word, 0, filled)
        index[b] = row


@kernel
def draw_goals(
    start: Int32, length: Int32, n_envs: int, strategy: int, word: NDArray[np.uint64], index: Int64, goal: Int64
) -> None:
    """For each row, the row of its episode whose next achieved goal it gets: one not before it (FUTURE), the last
    (FINAL), or any (EPISODE).

    Parameters
    ----------
    start, length : int32[T]
    word : uint64[1], changed in place
    index : int64[V]
    goal : int64[V], written
    """
    size = len(length) // n_envs
    for v in range(len(index)):
        row = index[v]
        at, env = row // n_envs, row % n_envs
        first, steps = start[row], length[row]
        step = at - first if at >= first else at - first + size
        if strategy == FUTURE:
            step += draw(word, 0, steps - step)
        elif strategy == FINAL:
            step = steps - 1
        else:
            step = draw(word, 0, steps)
        goal[v] = (first + step) % size * n_envs + env


@kernel
def gather(rows: Words, index: Int64, goal: Int64, parts: Int64, out: Words) -> np.uint64:
    """Copy the parts of the drawn rows into blocks of `out`, one block a part.

    A big buffer lies in main memory, and a row that is drawn is far from the one before. So a few rows are touched
    before they are copied: what they wait for, they wait for together.

    Parameters
    ----------
    rows : words[T, R]
        The buffer's rows, in words of any size.
    index : int64[B]
        The rows drawn; the last V of them get other goals.
    goal : int64[V]
        The rows that these goals come from.
    parts : int64[P, 4]
        Of each part, in words: where it lies in a row, how long it is, where its block begins in `out`, and where in
        the goal's row the new goal lies, -1 where the part is no goal.
    out : words[...], written

    Returns
    -------
    Nothing of meaning: without a result, the compiler would leave out what only touches.
    """
    touched, flat = np.uint64(0), rows.reshape(-1)
    for begin in range(0, len(index), TOGETHER):
        end = min(begin + TOGETHER, len(index))
        touched ^= _touch(rows, flat, index, goal, parts, begin, end)
        _copy(rows, flat, index, goal, parts, out, begin, end)
    return touched


@kernel
def _touch(rows: Words, flat: Words, index: Int64, goal: Int64, parts: Int64, begin: int, end: int) -> np.uint64:
    """Read a word of each cache line that `_copy` will read."""
    real, touched = len(index) - len(goal), np.uint64(0)
    wide, line = np.uint64(rows.shape[1]), np.uint64(CACHE_LINE // rows.itemsize)
    achieved = np.uint64(max(parts[:, 3].max(), 0))
    for b in range(begin, end):
        row = np.uint64(index[b]) * wide
        for i in range(np.uint64(0), wide, line):
            touched ^= np.uint64(flat[row + i])
        if b >= real:
            touched ^= np.uint64(flat[np.uint64(goal[b - real]) * wide + achieved])
    return touched


@kernel
def _copy(rows: Words, flat: Words, index: Int64, goal: Int64, parts: Int64, out: Words, begin: int, end: int) -> None:
    real, wide = len(index) - len(goal), np.uint64(rows.shape[1])
    for b in range(begin, end):
        row = np.uint64(index[b]) * wide
        other = np.uint64(goal[b - real]) * wide if b >= real else row
        for p in range(len(parts)):
            size = np.uint64(parts[p, 1])
            to = np.uint64(parts[p, 2]) + np.uint64(b) * size
            source = row + np.uint64(parts[p, 0])
            if b >= real and parts[p, 3] >= 0:
                source = other + np.uint64(parts[p, 3])
            for i in range(size):  # unsigned, or each index would first be asked whether it counts from the end
                out[to + i] = flat[source + i]
