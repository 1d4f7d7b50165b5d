"""Statistics against closed forms and SciPy."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import trim_mean

from reward_envs.agents.statistics import interval, iqm, median, steps_to
from reward_envs.wrappers import RewardError

numbers = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0], 3.0),
        ([0.0, 1.0, 5.0], 2.0),
        ([0.0, 1.0, 2.0, 99.0], 1.5),
        ([7.0, -5.0, 1.0, 2.0, 3.0, 4.0, 5.0, 100.0], 3.5),
    ],
)
def test_iqm_golden(values: list[float], expected: float) -> None:
    assert iqm(values) == expected


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=13), elements=numbers))
def test_iqm_is_the_trimmed_mean(values: np.ndarray) -> None:
    for axis in (0, 1):
        np.testing.assert_allclose(iqm(values, axis), trim_mean(values, 0.25, axis=axis), rtol=1e-9, atol=1e-6)


def test_iqm_leaves_its_input_alone() -> None:
    values = np.array([3.0, 1.0, 2.0, 0.0])
    iqm(values)
    assert values.tolist() == [3.0, 1.0, 2.0, 0.0]


def test_interval_of_three_seeds_is_that_of_all_27_resamples() -> None:
    values = np.array([0.0, 0.3, 1.0])
    means = [np.mean(pick) for pick in product(values, repeat=3)]
    low, high = interval([values], draws=20_000, level=0.8)
    exact = np.quantile(means, [0.1, 0.9], method="inverted_cdf")
    np.testing.assert_allclose([low, high], exact)


def test_interval_of_a_mean_has_the_width_of_the_closed_form() -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = interval([values], statistic=np.mean, draws=4000)
    width = 2 * 1.96 * values.std() / math.sqrt(len(values))
    assert high - low == pytest.approx(width, rel=0.05)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.1 * width)


def test_interval_draws_within_each_task() -> None:
    # every draw takes one seed of either task, so the mean never moves; drawn from one heap it would
    assert interval([[0.0], [10.0]]) == (5.0, 5.0)
    low, high = interval([[0.0, 10.0]])
    assert (low, high) == (0.0, 10.0)


def test_interval_of_curves_is_that_of_each_point() -> None:
    curves = np.random.default_rng(1).normal(size=(5, 3))
    low, high = interval([curves], seed=4)
    for k in range(3):
        assert interval([curves[:, k]], seed=4) == (low[k], high[k])
    assert (low <= high).all()


def test_one_seed_has_no_width() -> None:
    low, high = interval([np.array([[1.0, 2.0]])])
    assert low.tolist() == high.tolist() == [1.0, 2.0]


def test_steps_to_takes_the_first_and_censors() -> None:
    values = [[0.0, 0.9, 0.2], [0.95, 1.0, 1.0], [0.0, 0.0, 0.89], [0.0, 0.0, 0.9]]
    assert steps_to([0, 10, 20], values, 0.9).tolist() == [10.0, 0.0, math.inf, 20.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([4.0], 4.0),
        ([3.0, 1.0, 2.0], 2.0),
        ([1.0, math.inf], math.inf),
        ([1.0, 3.0, math.inf], 3.0),
        ([math.inf] * 4, math.inf),
        ([1.0, 2.0, 4.0, math.inf], 3.0),
    ],
)
def test_median_keeps_the_censored(values: list[float], expected: float) -> None:
    assert median(values) == expected


@given(st.lists(numbers, min_size=1, max_size=9))
def test_median_is_numpys(values: list[float]) -> None:
    assert median(values) == pytest.approx(float(np.median(values)))


@pytest.mark.parametrize(
    "call", [lambda: iqm([]), lambda: interval([]), lambda: interval([[1.0], []]), lambda: median([])]
)
def test_no_values_get_a_sentence(call) -> None:
    with pytest.raises(RewardError, match="no values|at least one"):
        call()
