"""Statistics of a few seeds: interquartile mean, bootstrap intervals, steps to a threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_envs.wrappers.errors import RewardError

Float: TypeAlias = NDArray[np.float64]


def iqm(values: ArrayLike, axis: int = 0) -> Any:
    """Interquartile mean: the mean of what is left when floor(n/4) values fall away at either end.

    Parameters
    ----------
    values
        float64, n of them along `axis`. Of fewer than four none falls away, and it is the mean.
    axis
        The axis that is averaged.

    Returns the mean without `axis`. Raises RewardError where there is no value. Source: Agarwal et al. 2021, "Deep
    reinforcement learning at the edge of the statistical precipice", arXiv:2108.13264, section 4.3.

    >>> float(iqm([0.0, 1.0, 2.0, 99.0]))
    1.5
    """
    ordered = np.sort(np.moveaxis(np.asarray(values, np.float64), axis, 0), axis=0)
    if not len(ordered):
        raise RewardError("the interquartile mean of no values is not defined.")
    cut = len(ordered) // 4
    return ordered[cut : len(ordered) - cut].mean(axis=0)


def interval(
    strata: Sequence[ArrayLike],
    *,
    seed: int | np.random.Generator = 0,
    level: float = 0.95,
    draws: int = 2000,
    statistic: Callable[..., Any] = iqm,
) -> tuple[Float, Float]:
    """Percentile bootstrap interval of a statistic over seeds, stratified by task.

    The seeds of each task are drawn anew with replacement within their task; the statistic is that of all draws.

    Parameters
    ----------
    strata
        A task each: float64[seeds, ...]; seeds may differ in number, what follows may not.
    seed
        Seed or generator of the draws.
    level
        Share of the draws that the interval holds.
    draws
        Number of bootstrap draws.
    statistic
        Called with float64[draws, all seeds, ...] and `axis=1`.

    Returns (low, high), float64[...]. Of a single seed a task both are the statistic itself: one seed says nothing of
    the others. With three seeds intervals are too narrow; read the seeds themselves beside them. Source: as of `iqm`,
    section 4.1.

    >>> low, high = interval([[0.0, 1.0, 1.0, 1.0]])
    >>> float(low), float(high)
    (0.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    columns = [np.asarray(values, np.float64) for values in strata]
    if not columns or not all(len(values) for values in columns):
        raise RewardError("an interval needs at least one value in every task.")
    drawn = [values[rng.integers(len(values), size=(draws, len(values)))] for values in columns]
    found = statistic(np.concatenate(drawn, axis=1), axis=1)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def steps_to(steps: ArrayLike, values: ArrayLike, threshold: float) -> Float:
    """Steps at the first evaluation that reaches a threshold, of each seed: float64[seeds], inf where none did.

    A seed that did not get there is censored: it took more steps than it was given. As inf it stays in medians, which
    are then inf where half of the seeds did not arrive; leaving it out would praise the reward that fails.

    Parameters
    ----------
    steps
        [T], of the evaluations, increasing.
    values
        [seeds, T].
    threshold
        Reached from this value on.

    >>> steps_to([0, 100, 200], [[0.0, 0.9, 0.5], [0.0, 0.0, 0.1]], 0.9).tolist()
    [100.0, inf]
    """
    reached = np.asarray(values, np.float64) >= threshold
    at = np.asarray(steps, np.float64)
    return np.where(reached.any(axis=1), at[reached.argmax(axis=1)], np.inf)


def median(values: ArrayLike) -> float:
    """The median of values that may hold inf: of two in the middle the mean, inf where one of them is.

    >>> median([1.0, 3.0, float("inf"), float("inf")])
    inf
    """
    ordered = np.sort(np.asarray(values, np.float64))
    if not len(ordered):
        raise RewardError("the median of no values is not defined.")
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
