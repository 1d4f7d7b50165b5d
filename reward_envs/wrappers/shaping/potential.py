"""Potential: shaping by the difference of a potential, which keeps the optimal policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_envs.kernels.shaping import potential_difference
from reward_envs.wrappers.batch import Batch, Float, Tree, map_tree, read_only, tree_rows
from reward_envs.wrappers.core import Masked, Method, Spec, notice, resolve
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register


@register(
    "potential",
    example="potential(steps_to_go, gamma=0.99, d_max=20, offset=0)",
    source=("ng1999policy", "grzes2017reward"),
    claims=("telescopes", "policy_invariant", "resets_each_episode", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Potential(Method):
    """Potential-based shaping: the change of a potential φ over the step, discounted.

    `F = γ φ(s') - φ(s)`, float64[N], with `φ(s') := 0` where the row terminated (also if it was truncated too) and not
    where it was only truncated. Over an episode that terminates the discounted sum of F is `-φ(s_0)`, whatever was
    done, hence `task + potential(...)` has the optimal policies of `task`. Here `φ = scale · (offset + value)`, with

    - value = `phi[obs]` for a table, one number for each integer observation;
    - value = `phi(obs_row)` for a function, or with `rowwise=False` `phi(rows)`, once for the 2N rows of s and s';
    - value = the hook `phi`, for a hook's name;
    - value = `-min(d, d_max) / d_max` for a distance d from any of these: `steps_to_go`, or where `d_max` is given;
    - value = `decay^d` for a distance d where `decay` is given: with `decay = γ` the best discounted return of a task
      that pays 1 on arrival, to which a distance of infinity is 0.

    Parameters
    ----------
    phi
        A hook's name, a tuple of numbers, "package.module:function" or a callable (which has no text).
    gamma
        The learner's discount γ; None takes it from the place. Another γ than the learner's loses the invariance.
    scale
        Weight of the potential, in units of reward.
    offset
        Added to the value. None is 0, except for `steps_to_go`: there it makes the potential 0 at the goal, or 0 at the
        farthest where the card says that an episode can end in failure; a notice names the choice.
    d_max
        Distance that counts as farthest, infinity too; None takes `steps_to_go_max` from the environment's card.
    decay
        In (0, 1): the value falls by this factor with each step of distance, instead of in a line to `d_max`.
    rowwise
        Whether a function takes one row and gives a float, or takes `[2N, ...]` and gives `[2N]`.

    Raises RewardError where γ, d_max or decay is unknown or out of range, where d_max and decay are both given, where
    phi is none of the above, where a table lacks an observation, and where a function gives another shape; HookError
    where the environment lacks the hook. A row whose hook is absent (NaN) is unknown.
    Misleads in learning, not in the optimum: with `φ = -d` a failing end pays `+|φ(s)|` at once, with `φ > 0` near the
    goal the goal costs `φ(s)` at once, and a scale beyond the task's reward drowns the task (a notice says so).

    Source: Ng, Harada and Russell 1999, "Policy Invariance Under Reward Transformations", theorem 1; for ends, Grześ
    2017, "Reward Shaping in Episodic Reinforcement Learning".

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0, 1], action=[0, 0], next_obs=[1, 2], reward=[0, 1], terminated=[0, 1])
    >>> Rewarder("task + potential((1, 2, 5), gamma=0.5)").step(batch).terms["potential"].tolist()
    [0.0, -2.0]
    """

    phi: str | tuple[float, ...] | Callable[..., Any]
    gamma: float | None = None
    scale: float = 1.0
    offset: float | None = None
    d_max: float | None = None
    decay: float | None = None
    rowwise: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = isinstance(self.phi, tuple) and len(self.phi) > 0 and all(_finite(v) for v in self.phi)
        if not (numbers or callable(self.phi) or (isinstance(self.phi, str) and self.phi)):
            raise RewardError(
                f"{self.label}: phi={self.phi!r}; a potential is a hook's name, a tuple of finite numbers, "
                f"'package.module:function' or a callable."
            )
        if not (math.isfinite(self.scale) and math.isfinite(self.offset or 0.0)):
            raise RewardError(f"{self.label}: scale={self.scale}, offset={self.offset}; both are finite.")
        if self.d_max is not None and not (math.isfinite(self.d_max) and self.d_max > 0):
            raise RewardError(f"{self.label}: d_max={self.d_max}; the farthest distance is finite and above 0.")
        if self.decay is not None and not 0 < self.decay < 1:
            raise RewardError(
                f"{self.label}: decay={self.decay}; it lies between 0 and 1, such as the learner's gamma."
            )
        if self.d_max is not None and self.decay is not None:
            raise RewardError(
                f"{self.label}: d_max={self.d_max} and decay={self.decay}; a value has one form, give one."
            )

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({self.phi} if isinstance(self.phi, str) and ":" not in self.phi else ())

    def init(self, spec: Spec, rng: np.random.Generator) -> _Phi:
        self._warn_of_size(spec)
        d_max, offset = self._farthest(spec), self._chosen_offset(spec)
        slope = float(self.scale) if d_max is None else -self.scale / d_max
        return _Phi(self._reader(), spec.discount(self.gamma, self), d_max, self.decay, slope, self.scale * offset)

    def score(self, state: _Phi, carry: Any, batch: Batch) -> tuple[Float | Masked, Any]:
        phi = state(batch)
        n = len(batch.reward)
        out = np.empty(n)
        potential_difference(phi, batch.terminated, state.gamma, out)
        if type(state.read) is _Hook and math.isnan(out.dot(out)):
            absent = np.isnan(phi)
            return Masked(out, ~(absent[:n] | (absent[n:] & ~batch.terminated))), None
        return out, None

    def _reader(self) -> Callable[[Batch], Float]:
        if isinstance(self.phi, tuple):
            return _Table(np.array(self.phi, dtype=np.float64), self.label)
        if isinstance(self.phi, str) and ":" not in self.phi:
            return _Hook(self.phi, self.label)
        return (_Rows if self.rowwise else _Whole)(resolve(self.phi, self), self.label)

    def _farthest(self, spec: Spec) -> float | None:
        if self.phi != "steps_to_go" or self.d_max is not None or self.decay is not None:
            return self.d_max
        farthest = spec.card.steps_to_go_max if spec.card else None
        if farthest is None or not farthest > 0:
            raise RewardError(
                f"{self.label} needs the largest distance, and the environment, which may have no hook steps_to_go at "
                f"all, says {farthest}: write d_max=... in {self.label}(steps_to_go, ...), or name another potential."
            )
        return float(farthest)

    def _chosen_offset(self, spec: Spec) -> float:
        if self.offset is not None or self.phi != "steps_to_go":
            return self.offset or 0.0
        failing = spec.card.failing_ends if spec.card else None
        near, far = ("decay^d - 1", "decay^d") if self.decay is not None else ("-d/d_max", "1 - d/d_max")
        above = 0.0 if self.decay is not None else 1.0  # what makes it 0 at the farthest
        why = {
            True: f"{far}, since an episode can end in failure",
            False: f"{near}, since every end is the goal",
            None: f"{near}; where an episode can end in failure, which the environment does not tell, write "
            f"offset={above:g}",
        }
        times = "" if self.scale == 1 else f"{self.scale:g} times "
        notice(f"{self.label}: the potential of steps_to_go is {times}{why[failing]}.")
        return above if failing else above - 1.0

    def _warn_of_size(self, spec: Spec) -> None:
        if spec.card is None or spec.card.reward_range is None or not (self.hooks or isinstance(self.phi, tuple)):
            return
        size = abs(self.scale) * (max(abs(v) for v in self.phi) if isinstance(self.phi, tuple) else 1.0)
        if size > _LARGE * max(abs(v) for v in spec.card.reward_range):
            notice(
                f"{self.label} has potentials up to {size:g}, more than twice the task's returns "
                f"{spec.card.reward_range}: it can drown the task while learning; lower scale."
            )


_LARGE = 2.0  # times the task's return; up to that potentials were seen to help (docs/potentials.md)
_FLOAT64 = np.dtype(np.float64)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


@dataclass(frozen=True)
class _Phi:
    """`slope · v + intercept` of the rows at s, then at s', float64[2N].

    v is the value as read, at most d_max where that is given, or decay to its power.
    """

    read: Callable[[Batch], Float]
    gamma: float
    d_max: float | None
    decay: float | None
    slope: float
    intercept: float

    def __call__(self, batch: Batch) -> Float:
        phi = self.read(batch)
        if self.d_max is not None:
            phi = np.minimum(phi, self.d_max)
        if self.decay is not None:
            phi = np.power(self.decay, phi)
        if self.slope != 1.0:
            phi = phi * self.slope
        return phi + self.intercept if self.intercept else phi


@dataclass(frozen=True)
class _Hook:
    name: str
    label: str

    def __call__(self, batch: Batch) -> Float:
        return _numbers(np.concatenate(batch.hook(self.name)), len(batch), self.label, f"the hook {self.name!r}")


@dataclass(frozen=True)
class _Table:
    values: Float
    label: str

    def __call__(self, batch: Batch) -> Float:
        index = batch.both
        if not isinstance(index, np.ndarray) or index.ndim != 1 or index.dtype.kind not in "iu":
            raise RewardError(f"{self.label}: a table needs one integer observation a row; name a function instead.")
        if len(index) and not (index.min() >= 0 and index.max() < len(self.values)):
            raise RewardError(
                f"{self.label}: the table has {len(self.values)} numbers, the observations are {index.min()} to "
                f"{index.max()}: write one number for each observation, from 0 on."
            )
        return self.values[index]


@dataclass(frozen=True)
class _Rows:
    f: Callable[[Any], Any]
    label: str

    def __call__(self, batch: Batch) -> Float:
        rows, n = read_only(batch.both), len(batch.reward)
        try:
            return np.fromiter(map(self.f, rows if type(rows) is np.ndarray else _rows(rows)), _FLOAT64, 2 * n)
        except (TypeError, ValueError):  # the function's own, which then rises again, or it gave no number
            return _numbers([self.f(row) for row in _rows(rows)], n, self.label, "the function, called row by row,")


@dataclass(frozen=True)
class _Whole:
    f: Callable[[Any], Any]
    label: str

    def __call__(self, batch: Batch) -> Float:
        return _numbers(self.f(read_only(batch.both)), len(batch), self.label, "the function, called with all rows,")


def _rows(tree: Tree) -> Iterator[Any]:
    return (map_tree(lambda a, i=i: a[i], tree) for i in range(tree_rows(tree)))


def _numbers(values: Any, n: int, label: str, whose: str) -> Float:
    try:
        phi = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RewardError(f"{label}: {whose} gave no numbers ({error}); a potential is one float a row.") from error
    if phi.shape != (2 * n,):
        raise RewardError(
            f"{label}: {whose} gave shape {phi.shape} for the {2 * n} rows of s and s'; a potential is one float a row."
        )
    return phi
