"""Subtasks that the environment grades: progress (gain over the best so far), milestones (each paid once)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reward_envs.kernels.shaping import best_gain
from reward_envs.kernels.shaping import milestones as pay_once
from reward_envs.wrappers.batch import Batch, Bool, Float
from reward_envs.wrappers.core import Masked, Method, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register


@register(
    "progress",
    example="progress",
    source="nichol2018gotta",
    claims=("nonnegative", "bounded(0, 1)", "resets_each_episode", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Progress(Method):
    """Progress beyond the best of the episode so far.

    `r_t = max(0, p(s_{t+1}) - max_{i <= t} p(s_i))`, float64[N], in the hook's unit. The sum over an episode is its
    best progress less `p(s_0)`, hence at most `1 - p(s_0)` where p lies in [0, 1]; going back and forth pays nothing.

    Parameters
    ----------
    hook
        A column of one number a row that grows towards success.

    A row whose s' lacks the hook (NaN) is unknown; where s_0 lacks it, the first known value is the base.
    Raises HookError where the environment lacks the hook, RewardError where it is not one number a row.
    Misleads where progress must be given up to succeed, and where the learner cannot see the best so far: the same step
    pays at one time and not at another. It is no potential: with discounting an early gain beats a later success.

    Source: Nichol et al. 2018, "Gotta Learn Fast: A New Benchmark for Generalization in RL", arXiv:1804.03720,
    whose baselines pay the increase of the greatest offset reached.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> p = dict(info={"progress": [0.1, 0.4, 0.2]}, next_info={"progress": [0.4, 0.2, 0.5]})
    >>> batch = Batch.of(obs=[0] * 3, action=[0] * 3, next_obs=[0] * 3, reward=[0] * 3, **p)
    >>> Rewarder("task + progress").step(batch).values.round(6).tolist()
    [0.3, 0.0, 0.1]
    """

    hook: str = "progress"

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({self.hook})

    def start(self, spec: Spec, n: int) -> Float:
        """float64[n]: the best so far; NaN before anything is known."""
        return np.full(n, np.nan)

    def score(self, state: Any, carry: Float, batch: Batch) -> tuple[Float | Masked, Float]:
        now, nxt = (_column(v, (len(batch),), self, self.hook) for v in batch.hook(self.hook))
        best, out = carry.copy(), np.empty(len(batch))
        best_gain(now, nxt, batch.first, batch.stream, best, out)
        absent = np.isnan(nxt)
        return (Masked(out, ~absent) if np.count_nonzero(absent) else out), best


@register(
    "milestones",
    example="milestones(0.5)",
    source="hafner2022benchmarking",
    claims=("nonnegative", "bounded(0, 1.5)", "resets_each_episode", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Milestones(Method):
    """Each milestone pays its weight once an episode, when it is first reached.

    `r_t = Σ_k w_k · [flag k holds at s_{t+1} and held at none of s_0, ..., s_t]`, float64[N]. The sum over an episode
    is the weight of the milestones reached; those that hold at s_0 are not paid.

    Parameters
    ----------
    weights
        A float w for every milestone, or a tuple of K, in the order of the card's `milestone_names`.

    Needs the hook `milestones`, [N, K] of 0 and 1. A row whose flags are all absent (NaN) at s' is unknown.
    Raises RewardError where a weight is not finite or their number is not K.
    Misleads where a milestone is a detour: an agent that gathers all of them may never finish. It is no potential.

    Source: Hafner 2022, "Benchmarking the Spectrum of Agent Capabilities", arXiv:2109.06780: an achievement
    pays when it is unlocked for the first time in the episode.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> flags = dict(info={"milestones": [[0, 1], [1, 1]]}, next_info={"milestones": [[1, 1], [0, 1]]})
    >>> batch = Batch.of(obs=[0] * 2, action=[0] * 2, next_obs=[0] * 2, reward=[0] * 2, **flags)
    >>> Rewarder("task + milestones((0.5, 2))").step(batch).values.tolist()
    [0.5, 0.0]
    """

    needs: ClassVar[tuple[str, ...]] = ("milestones",)

    weights: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        given: tuple[Any, ...] = self.weights if isinstance(self.weights, tuple) else (self.weights,)
        if not all(isinstance(w, int | float) and not isinstance(w, bool) and math.isfinite(w) for w in given):
            raise RewardError(f"{self.label}: weights={self.weights!r}; write a finite number, or a tuple of these.")

    def init(self, spec: Spec, rng: np.random.Generator) -> tuple[str, ...]:
        """The milestones' names, as far as the place knows them."""
        names = spec.card.milestone_names if spec.card else ()
        if names:
            self._weights(len(names), names)
        return names

    def start(self, spec: Spec, n: int) -> Bool:
        """bool[n, K]: paid in this episode; K is 0 until the first rows tell it."""
        return np.zeros((n, 0), dtype=np.bool_)

    def score(self, state: tuple[str, ...], carry: Bool, batch: Batch) -> tuple[Float | Masked, Bool]:
        n, k = len(batch), np.shape(batch.hook("milestones")[1])[-1]
        now, nxt = (_column(v, (n, k), self, "milestones") for v in batch.hook("milestones"))
        paid = carry.copy() if carry.shape[1] == k else np.zeros((len(carry), k), dtype=np.bool_)
        out = np.empty(n)
        pay_once(now, nxt, batch.first, batch.stream, self._weights(k, state), paid, out)
        absent = np.isnan(nxt)
        return (Masked(out, ~np.all(absent, axis=1)) if np.count_nonzero(absent) else out), paid

    def _weights(self, k: int, names: tuple[str, ...]) -> Float:
        if not isinstance(self.weights, tuple):
            return np.full(k, self.weights, dtype=np.float64)
        if len(self.weights) != k:
            called = f" ({', '.join(names)})" if names else ""
            raise RewardError(
                f"{self.label} got {len(self.weights)} weights, the environment has {k} milestones{called}: write one "
                f"weight each, or a single number for all."
            )
        return np.array(self.weights, dtype=np.float64)


def _column(values: Any, shape: tuple[int, ...], method: Method, hook: str) -> Float:
    column = np.ascontiguousarray(values, dtype=np.float64)
    if column.shape != shape:
        raise RewardError(f"{method.label}: the hook {hook!r} has shape {column.shape}; {method.label} needs {shape}.")
    return column
