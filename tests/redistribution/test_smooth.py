"""Rewards spread over the steps around them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, RewardError, Smooth, relabel
from tests import naive
from tests.drawn import rollout, whole_episodes

KERNELS = ("gaussian", "uniform", "ema")
WEIGHTS = {
    "gaussian": lambda k, width: math.exp(-0.5 * (k / width) ** 2),
    "uniform": lambda k, width: float(abs(k) <= width),
    "ema": lambda k, width: (width / (1 + width)) ** k if k >= 0 else 0.0,
}


def one(rewards: Any, method: Smooth) -> Any:
    """The smoothed rewards of one whole episode."""
    n = len(rewards)
    last = np.arange(n) == n - 1
    return relabel(
        Batch.of(obs=np.arange(n), action=np.zeros(n), next_obs=np.arange(n), reward=rewards, terminated=last), method
    ).values


def pulse(n: int, at: int) -> Any:
    return np.eye(n)[at]


def test_golden_shares() -> None:
    assert one([0, 0, 3, 0, 0], Smooth(kernel="uniform", width=1)).tolist() == [0, 1, 1, 1, 0]
    assert one([0, 0, 0, 0, 2], Smooth(kernel="uniform", width=1)).tolist() == [0, 0, 0, 1, 1]
    # alpha 1/2: 1, 1/2, 1/4 over their sum
    np.testing.assert_allclose(one([0, 7, 0, 0], Smooth(kernel="ema", width=1)), [0, 4, 2, 1])
    near = math.exp(-0.5)
    np.testing.assert_allclose(one([1, 0], Smooth(width=1.0)), [1 / (1 + near), near / (1 + near)])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("at", range(6))
def test_a_pulse_keeps_its_total_wherever_it_is(kernel: str, at: int) -> None:
    assert one(pulse(6, at), Smooth(kernel=kernel, width=2.0)).sum() == pytest.approx(1.0, abs=1e-12)


def test_a_blurred_pulse_is_worth_predicting() -> None:
    """One step late is a worse guess than nothing for a pulse, and a better one for the same pulse blurred."""

    def errors(r: Any) -> tuple[float, float]:
        return float(((r - np.roll(r, 1)) ** 2).sum()), float((r**2).sum())

    late, nothing = errors(pulse(41, 20))
    assert (late, nothing) == (2.0, 1.0)
    late, nothing = errors(one(pulse(41, 20), Smooth(width=1.0)))
    assert late == pytest.approx(0.125, abs=1e-3) and nothing == pytest.approx(0.2821, abs=1e-4)
    for kernel in KERNELS:
        for at in (0, 40):
            assert one(pulse(41, at), Smooth(kernel=kernel)).sum() == pytest.approx(1.0, abs=1e-12)


def test_the_average_pays_nothing_early_and_comes_late_by_its_width() -> None:
    paid = one(pulse(400, 5), Smooth(kernel="ema", width=4.0))
    assert not paid[:5].any() and paid[5] == pytest.approx(1 / 5)
    assert (paid * (np.arange(400) - 5)).sum() == pytest.approx(4.0)
    assert one(pulse(10, 5), Smooth()).argmin() == 0 and one(pulse(10, 5), Smooth())[4] > 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_width_changes_nothing_and_a_constant_is_one_still(kernel: str) -> None:
    rewards = np.random.default_rng(0).normal(size=9)
    np.testing.assert_array_equal(one(rewards, Smooth(kernel=kernel, width=0.0)), rewards)
    assert one(np.ones(3), Smooth(kernel="uniform", width=5.0)).tolist() == [1.0, 1.0, 1.0]


@given(seed=st.integers(0, 2**32 - 1), kernel=st.sampled_from(KERNELS), width=st.floats(0.3, 6.0))
def test_it_equals_its_twin_episode_by_episode(seed: int, kernel: str, width: float) -> None:
    batch = rollout(np.random.default_rng(seed))
    found = relabel(batch, Smooth(kernel=kernel, width=width)).values
    seen = np.zeros(len(batch), bool)
    for rows in whole_episodes(batch):
        twin = naive.smoothed(batch.reward[rows], range(len(rows)), [0, len(rows)], lambda k: WEIGHTS[kernel](k, width))
        np.testing.assert_allclose(found[rows], twin, rtol=1e-9, atol=1e-12)
        assert found[rows].sum() == pytest.approx(batch.reward[rows].sum(), abs=1e-9)
        seen[rows] = True
    assert np.isnan(found[~seen]).all()


def test_an_unknown_reward_makes_its_episode_unknown() -> None:
    batch = Batch.of(
        obs=np.arange(4), action=np.zeros(4), next_obs=np.arange(4), reward=[1, math.nan, 4, 2], terminated=[0, 1, 0, 1]
    )
    found = relabel(batch, "smooth(kernel=uniform, width=1)").values
    assert found.tolist() == pytest.approx([math.nan, math.nan, 3.0, 3.0], nan_ok=True)


def test_what_is_no_kernel_gets_a_sentence() -> None:
    with pytest.raises(RewardError, match="no kernel 'box': write one of gaussian, uniform, ema"):
        Smooth(kernel="box")
    for width in (-1.0, math.inf, math.nan):
        with pytest.raises(RewardError, match="it is a number of steps, 0 or more"):
            Smooth(width=width)
