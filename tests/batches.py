"""Batches for the battery: walks of `drawn.rollout` with unknown rewards, aborted episodes and groups, and their place.

A `Draw` is the recipe of a batch, small enough for hypothesis to vary and for a failure to print.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from hypothesis import strategies as st

from reward_envs.card import Card
from reward_envs.wrappers import Batch, Spec
from tests import drawn

GAMMA = 0.99
CARD = Card(
    task="Walk over six states.",
    hooks=("steps_to_go", "progress", "milestones", "execution"),
    milestone_names=("first", "second", "third"),
    steps_to_go_max=8.0,
    failing_ends=False,
)
BOX = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)
POINTS = np.random.default_rng(0).uniform(-1.0, 1.0, (drawn.STATES, 4)).astype(np.float32)  # the states as vectors


def place(discrete: bool) -> Spec:
    """What a method is told: six numbered states, or six points of a Box."""
    space = gym.spaces.Discrete(drawn.STATES) if discrete else BOX
    return Spec(space, gym.spaces.Discrete(2), gamma=GAMMA, max_steps=100, card=CARD)


def seen(states: Any, discrete: bool) -> Any:
    """The observations of numbered states."""
    return np.asarray(states) if discrete else POINTS[states]


@dataclass(frozen=True)
class Draw:
    """The recipe of a batch: `unknown` and `aborted` are shares of rows, `end` the chance of either end at a row."""

    seed: int
    streams: int = 3
    steps: int = 14
    end: float = 0.2
    unknown: float = 0.1
    aborted: float = 0.1
    discrete: bool = False

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 1])

    @property
    def spec(self) -> Spec:
        return place(self.discrete)

    def replace(self, **changes: Any) -> Draw:
        return dataclasses.replace(self, **changes)

    def batch(self) -> Batch:
        """Time-major rows; an aborted episode is one that the next follows without an end."""
        rng = np.random.default_rng(self.seed)
        b = drawn.rollout(rng, self.streams, self.steps, self.end)
        n = len(b)
        stops = b.ended | (rng.random(n) < self.aborted)
        numbered = Batch.of(
            obs=b.obs, action=b.action, next_obs=b.next_obs, reward=b.reward, truncated=stops, stream=b.stream
        )
        b.t, b.episode = numbered.t, numbered.episode
        episodes = int(b.episode.max()) + 1
        b.group = rng.integers(episodes // 3 + 1, size=episodes)[b.episode]
        b.known = rng.random(n) >= self.unknown
        b.reward = np.where(b.known, b.reward, 0.0)
        b.obs, b.next_obs = seen(b.obs, self.discrete), seen(b.next_obs, self.discrete)
        return b

    def whole(self) -> Batch:
        """The rows of whole episodes only."""
        b = self.batch()
        episodes = b.episodes()
        return b.rows(np.flatnonzero(episodes.whole[episodes.index]))

    def goals(self) -> Batch:
        """The same rows with the states, as points, for goals; what is asked for is never reached."""
        batch = self.replace(discrete=False).batch()
        asked = np.full_like(batch.obs, 9.0)
        batch.obs, batch.next_obs = (
            {"observation": o, "achieved_goal": o.copy(), "desired_goal": asked.copy()}
            for o in (batch.obs, batch.next_obs)
        )
        return batch


def draws() -> st.SearchStrategy[Draw]:
    """Recipes of small batches."""
    return st.builds(
        Draw,
        seed=st.integers(0, 2**16),
        streams=st.integers(1, 4),
        steps=st.integers(1, 20),
        end=st.sampled_from([0.1, 0.3, 0.6]),
        unknown=st.sampled_from([0.0, 0.2]),
        aborted=st.sampled_from([0.0, 0.15]),
        discrete=st.booleans(),
    )
