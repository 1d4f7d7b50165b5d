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
Words = NDArray[np.unsignedinteger[Any]]
FUTURE: Final = 0
FINAL: Final = 1
EPISODE: Final = 2


@kernel
def make_room(length: Int32, pos: int) -> int:
    """Before the rows at `pos` are overwritten: forget the episodes that they begin; how many rows are lost.

    Parameters
    ----------
    length : int32[size, n_envs], changed in place
    """
    size, n_envs = length.shape
    lost = 0
    for env in range(n_envs):
        rows = length[pos, env]
        for step in range(rows):
            length[(pos + step) % size, env] = 0
        lost += rows
    return lost


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
def gather(rows: Words, index: Int64, goal: Int64, parts: Int64, out: Words) -> None:
    """Copy the parts of the drawn rows into blocks of `out`, one block a part.

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
    """
    real = len(index) - len(goal)
    wide, flat = np.uint64(rows.shape[1]), rows.reshape(-1)
    for b in range(len(index)):
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
