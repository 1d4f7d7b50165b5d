"""Normalisation by the running spread of the returns."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, Normalise, Rewarder, RewardError, Spec, Task, parse
from reward_envs.wrappers.transform.normalise import ReturnScale
from tests import naive
from tests.drawn import cut, rollout

nan = math.nan
seeds = st.integers(0, 10**6)


def rows(rewards: Any, **columns: Any) -> Batch:
    n = len(rewards)
    return Batch.of(obs=[0] * n, action=[0] * n, next_obs=[0] * n, reward=rewards, **columns)


def returns(rewards: Any, gamma: float, episodic: bool = True, **columns: Any) -> list[float]:
    batch = rows(rewards, **columns)
    return ReturnScale(gamma).observe(batch.reward, batch.stream, batch.first & episodic).tolist()


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_golden_returns_end_with_the_episode(flag: str) -> None:
    """f = 1, 1.5 | 1, 1.5: mean 1.25, variance 0.0625, so a reward of 1 becomes 4."""
    assert returns([1.0] * 4, 0.5, **{flag: [0, 1, 0, 0]}) == [1.0, 1.5, 1.0, 1.5]
    rewarder = Rewarder("normalise(task, gamma=0.5)")
    batch = rows([1.0] * 4, **{flag: [0, 1, 0, 0]})
    assert rewarder.step(batch).values == pytest.approx([4.0] * 4, rel=5e-3)
    assert rewarder.freeze().step(rows([0.0, 1.0, -1.0])).values == pytest.approx([0.0, 4.0, -4.0], rel=5e-3)


def test_golden_returns_that_run_on() -> None:
    assert returns([1.0] * 4, 0.5, episodic=False, terminated=[0, 1, 0, 0]) == [1.0, 1.5, 1.75, 1.875]


def test_golden_sparse_reward_keeps_its_sign_and_zero_stays_zero() -> None:
    """f = 0, 0, 0, -1: mean -1/4, variance 3/16."""
    rewarder = Rewarder("normalise(task, gamma=0.5)")
    values = rewarder.step(rows([0.0, 0.0, 0.0, -1.0])).values
    assert values == pytest.approx([0.0, 0.0, 0.0, -1 / math.sqrt(3 / 16)], rel=5e-3)
    assert values.tolist()[:3] == [0.0, 0.0, 0.0]


def test_before_any_data_the_scale_is_1() -> None:
    rewarder = Rewarder("normalise(task, gamma=0.5)")
    assert rewarder.score(rows([2.0, -3.0])).values == pytest.approx([2.0, -3.0])
    assert rewarder.freeze().step(rows([2.0])).values == pytest.approx([2.0])
    assert rewarder.score(rows([2.0])).values == pytest.approx([2.0])


def test_evaluation_moves_no_statistic() -> None:
    rewarder = Rewarder("normalise(task, gamma=0.5)")
    rewarder.step(rows([1.0, 2.0, 0.0]))
    kept = rewarder.state_dict()["states"][-1]
    frozen = rewarder.freeze()
    assert frozen.step(rows([100.0])).values == frozen.step(rows([100.0])).values
    assert rewarder.state_dict()["states"][-1] | {"running": None} == kept | {"running": None}
    assert rewarder.state_dict()["states"][-1]["running"].tolist() == kept["running"].tolist()


def test_an_unknown_reward_is_neither_counted_nor_paid() -> None:
    with_gap, without = Rewarder("normalise(task, gamma=0.5)"), Rewarder("normalise(task, gamma=0.5)")
    values = with_gap.step(rows([1.0, nan, 3.0])).values
    assert math.isnan(values[1])
    assert values[[0, 2]].tolist() == without.step(rows([1.0, 3.0])).values.tolist()
    nothing = Rewarder("normalise(task, gamma=0.5)")
    nothing.step(rows([nan]))
    assert nothing.states[-1].count == 1e-4


def test_a_constant_zero_stays_zero_and_an_empty_batch_changes_nothing() -> None:
    rewarder = Rewarder("normalise(task, gamma=0.9)")
    for _ in range(3):
        assert rewarder.step(rows([0.0] * 50)).values.tolist() == [0.0] * 50
    kept = rewarder.states[-1].var
    assert rewarder.step(rows([0.0]).rows(np.zeros(0, int))).values.tolist() == []
    assert rewarder.states[-1].var == kept


def test_clip_bounds_what_a_small_spread_blows_up() -> None:
    long = [0.0] * 999 + [1.0]
    assert Rewarder("normalise(task, gamma=0.9)").step(rows(long)).values.max() > 30.0
    assert Rewarder("normalise(task, gamma=0.9, clip=5)").step(rows(long)).values.max() == 5.0
    assert Rewarder("normalise(-1*task, gamma=0.9, clip=5)").step(rows(long)).values.min() == -5.0


@given(seed=seeds, gamma=st.sampled_from([0.0, 0.9, 1.0]), episodic=st.booleans())
def test_moments_equal_the_twins_however_the_rows_are_cut(seed: int, gamma: float, episodic: bool) -> None:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    rewarder = Rewarder(Normalise(Task(), gamma=gamma, episodic=episodic), n=3)
    for part in cut(batch, rng):
        rewarder.step(part)
    f, running = naive.discounted_filter(batch.reward, batch.stream, batch.first & episodic, gamma, [0.0] * 3)
    count = 1e-4 + len(f)  # the prior: 1e-4 of a row, of mean 0 and variance 1
    mean = math.fsum(f) / count
    var = (1e-4 + math.fsum(v * v for v in f)) / count - mean**2
    state = rewarder.states[-1]
    assert (state.count, state.mean, state.var) == pytest.approx((count, mean, var), abs=1e-9)
    assert state.running == pytest.approx(running)


@given(seed=seeds)
def test_the_unit_of_the_reward_does_not_matter(seed: int) -> None:
    batch = rollout(np.random.default_rng(seed))
    one, other = (Rewarder(Normalise(c * Task(), gamma=0.9), n=3).step(batch).values for c in (1.0, 50.0))
    assert other == pytest.approx(one, rel=1e-2)


def test_streams_may_come_later() -> None:
    rewarder = Rewarder("normalise(task, gamma=0.5)", n=6)
    rewarder.step(rows([1.0]))
    rewarder.step(rows([1.0], stream=[5]))
    assert rewarder.states[-1].running.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def test_it_goes_on_after_saving() -> None:
    one, other = Rewarder("normalise(task, gamma=0.5)"), Rewarder("normalise(task, gamma=0.5)")
    one.step(rows([1.0, 2.0]))
    other.load_state_dict(one.state_dict())
    assert other.step(rows([3.0])).values == one.step(rows([3.0])).values


def test_the_learners_gamma_is_taken() -> None:
    rewarder = Rewarder("normalise(task)", Spec(gamma=0.25))
    rewarder.step(rows([4.0, 0.0]))
    assert rewarder.states[-1].running.tolist() == [1.0]
    with pytest.raises(RewardError, match="normalise needs the learner's discount"):
        Rewarder("normalise(task)")


@pytest.mark.parametrize("fields", [{"epsilon": 0.0}, {"epsilon": nan}, {"clip": 0.0}, {"clip": -1.0}])
def test_wrong_fields(fields: dict[str, float]) -> None:
    given_fields = {"epsilon": 1e-8, "clip": None, **fields}
    sentence = f"normalise: epsilon={given_fields['epsilon']}, clip={given_fields['clip']}; both lie above 0."
    with pytest.raises(RewardError, match=re.escape(sentence)):
        Normalise(Task(), **fields)


@pytest.mark.parametrize("text", ["normalise(task)", "normalise(task, gamma=0.9, episodic=False, clip=5, name=unit)"])
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)
