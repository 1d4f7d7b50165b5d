"""Worlds that have begun, and samples that should be alike, for tests of layouts and rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from reward_envs.grid.worlds import Worlds

FIVE_SIGMA = 5.7e-7  # two-sided


def begun(spec: Any, n: int, seed: int = 0) -> Worlds:
    worlds = (spec.engine or Worlds)(spec, n)
    worlds.seed(worlds.all, list(range(seed, seed + n)))
    worlds.begin(worlds.all)
    return worlds


def assert_same_frequencies(mine: Counter[Hashable], other: Counter[Hashable], about: str) -> None:
    """Chi-square of both samples, rare values pooled; and no value that one has often and the other never."""
    len_mine, len_other = sum(mine.values()), sum(other.values())
    assert set(other) <= set(mine), about
    never = [value for value, n in mine.items() if value not in other and n * len_other / len_mine > 15]
    assert not never, f"{about}: {never}"
    share = len_other / (len_mine + len_other)
    table: list[list[int]] = []
    rest = [0, 0]
    for value in mine:
        pair = [mine[value], other[value]]
        if sum(pair) * share >= 5:
            table.append(pair)
        else:
            rest = [rest[0] + pair[0], rest[1] + pair[1]]
    if sum(rest) * share >= 5:
        table.append(rest)
    if len(table) > 1:
        assert chi2_contingency(np.array(table)).pvalue > FIVE_SIGMA, about
