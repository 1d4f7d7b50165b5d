"""Texts as vectors: signed counts of hashed n-grams of characters and words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel

# 64-bit FNV-1a, over code points
OFFSET = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
SPACE, TAB, NEWLINE = np.uint32(32), np.uint32(9), np.uint32(10)
HALF = np.uint64(32)
ONE = np.uint64(1)


@kernel(inline=True)
def _count(h: np.uint64, out: NDArray[np.float64]) -> None:
    h ^= h >> HALF  # the high half knows every character, the low bits alone do not
    out[np.int64((h >> ONE) % np.uint64(out.size))] += 1.0 if h & ONE else -1.0


@kernel(inline=True)
def _blank(code: np.uint32) -> bool:
    return code in (SPACE, TAB, NEWLINE)


@kernel
def hashed_ngrams(codes: NDArray[np.uint32], low: int, high: int, words: int, out: NDArray[np.float64]) -> None:
    """Adds +1 or -1 at a hashed place for each n-gram.

    An n-gram is hashed as its kind and length, then its code points (words of an n-gram are joined by one space), by
    64-bit FNV-1a, the high half folded into the low one. The lowest bit is the sign, the rest modulo D the place.

    Parameters
    ----------
    codes : uint32[L]
        Code points. Words are what stands between spaces, tabs and newlines.
    low, high : int
        Lengths of n-grams of characters, both included; none where high < low.
    words : int
        N-grams of 1 to `words` words.
    out : float64[D], added to

    References
    ----------
    Weinberger et al. 2009, Feature Hashing for Large Scale Multitask Learning.
    """
    n = codes.size
    for size in range(low, high + 1):
        for i in range(n - size + 1):
            h = (OFFSET ^ np.uint64(size)) * PRIME
            for j in range(i, i + size):
                h = (h ^ np.uint64(codes[j])) * PRIME
            _count(h, out)
    i = 0
    while i < n and words > 0:
        if _blank(codes[i]):
            i += 1
            continue
        j, said = i, 0
        h = (OFFSET ^ np.uint64(255)) * PRIME
        after = 0
        while j < n and said < words:  # one word more at a time, counted after each
            while j < n and not _blank(codes[j]):
                h = (h ^ np.uint64(codes[j])) * PRIME
                j += 1
            _count(h, out)
            said += 1
            if said == 1:
                after = j
            while j < n and _blank(codes[j]):
                j += 1
            h = (h ^ np.uint64(SPACE)) * PRIME
        i = after
