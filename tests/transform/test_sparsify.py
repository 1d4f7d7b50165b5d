"""Rewards held back to the end, and dense tasks made sparse."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, Delay, Progress, Rewarder, RewardError, Sparsify, Task, TextError, parse
from tests import naive
from tests.drawn import cut, rollout, whole_episodes

nan = math.nan
seeds = st.integers(0, 10**6)


def rows(rewards: Any, **columns: Any) -> Batch:
    n = len(rewards)
    return Batch.of(obs=[0] * n, action=[0] * n, next_obs=[0] * n, reward=rewards, **columns)


TWO = {"rewards": [1.0, 2.0, 3.0, 4.0, 5.0], "terminated": [0, 0, 0, 0, 1], "truncated": [0, 0, 1, 0, 0]}


def test_golden_both_ends_pay() -> None:
    assert Rewarder("delay").step(rows(**TWO)).values.tolist() == [0.0, 0.0, 6.0, 0.0, 9.0]


def test_golden_what_is_open_waits_in_the_carry() -> None:
    rewarder = Rewarder("delay")
    assert rewarder.step(rows([1.0, 1.0])).values.tolist() == [0.0, 0.0]
    assert rewarder.carries[-1].pending.tolist() == [2.0]
    assert rewarder.carries[-1].elapsed.tolist() == [2]
    assert rewarder.step(rows([3.0], terminated=[1], t=[2], episode=[0])).values.tolist() == [5.0]
    assert rewarder.carries[-1].pending.tolist() == [0.0]


def test_golden_every_so_many_steps() -> None:
    rewarder = Rewarder("delay(every=2)")
    assert rewarder.step(rows(**TWO)).values.tolist() == [0.0, 3.0, 3.0, 0.0, 9.0]
    assert Rewarder("delay(every=1)").step(rows(**TWO)).values.tolist() == TWO["rewards"]


def test_streams_are_held_apart() -> None:
    batch = rows([1.0, 10.0, 2.0, 20.0], stream=[0, 1, 0, 1], terminated=[0, 0, 1, 0], truncated=[0, 0, 0, 1])
    assert Rewarder("delay", n=2).step(batch).values.tolist() == [0.0, 0.0, 3.0, 30.0]


def test_an_abandoned_episode_is_forgotten() -> None:
    rewarder = Rewarder("delay")
    rewarder.step(rows([7.0]))
    assert rewarder.step(rows([1.0, 1.0], terminated=[0, 1])).values.tolist() == [0.0, 2.0]


def test_a_payment_with_an_unknown_part_is_unknown_and_only_it() -> None:
    batch = rows([1.0, nan, 3.0, 4.0, 5.0], terminated=[0, 0, 1, 0, 1])
    assert Rewarder("delay").step(batch).values == pytest.approx([0.0, 0.0, nan, 0.0, 9.0], nan_ok=True)
    assert Rewarder("sparsify(threshold=9)").step(batch).values == pytest.approx([0.0, 0.0, nan, 0.0, 1.0], nan_ok=True)
    assert Rewarder("delay").step(rows([1.0, nan], terminated=[0, 1])).values == pytest.approx([0.0, nan], nan_ok=True)


def test_scoring_twice_pays_once() -> None:
    rewarder = Rewarder("delay")
    rewarder.step(rows([1.0]))
    end = rows([1.0], terminated=[1], t=[1], episode=[0])
    assert [rewarder.score(end).values.tolist() for _ in range(3)] == [[2.0]] * 3
    assert rewarder.step(end).values.tolist() == [2.0]


@given(seed=seeds, every=st.integers(0, 4))
def test_it_equals_its_twin_however_the_rows_are_cut(seed: int, every: int) -> None:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    rewarder = Rewarder(Delay(Task(), every=every), n=3)
    values = np.concatenate([rewarder.step(part).values for part in cut(batch, rng)])
    twin, pending, elapsed = naive.hold_until_end(
        batch.reward, batch.stream, batch.first, batch.ended, every, [0.0] * 3, [0] * 3
    )
    assert values == pytest.approx(twin)
    assert rewarder.carries[-1].pending == pytest.approx(pending)
    assert rewarder.carries[-1].elapsed.tolist() == elapsed
    for episode in whole_episodes(batch):
        assert values[episode].sum() == pytest.approx(batch.reward[episode].sum())


def test_any_method_can_be_held_back() -> None:
    batch = rows(
        [0.0] * 3, info={"progress": [0.0, 0.5, 0.25]}, next_info={"progress": [0.5, 0.25, 0.75]}, terminated=[0, 0, 1]
    )
    assert Rewarder(Task() + Delay(Progress())).step(batch).values.tolist() == [0.0, 0.0, 0.75]


# sparsify


def test_sparsify_golden() -> None:
    assert Rewarder("sparsify(threshold=6)").step(rows(**TWO)).values.tolist() == [0.0, 0.0, 1.0, 0.0, 1.0]
    assert Rewarder("sparsify(threshold=6.5)").step(rows(**TWO)).values.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert Rewarder("sparsify(threshold=0)").step(rows([-1.0, 1.0])).values.tolist() == [0.0, 0.0]
    assert Rewarder("sparsify(threshold=0)").step(rows([-1.0, 1.0], truncated=[0, 1])).values.tolist() == [0.0, 1.0]


@given(seed=seeds, threshold=st.floats(-3, 3))
def test_sparsify_judges_each_whole_episode_once(seed: int, threshold: float) -> None:
    batch = rollout(np.random.default_rng(seed))
    values = Rewarder(Sparsify(threshold=threshold), n=3).step(batch).values
    delayed = Rewarder("delay", n=3).step(batch).values
    assert values.tolist() == (batch.ended & (delayed >= threshold)).astype(float).tolist()


def test_wrong_fields() -> None:
    with pytest.raises(RewardError, match=re.escape("delay: every=-1; write a number of steps")):
        Delay(every=-1)
    with pytest.raises(RewardError, match="sparsify: threshold=inf; a return to reach is finite"):
        Sparsify(threshold=math.inf)
    with pytest.raises(TextError, match="sparsify in 'sparsify' needs threshold"):
        parse("sparsify")


@pytest.mark.parametrize(
    "text",
    [
        "delay",
        "delay(every=5)",
        "delay(progress, every=5, name=late)",
        "sparsify(threshold=1.5)",
        "sparsify(progress, threshold=1)",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)
