"""Arithmetic on a reward, row by row: scale, clip, shift, fill_unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_envs.wrappers.batch import Batch, Float
from reward_envs.wrappers.core import Method, Scale, Spec, notice
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register

register("scale", family="transform", example="scale(task, 0.5)", role="replace", claims=("cut_invariant",))(Scale)


@register(
    "clip",
    example="clip(task, -1, 1)",
    role="replace",
    source="mnih2015human",
    claims=("bounded(-1, 1)", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Clip(Method):
    """A reward held between two bounds.

    `r = min(max(of, low), high)`, float64[N], in the reward's own unit; an unknown row stays unknown.

    Parameters
    ----------
    of
        The method to clip.
    low, high
        The bounds; `inf` and `-inf` leave a side open.

    Raises RewardError where `low > high` or a bound is NaN.
    Misleads where the size of a reward matters: beyond the bounds two goals of different worth pay the same, so that
    the optimal policy may change.

    Source: Mnih et al. 2015, "Human-level control through deep reinforcement learning", Methods, training details.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0, 0], action=[0, 0], next_obs=[0, 0], reward=[-7.0, 0.5])
    >>> Rewarder("clip(task, -1, 1)").step(batch).values.tolist()
    [-1.0, 0.5]
    """

    of: Method
    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low <= self.high:
            raise RewardError(f"{self.label}: low={self.low} and high={self.high}; low must not lie above high.")

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        return np.minimum(np.maximum(r[0], self.low), self.high), None


@register(
    "shift",
    example="shift(task, -0.01)",
    role="replace",
    source="sun2022exploit",
    claims=("cut_invariant",),
    covers={231: "tests/transform/test_arithmetic.py::test_a_shift_is_another_starting_value"},
)
@dataclass(frozen=True, repr=False)
class Shift(Method):
    """A constant added to every reward, which equals another starting value of Q.

    `r_t = of_t + by`, float64[N]; with `absorbing`, `r_t = of_t + by/(1 - γ)` at terminated rows: what the constant
    would pay for ever if the episode went on in a state without other reward. Then `Q*_shifted = Q* + by/(1 - γ)` for
    every state and action, the greedy actions stay, and tabular Q-learning from `Q = 0` acts as the unshifted one from
    `Q = -by/(1 - γ)`: a negative `by` explores with optimism, a positive one keeps to what it has seen.

    Parameters
    ----------
    of
        The method to shift.
    by
        The constant b; an unknown row stays unknown.
    absorbing
        Whether a terminated row is paid the constant's whole future. A truncated row never is: there the learner
        bootstraps.
    gamma
        The learner's discount γ; None takes it from the place. Needed with `absorbing` only, below 1.

    Raises RewardError where `by` is not finite, and with `absorbing` where γ is unknown or 1.
    Misleads without `absorbing` where episodes terminate: a negative constant hurries the agent to any end and a
    positive one makes it loiter, so that the optimal policy may change (a notice says so). A learner whose optimism
    rests on its initial values loses it, and a value network far from b/(1 - γ) needs time to get there.

    Source: Sun et al. 2022, "Exploit Reward Shifting in Value-Based Deep-RL", arXiv:2209.07288, section 3.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0, 1], action=[0, 0], next_obs=[1, 2], reward=[0, 1], terminated=[0, 1])
    >>> Rewarder("shift(task, -0.5, absorbing=True, gamma=0.5)").step(batch).values.tolist()
    [-0.5, 0.0]
    """

    of: Method
    by: float
    absorbing: bool = False
    gamma: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.by):
            raise RewardError(f"{self.label}: by={self.by}; a constant reward is finite.")

    def init(self, spec: Spec, rng: np.random.Generator) -> float:
        """What a terminated row is paid."""
        if not self.absorbing:
            if self.by:
                notice(
                    f"{self.label} adds {self.by} to every reward: where episodes terminate this can change the "
                    f"optimal policy (a negative constant hurries, a positive one loiters); absorbing=True does not."
                )
            return float(self.by)
        gamma = spec.discount(self.gamma, self)
        if gamma == 1.0:
            raise RewardError(f"{self.label} got gamma=1.0: by/(1 - gamma) needs a gamma below 1, or absorbing=False.")
        return self.by / (1.0 - gamma)

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        return r[0] + np.where(batch.terminated, state, float(self.by)), None


@register("fill_unknown", example="fill_unknown(task, 0)", role="replace", claims=("cut_invariant",))
@dataclass(frozen=True, repr=False)
class FillUnknown(Method):
    """A number in the place of every unknown reward.

    `r_t = of_t` where it is known, else `value`, float64[N].

    Parameters
    ----------
    of
        A method that may abstain.
    value
        What an unknown row is paid.

    Raises RewardError where `value` is not finite.
    Misleads where rows are unknown for a reason: the agent learns that whatever makes a judge abstain is worth `value`.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0, 0], action=[0, 0], next_obs=[0, 0], reward=[float("nan"), 2.0])
    >>> Rewarder("fill_unknown(task, -1)").step(batch).values.tolist()
    [-1.0, 2.0]
    """

    of: Method
    value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.value):
            raise RewardError(f"{self.label}: value={self.value}; a reward is finite.")

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        return np.where(np.isnan(r[0]), float(self.value), r[0]), None
