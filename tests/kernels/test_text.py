"""Hashed n-grams against their twin."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from reward_envs.kernels.text import hashed_ngrams
from tests import naive


def counted(text: str, low: int, high: int, words: int, size: int) -> list[float]:
    out = np.zeros(size)
    hashed_ngrams(np.array([ord(c) for c in text], np.uint32), low, high, words, out)
    return out.tolist()


@settings(deadline=None, max_examples=80)
@given(
    st.text("ab \n\té\U0001f600", max_size=30),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from([1, 7, 64]),
)
def test_ngrams_equal_twin(text: str, low: int, high: int, words: int, size: int) -> None:
    assert counted(text, low, high, words, size) == naive.hashed_ngrams(text, low, high, words, size).tolist()


def test_every_ngram_counts_once() -> None:
    # "ab cd": five single characters, and the words "ab", "cd", "ab cd"
    assert np.abs(counted("ab cd", 1, 1, 0, 1_000_003)).sum() == 5
    assert np.abs(counted("  ab\n cd ", 1, 0, 2, 1_000_003)).sum() == 3
    assert counted("ab cd", 1, 0, 2, 64) == counted(" ab\t\ncd", 1, 0, 2, 64)
    assert counted("", 1, 4, 2, 8) == [0.0] * 8
