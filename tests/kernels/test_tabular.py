"""Sweeps of dynamic programming against their twins."""

from __future__ import annotations

import hypothesis.strategies as st
import numba
import numpy as np
import pytest
from hypothesis import given, settings

from reward_envs.agents.tabular import MDP, rows
from reward_envs.kernels import tabular
from tests import naive

checked = settings(deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)


def draw_mdp(seed, n, k, gamma):
    """A random process with sparse transitions; the last state is terminal."""
    rng = np.random.default_rng(seed)
    transition = rng.random((n, k, n)) * (rng.random((n, k, n)) < 0.5) + 1e-3 * np.eye(n)[:, None]
    transition[-1] = np.eye(n)[-1]
    reward = rng.normal(size=(n, k, n))
    reward[-1] = 0.0
    return MDP(transition / transition.sum(axis=2, keepdims=True), reward, np.arange(n) == n - 1, gamma)


def dense(mdp):
    return mdp.transition, mdp.reward, mdp.terminal, mdp.gamma


@checked
@given(seeds, st.integers(1, 6), st.integers(1, 3), st.sampled_from([0.0, 0.9]))
def test_backup_equals_twin(seed, n, k, gamma):
    mdp = draw_mdp(seed, n, k, gamma)
    values, q = np.random.default_rng(seed).normal(size=n), np.full((n, k), np.nan)
    tabular.backup(*rows(mdp).values(), gamma, values, q)
    np.testing.assert_allclose(q, naive.q_values(*dense(mdp), values), atol=1e-12)


def test_state_values_golden():
    q, policy, values = np.array([[1.0, 3.0], [2.0, -2.0]]), np.array([[0.5, 0.5], [0.0, 1.0]]), np.empty(2)
    tabular.state_values(q, policy, True, values)
    assert values.tolist() == [3.0, 2.0]
    tabular.state_values(q, policy, False, values)
    assert values.tolist() == [2.0, -2.0]


@checked
@given(seeds, st.integers(1, 6), st.integers(1, 3), st.booleans(), st.integers(1, 8))
def test_solve_equals_twin_sweep_by_sweep(seed, n, k, greedy, sweeps):
    mdp, q = draw_mdp(seed, n, k, 0.9), np.zeros((n, k))
    policy = np.full((n, k), 1.0 / k)
    residual = tabular.solve(*rows(mdp).values(), 0.9, policy, greedy, 0.0, sweeps, q)
    before = wanted = np.zeros((n, k))
    for _ in range(sweeps):
        values = wanted.max(axis=1) if greedy else wanted.mean(axis=1)
        before, wanted = wanted, naive.q_values(*dense(mdp), values)
    np.testing.assert_allclose(q, wanted, atol=1e-12)
    assert residual == pytest.approx(np.abs(wanted - before).max(), abs=1e-12)


@numba.njit
def all_at_once(state, action, next_state, probability, reward, terminated, policy):
    q, values = np.zeros(policy.shape), np.empty(policy.shape[0])
    tabular.backup(state, action, next_state, probability, reward, terminated, 0.9, values * 0.0, q)
    tabular.state_values(q, policy, False, values)
    residual = tabular.solve(
        state, action, next_state, probability, reward, terminated, 0.9, policy, True, 1e-9, 500, q
    )
    return q, values, residual


def test_kernels_run_inside_compiled_code():
    columns = rows(draw_mdp(1, 5, 2, 0.9)).values()
    policy = np.full((5, 2), 0.5)
    for compiled, python in zip(all_at_once(*columns, policy), all_at_once.py_func(*columns, policy), strict=True):
        np.testing.assert_allclose(compiled, python, atol=1e-12)
