"""An environment that plays written episodes, whatever the action: its rows are known before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np


@dataclass(frozen=True)
class Episode:
    """States s_0..s_T, rewards and flags of T steps, and hooks of the T + 1 states."""

    states: Sequence[Any]
    rewards: Sequence[float]
    terminated: Sequence[bool]
    truncated: Sequence[bool]
    infos: Sequence[dict[str, Any]] | None = None


class Scripted(gym.Env[Any, int]):
    """Plays the episodes in order, again and again; `states` are integers unless a space is given."""

    def __init__(self, episodes: Sequence[Episode], space: gym.Space[Any] | None = None) -> None:
        self.episodes = list(episodes)
        self.observation_space = space or gym.spaces.Discrete(1 + max(max(e.states) for e in self.episodes))
        self.action_space = gym.spaces.Discrete(2)
        self.asked: tuple[str, ...] = ()
        self._played = -1
        self._t = 0

    def request_hooks(self, hooks: tuple[str, ...]) -> None:
        self.asked = hooks

    def _state(self) -> tuple[Any, dict[str, Any]]:
        episode = self.episodes[self._played % len(self.episodes)]
        state = episode.states[self._t]
        return (np.int64(state) if isinstance(state, int) else state), dict((episode.infos or [{}] * 99)[self._t])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._played += 1
        self._t = 0
        return self._state()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        episode = self.episodes[self._played % len(self.episodes)]
        t = self._t
        self._t += 1
        obs, info = self._state()
        return obs, episode.rewards[t], bool(episode.terminated[t]), bool(episode.truncated[t]), info


def walk(states: Sequence[Any], end: str = "terminated", **columns: Any) -> Episode:
    """An episode through `states` that ends as told ("terminated", "truncated", "both" or "" for not at all)."""
    n = len(states) - 1
    last = [False] * (n - 1) + [True]
    none = [False] * n
    given = {"rewards": [0.0] * (n - 1) + [1.0], **columns}
    return Episode(
        states,
        terminated=last if end in ("terminated", "both") else none,
        truncated=last if end in ("truncated", "both") else none,
        **given,
    )
