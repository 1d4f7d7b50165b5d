"""What other goals would have paid, asked of an environment's functions of many rows or of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.wrappers.batch import Tree, map_tree
from reward_envs.wrappers.errors import RewardError

# What a function of one row may raise when it gets two.
NOT_OF_MANY = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class GoalFunction:
    """`f(achieved_goal, desired_goal, info)` of an environment, made to answer many rows.

    At its first two rows or more it is asked for two together and for each alone; where it does not answer the two as
    one by one, it is from then on called row by row.

    Parameters
    ----------
    f
        The function.
    who
        Who asks, for messages.
    """

    def __init__(self, f: Callable[..., Any], who: str) -> None:
        self._f, self._who = f, who
        self._takes_many: bool | None = None

    def __call__(self, achieved: Tree, desired: Tree, info: Any, n: int) -> NDArray[Any]:
        """The n answers, [n]. Raises RewardError where they are not one finite number a row."""
        given = achieved, desired, info
        if self._takes_many is None and n > 1:
            self._takes_many = takes_many(self._f, given, n)
        if n and self._takes_many:
            answers = np.asarray(self._f(*given))
        else:
            answers = np.array([self._f(*_rows(given, i)) for i in range(n)])
        return one_number_a_row(answers, n, self._who, getattr(self._f, "__name__", type(self._f).__name__))


def one_number_a_row(answers: Any, n: int, who: str, what: str) -> NDArray[Any]:
    """The answers as an array [n]. Raises RewardError, which says who asked what, where they are something else."""
    found: NDArray[Any] = np.asarray(answers)
    whole = found.dtype.kind in "biu"
    if n and (found.shape != (n,) or not (whole or (found.dtype.kind == "f" and np.isfinite(found).all()))):
        raise RewardError(
            f"{who}: {what} gave {found.dtype} of shape {found.shape} for {n} rows: one finite number a row, shape "
            f"[{n}]."
        )
    return found


def takes_many(f: Callable[..., Any], given: tuple[Tree, ...], n: int) -> bool:
    """Whether f answers two rows with two answers, those of either row alone. A function of one row may well answer
    two, with their sum over the wrong axis or with one number for both."""
    two = np.array([0, n - 1])
    try:
        answers = np.asarray(f(*_rows(given, two)))
        if answers.shape != (2,):
            return False
        alone = [np.asarray(f(*_rows(given, two[i : i + 1]))) for i in range(2)]
    except NOT_OF_MANY:  # the loop that follows raises what is really wrong
        return False
    return all(a.shape == (1,) for a in alone) and bool(np.allclose(answers, np.concatenate(alone), equal_nan=True))


def _rows(given: tuple[Tree, ...], index: Any) -> tuple[Tree, ...]:
    rows: tuple[Tree, ...] = map_tree(lambda a: a[index], given)
    return rows
