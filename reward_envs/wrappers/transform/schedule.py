"""When a reward is paid: anneal (a weight that moves with training), gate (only where another is positive)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_envs.wrappers.batch import Batch, Float
from reward_envs.wrappers.core import Method, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register


@dataclass
class Seen:
    """How many rows training has brought."""

    rows: int = 0


@register(
    "anneal",
    example="anneal(task, 1.0, 0.0, steps=100)",
    role="replace",
    source="park2025sparse",
    claims=("fades",),
    covers={153: "tests/transform/test_schedule.py::test_from_sparse_to_dense_keeps_the_optimal_policies"},
)
@dataclass(frozen=True, repr=False)
class Anneal(Method):
    """A reward whose weight moves from one number to another over the rows of training.

    `r = w(i) · of`, float64[N], for the i-th row of training (i = 0, 1, ... over all streams), with
    `w(i) = initial + (final - initial) · min(max((i - after) / steps, 0), 1)`; with `steps=0` a switch, `initial` while
    `i < after` and `final` from then on. From sparse to dense: `task + anneal(potential(...), 0, 1, steps=0, after=k)`.

    Parameters
    ----------
    of
        The method to weigh; it is scored, and learns, whatever its weight.
    initial, final
        Weight at first and at last.
    steps
        Rows that the way takes. A vector of 16 environments brings 16 rows a step.
    after
        Rows before it begins.

    Only training moves the count: a frozen runner weighs every batch as training would weigh its next one.
    Raises RewardError where a weight is not finite or a number of rows is negative.
    Misleads where `of` is no potential: then the optimal policy moves with the weight. A replay buffer holds rows of
    several weights at once; and the episode during whose step k a potential comes in is left with a discounted sum of
    `-γ^k φ(s_k)` instead of `-φ(s_0)`.

    Source: Park et al. 2025, "From Sparse to Dense: Toddler-inspired Reward Transition in Goal-Oriented Reinforcement
    Learning", arXiv:2501.17842.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, reward=[1.0] * 4)
    >>> Rewarder("anneal(task, 1, 0, steps=2, after=1)").step(batch).values.tolist()
    [1.0, 1.0, 0.5, 0.0]
    """

    of: Method
    initial: float
    final: float
    steps: int
    after: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.initial) and math.isfinite(self.final)):
            raise RewardError(f"{self.label}: initial={self.initial}, final={self.final}; a weight is finite.")
        if self.steps < 0 or self.after < 0:
            raise RewardError(f"{self.label}: steps={self.steps}, after={self.after}; a number of rows is 0 or more.")

    def init(self, spec: Spec, rng: np.random.Generator) -> Seen:
        return Seen()

    def apply(self, state: Seen, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        past = np.arange(state.rows - self.after, state.rows - self.after + len(batch), dtype=np.float64)
        share = np.clip(past / self.steps, 0.0, 1.0) if self.steps else (past >= 0).astype(np.float64)
        return r[0] * (self.initial + (self.final - self.initial) * share), None

    # The rows are counted after they were weighed: `apply` must find how many came before its batch.
    def learn(self, state: Seen, batch: Batch, scores: Float) -> Mapping[str, float]:
        state.rows += len(batch)
        return {}


@register("gate", example="gate(task, by=progress)", role="replace", claims=("resets_each_episode", "cut_invariant"))
@dataclass(frozen=True, repr=False)
class Gate(Method):
    """A reward paid only where another is positive.

    `r = of` where `by > 0`, else 0; float64[N]; unknown where either is unknown.

    Parameters
    ----------
    of
        The reward to pay.
    by
        The reward that opens the gate; its size does not matter.

    Misleads where `by` depends on what `of` asks for: then the gated sum rewards keeping the gate open.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 3, action=[0] * 3, next_obs=[0] * 3, reward=[2.0, 0.0, -1.0])
    >>> Rewarder("gate(shift(task, 5, name=paid), by=task)").step(batch).values.tolist()
    [7.0, 0.0, 0.0]
    """

    of: Method
    by: Method

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        of, by = r
        return np.where(np.isnan(by), by, np.where(by > 0, of, 0.0 * of)), None
