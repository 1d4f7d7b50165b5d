"""Distances to goals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels._jit import kernel


@kernel
def distances(achieved: NDArray[np.float64], desired: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """`|achieved_i - desired_i|`, Euclidean.

    Parameters
    ----------
    achieved, desired : float64[N, g]
    out : float64[N], written
    """
    for i in range(len(out)):
        total = 0.0
        for j in range(achieved.shape[1]):
            gap = achieved[i, j] - desired[i, j]
            total += gap * gap
        out[i] = math.sqrt(total)
