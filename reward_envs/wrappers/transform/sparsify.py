"""Rewards held back until the end: delay, and sparsify, which turns a dense task into a sparse one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from reward_envs.kernels.returns import hold_until_end
from reward_envs.wrappers.batch import Batch, Float, Int
from reward_envs.wrappers.core import Masked, Method, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register
from reward_envs.wrappers.shaping.function import Task


class Held(NamedTuple):
    """What is held back in each stream, and since how many steps."""

    pending: Float  # [S]
    elapsed: Int  # [S]

    @classmethod
    def empty(cls, n: int) -> Held:
        return cls(np.zeros(n), np.zeros(n, dtype=np.int64))

    def pay(self, r: Float, batch: Batch, every: int) -> tuple[Float, Held]:
        """(the payments [N], what is held afterwards)."""
        after, out = Held(self.pending.copy(), self.elapsed.copy()), np.empty(len(batch))
        hold_until_end(r, batch.stream, batch.first, batch.ended, every, after.pending, after.elapsed, out)
        return out, after


@register(
    "delay",
    example="delay(task)",
    role="replace",
    source="zheng2018learning",
    claims=("return_preserving", "resets_each_episode", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Delay(Method):
    """A reward held back and paid in one sum later: a harder task with the same returns.

    `r_t = Σ_{i <= t, not yet paid} of_i` where the episode ends (terminated or truncated) or its step count reaches a
    multiple of `every`, else 0; float64[N]. What an open episode has not been paid waits in the carry.

    Parameters
    ----------
    of
        The reward to hold back.
    every
        Steps between payments; 0 pays at the end only.

    A payment that holds an unknown reward is unknown. Raises RewardError where `every` is negative.
    Misleads a learner that discounts: the plain sum is kept, the discounted one is not. The observation does not show
    what is pending, so the delayed task is no longer Markov.

    Source: Zheng, Oh and Singh 2018, "On Learning Intrinsic Rewards for Policy Gradient Methods", arXiv:1804.06459,
    in its delayed MuJoCo tasks.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, reward=[1, 2, 3, 4], truncated=[0, 0, 1, 0])
    >>> Rewarder("delay").step(batch).values.tolist()
    [0.0, 0.0, 6.0, 0.0]
    """

    of: Method = field(default=Task())
    every: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.every < 0:
            raise RewardError(f"{self.label}: every={self.every}; write a number of steps, or 0 for the episode's end.")

    def start(self, spec: Spec, n: int) -> Held:
        return Held.empty(n)

    def apply(self, state: Any, carry: Held, batch: Batch, *r: Float) -> tuple[Float | Masked, Held]:
        out, held = carry.pay(r[0], batch, self.every)
        return Masked(out, ~np.isnan(out)), held


@register(
    "sparsify",
    example="sparsify(task, threshold=1.0)",
    role="replace",
    source="zheng2018learning",
    claims=("nonnegative", "bounded(0, 1)", "resets_each_episode", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Sparsify(Method):
    """A dense task made sparse: 1 at the end of an episode that was good enough.

    `r_t = [Σ_{i <= t} of_i >= threshold]` where the episode ends (terminated or truncated), else 0; float64[N]. The way
    to test methods for sparse rewards on a task whose dense reward is known.

    Parameters
    ----------
    of
        The reward that is summed, without discount.
    threshold
        Return from which an episode counts as a success.

    An end whose episode holds an unknown reward is unknown. Raises RewardError where the threshold is not finite.
    Misleads where the time limit cuts episodes that would still succeed, and like `delay` it needs a memory that the
    observation does not show.

    Source: Zheng, Oh and Singh 2018, arXiv:1804.06459, for holding back; the threshold is ours.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, reward=[1, 2, 1, 1], terminated=[0, 1, 0, 1])
    >>> Rewarder("sparsify(threshold=3)").step(batch).values.tolist()
    [0.0, 1.0, 0.0, 0.0]
    """

    of: Method = field(default=Task())
    threshold: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.threshold):
            raise RewardError(f"{self.label}: threshold={self.threshold}; a return to reach is finite.")

    def start(self, spec: Spec, n: int) -> Held:
        return Held.empty(n)

    def apply(self, state: Any, carry: Held, batch: Batch, *r: Float) -> tuple[Float | Masked, Held]:
        total, held = carry.pay(r[0], batch, 0)
        return Masked(np.where(batch.ended, total >= self.threshold, 0.0), ~np.isnan(total)), held
