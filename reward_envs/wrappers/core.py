"""The core: what a reward method is told, what it answers, and how methods combine."""

from __future__ import annotations

import dataclasses
import importlib
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from reward_envs.wrappers.batch import Batch, Bool, Float
from reward_envs.wrappers.errors import RewardError, ScopeError, TextError

if TYPE_CHECKING:
    import gymnasium as gym

    from reward_envs.card import Card

_log = logging.getLogger("reward_envs")
_said: set[str] = set()


def notice(message: str) -> None:
    """Log `message` once in the life of the process."""
    if message not in _said:
        _said.add(message)
        _log.warning(message)


class Scope(IntEnum):
    """What must be complete, and which rows row t may look at, before row t can be scored."""

    STEP = 0  # row t, the carry of its episode, the state
    BATCH = 1  # the other rows of the batch too
    EPISODE = 2  # every row of its finished episode
    GROUP = 3  # every row of several finished episodes of one task


@dataclass(frozen=True)
class Spec:
    """What a method is told of the place it is plugged into: spaces of one environment, the learner's discount
    `gamma`, the time limit `max_steps` and the environment's `card`; None where unknown."""

    observation_space: gym.Space[Any] | None = None
    action_space: gym.Space[Any] | None = None
    gamma: float | None = None
    max_steps: int | None = None
    card: Card | None = None

    def discount(self, own: float | None, method: Method) -> float:
        """The learner's gamma, from the method or from the place; an error where neither knows it or the two differ."""
        if own is not None and self.gamma is not None and own != self.gamma:
            raise RewardError(
                f"{method.label} is written with gamma={own}, and the learner discounts by gamma={self.gamma}: leave "
                f"gamma out of the text, for then it is the learner's."
            )
        gamma: Any = self.gamma if own is None else own
        if gamma is None:
            raise RewardError(
                f"{method.label} needs the learner's discount and this place does not know it: write gamma=... in "
                f"{method.label}(...), or hand gamma= to the adapter."
            )
        if not isinstance(gamma, int | float) or not 0.0 <= gamma <= 1.0:
            raise RewardError(f"{method.label} got gamma={gamma!r}; a discount lies between 0 and 1.")
        return float(gamma)


class Masked(NamedTuple):
    """Values of a method that abstains on some rows: `values` float64[N], `known` bool[N]. Abstaining is not 0."""

    values: Float
    known: Bool


_LITERALS: dict[str, tuple[type, ...]] = {"float": (float, int), "int": (int,), "bool": (bool,), "str": (str,)}


@dataclass(frozen=True, repr=False)
class Method:
    """A reward method: frozen hyperparameters, with nothing learned and nothing remembered inside.

    A leaf (no `children`) writes `score`; a transform (its fields hold other methods) writes `apply`, which gets the
    children's values as float64[N] arrays in which an unknown row is NaN. Only `learn` and `observe` move the state.

    Parameters
    ----------
    name
        Name of the term in `info["reward/<name>"]`, logs and reports; by default the method's registered name.
    """

    own_scope: ClassVar[Scope] = Scope.STEP
    kind: ClassVar[Literal["reward", "advantage"]] = "reward"
    gradient: ClassVar[bool] = False  # learn takes gradient steps, so the schedule rules it
    version: ClassVar[int] = 1  # of the formula
    text_name: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()  # hooks

    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        own = self.text_name or type(self).__name__.lower()
        for f in dataclasses.fields(self):
            value, wanted = getattr(self, f.name), getattr(f.type, "__name__", str(f.type))
            kinds = _LITERALS.get(wanted.removesuffix(" | None"))
            if kinds and not (value is None and "None" in wanted):
                if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                    raise RewardError(f"{own}: {f.name}={value!r}, but {f.name} takes a {wanted}.")
            elif wanted == "Method" and not isinstance(value, Method):
                raise RewardError(f"{own}: {f.name}={value!r}, but {f.name} takes a reward method.")

    # the protocol

    def init(self, spec: Spec, rng: np.random.Generator) -> Any:
        """Learned state: nets, statistics, lifelong counts. Saved; frozen in evaluation."""
        return None

    def start(self, spec: Spec, n: int) -> Any:
        """Memory of the running episodes of n streams; a row with `t == 0` starts it anew. None if unused."""
        return None

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Float | Masked, Any]:
        """(values [N], the next carry) of a leaf. Pure: twice gives the same, and nothing handed in has moved."""
        raise RewardError(f"{type(self).__name__} writes neither score nor apply.")

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float | Masked, Any]:
        """(values [N], the next carry) of a transform, from its children's values. Pure."""
        raise RewardError(f"{type(self).__name__} writes neither score nor apply.")

    def observe(self, state: Any, batch: Batch, *r: Float) -> None:
        """Statistics: sees every row once, a transform before `apply`, a leaf after `score` (with its own values)."""

    def learn(self, state: Any, batch: Batch, scores: Float) -> Mapping[str, float]:
        """Gradients and lifelong counts, last of all; returns metrics."""
        return {}

    # what a method says of itself

    @property
    def children(self) -> tuple[Method, ...]:
        """The methods it is made of, in the order of its fields."""
        values = (getattr(self, f.name) for f in dataclasses.fields(self))
        return tuple(v for v in values if isinstance(v, Method))

    @property
    def scope(self) -> Scope:
        """The widest scope among the method and its children."""
        return max(self.own_scope, *(c.scope for c in self.children), Scope.STEP)

    @property
    def pays(self) -> Literal["reward", "advantage"]:
        """Its kind, or that of what it is made of: a clipped advantage is an advantage."""
        return "advantage" if any(m.kind == "advantage" for m in self.walk()) else "reward"

    @property
    def hooks(self) -> frozenset[str]:
        """Names of the info columns that the method and its children read."""
        return frozenset(self.needs).union(*(c.hooks for c in self.children))

    @property
    def label(self) -> str:
        """The term's name."""
        return self.name or self.text_name or type(self).__name__.lower()

    @property
    def terms(self) -> tuple[Method, ...]:
        """The top-level terms: those of a sum, else the method alone."""
        return (self,)

    def walk(self) -> Iterator[Method]:
        """Every method of the tree, children before parents."""
        for child in self.children:
            yield from child.walk()
        yield self

    def overrides(self, hook: str) -> bool:
        """Whether the class writes its own `observe`, `learn`, ..."""
        return getattr(type(self), hook) is not getattr(Method, hook)

    def __str__(self) -> str:
        from reward_envs.wrappers.registry import text

        try:
            return text(self)
        except TextError:
            return repr(self)

    def __repr__(self) -> str:
        changed = (
            f"{f.name}={getattr(self, f.name)!r}"
            for f in sorted(dataclasses.fields(self), key=lambda f: f.name == "name")
            if f.default is dataclasses.MISSING or getattr(self, f.name) != f.default
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    # combinations

    def __add__(self, other: object) -> Method:
        return Sum((self, other)) if isinstance(other, Method) else NotImplemented

    def __radd__(self, other: object) -> Method:
        return self if other == 0 else NotImplemented  # so that sum(...) works

    def __sub__(self, other: object) -> Method:
        return self + (-other) if isinstance(other, Method) else NotImplemented

    def __neg__(self) -> Method:
        return self * -1.0

    def __mul__(self, weight: object) -> Method:
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            return NotImplemented
        if isinstance(self, Sum):
            return Sum(tuple(p * weight for p in self.parts))
        if isinstance(self, Scale) and self.name is None:
            return Scale(self.of, self.by * weight)
        return Scale(self, float(weight))

    __rmul__ = __mul__


@dataclass(frozen=True, repr=False)
class Sum(Method):
    """The sum of its terms, `a + b`; sums inside are flattened, and each term keeps its own name."""

    parts: tuple[Method, ...] = ()

    def __post_init__(self) -> None:
        flat = tuple(t for p in self.parts for t in p.terms)
        object.__setattr__(self, "parts", flat)
        labels = [t.label for t in flat]
        if twice := sorted({x for x in labels if labels.count(x) > 1}):
            raise RewardError(f'two terms of the sum are called {twice[0]!r}: give one of them name="...".')
        if len({t.pays for t in flat}) > 1:
            kinds = ", ".join(f"{t.label} is {'an' if t.pays[0] == 'a' else 'a'} {t.pays}" for t in flat)
            raise ScopeError(f"rewards and advantages never mix in a sum ({kinds}): train on one of the two.")

    @property
    def children(self) -> tuple[Method, ...]:
        return self.parts

    @property
    def terms(self) -> tuple[Method, ...]:
        return self.parts

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        total = r[0]
        for values in r[1:]:
            total = total + values
        return total, None


@dataclass(frozen=True, repr=False)
class Scale(Method):
    """`by` times a method, written `0.1 * method`; the term keeps the method's name.

    `r = by · of`, float64[N]; an unknown row stays unknown.

    Parameters
    ----------
    of
        The method to weigh.
    by
        The weight, of either sign.

    Raises RewardError where `by` is not finite.
    Misleads where the whole reward is scaled: with by > 0 no optimal policy changes, but a learner without reward
    normalisation learns at another pace.

    >>> from reward_envs.wrappers import Task
    >>> print(2 * (0.5 * Task()))
    1.0*task
    """

    of: Method
    by: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.by):
            raise RewardError(f"{self.label}: the weight is {self.by}; a weight is finite.")

    @property
    def label(self) -> str:
        return self.name or self.of.label

    def apply(self, state: Any, carry: Any, batch: Batch, *r: Float) -> tuple[Float, Any]:
        return r[0] * self.by, None


@dataclass(frozen=True)
class Relabel:
    """The one other shape: makes other rows, such as hindsight goals, instead of other rewards."""

    version: ClassVar[int] = 1
    text_name: ClassVar[str] = ""
    name: ClassVar[str | None] = None

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.text_name or type(self).__name__.lower()

    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        """New rows from the batch's rows; the batch is unchanged."""
        raise RewardError(f"{type(self).__name__} writes no relabel.")


def resolve(where: str | Callable[..., Any], method: Method | Relabel) -> Callable[..., Any]:
    """The callable, or the one that "package.module:function" names."""
    if callable(where):
        return where
    module, _, name = where.partition(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise RewardError(
            f"{method.label}: cannot import {where!r} ({error}); write 'package.module:function'."
        ) from error
    if not callable(found):
        raise RewardError(f"{method.label}: {where!r} is a {type(found).__name__}, not a function.")
    return found
