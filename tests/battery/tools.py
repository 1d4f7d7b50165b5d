"""What checks and claims share: building an entry's method, running it, and comparing results and states."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs import wrappers
from reward_envs.wrappers import Batch, Method, Relabel, Rewarder, Schedule, Scope, parse
from reward_envs.wrappers.registry import Entry
from reward_envs.wrappers.state import export
from tests import drawn
from tests.batches import Draw

SOON = Schedule(learn_every=16, minibatch=8)  # methods with gradients learn within a small batch


class Names(dict[str, Any]):
    """Every name of `reward_envs.wrappers`, looked up when asked for."""

    def __missing__(self, name: str) -> Any:
        return getattr(wrappers, name)


def rebuild(shown: str) -> Any:
    """What a repr builds."""
    return eval(shown, {"inf": np.inf}, Names())


def is_relabeller(entry: Entry) -> bool:
    return issubclass(entry.cls, Relabel)


def runner(method: Method, draw: Draw, *, seed: int = 0, streams: int | None = None) -> Rewarder:
    return Rewarder(method, draw.spec, n=streams or draw.streams, seed=seed, schedule=SOON)


def made(entry: Entry, draw: Draw, seed: int = 0) -> Rewarder:
    """A fresh runner of the entry's example."""
    return runner(parse(entry.example), draw, seed=seed)


def trained(entry: Entry, draw: Draw, streams: int | None = None) -> Rewarder:
    """A frozen runner that has learned from another batch."""
    rewarder = made(entry, draw)
    rewarder.step(draw.replace(seed=draw.seed + 1).batch())
    return rewarder.freeze(streams)


def pieces(method: Method, draw: Draw) -> list[Batch]:
    """The drawn batch in random cuts, longer ones for methods that wait for whole episodes."""
    return drawn.cut(draw.batch(), draw.rng, 0.2 if method.scope < Scope.EPISODE else 0.05)


def play(rewarder: Rewarder, parts: list[Batch]) -> NDArray[np.float64]:
    """The rewards of all rows, kept from whatever happens to the parts' arrays."""
    return np.concatenate([rewarder.step(b.copy()).values.copy() for b in parts])


def learns(method: Method) -> bool:
    """Whether any part writes `learn` or `observe`."""
    return any(m.overrides("learn") or m.overrides("observe") for m in method.walk())


def equal(a: Any, b: Any) -> None:
    """The same rewards to the last bit, NaN for NaN."""
    np.testing.assert_array_equal(a, b)


def close(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def same(a: Any, b: Any) -> bool:
    """Whether two exported trees hold the same."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, str) or a is None:
        return bool(a == b)
    x, y = np.asarray(a), np.asarray(b)
    return x.shape == y.shape and bool(np.all((x == y) | ((x != x) & (y != y))))


def states(rewarder: Rewarder) -> list[Any]:
    return [export(s) for s in rewarder.states]


def arrays(batch: Batch) -> list[NDArray[Any]]:
    """Every array of a batch, those of its trees and the stored pair too."""

    def leaves(tree: Any) -> list[NDArray[Any]]:
        if isinstance(tree, dict):
            return [a for v in tree.values() for a in leaves(v)]
        if isinstance(tree, tuple):
            return [a for v in tree for a in leaves(v)]
        return [] if tree is None else [tree]

    return leaves({**batch.columns(), "pair": batch.pair})


def spoil(batch: Batch) -> None:
    """Write garbage over every array, as an adapter's next batch would."""
    for a in arrays(batch):
        a[...] = ~a if a.dtype == bool else 3


@functools.cache
def long_run(discrete: bool) -> tuple[Batch, ...]:
    """20,000 rows of episodes of some steps over six states, 200 at a time."""
    draw = Draw(7, streams=4, steps=5000, end=0.15, unknown=0.0, aborted=0.05, discrete=discrete)
    batch = draw.batch()
    return tuple(batch.rows(np.arange(i, i + 200)) for i in range(0, len(batch), 200))
