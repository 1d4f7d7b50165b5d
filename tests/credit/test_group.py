"""Advantages within groups of episodes."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import (
    Batch,
    GroupNormalise,
    LeaveOneOut,
    RewardError,
    Scope,
    ScopeError,
    Task,
    parse,
    relabel,
)
from tests.drawn import rollout, whole_episodes

BOTH = ["group_normalise", "leave_one_out"]


def rows(reward: Any, **columns: Any) -> Batch:
    """Rows that are episodes of one step, unless told otherwise."""
    n = len(reward)
    given = {"terminated": np.ones(n), **columns}
    return Batch.of(obs=np.arange(n), action=np.zeros(n), next_obs=np.arange(n), reward=reward, **given)


def advantages(batch: Batch, method: Any) -> list[float]:
    return relabel(batch, method).values.tolist()


def test_golden_normalised() -> None:
    """Returns 1, 1, 4, 6: mean 3, squares 4 + 4 + 1 + 9 = 18; over 3 the deviation is √6, over 4 it is √4.5."""
    batch = rows([1.0, 1.0, 4.0, 6.0])
    assert advantages(batch, "group_normalise") == pytest.approx([x / 6**0.5 for x in (-2, -2, 1, 3)])
    assert advantages(batch, GroupNormalise(ddof=0)) == pytest.approx([x / 4.5**0.5 for x in (-2, -2, 1, 3)])
    assert advantages(batch, GroupNormalise(ddof=0, epsilon=0.5)) == pytest.approx(
        [x / (4.5**0.5 + 0.5) for x in (-2, -2, 1, 3)]
    )


def test_golden_leave_one_out() -> None:
    """The others of 1, 1, 4 have means 2.5, 2.5 and 1."""
    assert advantages(rows([1.0, 1.0, 4.0]), "leave_one_out") == [-1.5, -1.5, 3.0]


def test_golden_groups_of_longer_episodes() -> None:
    """Group 0 has returns 3 and 1, group 1 has 0 and 8, in two streams."""
    batch = rows(
        [1, 1, 2, 0, 0, 3, 0, 5],
        stream=[0, 1] * 4,
        terminated=[0, 1, 1, 1, 0, 0, 1, 1],
        group=[0, 0, 0, 1, 9, 1, 9, 1],
    )
    assert advantages(batch, "leave_one_out") == [2.0, -2.0, 2.0, -8.0, 0.0, 8.0, 0.0, 8.0]


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize(
    "returns",
    [
        [2.0],
        [0.1] * 3,  # their mean is not 0.1
        [0.0, 0.0],
        [1e300] * 2,
        [-7.0] * 5,
    ],
)
def test_ties_and_one_alone_give_exactly_zero(method: str, returns: list[float]) -> None:
    assert advantages(rows(returns), method) == [0.0] * len(returns)


@pytest.mark.parametrize("method", BOTH)
def test_returns_that_differ_by_the_rounding_of_their_sums_are_a_tie(method: str) -> None:
    batch = rows([0.1, 0.1, 0.1, 0.3], terminated=[0, 0, 1, 1])
    assert 0.1 + 0.1 + 0.1 != 0.3
    assert advantages(batch, method) == [0.0] * 4
    assert np.all(np.abs(advantages(rows([0.3, 0.3 + 1e-12]), method)) > 0)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("returns", [[1.0, 1.0 + 1e-15], [1e-300, 2e-300], [1e300, -5e300, 2e300], [1e9, 1e9 + 1e-6]])
def test_nearly_equal_and_extreme_returns_stay_centred(method: str, returns: list[float]) -> None:
    """Two episodes are one deviation of a sample apart in either direction, whatever their size; the sum is 0."""
    given = np.array(advantages(rows(returns), method))
    assert abs(given.sum()) <= 1e-9 * np.abs(given).max()
    if method == "group_normalise" and len(returns) == 2:
        assert given == pytest.approx([-(0.5**0.5), 0.5**0.5])


@pytest.mark.parametrize("method", BOTH)
def test_open_and_unknown_episodes_do_not_count(method: str) -> None:
    """Of the returns 1, 3, 50 (open) and unknown, the first two are compared."""
    batch = rows([1.0, 3.0, 2.0, math.nan, 50.0], terminated=[1, 1, 0, 1, 0])
    expected = advantages(rows([1.0, 3.0]), method)
    assert advantages(batch, method) == pytest.approx([*expected, math.nan, math.nan, math.nan], nan_ok=True)


@pytest.mark.parametrize("method", BOTH)
def test_no_rows_and_nothing_whole(method: str) -> None:
    assert advantages(rows([1.0]).rows([]), method) == []
    assert advantages(rows([1.0, 2.0], terminated=[0, 0]), method) == pytest.approx([math.nan] * 2, nan_ok=True)


def by_hand(batch: Batch, of: Any) -> list[float]:
    """Each episode against a list of its group's returns; `of(i, returns)`."""
    out = np.full(len(batch), np.nan)
    whole = whole_episodes(batch)
    returns = [math.fsum(batch.reward[e]) for e in whole]
    for i, episode in enumerate(whole):
        mates = [j for j, other in enumerate(whole) if batch.group[other[0]] == batch.group[episode[0]]]
        out[episode] = of(mates.index(i), [returns[j] for j in mates]) if len(mates) > 1 else 0.0
    return out.tolist()


@given(seed=st.integers(0, 2**32 - 1), groups=st.integers(1, 5))
def test_advantages_equal_the_twins(seed: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    batch.group = rng.integers(groups, size=int(batch.episode.max()) + 1)[batch.episode]
    twins = {
        GroupNormalise(): lambda i, r: (r[i] - statistics.fmean(r)) / statistics.stdev(r),
        GroupNormalise(ddof=0): lambda i, r: (r[i] - statistics.fmean(r)) / statistics.pstdev(r),
        LeaveOneOut(): lambda i, r: r[i] - statistics.fmean(r[:i] + r[i + 1 :]),
    }
    for method, twin in twins.items():
        np.testing.assert_allclose(advantages(batch, method), by_hand(batch, twin), rtol=1e-9, atol=1e-9)


def test_two_episodes_make_both_methods_agree_in_sign_and_half_in_size() -> None:
    """For n episodes A_loo = n/(n-1) (R - mean), so with two it is the difference, and GRPO's is ± 1/√2."""
    batch = rows([2.0, 5.0])
    assert advantages(batch, "leave_one_out") == [-3.0, 3.0]
    assert advantages(batch, "group_normalise") == pytest.approx([-(0.5**0.5), 0.5**0.5])
    assert advantages(batch, GroupNormalise(ddof=0)) == [-1.0, 1.0]


def test_an_advantage_is_no_reward() -> None:
    method = parse("group_normalise(clip(task, 0, 1))")
    assert (method.scope, method.pays) == (Scope.GROUP, "advantage")
    with pytest.raises(ScopeError, match="rewards and advantages never mix"):
        Task() + LeaveOneOut()


def test_mistakes_get_a_sentence() -> None:
    for wrong in ({"epsilon": -1.0}, {"ddof": 2}):
        with pytest.raises(RewardError, match="epsilon is 0 or more and ddof 0 or 1"):
            GroupNormalise(**wrong)  # type: ignore[arg-type]
    torn = rows([1.0, 2.0], terminated=[0, 1], group=[0, 1])
    with pytest.raises(RewardError, match="the episode of row 0 lies in groups 0 and 1"):
        relabel(torn, "leave_one_out")
