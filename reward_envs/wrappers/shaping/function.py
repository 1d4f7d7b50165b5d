"""Task: the environment's own reward. Function: a user's own callable."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_envs.wrappers.batch import Batch, Float, all_true, read_only
from reward_envs.wrappers.core import Masked, Method, Spec, resolve
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register


@register("task", example="task", role="replace", claims=("identity", "cut_invariant"))
@dataclass(frozen=True, repr=False)
class Task(Method):
    """The environment's own reward, as it came.

    `r_t = reward_t`, float64[N]; unknown where the batch says that the task's reward was not observed.

    Misleads only by absence: a reward text without `task` does not pay the task at all.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> Rewarder("task").step(Batch.of(obs=[0], action=[0], next_obs=[1], reward=[1.0])).values
    array([1.])
    """

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Float | Masked, Any]:
        if all_true(batch.known):
            return batch.reward, None
        return Masked(batch.reward, batch.known), None


@register("function", example="function('tests.rewards:distance')", claims=("cut_invariant",))
@dataclass(frozen=True, repr=False)
class Function(Method):
    """A user's own reward: a callable that takes columns by keyword and returns one number a row.

    `r = f(obs=..., next_obs=..., action=..., ...)`, any array-like `[N]`, taken as float64. The callable's parameter
    names choose the columns: every column of `Batch`, `batch` itself, and the hooks listed in `reads` (at s'; with the
    prefix `was_` at s).

    Parameters
    ----------
    f
        A callable, or "package.module:function" (which alone has a text).
    reads
        Hooks of the environment that `f` takes.

    Raises RewardError where a parameter names no column, or where the result has another length: nothing is spread.
    Misleads where `f` keeps state of its own: it is called whenever rows are scored, also twice.

    >>> import numpy as np
    >>> from reward_envs.wrappers import Batch, Rewarder, function
    >>> near = function(lambda next_obs: -np.abs(next_obs[:, 0]), name="near")
    >>> batch = Batch.of(obs=[[3.0]], action=[0], next_obs=[[2.0]], reward=[0])
    >>> Rewarder(near).step(batch).values
    array([-2.])
    """

    f: str | Callable[..., Any]
    reads: tuple[str, ...] = ()

    def init(self, spec: Spec, rng: np.random.Generator) -> Any:
        f = resolve(self.f, self)
        columns = {"batch", "info", "next_info", *Batch.__dataclass_fields__} - {"pair"}
        columns |= {*self.reads, *(f"was_{h}" for h in self.reads)}
        wants = list(inspect.signature(f).parameters.values())
        names = [p.name for p in wants if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        required = {p.name for p in wants if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
        if unknown := sorted(required - columns):
            raise RewardError(f"{self.label} takes {unknown[0]!r}, which is no column: {', '.join(sorted(columns))}.")
        return _Call(f, tuple(n for n in names if n in columns))

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset(self.reads)

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Float | Masked, Any]:
        try:
            result = state.f(**{name: self._column(batch, name) for name in state.names})
        except ValueError as error:
            if "read-only" in str(error):
                raise RewardError(f"{self.label} writes into a column, which other terms read too: copy it.") from error
            raise
        known = None
        if isinstance(result, Masked):
            result, known = result
        try:
            values = np.asarray(result, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise RewardError(f"{self.label} gave no numbers ({error}): one float a row.") from error
        if values.shape != (len(batch),):
            raise RewardError(f"{self.label} returned shape {values.shape} for {len(batch)} rows: one number a row.")
        return (values if known is None else Masked(values, known)), None

    def _column(self, batch: Batch, name: str) -> Any:
        if name == "batch":
            return batch
        if name in self.reads:
            return read_only(batch.hook(name)[1])
        if name.removeprefix("was_") in self.reads:
            return read_only(batch.hook(name.removeprefix("was_"))[0])
        column = getattr(batch, name)
        return None if column is None else read_only(column)


@dataclass(frozen=True)
class _Call:
    f: Callable[..., Any]
    names: tuple[str, ...]


def function(f: str | Callable[..., Any], *, reads: tuple[str, ...] = (), name: str | None = None) -> Function:
    """Lift a callable to a method: keyword columns in, `[N]` out; the name is the callable's own unless given."""
    own = f.rpartition(":")[2] if isinstance(f, str) else getattr(f, "__name__", "")
    return Function(f, reads=reads, name=name or (own if own.isidentifier() else None))
