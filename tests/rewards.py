"""Functions that examples of the registry name, as a user's own module would hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def distance(next_obs: NDArray[Any]) -> NDArray[np.float64]:
    """-‖s'‖ of each row, [N]; a number counts as a vector of one."""
    squares = np.square(next_obs.astype(np.float64))
    return -np.sqrt(squares.sum(axis=tuple(range(1, squares.ndim))))


def reached(achieved: Any, desired: Any, info: Any) -> Any:
    """1 where the goal is met, else 0, of one row or many."""
    return ends(achieved, desired, info).astype(np.float64)


def ends(achieved: Any, desired: Any, info: Any) -> Any:
    """Whether the goal is met."""
    return np.linalg.norm(np.subtract(achieved, desired), axis=-1) <= 0.1


def breaks(reward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Never gives a number."""
    raise RuntimeError(f"no tide table for {len(reward)} rows")


def advance(progress: NDArray[np.float64], was_progress: NDArray[np.float64]) -> NDArray[np.float64]:
    """What was gained of the hook."""
    return progress - was_progress
