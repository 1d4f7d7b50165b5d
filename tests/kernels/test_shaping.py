"""Kernels of shaping against their twins, and rows a person can redo."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numba
import numpy as np
from hypothesis import given, settings

from reward_envs.kernels import shaping
from tests import naive

checked = settings(deadline=None, max_examples=60)
seeds = st.integers(0, 2**32 - 1)
NAN = math.nan
I64, F64, BOOL = np.int64, np.float64, np.bool_


def same(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


# potential_difference


def test_potential_golden():
    # -d with d = 2, 1, 1: a step nearer, a truncated row that stays, a terminated one whose phi(s') is not read
    phi, out = np.array([-2.0, -1, -1, -1, -1, math.inf]), np.empty(3)
    shaping.potential_difference(phi, np.array([False, False, True]), 0.5, out)
    assert out.tolist() == [1.5, 0.5, 1.0]


def test_potential_telescopes_over_a_terminated_episode():
    values = np.array([3.0, -1, 4, 1, -5, 9])  # phi(s_0) to phi(s_5), the last one terminal
    phi, out = np.concatenate([values[:-1], values[1:]]), np.empty(5)
    shaping.potential_difference(phi, np.arange(5) == 4, 0.9, out)
    same((0.9 ** np.arange(5) * out).sum(), -3.0)


@checked
@given(seeds, st.integers(0, 20), st.sampled_from([0.0, 0.9, 1.0]))
def test_potential_equals_twin(seed, n, gamma):
    rng = np.random.default_rng(seed)
    phi, terminated, out = rng.normal(size=2 * n), rng.random(n) < 0.3, np.empty(n)
    phi[n:][terminated] = rng.choice([NAN, math.inf, 1.0], size=terminated.sum())
    shaping.potential_difference(phi, terminated, gamma, out)
    same(out, naive.potential_difference(phi, terminated, gamma))


# milestones


def pay(now, nxt, first, paid=None, weights=(1.0, 10.0)):
    now, nxt = np.array(now, F64), np.array(nxt, F64)
    out, paid = np.empty(len(now)), np.array(paid or [[0, 0]], BOOL)
    shaping.milestones(now, nxt, np.array(first, BOOL), np.zeros(len(now), I64), np.array(weights), paid, out)
    return out.tolist(), paid.tolist()


def test_milestones_golden_each_pays_once():
    now, nxt = [[0, 0], [1, 0], [0, 0]], [[1, 0], [0, 0], [1, 1]]
    assert pay(now, nxt, [1, 0, 0]) == ([1.0, 0.0, 10.0], [[True, True]])


def test_milestones_golden_what_holds_at_the_start_is_not_paid():
    assert pay([[1, 0]], [[1, 1]], [1]) == ([10.0], [[True, True]])


def test_milestones_golden_a_new_episode_pays_again():
    assert pay([[0, 0]], [[1, 0]], [1], paid=[[1, 1]]) == ([1.0], [[True, False]])


def test_milestones_golden_absent_flags_are_not_set():
    assert pay([[NAN, 0], [0, 0]], [[NAN, 1], [1, NAN]], [1, 0]) == ([10.0, 1.0], [[True, True]])


@checked
@given(seeds, st.integers(0, 30), st.integers(0, 4))
def test_milestones_equal_twin(seed, n, k):
    rng = np.random.default_rng(seed)
    now, nxt = rng.choice([0.0, 1.0, NAN], p=[0.6, 0.3, 0.1], size=(2, n, k))
    first, stream, weights = rng.random(n) < 0.2, rng.integers(0, 3, n), rng.normal(size=k)
    paid, out = rng.random((3, k)) < 0.2, np.empty(n)
    wanted, wanted_paid = naive.milestones(now, nxt, first, stream, weights, paid)
    shaping.milestones(now, nxt, first, stream, weights, paid, out)
    same(out, wanted)
    assert paid.tolist() == wanted_paid


# best_gain


def gain(now, nxt, first, best=0.0):
    out, best = np.empty(len(now)), np.array([best])
    shaping.best_gain(np.array(now, F64), np.array(nxt, F64), np.array(first, BOOL), np.zeros(len(now), I64), best, out)
    return out.tolist(), best.item()


def test_gain_golden_falling_back_and_coming_again_pays_nothing():
    assert gain([1, 3, 2, 3], [3, 2, 3, 4], [1, 0, 0, 0]) == ([2.0, 0.0, 0.0, 1.0], 4.0)


def test_gain_golden_an_episode_starts_from_its_own_level():
    assert gain([1], [2], [1], best=50.0) == ([1.0], 2.0)


def test_gain_golden_unknown_level_leaves_the_best():
    out, best = gain([1, NAN, NAN], [2, NAN, 5], [1, 0, 0])
    np.testing.assert_array_equal(out, [1.0, NAN, 3.0])
    assert best == 5.0


def test_gain_golden_unknown_start_does_not_use_the_last_episode():
    out, best = gain([NAN, NAN, 4, 6], [NAN, 4, 6, 7], [1, 0, 0, 0], best=50.0)
    np.testing.assert_array_equal(out, [NAN, 0.0, 2.0, 1.0])
    assert best == 7.0


@checked
@given(seeds, st.integers(0, 30))
def test_gain_equals_twin(seed, n):
    rng = np.random.default_rng(seed)
    now, nxt = np.where(rng.random((2, n)) < 0.2, NAN, rng.integers(-5, 5, (2, n)))
    first, stream, out = rng.random(n) < 0.2, rng.integers(0, 3, n), np.empty(n)
    best = np.array([0.0, NAN, 3.0])
    wanted, wanted_best = naive.best_gain(now, nxt, first, stream, best)
    shaping.best_gain(now, nxt, first, stream, best, out)
    same(out, wanted)
    same(best, wanted_best)


# inside another compiled function


@numba.njit
def all_at_once(phi, ended, flags, stream):
    n = ended.size
    a, b, c = np.empty(n), np.empty(n), np.empty(n)
    shaping.potential_difference(phi, ended, 0.9, a)
    shaping.milestones(flags, flags, ended, stream, np.ones(flags.shape[1]), np.zeros((2, flags.shape[1]), np.bool_), b)
    shaping.best_gain(phi[:n], phi[n:], ended, stream, np.zeros(2), c)
    return a, b, c


def test_kernels_run_inside_compiled_code():
    rng = np.random.default_rng(3)
    args = (rng.normal(size=20), rng.random(10) < 0.3, rng.integers(0, 2, (10, 3)).astype(F64), rng.integers(0, 2, 10))
    for compiled, python in zip(all_at_once(*args), all_at_once.py_func(*args), strict=True):
        np.testing.assert_array_equal(compiled, python)
