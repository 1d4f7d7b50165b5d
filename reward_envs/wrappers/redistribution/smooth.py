"""Smooth: rewards spread over the steps around them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from reward_envs.kernels.returns import episode_sums, smoothed
from reward_envs.wrappers.batch import Batch, Float
from reward_envs.wrappers.core import Masked, Method, Scope
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register
from reward_envs.wrappers.shaping.function import Task

KERNELS = ("gaussian", "uniform", "ema")
_NOTHING = 1e-17  # a weight beside 1 that a float64 does not see


@register(
    "smooth",
    example="smooth(kernel='gaussian', width=3.0)",
    role="replace",
    source="lee2023dreamsmooth",
    claims=("return_preserving", "episode_local"),
    covers={162: "tests/redistribution/test_smooth.py::test_a_blurred_pulse_is_worth_predicting"},
)
@dataclass(frozen=True, repr=False)
class Smooth(Method):
    """Each reward of an episode, spread over the steps around it.

    `r_t = Σ_i of_i w(t - i) / Σ_s w(s - i)`, float64[N], i and s over the rows of the episode: what a source spreads
    adds up to what it was, at the first and the last step too, so the return is kept. With k = t - i,

    - gaussian: `w(k) = exp(-k² / (2 width²))`;
    - uniform: `w(k) = 1` for `|k| <= width`, else 0;
    - ema: `w(k) = (width / (1 + width))^k` for k >= 0, else 0, so that nothing is paid early; width is the mean delay.

    Parameters
    ----------
    of
        The reward that is spread.
    kernel
        gaussian, uniform or ema.
    width
        In steps; 0 changes nothing.

    A row of an episode that is still open is unknown, and so is every row of one that holds an unknown reward. Raises
    RewardError for another kernel and for a width that is negative or not finite.
    Misleads a learner that discounts: what comes earlier counts more and what comes later less, so the optimal policy
    may change by up to a factor gamma^-width; and what the agent is paid before it has done anything for it (gaussian,
    uniform) is seen only by a model, or by an agent that learns from whole episodes.

    Source: Lee, Abbeel and Lee 2024, "DreamSmooth: Improving Model-based Reinforcement Learning via Reward Smoothing",
    arXiv:2311.01450, section 3.2, which regresses a world model's rewards on them. Here the weights are renormalised
    for each source, and the moving average is written by its mean delay, `alpha = 1 / (1 + width)`.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 4, action=[0] * 4, next_obs=[0] * 4, reward=[0, 0, 0, 1], terminated=[0, 0, 0, 1])
    >>> Rewarder("smooth(kernel=uniform, width=1)").step(batch).values.tolist()
    [0.0, 0.0, 0.5, 0.5]
    """

    own_scope: ClassVar[Scope] = Scope.EPISODE

    of: Method = field(default=Task())
    kernel: str = "gaussian"
    width: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel not in KERNELS:
            raise RewardError(f"{self.label}: no kernel {self.kernel!r}: write one of {', '.join(KERNELS)}.")
        if not (math.isfinite(self.width) and self.width >= 0):
            raise RewardError(f"{self.label}: width={self.width}; it is a number of steps, 0 or more.")

    def weights(self) -> Float:
        """float64[2 L + 1]: w(-L), ..., w(L), beyond which there is nothing."""
        if self.width == 0:
            return np.ones(1)
        if self.kernel == "uniform":
            return np.ones(2 * math.floor(self.width) + 1)
        if self.kernel == "gaussian":
            reach = math.ceil(self.width * math.sqrt(-2 * math.log(_NOTHING)))
            return np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.width) ** 2)
        keep = self.width / (1 + self.width)
        reach = math.ceil(math.log(_NOTHING) / math.log(keep))
        k = np.arange(-reach, reach + 1)
        return np.where(k >= 0, keep ** np.maximum(k, 0.0), 0.0)

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Masked, Any]:
        episodes = batch.episodes()
        known = episodes.whole & ~np.isnan(episode_sums(r[0], episodes.index, episodes.n))
        order = np.argsort(episodes.index, kind="stable")  # rows are time-major, so each episode's stay in order
        first = np.searchsorted(episodes.index[order], np.arange(episodes.n + 1))
        out = np.zeros(len(batch))
        smoothed(np.where(known[episodes.index], r[0], 0.0), order, first, self.weights(), out)
        return Masked(out, known[episodes.index]), None
