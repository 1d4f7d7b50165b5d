"""What a text task is: instructions, an answer to each action, a grade. And where tasks come from.

TaskError
Grade, Reply        values that a task hands back
TextTask            one instance of a task
Source              draws instances, and says what they have in common
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from reward_envs.card import Card

SPLITS = ("train", "validation", "test")
T = TypeVar("T")


class TaskError(RuntimeError):
    """Raised when a task or its grader fails: the reward is then unknown, and never 0."""


def guarded(what: str, f: Callable[..., T], *args: Any) -> T:
    """`f(*args)`; whatever it raises becomes a TaskError that says what failed."""
    try:
        return f(*args)
    except Exception as error:
        raise TaskError(f"{what} raised {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Grade:
    """What a grader found. Scored, abstained and failed are three outcomes: a score, `known=False`, and a TaskError.

    `score = Σ_k w_k [check k holds]`, exactly 1 where all checks hold and no penalty does.

    Parameters
    ----------
    checks
        (name, weight, holds) of each check. Weights of what the agent should reach sum to 1; a negative weight is a
        penalty, for what must not happen.
    known
        False where the grader abstains: it can tell neither success nor failure.
    why
        A reason, for people.

    Raises TaskError where weights are not finite, do not sum to 1, or a name stands twice.

    >>> grade = Grade((("file written", 0.25, True), ("tests pass", 0.75, False)))
    >>> grade.score, grade.success
    (0.25, False)
    >>> Grade(known=False, why="no judge at hand").score
    nan
    """

    checks: tuple[tuple[str, float, bool], ...] = ()
    known: bool = True
    why: str = ""

    def __post_init__(self) -> None:
        weights = [weight for _, weight, _ in self.checks]
        if not all(map(math.isfinite, weights)):
            raise TaskError(f"a grade has the weights {weights}: a weight is a finite number.")
        if len({name for name, _, _ in self.checks}) < len(weights):
            raise TaskError("two checks of a grade have one name: give each its own.")
        whole = math.fsum(w for w in weights if w > 0)
        if (self.known or weights) and abs(whole - 1.0) > 1e-9:
            raise TaskError(f"the weights of a grade sum to {whole:g}: those above 0 sum to 1.")

    @classmethod
    def equal(cls, checks: Mapping[str, bool]) -> Grade:
        """A grade whose checks weigh the same.

        Raises TaskError where there are none.
        """
        if not checks:
            raise TaskError("a grade needs at least one check.")
        return cls(tuple((name, 1.0 / len(checks), bool(holds)) for name, holds in checks.items()))

    @classmethod
    def share(cls, share: float) -> Grade:
        """A grade of a number in [0, 1].

        Raises TaskError for any other number, NaN and infinities included: nothing is clamped.
        """
        if not 0.0 <= share <= 1.0:
            raise TaskError(f"the score is {share}: it lies in [0, 1].")
        return cls((("reached", share, True), ("missed", 1.0 - share, share == 1.0)))

    @property
    def score(self) -> float:
        """The weighted share of checks that hold, less penalties; NaN where the grader abstains."""
        if not self.known:
            return math.nan
        if self.success:
            return 1.0
        return math.fsum(weight for _, weight, holds in self.checks if holds)

    @property
    def success(self) -> bool:
        """Whether all that should hold does, and nothing that should not."""
        return self.known and all(holds == (weight > 0) for _, weight, holds in self.checks if weight)


class Reply(NamedTuple):
    """What an action led to: the text that the agent sees, whether the task is over, and who speaks."""

    text: str
    done: bool = False
    author: str = "tool"


class TextTask:
    """One instance of a task. A task writes `instructions`, `act` and `grade`; all else may be left out.

    The environment calls `grade` at the episode's end, and after every action where the reward is dense or a hook needs
    it. It must not change anything: twice gives the same.
    """

    instructions: str = ""

    def act(self, action: str) -> Reply:
        """What the agent's text does: a command line, a call, whatever the instructions ask for."""
        raise NotImplementedError(f"{type(self).__name__} writes no act(action).")

    def refuse(self, why: str) -> Reply:
        """The environment refuses an action that is no text, too long or binary; `why` tells the agent."""
        return Reply(why, author="environment")

    def grade(self) -> Grade:
        """How much is done, by the state that the agent left."""
        raise NotImplementedError(f"{type(self).__name__} writes no grade().")

    def value(self) -> float:
        """What the dense reward pays the change of; NaN where unknown."""
        return self.grade().score

    def close(self) -> None:
        """Let go of what the task holds open."""

    # hooks

    def milestones(self) -> NDArray[np.float64]:
        """float64[K]: 1 for each check of the grade that holds, penalties left out, else 0; K = 0 where unknown."""
        grade = self.grade()
        return np.array([holds for _, w, holds in grade.checks if w >= 0 and grade.known], np.float64)

    def progress(self) -> float:
        """The score, in [0, 1]; NaN where unknown."""
        score = self.grade().score
        return score if math.isnan(score) else min(1.0, max(0.0, score))

    def admissible(self) -> list[str]:
        """Actions that make sense now, in a fixed order."""
        raise NotImplementedError(f"{type(self).__name__} lists no admissible actions.")

    def caption(self) -> str:
        """The state in words."""
        raise NotImplementedError(f"{type(self).__name__} has no caption.")

    def expert(self) -> str:
        """A good action at the present state."""
        raise NotImplementedError(f"{type(self).__name__} has no expert.")


class Source:
    """Where instances come from: a subclass says what they share, and draws them.

    A source is small and pickles, for workers are handed it.
    """

    card: Card
    max_steps: int = 30

    def draw(self, rng: np.random.Generator, split: str) -> TextTask:
        """An instance of a split; instances of different splits differ by construction."""
        raise NotImplementedError(f"{type(self).__name__} writes no draw(rng, split).")


def check_split(split: str) -> str:
    """The split, or a sentence."""
    if split not in SPLITS:
        raise ValueError(f"split={split!r}: it is one of {', '.join(SPLITS)}.")
    return split
