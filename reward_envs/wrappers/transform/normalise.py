"""Normalise: a reward divided by the running spread of its discounted returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reward_envs.kernels.returns import discounted_filter, merge_moments
from reward_envs.wrappers.batch import Batch, Bool, Float, Int
from reward_envs.wrappers.core import Method, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register


@dataclass
class ReturnScale:
    """Running moments of the discounted returns `f = γ f + r` of every stream, and the scale `sqrt(var + ε)`.

    Parameters
    ----------
    gamma
        Discount of the returns.
    epsilon
        Added to the variance.
    count, mean, var
        Moments of all f so far; before any data the scale is 1, held by a count that the first rows outweigh.
    running
        f of each stream, float64[S]; grows with the largest stream.
    """

    gamma: float
    epsilon: float = 1e-8
    count: float = 1e-4
    mean: float = 0.0
    var: float = 1.0
    running: Float = field(default_factory=lambda: np.zeros(0))

    def observe(self, values: Float, stream: Int, restart: Bool) -> Float:
        """Take in rewards float64[N] in the order of time and give their f [N]; an unknown (NaN) one is passed over.

        `restart` bool[N] marks the rows before which f starts anew: the first of each episode, or none.
        """
        if (short := int(stream.max(initial=-1)) + 1 - len(self.running)) > 0:
            self.running = np.append(self.running, np.zeros(short))
        returns = np.empty(len(values))
        discounted_filter(values, stream, restart, self.gamma, self.running, returns)
        self.count, self.mean, self.var = merge_moments(self.count, self.mean, self.var, returns)
        return returns

    @property
    def scale(self) -> float:
        return math.sqrt(self.var + self.epsilon)


@register(
    "normalise",
    example="normalise(task, gamma=0.99, clip=5)",
    role="replace",
    source="engstrom2020implementation",
    claims=("bounded(-5, 5)",),
)
@dataclass(frozen=True, repr=False)
class Normalise(Method):
    """A reward divided by the running standard deviation of its discounted returns.

    `r_t = of_t / sqrt(var(f) + ε)`, float64[N], with `f_t = γ f_{t-1} + of_t` in each stream and var over every f seen,
    the batch at hand included. The mean is never taken off, so zero stays zero and no sign changes.

    Parameters
    ----------
    of
        The reward to normalise; an unknown row stays unknown and is not counted.
    gamma
        Discount γ of the returns; None takes the learner's.
    episodic
        Whether f starts at 0 after an end, terminated or truncated.
    epsilon
        ε, which keeps a constant return from dividing by 0.
    clip
        Bound of the result on both sides; None leaves it open.

    Statistics stand still in evaluation. Raises RewardError where γ is unknown or out of range, ε or clip is not
    above 0.
    Misleads where rewards are rare: after many zeros the first one is divided by a small spread and comes out large
    (`clip` bounds it), and its worth drifts as the spread settles, which a replay buffer mixes.

    Source: Engstrom et al. 2020, "Implementation Matters in Deep Policy Gradients", arXiv:2005.12729, reward
    scaling; the moments' prior count 1e-4 as in OpenAI Baselines.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, reward=[1.0] * 4, truncated=[0, 1, 0, 0])
    >>> Rewarder("normalise(task, gamma=0.5)").step(batch).values.round(1).tolist()
    [4.0, 4.0, 4.0, 4.0]
    """

    of: Method
    gamma: float | None = None
    episodic: bool = True
    epsilon: float = 1e-8
    clip: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma is not None and not 0.0 <= self.gamma <= 1.0:
            raise RewardError(f"{self.label} got gamma={self.gamma}; a discount lies between 0 and 1.")
        if not (self.epsilon > 0 and (self.clip is None or self.clip > 0)):
            raise RewardError(f"{self.label}: epsilon={self.epsilon}, clip={self.clip}; both lie above 0.")

    def init(self, spec: Spec, rng: np.random.Generator) -> ReturnScale:
        return ReturnScale(spec.discount(None, self) if self.gamma is None else self.gamma, self.epsilon)

    def observe(self, state: ReturnScale, batch: Batch, *r: Float) -> None:
        state.observe(r[0], batch.stream, batch.first & self.episodic)

    def apply(self, state: ReturnScale, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        scaled = r[0] / state.scale
        return (scaled if self.clip is None else np.minimum(np.maximum(scaled, -self.clip), self.clip)), None
