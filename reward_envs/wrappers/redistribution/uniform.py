"""Uniform: an episode's return, spread evenly over its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from reward_envs.kernels.returns import episode_counts, episode_sums
from reward_envs.wrappers.batch import Batch, Float
from reward_envs.wrappers.core import Masked, Method, Scope
from reward_envs.wrappers.registry import register
from reward_envs.wrappers.shaping.function import Task


@register(
    "uniform",
    example="uniform",
    role="replace",
    source="gangwani2020learning",
    claims=("return_preserving", "episode_local"),
)
@dataclass(frozen=True, repr=False)
class Uniform(Method):
    """An episode's return, in equal shares to each of its steps.

    `r_t = (1/T) Σ_i of_i`, float64[N], over the T rows of the episode, terminated or truncated; the shares sum to the
    return. A row of an episode that is still open is unknown, and so is every row of one that holds an unknown reward.

    Parameters
    ----------
    of
        The reward whose sum is spread.

    Misleads where episodes differ in length: a short success pays more a step than a long one, and every step of a
    failure pays as that of its luckier twin with the same return. What a good and a bad step of one episode are worth
    shows only over many episodes.

    Source: Gangwani, Zhou and Peng 2020, "Learning Guidance Rewards with Trajectory-space Smoothing",
    arXiv:2010.12718, whose guidance reward is the expectation over the trajectories through a step of their returns;
    this is the share of one trajectory, on the scale that keeps its return.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, reward=[0, 0, 6, 1], terminated=[0, 0, 1, 0])
    >>> Rewarder("uniform").step(batch).values.tolist()
    [2.0, 2.0, 2.0, nan]
    """

    own_scope: ClassVar[Scope] = Scope.EPISODE

    of: Method = field(default=Task())

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Masked, Any]:
        episodes = batch.episodes()
        total = episode_sums(r[0], episodes.index, episodes.n)
        share = total / episode_counts(episodes.index, episodes.n)
        return Masked(share[episodes.index], (episodes.whole & ~np.isnan(total))[episodes.index]), None
