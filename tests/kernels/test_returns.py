"""Kernels of returns against their twins, and rows a person can redo."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numba
import numpy as np
import pytest
from hypothesis import given, settings

from reward_envs.kernels import returns
from tests import naive

checked = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)
NAN = math.nan
I64, F64, BOOL = np.int64, np.float64, np.bool_


def draw_rows(seed, n, streams=3, unknown=0.2):
    """Random rows of several streams; starts and ends are unrelated on purpose (abandoned episodes)."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(n) < unknown, NAN, rng.normal(size=n).round(2) * 10)
    return values, rng.integers(0, streams, n), rng.random(n) < 0.3, rng.random(n) < 0.3


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


# discounted_filter


def test_filter_golden_reset_at_a_truncation():
    acc, out = np.zeros(1), np.empty(4)
    restart = np.array([True, False, True, False])
    returns.discounted_filter(np.ones(4), np.zeros(4, I64), restart, 0.5, acc, out)
    assert out.tolist() == [1.0, 1.5, 1.0, 1.5]
    assert acc.tolist() == [1.5]


def test_filter_golden_runs_on_over_the_end_for_rnd():
    acc, out = np.zeros(1), np.empty(4)
    returns.discounted_filter(np.array([2.0, 0, 0, 4]), np.zeros(4, I64), np.zeros(4, BOOL), 0.5, acc, out)
    assert out.tolist() == [2.0, 1.0, 0.5, 4.25]
    assert np.std(out) == pytest.approx(1.440215, abs=1e-6)


def test_filter_golden_streams_run_along_time():
    acc, out = np.zeros(2), np.empty(6)
    values, stream = np.array([1.0, 0, 1, 0, 1, 0]), np.array([0, 1, 0, 1, 0, 1])
    returns.discounted_filter(values, stream, np.zeros(6, BOOL), 0.5, acc, out)
    assert out.tolist() == [1.0, 0.0, 1.5, 0.0, 1.75, 0.0]


def test_filter_golden_unknown_rows_are_skipped_but_still_start_episodes():
    acc, out = np.array([8.0]), np.empty(4)
    values, restart = np.array([NAN, 1, NAN, 1]), np.array([False, False, True, False])
    returns.discounted_filter(values, np.zeros(4, I64), restart, 0.5, acc, out)
    np.testing.assert_array_equal(out, [NAN, 5.0, NAN, 1.0])


@checked
@given(seeds, st.integers(0, 40), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_filter_equals_twin(seed, n, gamma):
    values, stream, restart, _ = draw_rows(seed, n)
    acc, out = np.array([1.0, 0.0, -2.0]), np.empty(n)
    wanted, wanted_acc = naive.discounted_filter(values, stream, restart, gamma, acc)
    returns.discounted_filter(values, stream, restart, gamma, acc, out)
    close(out, wanted)
    close(acc, wanted_acc)


@checked
@given(seeds, st.integers(0, 30), st.integers(0, 30))
def test_filter_does_not_depend_on_the_cut(seed, n, cut):
    values, stream, ended, _ = draw_rows(seed, n)
    acc, out, acc2, out2 = np.zeros(3), np.empty(n), np.zeros(3), np.empty(n)
    returns.discounted_filter(values, stream, ended, 0.9, acc, out)
    for part in (slice(0, cut), slice(cut, n)):
        returns.discounted_filter(values[part], stream[part], ended[part], 0.9, acc2, out2[part])
    np.testing.assert_array_equal(out, out2)
    np.testing.assert_array_equal(acc, acc2)


# merge_moments


def test_moments_golden():
    moments = returns.merge_moments(0.0, 0.0, 0.0, np.array([1.0, 1.5, NAN, 1.0, 1.5]))
    assert moments == (4.0, 1.25, 0.0625)
    assert returns.merge_moments(2.0, 1.0, 0.0, np.array([3.0, 3.0])) == (4.0, 2.0, 1.0)


def test_moments_of_nothing_stay():
    assert returns.merge_moments(3.0, 2.0, 1.0, np.empty(0)) == (3.0, 2.0, 1.0)
    assert returns.merge_moments(3, 2, 1, np.array([NAN, NAN])) == (3.0, 2.0, 1.0)


@checked
@given(seeds, st.lists(st.integers(0, 12), max_size=6), st.sampled_from([0.0, 1e6]))
def test_moments_of_parts_are_those_of_the_whole(seed, sizes, offset):
    rng = np.random.default_rng(seed)
    parts = [np.where(rng.random(n) < 0.2, NAN, rng.normal(size=n) + offset) for n in sizes]
    moments = (0.0, 0.0, 0.0)
    for part in parts:
        moments = returns.merge_moments(*moments, part)
    np.testing.assert_allclose(moments, naive.moments([v for p in parts for v in p]), rtol=1e-7, atol=1e-9)


# gae and discounted returns


def column(*values, dtype=F64):
    return np.array(values, dtype=dtype)[:, None]


def test_gae_golden_termination_and_truncation():
    # gamma 0.5, lam 0.5; row 1 is truncated (bootstraps from 8), row 3 is terminated (its next value is not read)
    r, v, nv = column(1.0, 1, 1, 1), column(2.0, 2, 2, 2), column(2.0, 8, 2, NAN)
    term, trunc = column(False, False, False, True, dtype=BOOL), column(False, True, False, False, dtype=BOOL)
    out = np.empty((4, 1))
    returns.gae(r, v, nv, term, trunc, 0.5, 0.5, out)
    # deltas: 1 + 1 - 2 = 0; 1 + 4 - 2 = 3; 1 + 1 - 2 = 0; 1 - 2 = -1
    assert out[:, 0].tolist() == [0.75, 3.0, -0.25, -1.0]


def test_gae_golden_both_flags_count_as_a_termination():
    true = column(True, dtype=BOOL)
    out = np.empty((1, 1))
    returns.gae(column(1.0), column(0.5), column(100.0), true, true, 0.5, 0.5, out)
    assert out.item() == 0.5


def test_returns_golden():
    term, trunc = column(False, False, True, False, dtype=BOOL), column(True, False, False, False, dtype=BOOL)
    out = np.empty((4, 1))
    returns.discounted_returns(column(1.0, 1, 4, 1), column(6.0, 0, 99, 2), term, trunc, 0.5, out)
    assert out[:, 0].tolist() == [4.0, 3.0, 4.0, 2.0]  # 1 + 3 | 1 + 2, 4 | 1 + 1


def draw_grid(seed, steps, n):
    rng = np.random.default_rng(seed)
    return (*rng.normal(size=(3, steps, n)), *(rng.random((2, steps, n)) < 0.2))


@checked
@given(
    seeds, st.integers(0, 15), st.integers(1, 3), st.sampled_from([0.0, 0.9, 1.0]), st.sampled_from([0.0, 0.95, 1.0])
)
def test_gae_equals_twin(seed, steps, n, gamma, lam):
    r, v, nv, term, trunc = draw_grid(seed, steps, n)
    out = np.empty((steps, n))
    returns.gae(r, v, nv, term, trunc, gamma, lam, out)
    close(out, naive.gae(r, v, nv, term, trunc, gamma, lam))


@checked
@given(seeds, st.integers(0, 15), st.integers(1, 3), st.sampled_from([0.0, 0.9, 1.0]))
def test_returns_equal_twin(seed, steps, n, gamma):
    r, _, nv, term, trunc = draw_grid(seed, steps, n)
    out = np.empty((steps, n))
    returns.discounted_returns(r, nv, term, trunc, gamma, out)
    close(out, naive.discounted_returns(r, nv, term, trunc, gamma))


# episodes


def test_episode_golden():
    index = np.array([0, 0, 2, 0])
    assert returns.episode_sums(np.array([1.0, 2, 5, 3]), index, 3).tolist() == [6.0, 0.0, 5.0]
    assert returns.episode_counts(index, 3).tolist() == [3, 0, 1]


@checked
@given(seeds, st.integers(0, 30))
def test_episodes_equal_twin(seed, n):
    values, index, _, _ = draw_rows(seed, n, streams=5, unknown=0.05)
    close(returns.episode_sums(values, index, 5), naive.episode_sums(values, index, 5))
    assert returns.episode_counts(index, 5).tolist() == naive.episode_counts(index, 5)


# hold_until_end


def hold(values, first, ended, every=0, pending=0.0, elapsed=0):
    n = len(values)
    out, store, age = np.empty(n), np.array([float(pending)]), np.array([elapsed], I64)
    returns.hold_until_end(
        np.array(values, F64), np.zeros(n, I64), np.array(first, BOOL), np.array(ended, BOOL), every, store, age, out
    )
    return out.tolist(), store[0], age[0]


def test_hold_golden_pays_at_every_end():
    assert hold([1, 2, 3, 4, 5], [1, 0, 0, 1, 0], [0, 0, 1, 0, 1]) == ([0, 0, 6, 0, 9], 0.0, 0)


def test_hold_golden_keeps_what_is_still_open():
    assert hold([1, 1], [1, 0], [0, 0]) == ([0, 0], 2.0, 2)


def test_hold_golden_every_two_steps_and_at_the_end():
    assert hold([1, 2, 3, 4, 5], [1, 0, 0, 1, 0], [0, 0, 1, 0, 0], every=2) == ([0, 3, 3, 0, 9], 0.0, 0)


def test_hold_golden_an_abandoned_store_is_cleared():
    assert hold([1], [1], [1], pending=7.0, elapsed=3) == ([1], 0.0, 0)


def test_hold_golden_unknown_makes_its_own_sum_unknown():
    out, store, _ = hold([1, NAN, 2, 3], [1, 0, 1, 0], [0, 1, 0, 1])
    assert math.isnan(out[1])
    assert (out[3], store) == (5.0, 0.0)


@checked
@given(seeds, st.integers(0, 40), st.integers(-1, 4))
def test_hold_equals_twin(seed, n, every):
    values, stream, first, ended = draw_rows(seed, n, unknown=0.05)
    pending, elapsed, out = np.array([0.0, 2.0, 5.0]), np.array([0, 1, 2]), np.empty(n)
    wanted = naive.hold_until_end(values, stream, first, ended, every, pending, elapsed)
    returns.hold_until_end(values, stream, first, ended, every, pending, elapsed, out)
    for got, want in zip((out, pending, elapsed), wanted, strict=True):
        close(got, want)


# inside another compiled function


@numba.njit
def all_at_once(values, stream, first, ended, grid, ends):
    acc, out, held = np.zeros(3), np.empty(values.size), np.empty(values.size)
    returns.discounted_filter(values, stream, ended, 0.9, acc, out)
    returns.hold_until_end(values, stream, first, ended, 2, np.zeros(3), np.zeros(3, np.int64), held)
    advantages, sums = np.empty_like(grid), np.empty_like(grid)
    returns.gae(grid, grid, grid, ends, ends, 0.9, 0.8, advantages)
    returns.discounted_returns(grid, grid, ends, ends, 0.9, sums)
    per_episode = returns.episode_sums(values, stream, 3) * returns.episode_counts(stream, 3)
    return out, held, advantages, sums, per_episode, returns.merge_moments(0.0, 0.0, 0.0, values)


def test_kernels_run_inside_compiled_code():
    args = (*draw_rows(7, 20, unknown=0.0), *draw_grid(7, 4, 2)[2:4])
    for compiled, python in zip(all_at_once(*args), all_at_once.py_func(*args), strict=True):
        np.testing.assert_array_equal(compiled, python)
