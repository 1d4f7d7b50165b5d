"""Counts: exact and hashed, lifelong and episodic."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, Count, Rewarder, RewardError, Spec, parse
from reward_envs.wrappers.state import export


def rows(states: Any, **columns: Any) -> Batch:
    states = np.asarray(states)
    n = len(states)
    return Batch.of(obs=np.zeros_like(states), action=np.zeros(n), next_obs=states, reward=np.zeros(n), **columns)


def test_golden_counts_include_the_visit_at_hand() -> None:
    rewarder = Rewarder("count")
    assert rewarder.step(rows([3, 3, 5])).values.tolist() == [1.0, 2**-0.5, 1.0]
    assert rewarder.step(rows([3, 5, 5])).values.tolist() == [3**-0.5, 2**-0.5, 3**-0.5]


def test_golden_episodic_counts_restart_with_the_episode() -> None:
    batch = rows([1, 1, 2, 1, 1], terminated=[0, 0, 1, 0, 0])
    assert Rewarder("count(episodic=True, power=1.0)").step(batch).values.tolist() == [1.0, 0.5, 1.0, 1.0, 0.5]


def test_episodic_counts_of_streams_are_apart() -> None:
    batch = rows([1, 1, 1, 1], stream=[0, 1, 0, 1])
    assert Rewarder("count(episodic=True, power=1.0)", n=2).step(batch).values.tolist() == [1, 1, 0.5, 0.5]


@given(seed=st.integers(0, 2**31), n=st.integers(0, 40), episodic=st.booleans())
def test_counts_equal_a_counter_however_the_rows_are_cut(seed: int, n: int, episodic: bool) -> None:
    rng = np.random.default_rng(seed)
    batch = rows(rng.integers(0, 4, n), stream=rng.integers(0, 2, n), truncated=rng.random(n) < 0.2)
    seen: dict[Any, Counter[int]] = {}
    expected = []
    for state, episode in zip(batch.next_obs.tolist(), batch.episode.tolist(), strict=True):
        tally = seen.setdefault(episode if episodic else None, Counter())
        tally[state] += 1
        expected.append(tally[state] ** -0.5)
    rewarder = Rewarder(Count(episodic=episodic), n=2)
    cuts = np.sort(rng.integers(0, n + 1, 3))
    got = [rewarder.step(batch.rows(part)).values for part in np.split(np.arange(n), cuts)]
    np.testing.assert_allclose(np.concatenate(got), expected)


def test_what_is_one_state() -> None:
    def paid(method: str, obs: Any, space: Any = None) -> list[float]:
        return Rewarder(method, Spec(space), seed=0).step(rows(obs)).values.round(3).tolist()

    assert paid("count(power=1.0)", [0.0, -0.0]) == [1.0, 0.5]
    assert paid("count(power=1.0)", [0.12, 0.14]) == [1.0, 1.0]
    assert paid("count(power=1.0, resolution=0.1)", [0.12, 0.14]) == [1.0, 0.5]
    texts = np.array(["a door", "a key", "a door"], dtype=object)
    assert paid("count(power=1.0)", texts) == [1.0, 1.0, 0.5]
    pair = {"x": np.array([1, 1, 2]), "y": np.array([5.0, 5.0, 5.0])}
    batch = Batch.of(obs=pair, action=[0] * 3, next_obs=pair, reward=[0] * 3)
    assert Rewarder("count(power=1.0)").step(batch).values.tolist() == [1.0, 0.5, 1.0]


def test_simhash_counts_directions_not_lengths_and_near_ones_agree_more() -> None:
    rng = np.random.default_rng(0)
    one = rng.standard_normal(20)
    near, far = one + 0.05 * rng.standard_normal(20), rng.standard_normal(20)
    together = {"near": 0, "far": 0}
    for seed in range(200):
        for name, other in (("near", near), ("far", far)):
            values = Rewarder("count(bits=8, power=1.0)", seed=seed).step(rows(np.stack([one, other]))).values
            together[name] += values[1] == 0.5
    assert together["near"] > 150 and together["far"] < 20
    assert Rewarder("count(bits=16, power=1.0)", seed=1).step(rows(np.stack([one, 3 * one]))).values.tolist() == [
        1,
        0.5,
    ]


def test_more_bits_make_finer_states() -> None:
    states = np.random.default_rng(0).standard_normal((500, 6))
    used = []
    for bits in (2, 8, 32):
        rewarder = Rewarder(Count(bits=bits), seed=0)
        rewarder.step(rows(states))
        used.append(rewarder.states[0].used)
    assert used[0] <= 4 < used[1] < 300 < used[2]


def test_evaluation_learns_nothing_and_sees_what_was_learnt() -> None:
    rewarder = Rewarder("count")
    rewarder.step(rows([1, 1, 1]))
    before = export(rewarder.states[0])
    frozen = rewarder.freeze()
    assert frozen.step(rows([1, 2])).values.tolist() == [0.5, 1.0]
    assert frozen.step(rows([1, 2])).values.tolist() == [0.5, 1.0]
    assert str(export(rewarder.states[0])) == str(before)


def test_memory_follows_the_states_not_the_rows() -> None:
    lifelong, episodic = Rewarder("count"), Rewarder("count(episodic=True)")
    rng = np.random.default_rng(0)
    for _ in range(200):
        batch = rows(rng.integers(0, 30, 50), truncated=np.arange(50) == 49)
        lifelong.step(batch)
        episodic.step(batch)
    assert lifelong.states[0].used == 30 and len(lifelong.states[0].keys) == 64
    assert episodic.carries[0][0].shape[1] <= 512


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("count(bits=65)", "bits=65; it is 0"),
        ("count(power=0.0)", "power=0.0"),
        ("count(resolution=-1.0)", "resolution=-1.0"),
        ("count(bits=8, resolution=0.1)", "SimHash \\(bits=8\\) needs none"),
        ("count(bits=0.5)", "bits takes a int"),
    ],
)
def test_mistakes_get_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RewardError, match=sentence):
        parse(text)


def test_simhash_tells_discrete_states_apart() -> None:
    """They are one-hot: as plain numbers all of them would point one way."""
    rewarder = Rewarder("count(bits=32)", Spec(gym.spaces.Discrete(10)), seed=0)
    assert rewarder.step(rows(np.arange(10))).values.tolist() == [1.0] * 10


def test_texts_count_whatever_array_holds_them() -> None:
    rewarder = Rewarder("count(power=1.0)")
    assert rewarder.step(rows(np.array(["a", "bbb"]))).values.tolist() == [1.0, 1.0]
    assert rewarder.step(rows(np.array(["a"], dtype=object))).values.tolist() == [0.5]
    assert rewarder.step(rows(np.array(["a"]))).values.tolist() == [1 / 3]
