"""Sweeps of dynamic programming over the possible transitions of a finite decision process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel


@kernel
def backup(
    state: NDArray[np.int64],
    action: NDArray[np.int64],
    next_state: NDArray[np.int64],
    probability: NDArray[np.float64],
    reward: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    gamma: float,
    values: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """One Bellman backup: `q[s, a] = sum over s' of P(s'|s,a) * (r(s,a,s') + gamma * V(s') * (not terminated))`.

    Parameters
    ----------
    state, action, next_state, probability, reward, terminated : [R]
        The possible transitions; a pair (s, a) without any, as at a terminal state, gets 0.
    gamma : float
    values : float64[S]
    q : float64[S, A], written
    """
    q[:] = 0.0
    for i in range(state.size):
        after = 0.0 if terminated[i] else gamma * values[next_state[i]]
        q[state[i], action[i]] += probability[i] * (reward[i] + after)


@kernel
def state_values(
    q: NDArray[np.float64], policy: NDArray[np.float64], greedy: bool, values: NDArray[np.float64]
) -> None:
    """`V(s) = max over a of q[s, a]` where `greedy`, else `sum over a of policy[s, a] * q[s, a]`.

    `q`, `policy` float64[S, A]; `values` float64[S] is written.
    """
    for s in range(q.shape[0]):
        if greedy:
            values[s] = q[s].max()
        else:
            values[s] = (policy[s] * q[s]).sum()


@kernel
def solve(
    state: NDArray[np.int64],
    action: NDArray[np.int64],
    next_state: NDArray[np.int64],
    probability: NDArray[np.float64],
    reward: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    gamma: float,
    policy: NDArray[np.float64],
    greedy: bool,
    tol: float,
    max_sweeps: int,
    q: NDArray[np.float64],
) -> float:
    """Repeats `backup` of the greedy policy's values, or of `policy`'s, until no entry of q moves by more than `tol`.

    Parameters
    ----------
    state, action, next_state, probability, reward, terminated : [R]
        As for `backup`.
    gamma, tol, max_sweeps : float, float, int
    policy : float64[S, A]
        Probabilities; not read where `greedy`.
    q : float64[S, A], changed in place
        Where to start; ends as the last sweep left it.

    Returns
    -------
    float
        The largest move of the last sweep, hence a bound on the Bellman residual of q; above `tol` if sweeps ran out.

    References
    ----------
    Sutton and Barto 2018, Reinforcement Learning, sections 4.1 and 4.4.
    """
    values, new = np.empty(q.shape[0]), np.empty_like(q)
    residual = np.inf
    for _ in range(max_sweeps):
        state_values(q, policy, greedy, values)
        backup(state, action, next_state, probability, reward, terminated, gamma, values, new)
        residual = np.abs(new - q).max()
        q[:] = new
        if residual <= tol:
            break
    return residual
