"""Visit counts: hashes of rows, a lifelong hash table, and counts within an episode.

A table is `(keys uint64[C], counts int64[C], used)`: open addressing with linear probing, C a power of two, an empty
slot has count 0, at most half of the slots are used. A memory is `(seen uint64[S, L], begin int64[S], cursor
int64[S])`: the keys of stream s in its running episode are `seen[s, begin[s]:cursor[s]]`, oldest first.

Nothing here is random: a key counts as itself, so two observations with one key are one state.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel

Keys: TypeAlias = NDArray[np.uint64]
Counts: TypeAlias = NDArray[np.int64]
Table: TypeAlias = tuple[Keys, Counts, int]
Memory: TypeAlias = tuple[Keys, Counts, Counts]

SMALLEST = 64  # slots of an empty table, and the shortest row of a memory


@kernel
def mix64(x: np.uint64) -> np.uint64:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014), a bijection: mix64(1) = 0x5692161D100B05E5."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def hash_rows(rows: NDArray[np.uint8]) -> Keys:
    """uint64[N]: a hash of each row of bytes, uint8[N, B]; the same on every machine and in every process.

    Eight bytes w at a time, little-endian and padded with zeros: `h = mix64(h ^ w)`, from `h = mix64(B)`. Distinct
    rows of up to eight bytes never collide; n distinct longer rows do with a chance of about n**2 / 2**65.
    """
    n, width = rows.shape
    out = np.empty(n, dtype=np.uint64)
    for i in range(n):
        h = mix64(np.uint64(width))
        for start in range(0, width, 8):
            word = np.uint64(0)
            for k in range(min(8, width - start)):
                word |= np.uint64(rows[i, start + k]) << np.uint64(8 * k)
            h = mix64(h ^ word)
        out[i] = h
    return out


@kernel
def simhash(features: NDArray[np.float64], projection: NDArray[np.float64]) -> Keys:
    """uint64[N]: bit k is set where `features[i] @ projection[:, k] > 0`, so that near rows tend to share a key.

    Sums run in one fixed order, so the key of a row does not depend on the rows around it, which BLAS does not promise.

    Parameters
    ----------
    features : float64[N, D] or float32[N, D]
    projection : float64[D, K] or float32[D, K], K at most 64
        Standard normal numbers, drawn once.

    Raises
    ------
    ValueError
        The widths differ, or K exceeds 64.

    References
    ----------
    Charikar 2002; Tang et al. 2017, #Exploration: A Study of Count-Based Exploration, equation 2.
    """
    n, width = features.shape
    bits = projection.shape[1]
    if width != projection.shape[0]:
        raise ValueError("simhash: features are [N, D] and projection is [D, K], but the two D differ.")
    if bits > 64:
        raise ValueError("simhash: a key has 64 bits, so projection has at most 64 columns.")
    out, sums = np.empty(n, dtype=np.uint64), np.empty(bits)
    for i in range(n):
        sums[:] = 0.0
        for d in range(width):
            x = features[i, d]
            for k in range(bits):
                sums[k] += x * projection[d, k]
        word = np.uint64(0)
        for k in range(bits):
            if sums[k] > 0.0:
                word |= np.uint64(1) << np.uint64(k)
        out[i] = word
    return out


@kernel
def _slot(keys: Keys, counts: Counts, key: np.uint64) -> np.int64:
    """The slot of `key`, else the empty slot where it belongs; the table must have an empty slot."""
    mask = keys.size - 1
    slot = np.int64(mix64(key) & np.uint64(mask))
    while counts[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def lookup_ranked(keys: Keys, counts: Counts, query: Keys, out: Counts) -> None:
    """Visit counts as if the rows of `query` uint64[N] had been inserted one by one; the table does not change.

    `out[i] = (stored count of query[i]) + (number of j <= i with query[j] == query[i])`, at least 1; `out` int64[N] is
    written. However a stream of rows is cut into batches, with `add` after each, the counts are the same.
    """
    capacity = 2
    while capacity < 2 * query.size:
        capacity *= 2
    own_keys = np.empty(capacity, dtype=np.uint64)  # running counts of the keys of this batch
    own_counts = np.zeros(capacity, dtype=np.int64)
    for i in range(query.size):
        slot = _slot(own_keys, own_counts, query[i])
        if own_counts[slot] == 0:
            own_keys[slot] = query[i]
            own_counts[slot] = counts[_slot(keys, counts, query[i])]
        own_counts[slot] += 1
        out[i] = own_counts[slot]


@kernel
def insert(keys: Keys, counts: Counts, used: int, query: Keys) -> tuple[int, int]:
    """Counts the rows of `query` uint64[N] in the table, in place, as long as it stays at most half full.

    Returns
    -------
    used, done
        Slots in use, and rows counted: fewer than N where the next row needs a larger table (see `add`).
    """
    for i in range(query.size):
        slot = _slot(keys, counts, query[i])
        if counts[slot] == 0:
            if 2 * (used + 1) > keys.size:
                return used, i
            keys[slot] = query[i]
            used += 1
        counts[slot] += 1
    return used, query.size


@kernel
def _rehash(keys: Keys, counts: Counts, new_keys: Keys, new_counts: Counts) -> None:
    for i in range(keys.size):
        if counts[i] != 0:
            slot = _slot(new_keys, new_counts, keys[i])
            new_keys[slot] = keys[i]
            new_counts[slot] = counts[i]


@kernel
def episodic_ranked(
    seen: Keys,
    begin: Counts,
    cursor: Counts,
    query: Keys,
    stream: NDArray[np.int64],
    first: NDArray[np.bool_],
    out: Counts,
) -> np.int64:
    """Visit counts within the running episode, the present visit included; keys are appended to `seen`.

    `out[i] = 1 + (number of earlier rows of the same episode with the same key)`. What lies before a cursor is never
    written, so counting twice from the same `begin` and `cursor` gives the same. A count scans its episode so far: at
    1000 keys about 0.15 microseconds a row, less than copying a hash table for every call would take.

    Parameters
    ----------
    seen : uint64[S, L], changed in place from the cursors on
    begin, cursor : int64[S], changed in place
    query, stream, first : uint64[N], int64[N], bool[N]
        `first` starts an episode: `begin = cursor`.
    out : int64[N], written

    Returns
    -------
    int64
        The L that these rows need; where it exceeds L, nothing was changed or written (see `count_episodic`).
    """
    end, need = cursor.copy(), np.int64(0)
    for s in stream:
        end[s] += 1
        need = max(need, end[s])
    if need > seen.shape[1]:
        return need
    for i in range(query.size):
        s = stream[i]
        if first[i]:
            begin[s] = cursor[s]
        key, episode, visits = query[i], seen[s][begin[s] : cursor[s]], 1
        for p in range(cursor[s] - begin[s]):  # a view, a local key and a count from 0, so that LLVM vectorises it
            visits += episode[p] == key
        seen[s, cursor[s]] = query[i]
        cursor[s] += 1
        out[i] = visits
    return need


def empty_table(capacity: int = SMALLEST) -> Table:
    """A table without keys; `capacity` is a power of two, else ValueError."""
    if capacity < 2 or capacity & (capacity - 1):
        raise ValueError(f"a hash table has a power of two of slots, at least 2; got capacity={capacity}.")
    return np.zeros(capacity, dtype=np.uint64), np.zeros(capacity, dtype=np.int64), 0


def grow(keys: Keys, counts: Counts) -> tuple[Keys, Counts]:
    """The same counts in new arrays of twice the size."""
    new_keys, new_counts, _ = empty_table(2 * keys.size)
    _rehash(keys, counts, new_keys, new_counts)
    return new_keys, new_counts


def add(table: Table, query: Keys) -> Table:
    """The table after counting each row of `query` uint64[N]; its arrays change in place, or are replaced to grow.

    The size follows from the number of distinct keys alone, not from how rows were cut into calls.
    """
    keys, counts, used = table
    done = 0
    while done < query.size:
        used, more = insert(keys, counts, used, query[done:])
        done += more
        if done < query.size:
            keys, counts = grow(keys, counts)
    return keys, counts, int(used)


def empty_memory(streams: int) -> Memory:
    """A memory in which no stream has seen anything."""
    start = np.zeros(streams, dtype=np.int64)
    return np.zeros((streams, SMALLEST), dtype=np.uint64), start, start.copy()


def _roomier(memory: Memory, rows: int) -> Memory:
    """A copy that holds only the running episodes, with room for `rows` more in each stream, and as much again."""
    seen, begin, cursor = memory
    live = cursor - begin
    length = SMALLEST
    while length < 2 * (int(live.max()) + rows):
        length *= 2
    fresh = np.zeros((seen.shape[0], length), dtype=np.uint64)
    for s, (b, c) in enumerate(zip(begin, cursor, strict=True)):
        fresh[s, : c - b] = seen[s, b:c]
    return fresh, np.zeros_like(begin), live


def count_episodic(
    memory: Memory, query: Keys, stream: NDArray[np.int64], first: NDArray[np.bool_]
) -> tuple[Counts, Memory]:
    """(int64[N] visit counts within the episode, the memory after these rows); see `episodic_ranked`.

    Pure as a carry must be: twice from one memory gives the same. The new memory shares `seen` with the old one unless
    it had to grow; of two memories that descend from one, only the later one is good to go on with. Its size follows
    the longest running episode and the longest batch, not the number of rows ever seen.
    """
    seen, begin, cursor = memory[0], memory[1].copy(), memory[2].copy()
    out = np.empty(query.size, dtype=np.int64)
    need = episodic_ranked(seen, begin, cursor, query, stream, first, out)
    if need > seen.shape[1]:
        rows = int(np.bincount(stream).max())
        seen, begin, cursor = _roomier((seen, begin, cursor), rows)
        episodic_ranked(seen, begin, cursor, query, stream, first, out)
    return out, (seen, begin, cursor)
