"""Gated accumulation: the rewards of steps count only in an episode that reached its goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reward_envs.kernels.returns import episode_sums
from reward_envs.wrappers.batch import Batch, Bool, Float
from reward_envs.wrappers.core import Masked, Method, Scope, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register
from reward_envs.wrappers.transform.sparsify import Held


@register(
    "gated_accumulation",
    example="gated_accumulation(task, progress, delta=0.5)",
    role="replace",
    source="sun2025stabilizing",
    claims=("episode_local",),
    covers={87: "tests/redistribution/test_gated.py::test_gate_of_step_rewards"},
)
@dataclass(frozen=True, repr=False)
class GatedAccumulation(Method):
    """Step rewards that count only where the episode's outcome passes a gate.

    `R = H + [H' >= δ] Σ_t low_t`, with `H = Σ_t high_t`, and `H' = H`, or `-inf` where the episode was only truncated.
    By rows, float64[N]: `r_t = high_t + [H' >= δ] low_t`; with `streaming`, `r_t = high_t` before the end and
    `high_T + [H' >= δ] Σ_t low_t` at it. While the gate is shut no change of `low` changes the return, so nothing is
    gained by farming it. `delta=-inf` is `high + low`, `delta=inf` is `high`; nest it for more levels.

    Parameters
    ----------
    high
        The reward of the outcome.
    low
        The reward of the steps.
    delta
        The gate δ, in units of the return of `high`.
    streaming
        False looks at the whole episode and pays each step its own; True pays at the episode's end what was held back,
        which serves places that see one step at a time.

    Rows of an open episode are unknown, unless streaming. Where an outcome is unknown the whole episode is (streaming:
    its end); an unknown `low` matters only where the gate is open. Raises RewardError where delta is NaN.
    Misleads before the first success: until then it is `high`, as sparse as that. A time limit shuts the gate of an
    episode that was about to pass. Streaming pays a lump that the observation does not show.

    Source: Sun et al. 2025, "Stabilizing Long-term Multi-turn Reinforcement Learning with Gated Rewards",
    arXiv:2508.10548, gated reward accumulation of two levels.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> columns = dict(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, terminated=[0, 1, 0, 1])
    >>> batch = Batch.of(reward=[0, 1, 0, 0], **columns)
    >>> step = "shift(scale(task, 0), 0.25, name=step)"
    >>> Rewarder(f"gated_accumulation(task, {step}, delta=1)").step(batch).values.tolist()
    [0.25, 1.25, 0.0, 0.0]
    >>> Rewarder(f"gated_accumulation(task, {step}, delta=1, streaming=True)").step(batch).values.tolist()
    [0.0, 1.5, 0.0, 0.0]
    """

    own_scope: ClassVar[Scope] = Scope.EPISODE

    high: Method
    low: Method
    delta: float
    streaming: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.isnan(self.delta):
            raise RewardError(f"{self.label}: delta={self.delta}; a gate is a number, or -inf or inf.")
        if self.streaming:
            object.__setattr__(self, "own_scope", Scope.STEP)

    def start(self, spec: Spec, n: int) -> tuple[Held, Held] | None:
        """What was paid of `high` and is held back of `low` in the running episodes."""
        return (Held.empty(n), Held.empty(n)) if self.streaming else None

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Masked, Any]:
        if self.streaming:
            return self._at_the_end(carry, batch, *r)
        high, low = r
        episodes = batch.episodes()
        index, cut_short = episodes.index, np.zeros(episodes.n, dtype=np.bool_)
        cut_short[index[batch.truncated & ~batch.terminated]] = True
        outcome = episode_sums(high, index, episodes.n)
        values = high + np.where(self._open(outcome, cut_short)[index], low, 0.0)
        return Masked(values, (episodes.whole & ~np.isnan(outcome))[index] & ~np.isnan(values)), None

    def _at_the_end(self, carry: tuple[Held, Held], batch: Batch, high: Float, low: Float) -> tuple[Masked, Any]:
        (outcome, paid), (steps, held) = (h.pay(v, batch, 0) for h, v in zip(carry, (high, low), strict=True))
        is_open = batch.ended & self._open(outcome, batch.truncated & ~batch.terminated)
        values = high + np.where(is_open, steps, 0.0)
        return Masked(values, ~np.isnan(values) & ~np.isnan(outcome)), (paid, held)

    def _open(self, outcome: Float, cut_short: Bool) -> Bool:
        opens: Bool = np.where(cut_short, -math.inf, outcome) >= self.delta
        return opens
