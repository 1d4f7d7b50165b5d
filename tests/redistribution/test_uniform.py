"""An episode's return in equal shares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, Delay, RewardError, Scope, Uniform, parse, relabel
from tests.drawn import rollout, whole_episodes


def rows(reward: Any, **columns: Any) -> Batch:
    n = len(reward)
    return Batch.of(obs=np.arange(n), action=np.zeros(n), next_obs=np.arange(n), reward=reward, **columns)


def shares(batch: Batch, method: str = "uniform") -> list[float]:
    return relabel(batch, method).values.tolist()


def test_golden_shares_at_either_end() -> None:
    batch = rows([1, 2, 3, 4, 5], terminated=[0, 0, 0, 0, 1], truncated=[0, 0, 1, 0, 0])
    assert shares(batch) == [2.0, 2.0, 2.0, 4.5, 4.5]


def test_golden_shares_of_streams_in_time_order() -> None:
    batch = rows([1, 10, 2, 20, 3, 30], stream=[0, 1] * 3, terminated=[0, 0, 0, 1, 1, 1])
    assert shares(batch) == [2.0, 15.0, 2.0, 15.0, 2.0, 30.0]


def test_open_episodes_are_unknown() -> None:
    batch = rows([6.0, 0.0, 1.0], truncated=[0, 1, 0])
    assert shares(batch) == pytest.approx([3.0, 3.0, math.nan], nan_ok=True)
    without_its_first_row = batch.rows([1, 2])
    assert shares(without_its_first_row) == pytest.approx([math.nan, math.nan], nan_ok=True)


def test_an_unknown_reward_makes_its_episode_unknown() -> None:
    batch = rows([1.0, math.nan, 4.0, 2.0], terminated=[0, 1, 0, 1])
    assert shares(batch) == pytest.approx([math.nan, math.nan, 3.0, 3.0], nan_ok=True)
    assert shares(batch, "uniform(fill_unknown(task, 0))") == [0.5, 0.5, 3.0, 3.0]


def test_steps_of_one_and_no_rows() -> None:
    assert shares(rows([3.0, -1.0], terminated=[1, 1])) == [3.0, -1.0]
    assert shares(rows([1.0]).rows([])) == []


@given(seed=st.integers(0, 2**32 - 1))
def test_shares_are_the_mean_of_each_episode(seed: int) -> None:
    batch = rollout(np.random.default_rng(seed))
    expected = np.full(len(batch), np.nan)
    for episode in whole_episodes(batch):
        expected[episode] = math.fsum(batch.reward[episode]) / len(episode)
    np.testing.assert_allclose(relabel(batch, "uniform").values, expected, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_a_delayed_reward_has_the_same_shares(seed: int) -> None:
    batch = rollout(np.random.default_rng(seed))
    np.testing.assert_allclose(relabel(batch, Uniform(Delay())).values, relabel(batch, "uniform").values, atol=1e-12)


def test_scope_and_mistakes() -> None:
    assert parse("task + uniform(progress)").scope is Scope.EPISODE
    with pytest.raises(RewardError, match="must see whole episodes"):
        relabel(rows([1.0]), "uniform", cut=1)
    with pytest.raises(RewardError, match="of takes a reward method"):
        Uniform("task")  # type: ignore[arg-type]
