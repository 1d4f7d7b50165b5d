"""Execution components: what a sequence of calls is worth by how it parses, fits the schemas, runs and answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def execution_value(
    counts: NDArray[np.float64], penalty: float = 0.25, answer_weight: float = 5.0
) -> NDArray[np.float64]:
    """The value of call sequences, in [0, 1], float64[...].

        R = format (1 + name (1 + param + type + exec (1 + w answer))) / (5 + w)

    format, name and exec are 1 where no call failed to parse, named an unknown tool, or did not run, else 0; param and
    type are `max(0, 1 - penalty n)` for n mismatches of parameter names and of values; answer is 1 where the right
    answer was given. No calls are worth 0. Nothing is compared with a reference sequence.

    Parameters
    ----------
    counts : float64[..., 7]
        calls, unparsed, unknown, names, values, failed, answer; see `reward_envs.text.calls.Counts`. NaN is unknown.
    penalty, answer_weight
        What a mismatch costs, and w.

    Source: Kulkarni, Lu, Mekala, Srinivasa, Liu and Shang 2026, "TIER: Trajectory-Invariant Execution Rewards for
    Multi-Step Tool Composition", arXiv:2605.16790.

    >>> import numpy as np
    >>> execution_value(np.array([[0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 1, 0, 1, 0], [3, 0, 0, 0, 0, 0, 1]])).tolist()
    [0.0, 0.375, 1.0]
    """
    calls, unparsed, unknown, names, values, failed, answer = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    fits = np.maximum(0.0, 1.0 - penalty * names) + np.maximum(0.0, 1.0 - penalty * values)
    runs = (failed == 0) * (1.0 + answer_weight * (answer > 0))
    parsed = (calls > 0) & (unparsed == 0)
    total: NDArray[np.float64] = parsed * (1.0 + (unknown == 0) * (1.0 + fits + runs)) / (5.0 + answer_weight)
    return np.where(np.isnan(counts).any(axis=-1), np.nan, total)
