"""Shaping terms: potential differences, milestones paid once, gains over the best so far.

Rows are time-major and are processed in order; stream indices are trusted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel


@kernel
def potential_difference(
    phi: NDArray[np.float64], terminated: NDArray[np.bool_], gamma: float, out: NDArray[np.float64]
) -> None:
    """Potential shaping: `F = gamma * phi(s') - phi(s)`, where phi(s') counts as 0 when the row terminated.

    Parameters
    ----------
    phi : float64[2N]
        phi(s) of the N rows, then phi(s'). What stands at a terminated s', NaN or infinity too, is not read.
    terminated : bool[N]
        Truncated rows that did not terminate keep phi(s').
    gamma : float
        The learner's discount.
    out : float64[N], written

    References
    ----------
    Ng, Harada and Russell 1999, Policy Invariance Under Reward Transformations; Grzes 2017, Reward Shaping in
    Episodic Reinforcement Learning, for the end of an episode.
    """
    n = terminated.size
    for i in range(n):
        after = 0.0 if terminated[i] else gamma * phi[n + i]
        out[i] = after - phi[i]


@kernel
def milestones(
    now: NDArray[np.float64],
    nxt: NDArray[np.float64],
    first: NDArray[np.bool_],
    stream: NDArray[np.int64],
    weights: NDArray[np.float64],
    paid: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """Pays the weight of each flag once an episode, on the row whose successor first shows it.

    Parameters
    ----------
    now, nxt : float64[N, K]
        Flags at s and at s', set where above 0.5; NaN is absent, so not set.
    first : bool[N]
        The row starts an episode: `paid` is cleared and flags that hold at s already are marked without pay.
    stream : int64[N]
    weights : float64[K]
    paid : bool[S, K], changed in place
    out : float64[N], written
    """
    for i in range(first.size):
        s, total = stream[i], 0.0
        for k in range(weights.size):
            if first[i]:
                paid[s, k] = now[i, k] > 0.5
            if nxt[i, k] > 0.5 and not paid[s, k]:
                paid[s, k] = True
                total += weights[k]
        out[i] = total


@kernel
def best_gain(
    now: NDArray[np.float64],
    nxt: NDArray[np.float64],
    first: NDArray[np.bool_],
    stream: NDArray[np.int64],
    best: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Pays progress over the best of the episode: `max(0, nxt - best)`, then `best = max(best, nxt)`.

    Over an episode the payments sum to its highest level less its first, however often it falls back in between.

    Parameters
    ----------
    now, nxt : float64[N]
        Level at s and at s'. A NaN `nxt` is unknown: `out` is NaN and `best` stays.
    first : bool[N]
        The row starts an episode: `best = now`. If that is NaN, the first known level of the episode becomes the base
        (an earlier episode's best must not), and the row that brings it pays 0.
    stream : int64[N]
    best : float64[S], changed in place
    out : float64[N], written
    """
    for i in range(first.size):
        s = stream[i]
        if first[i] or np.isnan(best[s]):
            best[s] = now[i]
        if np.isnan(nxt[i]):
            out[i] = np.nan
            continue
        if np.isnan(best[s]):
            best[s] = nxt[i]
        out[i] = max(0.0, nxt[i] - best[s])
        best[s] = max(best[s], nxt[i])
