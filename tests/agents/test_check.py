"""check finds what it should, and nothing in what is right."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.agents.check import check
from reward_envs.card import Card
from reward_envs.registration import IDS, PREFIX
from reward_envs.text.terminal import unavailable
from tests.scripted import Scripted, walk


def faults(env: gym.Env[Any, Any], **kwargs: Any) -> list[str]:
    return [f.what for f in check(env, **kwargs) if f.verdict == "fault"]


def notes(env: gym.Env[Any, Any], **kwargs: Any) -> list[str]:
    return [f.what for f in check(env, **kwargs) if f.verdict == "note"]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", *(PREFIX + name for name in IDS)])
def test_right_environments_have_no_faults(env_id: str) -> None:
    if env_id.endswith("Terminal-v0") and unavailable():
        pytest.skip(unavailable())
    found = faults(gym.make(env_id), episodes=1)
    if env_id.endswith("Terminal-v0"):  # a real bash: which of two processes of a pipe speaks first is nobody's to say
        found = [fault for fault in found if "another episode" not in fault]
    assert found == []


class Wrong(Scripted):
    """A scripted environment with a card."""

    def __init__(self, card: Card | None = None, **columns: Any) -> None:
        super().__init__([walk([0, 1, 2], **columns)])
        if card is not None:
            self.card = card


def test_rewards_that_are_no_numbers() -> None:
    assert faults(Wrong(rewards=[np.array([0.0]), 1.0])) == ["the reward is a ndarray (array([0.])): return one float."]
    assert "the reward is infinite" in faults(Wrong(rewards=[0.0, np.inf]))[0]
    assert "NaN, which means unseen" in notes(Wrong(rewards=[np.nan, 1.0]))[0]


def test_ends() -> None:
    endless = Scripted([walk([0, 1, 2, 3, 4], "")])
    assert "did not end in 3 steps" in " ".join(notes(endless, steps=3))


def test_hooks() -> None:
    def infos(values: list[Any], name: str) -> Any:
        return [{} if v is None else {name: v} for v in values]

    def one(name: str, values: list[Any]) -> list[str]:
        return faults(Wrong(Card("t", hooks=(name,)), infos=infos(values, name)))

    assert one("steps_to_go", [2.0, 1.0, 0.0]) == []
    assert "missing in 3 of 9 infos" in one("steps_to_go", [None, 1.0, 0.0])[0]
    assert "is an integer" in one("steps_to_go", [2, 1, 0])[0]
    assert "leaves [0, 1]" in one("progress", [0.0, 0.5, 1.5])[0]
    assert "negative or NaN" in one("steps_to_go", [2.0, -1.0, 0.0])[0]


def test_a_seed_that_does_not_decide() -> None:
    rng = np.random.default_rng(0)

    class Loose(Scripted):
        def step(self, action: int) -> Any:
            obs, _, *rest = super().step(action)
            return obs, float(rng.random()), *rest

    assert faults(Loose([walk([0, 1, 2])])) == [
        "the same seed and actions give another episode: draw everything from self.np_random."
    ]


class Goals(gym.Env[Any, int]):
    """A walk on the line whose goal functions can be made wrong."""

    observation_space = gym.spaces.Dict(
        {k: gym.spaces.Box(-9, 9, (1,), np.float64) for k in ("observation", "achieved_goal", "desired_goal")}
    )
    action_space = gym.spaces.Discrete(2)

    def __init__(self, compute: Any) -> None:
        self.compute_reward = compute

    def _obs(self) -> Any:
        at = np.array([float(self.at)])
        return {"observation": at, "achieved_goal": at, "desired_goal": np.array([3.0])}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        return self._obs(), {}

    def step(self, action: int) -> Any:
        self.at += 1
        return self._obs(), float(self.at == 3), self.at == 3, False, {"is_success": self.at == 3}


def right(achieved: Any, desired: Any, info: Any) -> Any:
    return (np.abs(np.subtract(achieved, desired))[..., 0] < 0.5).astype(float)


def test_goal_functions() -> None:
    assert faults(Goals(right)) == []
    assert any("no compute_terminated" in n for n in notes(Goals(right)))
    assert "compute_reward gives -1.0 where the step gave 0.0" in faults(Goals(lambda a, d, i: right(a, d, i) - 1.0))[0]

    def row_only(achieved: Any, desired: Any, info: Any) -> float:
        return float(np.abs(np.subtract(achieved, desired)).sum() < 0.5)

    assert any("takes one row at a time" in n for n in notes(Goals(row_only)))
