"""Small tasks for the tests, in a module so that worker processes can import them."""

from __future__ import annotations

import math
import os
import time
from typing import Any

import numpy as np

from reward_envs.card import Card
from reward_envs.text import Grade, Reply, Source, TextTask


class Counter(TextTask):
    """Say the number that was drawn. "add" adds one, "stop" ends, "crash", "hang" and "raise" do what they say."""

    def __init__(self, wanted: int, hang: float) -> None:
        self.instructions = f"Count to {wanted}."
        self.wanted, self.count, self.hang = wanted, 0, hang
        self.closed = False

    def act(self, action: str) -> Reply:
        match action:
            case "add":
                self.count += 1
            case "crash":
                os._exit(3)
            case "hang":
                time.sleep(self.hang)
            case "raise":
                raise RuntimeError("a bug")
            case "long":
                return Reply("x" * 100_000)
            case "odd":
                return Reply("bell \x07 and\r\nline \U0001f600")
            case "nothing":
                return None  # type: ignore[return-value]
            case "over":
                self.count = -1
            case "unknown":
                self.count = -2
        return Reply(f"{self.count}", done=action == "stop")

    def grade(self) -> Grade:
        if self.count == -1:
            raise OSError("the grader lost its file")
        if self.count == -2:
            return Grade(known=False, why="cannot tell")
        return Grade.share(min(self.count, self.wanted) / self.wanted)

    def admissible(self) -> list[str]:
        return ["add", "stop", *(f"add {i}" for i in range(self.count))]

    def caption(self) -> str:
        return f"The count is {self.count} of {self.wanted}."

    def expert(self) -> str:
        return "add" if self.count < self.wanted else "stop"

    def close(self) -> None:
        self.closed = True


class Counting(Source):
    """Counts to 2, 3 or 4."""

    card = Card(
        task="Count.", hooks=("progress", "milestones", "admissible", "caption"), milestone_names=("reached", "missed")
    )
    max_steps = 8

    def __init__(self, hang: float = 60.0) -> None:
        self.hang = hang

    def draw(self, rng: np.random.Generator, split: str) -> TextTask:
        return Counter(int(rng.integers(2, 5)), self.hang)


class Written(TextTask):
    """Replays grades: the n-th action leads to the n-th, and the last one ends where `ends` says so."""

    def __init__(self, grades: list[Grade], ends: bool) -> None:
        self.instructions, self.grades, self.ends, self.at = "Go on.", grades, ends, 0

    def act(self, action: str) -> Reply:
        self.at += 1
        return Reply("", done=self.ends and self.at == len(self.grades) - 1)

    def grade(self) -> Grade:
        return self.grades[self.at]


class Replayed(Source):
    """Always the same grades."""

    card = Card(task="Go on.", hooks=("progress", "milestones"))

    def __init__(self, grades: list[Grade], ends: bool = True) -> None:
        self.grades, self.ends, self.max_steps = grades, ends, len(grades) - 1

    def draw(self, rng: np.random.Generator, split: str) -> TextTask:
        return Written(self.grades, self.ends)


def scored(score: float) -> Grade:
    """A grade of any score up to 1; below 0 it is a penalty."""
    if score < 0:
        return Grade((("won", 1.0, False), ("lost", score, True)))
    return Grade.share(score)


def play(env: Any, actions: list[Any], seed: int = 0) -> list[Any]:
    """The steps of one episode, without the reset."""
    env.reset(seed=seed)
    return [env.step(action) for action in actions]


def same(a: Any, b: Any) -> bool:
    """Equal, NaN to NaN."""
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))
