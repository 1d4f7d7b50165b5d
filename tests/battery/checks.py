"""What every method is held to, whatever it claims: one function a property, collected in CHECKS.

A check takes a registry entry and a drawn batch's recipe, and fails by an AssertionError. Relabellers, which make rows
and not rewards, are held to MADE_ROWS instead.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from reward_envs.wrappers import Rewarder, Scope, parse, relabel_rows
from reward_envs.wrappers.registry import Entry, as_relabel
from reward_envs.wrappers.state import export
from tests.batches import Draw
from tests.battery.tools import (
    SOON,
    arrays,
    equal,
    learns,
    long_run,
    made,
    pieces,
    play,
    same,
    spoil,
    states,
)

Check: TypeAlias = Callable[[Entry, Draw], None]
CHECKS: dict[str, Check] = {}
MADE_ROWS: dict[str, Check] = {}


def check(f: Check) -> Check:
    CHECKS[f.__name__] = f
    return f


@check
def gives_one_float64_a_row(entry: Entry, draw: Draw) -> None:
    rewarder = made(entry, draw)
    for part in pieces(rewarder.method, draw):
        values = rewarder.step(part).values
        assert values.dtype == np.float64 and values.shape == (len(part),)
        assert not np.isinf(values).any()


@check
def takes_no_rows(entry: Entry, draw: Draw) -> None:
    rewarder, other = made(entry, draw), made(entry, draw)
    parts = pieces(rewarder.method, draw)
    assert rewarder.step(parts[0].rows([])).values.shape == (0,)
    equal(play(rewarder, parts), play(other, parts))


@check
def score_moves_nothing(entry: Entry, draw: Draw) -> None:
    """Twice the same, no state moved, and a run in which rows are scored on the way goes on as one without.

    An append-only episode memory may be written beyond its cursor, hence rewards are compared, not bytes.
    """
    rewarder, twin = made(entry, draw), made(entry, draw)
    other = draw.replace(seed=draw.seed + 1).batch()
    for part in pieces(rewarder.method, draw):
        before = states(rewarder)
        first = rewarder.score(part).values.copy()
        rewarder.score(other)
        equal(rewarder.score(part).values, first)
        assert same(states(rewarder), before), "score has moved the state"
        equal(rewarder.step(part).values, twin.step(part).values)


@check
def leaves_its_input(entry: Entry, draw: Draw) -> None:
    rewarder = made(entry, draw)
    for part in pieces(rewarder.method, draw):
        before = [a.copy() for a in arrays(part)]
        rewarder.step(part)
        for was, now in zip(before, arrays(part), strict=False):
            equal(now, was)


@check
def keeps_no_view(entry: Entry, draw: Draw) -> None:
    """The batch's arrays are written over after each step; whoever needs a row later has copied it."""
    rewarder, twin = made(entry, draw), made(entry, draw)
    for part in pieces(rewarder.method, draw):
        expected = twin.step(part.copy()).values
        equal(rewarder.step(part).values, expected)
        spoil(part)


@check
def same_seed_same_rewards(entry: Entry, draw: Draw) -> None:
    """Whatever the global generators do, which stay untouched too."""
    import torch

    one, two = made(entry, draw, seed=5), made(entry, draw, seed=5)
    parts = pieces(one.method, draw)
    first = play(one, parts)
    torch.rand(3)
    before = (random.getstate(), np.random.get_state(legacy=False), torch.get_rng_state())  # noqa: NPY002
    two = made(entry, draw, seed=5)
    equal(play(two, parts), first)
    assert random.getstate() == before[0], "a global generator was used"
    assert same(np.random.get_state(legacy=False), before[1]), "NumPy's global generator was used"  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2]), "torch's global generator was used"


@check
def goes_on_after_loading(entry: Entry, draw: Draw) -> None:
    one, two = made(entry, draw, seed=1), made(entry, draw, seed=2)
    parts = pieces(one.method, draw)
    half = len(parts) // 2
    if half:
        play(one, parts[:half])
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    equal(play(one, parts[half:]), play(two, parts[half:]))
    assert same(states(one), states(two)), "the states part after loading"


@check
def frozen_moves_memory_only(entry: Entry, draw: Draw) -> None:
    """Evaluation moves no state and not the training's episodes, but its own; twice it gives the same."""
    rewarder, twin = made(entry, draw), made(entry, draw)
    parts = pieces(rewarder.method, draw)
    other = draw.replace(seed=draw.seed + 1).batch()
    equal(rewarder.step(parts[0].copy()).values, twin.step(parts[0].copy()).values)
    before = states(rewarder)
    evaluation = rewarder.freeze()
    start = export(evaluation.carries)
    first = evaluation.step(other.copy()).values.copy()
    assert same(states(rewarder), before), "evaluation has moved the state"
    equal(rewarder.freeze().step(other.copy()).values, first)
    twin.step(other.copy())
    if not same(export(twin.carries), export(made(entry, draw).carries)):
        assert not same(export(evaluation.carries), start) or not len(other), "evaluation has not moved the memory"
    twin.restart()
    rewarder.restart()
    if not learns(rewarder.method):
        equal(play(rewarder.freeze(), parts), play(twin, parts))


@check
def training_goes_on_after_evaluation(entry: Entry, draw: Draw) -> None:
    rewarder, twin = made(entry, draw), made(entry, draw)
    other = draw.replace(seed=draw.seed + 1).batch()
    for part in pieces(rewarder.method, draw):
        equal(rewarder.step(part.copy()).values, twin.step(part.copy()).values)
        rewarder.freeze().step(other)


@check
def reads_known_rewards_only(entry: Entry, draw: Draw) -> None:
    """The number that stands where the task's reward is unknown means nothing."""
    rewarder, twin = made(entry, draw), made(entry, draw)
    parts = pieces(rewarder.method, draw)
    expected = play(twin, parts)
    for part in parts:
        part.reward[~part.known] = 1e6
    equal(play(rewarder, parts), expected)


@check
def reads_named_hooks_only(entry: Entry, draw: Draw) -> None:
    rewarder, twin = made(entry, draw), made(entry, draw)
    parts = pieces(rewarder.method, draw)
    expected = play(twin, parts)
    for part in parts:
        for columns in (part.info, part.next_info):
            for name in set(columns) - rewarder.method.hooks:
                del columns[name]
    equal(play(rewarder, parts), expected)


@check
def method_pickles(entry: Entry, draw: Draw) -> None:
    method = parse(entry.example)
    assert pickle.loads(pickle.dumps(method)) == method


def of_rows(f: Check) -> Check:
    MADE_ROWS[f.__name__] = f
    return f


@of_rows
def relabelling_leaves_its_input(entry: Entry, draw: Draw) -> None:
    """The new rows share no memory with the old ones either: each may be written over."""
    batch = draw.goals()
    before = [a.copy() for a in arrays(batch)]
    new = relabel_rows(batch, entry.example, seed=0)
    spoil(new)
    for was, now in zip(before, arrays(batch), strict=True):
        equal(now, was)


@of_rows
def same_generator_same_rows(entry: Entry, draw: Draw) -> None:
    batch = draw.goals()
    one, two = (relabel_rows(batch.copy(), entry.example, seed=3) for _ in range(2))
    assert len(arrays(one)) == len(arrays(two))
    for a, b in zip(arrays(one), arrays(two), strict=True):
        equal(a, b)


@of_rows
def made_rows_are_aligned(entry: Entry, draw: Draw) -> None:
    """The new rows are the old transitions, in their order, once or more, with columns of the old types; an episode
    that comes again has a number of its own each time."""
    batch = draw.goals()
    new = relabel_rows(batch, entry.example, seed=0)
    n = len(batch)
    assert len(new) % n == 0
    assert {len(a) for a in arrays(new)} == {len(new)}
    copies = np.stack([np.repeat(np.arange(len(new) // n), n), np.tile(batch.episode, len(new) // n)])
    pairs, numbers = np.unique(copies, axis=1), np.unique(np.vstack([copies, new.episode]), axis=1)
    assert pairs.shape[1] == numbers.shape[1] == len(np.unique(new.episode)), "episodes are mixed up"
    for name in ("stream", "t", "group", "action"):
        was, now = getattr(batch, name), getattr(new, name)
        assert now.dtype == was.dtype
        equal(now, np.tile(was, len(new) // n))
    for name in ("obs", "next_obs"):
        was, now = getattr(batch, name), getattr(new, name)
        assert now.keys() == was.keys() and all(now[k].dtype == was[k].dtype for k in was)
        equal(now["observation"], np.tile(was["observation"], (len(new) // n, 1)))
    assert new.reward.dtype == np.float64 and np.isfinite(new.reward[new.known]).all()


@of_rows
def relabelling_takes_no_rows(entry: Entry, draw: Draw) -> None:
    assert len(relabel_rows(draw.goals().rows([]), entry.example, seed=0)) == 0


@of_rows
def relabeller_pickles(entry: Entry, draw: Draw) -> None:
    how = as_relabel(entry.example)
    assert pickle.loads(pickle.dumps(how)) == how


def memory_is_bounded(entry: Entry, discrete: bool) -> None:
    """From 2,000 to 20,000 rows over six states, in episodes of some steps, nothing kept grows by more than 4 KiB."""
    draw = Draw(0, streams=4, discrete=discrete)
    rewarder = Rewarder(parse(entry.example), draw.spec, n=4, seed=0)
    sizes = {}
    for rows, part in enumerate(long_run(discrete), start=1):
        rewarder.step(part.copy())
        if rows * 200 in (2000, 20000):
            sizes[rows * 200] = len(pickle.dumps([states(rewarder), export(rewarder.carries)]))
    assert sizes[20000] < sizes[2000] + 4096, f"state and memory take {sizes} bytes"


def pays_something(entry: Entry) -> None:
    """The battery would pass a method that abstains or pays 0 for ever: its example does neither."""
    draw = Draw(1, streams=4, steps=100, unknown=0.0, aborted=0.0)
    method = parse(entry.example)
    rewarder = Rewarder(method, draw.spec, n=4, seed=0, schedule=SOON)
    batch = draw.whole() if method.scope >= Scope.EPISODE else draw.batch()
    values = np.concatenate([rewarder.step(b).values for b in (batch, batch)])
    assert np.any(np.nan_to_num(values) != 0.0), "the example pays nothing"
