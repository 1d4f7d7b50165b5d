"""One slot: a task that is played within limits, and paid. The environment, vectors and workers run these."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from reward_envs.hooks import check_reward_mode
from reward_envs.text.spaces import clean, other_character
from reward_envs.text.task import Grade, Reply, Source, TaskError, TextTask, check_split, guarded
from reward_envs.text.transcript import Transcript

FAILED = "The environment has failed; the episode is over."


@dataclass(frozen=True)
class Limits:
    """What an episode may use.

    Parameters
    ----------
    turns
        Actions of an episode; then it truncates, with `info["limit"] = "turns"`.
    seconds
        Wall time of an episode, looked at after each action; then it truncates, with `info["limit"] = "seconds"`. A
        number here makes episodes depend on the machine.
    action
        Characters of an action; a longer one is refused with a message to the agent.
    output
        Characters of what the agent sees at once; the middle of a longer text is left out, the text says so, and
        `info["cut"]` is the number of characters that were.

    Raises ValueError where a limit is too small to play.
    """

    turns: int = 30
    seconds: float = math.inf
    action: int = 4_000
    output: int = 16_000

    def __post_init__(self) -> None:
        for name, least in (("turns", 1), ("seconds", 0), ("action", 1), ("output", 200)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name}={getattr(self, name)}: it is at least {least}.")


@dataclass(frozen=True)
class Plan:
    """What a slot plays: a source, its split, `reward_mode` "sparse" or "dense", and limits."""

    source: Source
    split: str = "train"
    reward_mode: str = "sparse"
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        check_split(self.split)
        check_reward_mode(self.reward_mode)


class Turn(NamedTuple):
    """What a step gave."""

    seen: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def failed(why: str, hooked: Mapping[str, Any]) -> Turn:
    """The last turn of an episode whose task broke: cut short, its reward unknown, its hooks of numbers too.

    Parameters
    ----------
    why
        For `info["error"]`.
    hooked
        The hooks before the turn, for their shapes.
    """
    info = {"is_success": False, "error": why, **{name: _unknown(value) for name, value in hooked.items()}}
    return Turn(FAILED, math.nan, False, True, info)


def _unknown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.full_like(value, np.nan)
    return math.nan if isinstance(value, float) else value


class Episode:
    """Plays one task after another; a seed makes the instance, so seed and actions make the episode.

    Parameters
    ----------
    plan
        What to play.
    clock
        Seconds, for the limit on wall time.
    """

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        self.plan = plan
        self.hooks: tuple[str, ...] = ()
        self.transcript = Transcript()
        self._task: TextTask | None = None
        self._clock = clock
        self._turn, self._since, self._value = 0, 0.0, 0.0
        self._over = True
        self._hooked: dict[str, Any] = {}

    @property
    def task(self) -> TextTask:
        """The running task.

        Raises TaskError before the first episode.
        """
        if self._task is None:
            raise TaskError("there is no episode yet: begin one first.")
        return self._task

    def begin(self, seed: int) -> tuple[str, dict[str, Any]]:
        """Draw a task and give its instructions.

        Raises TaskError where the task cannot be drawn, graded or described: there is no episode then.
        """
        self.close()
        plan = self.plan
        task = guarded("drawing a task", plan.source.draw, np.random.default_rng(seed), plan.split)
        self._task, self.transcript = task, Transcript()
        self._turn, self._since = 0, self._clock()
        self._value = guarded("the grader", task.value) if plan.reward_mode == "dense" else 0.0
        info: dict[str, Any] = {"is_success": False}
        seen = self._show("system", task.instructions, info)
        self._hooked, self._over = self._hook_values(), False
        return seen, info | self._hooked

    def step(self, action: Any) -> Turn:
        """Play an action. A task that fails truncates its episode, with NaN as reward and `info["error"]`.

        Raises ResetNeeded where no episode runs.
        """
        if self._over:
            raise gym.error.ResetNeeded("no episode runs, or it is over: reset() first.")
        self._turn += 1
        try:
            turn = self._play(action)
        except TaskError as error:
            self.transcript.add("environment", FAILED, self._turn)
            turn = failed(str(error), self._hooked)
        self._over = turn.terminated or turn.truncated
        return turn

    def close(self) -> None:
        """Let go of the running task."""
        if self._task is not None:
            guarded("closing a task", self._task.close)
        self._task = None

    def _play(self, action: Any) -> Turn:
        task, info = self.task, {"is_success": False}
        if why := refusal(action, self.plan.limits.action):
            reply = _reply(guarded("refuse", task.refuse, why))
        else:
            self.transcript.add("agent", action, self._turn)
            reply = _reply(guarded("act", task.act, action))
        seen = self._show(reply.author, reply.text, info)
        limit = "" if reply.done else self._limit_reached()
        reward = self._pay(reply.done or bool(limit), info)
        if limit:
            info["limit"] = limit  # type: ignore[assignment]
        self._hooked = self._hook_values()
        return Turn(seen, reward, reply.done, bool(limit), info | self._hooked)

    def _pay(self, over: bool, info: dict[str, Any]) -> float:
        """Sparse: 1 for success at the end. Dense: the change of the task's value. NaN where the grader abstains."""
        reward = 0.0
        if over:
            grade = guarded("the grader", self.task.grade)
            if not isinstance(grade, Grade):
                raise TaskError(f"the grader returned a {type(grade).__name__}: it returns a Grade.")
            info |= {"grade": grade, "is_success": grade.success}
            reward = float(grade.success) if grade.known else math.nan
        if self.plan.reward_mode == "dense":
            value = guarded("the grader", self.task.value)
            reward = value - self._value
            self._value = self._value if math.isnan(value) else value
        return reward

    def _limit_reached(self) -> str:
        limits = self.plan.limits
        if self._turn >= limits.turns:
            return "turns"
        return "seconds" if self._clock() - self._since > limits.seconds else ""

    def _show(self, author: str, text: str, info: dict[str, Any]) -> str:
        seen, most = clean(text), self.plan.limits.output
        if len(seen) > most:
            left_out = len(seen) - most + 80
            half = (most - 80) // 2
            seen = f"{seen[:half]}\n[... {left_out} characters left out ...]\n{seen[len(seen) - half :]}"
            info["cut"] = left_out
        self.transcript.add(author, seen, self._turn)
        return seen

    def _hook_values(self) -> dict[str, Any]:
        values = {name: guarded(f"the hook {name}", getattr(self.task, name)) for name in self.hooks}
        if "milestones" in values:
            values["milestones"] = self._flags(values["milestones"])
        return values

    def _flags(self, flags: NDArray[np.float64]) -> NDArray[np.float64]:
        """Milestones by the card's names; NaN where the grader abstains."""
        names = self.plan.source.card.milestone_names
        if len(flags) not in (0, len(names)):
            raise TaskError(f"the grade has {len(flags)} checks, the card names {len(names)} milestones.")
        return flags if len(flags) else np.full(len(names), np.nan)


class NoText(NamedTuple):
    """Stands for an action that is no text, where the action itself cannot be handed on."""

    kind: str

    @classmethod
    def of(cls, action: Any) -> NoText:
        """The name of its type is what is told."""
        return cls(type(action).__name__)


def refusal(action: Any, most: int) -> str:
    """What to tell an agent whose action cannot be taken; "" where it can."""
    if not isinstance(action, str):
        kind = action.kind if isinstance(action, NoText) else NoText.of(action).kind
        return f"An action is a text, this is of type {kind}. Nothing was done."
    if len(action) > most:
        return f"The action has {len(action)} characters; {most} are allowed. Nothing was done."
    if (other := other_character(action)) is not None:
        return f"The action holds the character U+{ord(other):04X}, which cannot be read here. Nothing was done."
    return ""


def _reply(reply: Any) -> Reply:
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        raise TaskError(f"the task answered with a {type(reply).__name__}: it returns Reply(text, done).")
    return reply
