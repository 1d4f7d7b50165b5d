"""Sums along time: filtered returns, running moments, advantages, episode sums, delayed rewards.

Rows are time-major and are processed in order; `stream` says which environment a row belongs to. Indices are trusted:
a stream or an episode outside its array is undefined behaviour, so whoever takes rows from a user checks them first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel


@kernel
def discounted_filter(
    values: NDArray[np.float64],
    stream: NDArray[np.int64],
    restart: NDArray[np.bool_],
    gamma: float,
    acc: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Discounted sum of the past, forwards in time: `f = gamma * acc[stream] + value`, stored in `acc` and `out`.

    Reward normalisation restarts at the first row of an episode, however the last one ended; RND never does.

    Parameters
    ----------
    values : float64[N]
        A NaN is unknown and skipped: `out` is NaN there and `acc` is neither discounted nor added to.
    stream : int64[N]
    restart : bool[N]
        Whether `acc` is 0 before the row, known or not.
    gamma : float
    acc : float64[S], changed in place
    out : float64[N], written

    References
    ----------
    Burda et al. 2019, Exploration by Random Network Distillation, section 2.4; Gymnasium's NormalizeReward.
    """
    for i in range(values.size):
        s = stream[i]
        if restart[i]:
            acc[s] = 0.0
        if np.isnan(values[i]):
            out[i] = np.nan
        else:
            acc[s] = gamma * acc[s] + values[i]
            out[i] = acc[s]


@kernel
def merge_moments(count: float, mean: float, var: float, values: NDArray[np.float64]) -> tuple[float, float, float]:
    """(count, mean, population variance) of the rows seen so far and the new `values` float64[N], NaNs left out.

    With b the batch's moments, d = mean_b - mean and n = count + count_b: `mean += d * count_b / n` and
    `var = (var * count + var_b * count_b + d**2 * count * count_b / n) / n`. No rows leave the moments as they are.

    References
    ----------
    Chan, Golub and LeVeque 1983, Algorithms for Computing the Sample Variance.
    """
    batch_count, total = 0, 0.0
    for value in values:
        if not np.isnan(value):
            batch_count += 1
            total += value
    if batch_count == 0:
        return float(count), float(mean), float(var)
    batch_mean, squares = total / batch_count, 0.0
    for value in values:
        if not np.isnan(value):
            squares += (value - batch_mean) ** 2
    n = count + batch_count
    delta = batch_mean - mean
    merged = (var * count + squares + delta * delta * count * batch_count / n) / n
    return n, mean + delta * batch_count / n, merged


@kernel
def gae(
    rewards: NDArray[np.float64],
    values: NDArray[np.float64],
    next_values: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    gamma: float,
    lam: float,
    out: NDArray[np.float64],
) -> None:
    """Generalised advantage estimation of n streams over T steps, with the two kinds of end kept apart.

    `delta_t = r_t + gamma * V(s'_t) * (not terminated) - V(s_t)`, `A_t = delta_t + gamma * lam * A_{t+1}`, where
    A_{t+1} counts as 0 after either kind of end and after the last row. A truncation bootstraps, a termination not.

    Parameters
    ----------
    rewards, values, next_values : float64[T, n]
        `next_values[t]` is the value of the true successor of row t, never of the next episode's first state; it is
        not read where `terminated`.
    terminated, truncated : bool[T, n]
    gamma, lam : float
    out : float64[T, n], written
        The advantages; `out + values` are the targets of the critic.

    References
    ----------
    Schulman et al. 2016, High-Dimensional Continuous Control Using Generalized Advantage Estimation, equation 16.
    """
    steps, n = rewards.shape
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            delta = rewards[t, i] - values[t, i]
            if not terminated[t, i]:
                delta += gamma * next_values[t, i]
            if t < steps - 1 and not (terminated[t, i] or truncated[t, i]):
                delta += gamma * lam * out[t + 1, i]
            out[t, i] = delta


@kernel
def discounted_returns(
    rewards: NDArray[np.float64],
    next_values: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    truncated: NDArray[np.bool_],
    gamma: float,
    out: NDArray[np.float64],
) -> None:
    """Discounted sum of the future of n streams over T steps: `G_t = r_t + gamma * G_{t+1}` within an episode.

    After a termination the rest is 0; after a truncation and after the last row it is `next_values[t]` (zeros there
    give the plain return of what was seen).

    Parameters
    ----------
    rewards, next_values : float64[T, n]
    terminated, truncated : bool[T, n]
    gamma : float
    out : float64[T, n], written

    References
    ----------
    Sutton and Barto 2018, Reinforcement Learning, equation 3.9.
    """
    steps, n = rewards.shape
    for t in range(steps - 1, -1, -1):
        for i in range(n):
            total = rewards[t, i]
            if not terminated[t, i]:
                rest = next_values[t, i] if truncated[t, i] or t == steps - 1 else out[t + 1, i]
                total += gamma * rest
            out[t, i] = total


@kernel
def episode_sums(values: NDArray[np.float64], episode_index: NDArray[np.int64], n_episodes: int) -> NDArray[np.float64]:
    """float64[n_episodes]: the sum of `values` float64[N] of each episode, NaN where one of them is NaN.

    `episode_index` int64[N] lies in [0, n_episodes); an episode without rows sums to 0.
    """
    sums = np.zeros(n_episodes)
    for i in range(values.size):
        sums[episode_index[i]] += values[i]
    return sums


@kernel
def episode_counts(episode_index: NDArray[np.int64], n_episodes: int) -> NDArray[np.int64]:
    """int64[n_episodes]: the number of rows of each episode; `episode_index` int64[N] lies in [0, n_episodes)."""
    counts = np.zeros(n_episodes, dtype=np.int64)
    for e in episode_index:
        counts[e] += 1
    return counts


@kernel
def hold_until_end(
    values: NDArray[np.float64],
    stream: NDArray[np.int64],
    first: NDArray[np.bool_],
    ended: NDArray[np.bool_],
    every: int,
    pending: NDArray[np.float64],
    elapsed: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Delayed reward: rewards are kept back and their sum is paid at an episode's end, or every `every` steps.

    Parameters
    ----------
    values : float64[N]
        A NaN makes the sum that it belongs to NaN.
    stream : int64[N]
    first, ended : bool[N]
        The row starts an episode (a store that an abandoned episode left is cleared); it ends one, either way.
    every : int
        Steps between payments, counted from the episode's start; 0 or less pays at the end only.
    pending, elapsed : float64[S], int64[S], changed in place
        What is kept back and since how many steps.
    out : float64[N], written
        The payments, 0 on rows that pay nothing.

    References
    ----------
    Zheng, Oh and Singh 2018, On Learning Intrinsic Rewards for Policy Gradient Methods.
    """
    for i in range(values.size):
        s = stream[i]
        if first[i]:
            pending[s] = 0.0
            elapsed[s] = 0
        pending[s] += values[i]
        elapsed[s] += 1
        if ended[i] or (every > 0 and elapsed[s] >= every):
            out[i] = pending[s]
            pending[s] = 0.0
            elapsed[s] = 0
        else:
            out[i] = 0.0


@kernel
def smoothed(
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Each value, spread over the rows around it in its segment; what it spreads adds up to what it was.

    Parameters
    ----------
    values : float64[N]
    order : int64[N]
        Rows by segment, and in time within each.
    first : int64[n + 1]
        Where in `order` each segment begins; the last entry is N.
    weights : float64[2 L + 1]
        Of the offsets -L .. L from the source.
    out : float64[N], zeros, written
    """
    reach = len(weights) // 2
    for segment in range(len(first) - 1):
        begin, end = first[segment], first[segment + 1]
        for i in range(begin, end):
            value = values[order[i]]
            if value == 0.0:
                continue
            low, high = max(begin, i - reach), min(end, i + reach + 1)
            total = 0.0
            for j in range(low, high):
                total += weights[j - i + reach]
            for j in range(low, high):
                out[order[j]] += value * weights[j - i + reach] / total
