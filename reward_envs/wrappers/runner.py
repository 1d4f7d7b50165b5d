"""The runner: the one owner of what a method has learned and remembers, and the only caller of the protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_envs.wrappers.batch import Batch, Bool, Float, all_true
from reward_envs.wrappers.core import Masked, Method, Spec, Sum, notice
from reward_envs.wrappers.errors import NonFiniteError, RewardError
from reward_envs.wrappers.registry import as_method, text_or_reason
from reward_envs.wrappers.state import export, restore

_F64 = np.dtype(np.float64)


@dataclass(frozen=True)
class Schedule:
    """When methods with gradients learn: every `learn_every` rows, `epochs` passes over a `proportion` of them in
    minibatches of `minibatch`. Counts and statistics learn every row once, at once, whatever the schedule."""

    learn_every: int = 256
    minibatch: int = 256
    epochs: int = 1
    proportion: float = 1.0

    def __post_init__(self) -> None:
        if min(self.learn_every, self.minibatch, self.epochs) < 1 or not 0.0 < self.proportion <= 1.0:
            raise RewardError(f"{self}: counts are at least 1 and proportion lies in (0, 1].")


@dataclass(slots=True)
class Scored:
    """Result of a step: `values` float64[N] (their NaNs are where `known` is false), the top-level `terms` whose plain
    sum they are, weight included, and what learning reported."""

    values: Float
    terms: dict[str, Float]
    metrics: dict[str, float]

    @property
    def known(self) -> Bool:
        """bool[N]: rows that have a value."""
        return ~np.isnan(self.values)


@dataclass(slots=True)
class _Node:
    method: Method
    call: Callable[..., Any]  # its score or its apply
    children: tuple[int, ...]
    carry: Any
    observes: bool
    learns: bool


class Rewarder:
    """The runner: owns a method's state and carry, and is the only caller of the protocol.

    Parameters
    ----------
    method
        A method or its text.
    spec
        What the method is told of its place.
    n
        Number of streams (environments); `batch.stream` lies in [0, n).
    seed
        Seed or Generator; each part of the method gets its own child of it.
    schedule
        When methods with gradients learn.

    Examples
    --------
    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> rewarder = Rewarder("2*task")
    >>> batch = Batch.of(obs=[0], action=[0], next_obs=[1], reward=[1.5])
    >>> rewarder.step(batch).values
    array([3.])
    """

    def __init__(
        self,
        method: Method | str,
        spec: Spec | None = None,
        *,
        n: int = 1,
        seed: int | np.random.Generator | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        self.method = as_method(method)
        if n < 1:
            raise RewardError(f"n={n}: a runner serves at least one stream.")
        self.spec = spec or Spec()
        self.n = n
        self.schedule = schedule or Schedule()
        self.frozen = False
        self.rng = np.random.default_rng(seed)
        methods = list(self.method.walk())
        self.states = [m.init(self.spec, r) for m, r in zip(methods, self.rng.spawn(len(methods)), strict=True)]
        self._nodes = self._make_nodes()
        self._learns = any(node.learns for node in self._nodes)
        self._gradient = any(node.learns and node.method.gradient for node in self._nodes)
        tops = self._nodes[-1].children if isinstance(self.method, Sum) else (len(self._nodes) - 1,)
        self._terms = [(m.label, i) for m, i in zip(self.method.terms, tops, strict=True)]
        self._pending: list[tuple[Batch, list[Float]]] = []
        self._streams: object = None
        if not any(m.text_name == "task" for m in methods) and self.method.pays == "reward":
            notice(f"{self._name()} holds no task: the environment's own reward is not paid.")

    def _name(self) -> str:
        return " + ".join(t.label for t in self.method.terms)

    def _make_nodes(self) -> list[_Node]:
        nodes: list[_Node] = []

        def add(m: Method) -> int:
            children = tuple(add(c) for c in m.children)
            call = m.apply if children else m.score
            carry = m.start(self.spec, self.n)
            nodes.append(_Node(m, call, children, carry, m.overrides("observe"), m.overrides("learn")))
            return len(nodes) - 1

        add(self.method)
        return nodes

    def step(self, batch: Batch) -> Scored:
        """Score the rows that come next in every stream, then let the method observe and learn (unless frozen)."""
        if batch.stream is not self._streams:
            self._check_streams(batch)
        out = self._run(batch, moves=True)
        metrics = self._learn(batch, out) if self._learns and not self.frozen else {}
        return self._scored(out, metrics)

    def score(self, batch: Batch) -> Scored:
        """Score rows as they stand: no carry, statistic or parameter moves."""
        self._check_streams(batch)
        return self._scored(self._run(batch, moves=False), {})

    def score_terms(self, batch: Batch, labels: Collection[str]) -> dict[str, Float]:
        """As `score`, of the named top-level terms only; the others are not computed."""
        self._check_streams(batch)

        def values(i: int) -> Float:
            node = self._nodes[i]
            r = [values(c) for c in node.children]
            return _checked(node.method, node.call(self.states[i], node.carry, batch, *r)[0], batch, r)

        return {label: values(i) for label, i in self._terms if label in labels}

    def _scored(self, out: list[Float], metrics: dict[str, float]) -> Scored:
        return Scored(out[-1], {label: out[i] for label, i in self._terms}, metrics)

    def _check_streams(self, batch: Batch) -> None:
        if len(batch) and not (batch.stream.min() >= 0 and batch.stream.max() < self.n):
            raise RewardError(
                f"the batch has streams {batch.stream.min()} to {batch.stream.max()}, the runner was made for "
                f"n={self.n}: number them from 0, or make Rewarder(..., n={int(batch.stream.max()) + 1})."
            )
        self._streams = batch.stream

    def _run(self, batch: Batch, moves: bool) -> list[Float]:
        out: list[Float] = []
        observing = moves and not self.frozen
        n = len(batch.reward)
        for node, state in zip(self._nodes, self.states, strict=True):
            if node.children:
                r = [out[c] for c in node.children]
                if observing and node.observes:
                    node.method.observe(state, batch, *r)
                values, carry = node.call(state, node.carry, batch, *r)
                if not _sound(values, n):
                    values = _checked(node.method, values, batch, r)
            else:
                values, carry = node.call(state, node.carry, batch)
                if not _sound(values, n):
                    values = _checked(node.method, values, batch, ())
                if observing and node.observes:
                    node.method.observe(state, batch, values)
            if moves:
                node.carry = carry
            out.append(values)
        return out

    def _learn(self, batch: Batch, out: list[Float]) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for i, node in enumerate(self._nodes):
            if node.learns and not node.method.gradient:
                self._report(metrics, node.method, node.method.learn(self.states[i], batch, out[i]))
        if self._gradient and len(batch):
            whole = not self._pending and len(batch) >= self.schedule.learn_every
            self._pending.append((batch, out) if whole else (batch.copy(), [v.copy() for v in out]))
            if sum(len(b) for b, _ in self._pending) >= self.schedule.learn_every:
                metrics |= self._learn_pending()
        return metrics

    def _learn_pending(self) -> dict[str, float]:
        rows = Batch.concat([b for b, _ in self._pending])
        out = [np.concatenate(values) for values in zip(*(o for _, o in self._pending), strict=True)]
        self._pending = []
        s = self.schedule
        metrics: dict[str, float] = {}
        for _ in range(s.epochs):
            chosen = self.rng.permutation(len(rows))[: max(1, math.ceil(s.proportion * len(rows)))]
            for at in range(0, len(chosen), s.minibatch):
                index = chosen[at : at + s.minibatch]
                part = rows.rows(index)
                for i, node in enumerate(self._nodes):
                    if node.learns and node.method.gradient:
                        self._report(metrics, node.method, node.method.learn(self.states[i], part, out[i][index]))
        return metrics

    @staticmethod
    def _report(metrics: dict[str, float], method: Method, said: Mapping[str, float]) -> None:
        metrics.update({f"{method.label}/{k}": float(v) for k, v in said.items()})

    def freeze(self, n: int | None = None) -> Rewarder:
        """A runner for evaluation: the same learned state, never moved by it, and an episode memory of its own for `n`
        streams."""
        other = object.__new__(Rewarder)
        other.__dict__.update(self.__dict__)
        other.n, other.frozen, other._pending = n or self.n, True, []
        other._nodes = other._make_nodes()
        other._streams = None
        return other

    def restart(self) -> None:
        """Forget the running episodes of all streams; what was learned stays."""
        for node in self._nodes:
            node.carry = node.method.start(self.spec, self.n)

    @property
    def carries(self) -> list[Any]:
        """The parts' episode memories, children before parents."""
        return [node.carry for node in self._nodes]

    def state_dict(self) -> dict[str, Any]:
        """All that a run needs to go on, as dicts, lists, arrays and plain values."""
        return {
            "method": text_or_reason(self.method),
            "gamma": self.spec.gamma,
            "versions": [m.version for m in self.method.walk()],
            "n": self.n,
            "states": [export(s) for s in self.states],
            "carries": [export(c) for c in self.carries],
            "pending": [(export(b.columns()), export(o)) for b, o in self._pending],
            "rng": export(self.rng),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from `state_dict()` of the same method; the episode memory comes back where the streams agree."""
        if not {"method", "versions", "states", "rng"} <= set(saved):
            raise RewardError("this is no state of a Rewarder: hand what state_dict() gave.")
        mine = (text_or_reason(self.method), [m.version for m in self.method.walk()])
        if (saved["method"], list(saved["versions"])) != mine:
            raise RewardError(
                f"the saved state belongs to {saved['method']} (versions {saved['versions']}), this runner is "
                f"{mine[0]} (versions {mine[1]}): make the runner with the method that was saved."
            )
        if saved["gamma"] != self.spec.gamma and None not in (saved["gamma"], self.spec.gamma):  # None: nobody asked
            raise RewardError(
                f"the saved state was made with gamma={saved['gamma']}, this runner has {self.spec.gamma}."
            )
        self.states[:] = [restore(t, s) for t, s in zip(self.states, saved["states"], strict=True)]
        restore(self.rng, saved["rng"])
        if saved["n"] == self.n:
            for node, carry in zip(self._nodes, saved["carries"], strict=True):
                node.carry = restore(node.carry, carry)
            self._pending = [(Batch.of(**columns), [np.array(v) for v in out]) for columns, out in saved["pending"]]


def _sound(values: Any, n: int) -> bool:
    """Whether the values are float64[n], each of them finite."""
    if type(values) is not np.ndarray or values.dtype != _F64 or values.shape != (n,):
        return False
    return math.isfinite(values.item()) if n == 1 else all_true(np.isfinite(values))


def _checked(method: Method, values: Float | Masked, batch: Batch, r: Any) -> Float:
    """The values with NaN on unknown rows, or a sentence: wrong shape or type, or not finite where known."""
    known = None
    if type(values) is Masked:
        values, known = values
    n = len(batch.reward)
    if type(values) is not np.ndarray or values.shape != (n,) or values.dtype != np.float64:
        got = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise RewardError(f"{method.label} gave {got} for {n} rows: return one float64 a row, shape [{n}].")
    if known is not None and (known.dtype != np.bool_ or known.shape != (n,)):
        raise RewardError(f"{method.label} gave a known mask of {known.dtype} {known.shape}: it is bool, shape [{n}].")
    if known is not None and not all_true(known):
        values = np.where(known, values, np.nan)
    if not _sound(values, n):
        bad = ~np.isfinite(values)
        if known is not None:
            bad &= known
        for child in r:
            bad &= ~np.isnan(child)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise NonFiniteError(
                f"{method.label} gave {values[row]} in row {row} (stream {batch.stream[row]}, step {batch.t[row]}): "
                f"a reward is finite; abstain with Masked(values, known) where there is none."
            )
    return values
