"""Episodes of one task compared with each other: group_normalise (GRPO), leave_one_out (RLOO)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from reward_envs.kernels.returns import episode_counts, episode_sums
from reward_envs.wrappers.batch import Batch, Float
from reward_envs.wrappers.core import Masked, Method, Scope
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register
from reward_envs.wrappers.shaping.function import Task

GROUP_CLAIMS = ("group_zero_mean", "shift_invariant", "group_local", "ties_give_zero", "singleton_gives(0)")


def compared(r: Float, batch: Batch, advantage: Callable[[Float], Float]) -> Masked:
    """What `advantage` makes of the returns of each group, float64[G] -> float64[G], for every row of its episodes.

    Rows of an episode that is open, or that holds an unknown reward, are unknown, and the episode does not count in its
    group. Returns that differ by no more than the rounding of their sums are a tie, hence every advantage is 0; so is
    that of an episode alone in its group.

    Raises RewardError where an episode's rows name several groups.
    """
    episodes = batch.episodes()
    index, n = episodes.index, episodes.n
    group = np.zeros(n, dtype=np.int64)
    group[index] = batch.group
    if np.any(torn := group[index] != batch.group):
        row = int(np.flatnonzero(torn)[0])
        raise RewardError(f"the episode of row {row} lies in groups {batch.group[row]} and {group[index[row]]}: one.")
    returns = episode_sums(r, index, n)
    rounding = np.finfo(np.float64).eps * episode_counts(index, n) * episode_sums(np.abs(r), index, n)
    out = np.full(n, np.nan)
    scored = np.flatnonzero(episodes.whole & ~np.isnan(returns))
    scored = scored[np.argsort(group[scored], kind="stable")]
    for members in np.split(scored, np.flatnonzero(np.diff(group[scored])) + 1):
        if len(members):
            tie = np.ptp(returns[members]) <= rounding[members].max()
            out[members] = 0.0 if tie else advantage(returns[members])
    return Masked(out[index], ~np.isnan(out)[index])


@register(
    "group_normalise",
    example="group_normalise",
    role="replace",
    source="shao2024deepseekmath",
    claims=(*GROUP_CLAIMS, "scale_invariant"),
)
@dataclass(frozen=True, repr=False)
class GroupNormalise(Method):
    """GRPO's advantage: how many standard deviations an episode's return lies above the mean of its group.

    `A = (R - mean(R)) / (std(R) + ε)`, float64[N], over the returns `R = Σ_t of_t` of the episodes of one group, the
    same for every row of an episode. A group without spread and a group of one give exactly 0.

    Parameters
    ----------
    of
        The reward whose return is compared.
    epsilon
        ε; the paper has none, trainers use 1e-6 (verl) or 1e-4 (TRL) because they keep ties in the division.
    ddof
        1 for the standard deviation of a sample, as trainers compute it; 0 for that of the group itself.

    Rows of an open episode, or of one with an unknown reward, are unknown; their episode does not count.
    Raises RewardError where epsilon is negative or ddof is neither 0 nor 1, and where an episode lies in two groups.
    Misleads by its division: a group that nearly agrees is blown up to the size of one that does not, so that very
    easy and very hard tasks weigh most; and a whole episode gets one number, whatever its steps did.

    Source: Shao et al. 2024, "DeepSeekMath", arXiv:2402.03300, section 4.1.2, outcome supervision.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 3, action=[0] * 3, next_obs=[0] * 3, reward=[1, 2, 3], terminated=[1] * 3)
    >>> Rewarder("group_normalise").step(batch).values.tolist()
    [-1.0, 0.0, 1.0]
    """

    own_scope: ClassVar[Scope] = Scope.GROUP
    kind: ClassVar[Literal["reward", "advantage"]] = "advantage"

    of: Method = field(default=Task())
    epsilon: float = 0.0
    ddof: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.epsilon >= 0 or self.ddof not in (0, 1):
            raise RewardError(
                f"{self.label}: epsilon={self.epsilon}, ddof={self.ddof}; epsilon is 0 or more and ddof 0 or 1."
            )

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Masked, Any]:
        return compared(r[0], batch, self._advantage), None

    def _advantage(self, returns: Float) -> Float:
        above, spread = _above_the_least(returns)
        centred: Float = (above - above.mean()) / (above.std(ddof=self.ddof) + self.epsilon / spread)
        return centred


@register(
    "leave_one_out",
    example="leave_one_out",
    role="replace",
    source=("kool2019buy", "ahmadian2024back"),
    claims=GROUP_CLAIMS,
)
@dataclass(frozen=True, repr=False)
class LeaveOneOut(Method):
    """RLOO's advantage: an episode's return above the mean of the others in its group.

    `A_i = R_i - Σ_{j≠i} R_j / (n - 1)`, float64[N], in units of the return `R = Σ_t of_t`, over the n episodes of one
    group, the same for every row of an episode. The baseline does not depend on the episode itself, so the policy
    gradient stays unbiased. A group without spread and a group of one give exactly 0.

    Parameters
    ----------
    of
        The reward whose return is compared.

    Rows of an open episode, or of one with an unknown reward, are unknown; their episode does not count. Raises
    RewardError where an episode lies in two groups.
    Misleads where returns of several tasks differ in size: the largest weighs most, for nothing is divided.

    Source: Kool, van Hoof and Welling 2019, "Buy 4 REINFORCE Samples, Get a Baseline for Free!"; Ahmadian et al. 2024,
    "Back to Basics", arXiv:2402.14740, REINFORCE leave-one-out.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0] * 3, action=[0] * 3, next_obs=[0] * 3, reward=[0, 0, 3], terminated=[1] * 3)
    >>> Rewarder("leave_one_out").step(batch).values.tolist()
    [-1.5, -1.5, 3.0]
    """

    own_scope: ClassVar[Scope] = Scope.GROUP
    kind: ClassVar[Literal["reward", "advantage"]] = "advantage"

    of: Method = field(default=Task())

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Masked, Any]:
        return compared(r[0], batch, _above_the_others), None


def _above_the_others(returns: Float) -> Float:
    above, spread = _above_the_least(returns)
    centred: Float = (above - above.mean()) * (len(returns) / (len(returns) - 1)) * spread
    return centred


def _above_the_least(returns: Float) -> tuple[Float, float]:
    """(the returns on a scale from 0 to 1, the scale's unit): the mean of nearly equal returns rounds too coarsely to
    centre them, and squares of very small or large ones leave the range of floats."""
    spread = float(np.ptp(returns))
    return (returns - returns.min()) / spread, spread
