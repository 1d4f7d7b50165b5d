"""Every check can fail: a method that does what it forbids is found out."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from reward_envs.wrappers import Batch, HookError, Method, Relabel, RewardError, registry
from reward_envs.wrappers.registry import Entry
from tests.batches import Draw
from tests.battery import checks

FOUND_OUT = (AssertionError, RewardError, ValueError, HookError, pickle.PicklingError, AttributeError)


class Good(Method):
    """A running sum of each stream's known rewards and a learned count of rows: all that a method may do."""

    def init(self, spec: Any, rng: np.random.Generator) -> Any:
        return {"rows": 0, "seen": [], "gain": float(rng.random())}

    def start(self, spec: Any, n: int) -> Any:
        return np.zeros(n)

    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        total, out = carry.copy(), np.empty(len(batch))
        for i, s in enumerate(batch.stream):
            total[s] = (0.0 if batch.first[i] else total[s]) + np.where(batch.known, batch.reward, 0.0)[i]
            out[i] = state["gain"] * total[s] + state["rows"]
        return out, total

    def learn(self, state: Any, batch: Batch, scores: Any) -> Any:
        state["rows"] += len(batch)
        return {}


class Counts(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return (batch.t + 1), carry


class Averages(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return batch.reward / batch.reward.max(), carry


class MovesItsCarry(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        carry[batch.stream] += 1.0
        return carry[batch.stream], carry


class MovesItsState(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        state["rows"] += 1
        return super().score(state, carry, batch)


class WritesOnItsInput(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        batch.reward *= 2.0
        return super().score(state, carry, batch)


class KeepsAView(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return np.full(len(batch), sum(float(np.sum(r)) for r in state["seen"])), carry

    def learn(self, state: Any, batch: Batch, scores: Any) -> Any:
        state["seen"] = [batch.reward]
        return {}


class DrawsFromTheGlobal(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return np.random.random(len(batch)), carry  # noqa: NPY002


class DrawsFromTheClock(Good):
    def init(self, spec: Any, rng: np.random.Generator) -> Any:
        return super().init(spec, np.random.default_rng())


class RemembersOutside(Good):
    rows = 0

    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return np.full(len(batch), float(RemembersOutside.rows)), carry

    def learn(self, state: Any, batch: Batch, scores: Any) -> Any:
        RemembersOutside.rows += len(batch)
        return {}


class KeepsTheEpisodeInItsState(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        state["last"] = state.get("last", 0.0) + 1.0
        return np.full(len(batch), state["last"]), carry


class ForgetsInEvaluation(Good):
    """Moves its memory only until it has learned, so an evaluation of what was learned has none."""

    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        values, moved = super().score(state, carry, batch)
        return values, carry if state["rows"] else moved


class ReadsUnknown(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return batch.reward.copy(), carry


class ReadsAHook(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return batch.hook("progress")[1].copy(), carry


class KeepsRows(Good):
    def learn(self, state: Any, batch: Batch, scores: Any) -> Any:
        state["seen"].append(batch.t.copy())
        return {}


class Nothing(Good):
    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return np.zeros(len(batch)), carry


def unpicklable() -> type[Method]:
    class Local(Good):
        pass

    return Local


FAILS: list[tuple[str, Any]] = [
    ("gives_one_float64_a_row", Counts),
    ("takes_no_rows", Averages),
    ("score_moves_nothing", MovesItsCarry),
    ("score_moves_nothing", MovesItsState),
    ("leaves_its_input", WritesOnItsInput),
    ("keeps_no_view", KeepsAView),
    ("same_seed_same_rewards", DrawsFromTheGlobal),
    ("same_seed_same_rewards", DrawsFromTheClock),
    ("goes_on_after_loading", RemembersOutside),
    ("frozen_moves_memory_only", MovesItsState),
    ("frozen_moves_memory_only", ForgetsInEvaluation),
    ("training_goes_on_after_evaluation", KeepsTheEpisodeInItsState),
    ("reads_known_rewards_only", ReadsUnknown),
    ("reads_named_hooks_only", ReadsAHook),
    ("method_pickles", unpicklable()),
]


class Sound(Relabel):
    """The rows as they are, in memory of their own."""

    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        return batch.copy()


class HandsItsInputOn(Sound):
    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        new = batch.copy()
        new.next_obs = batch.next_obs
        return new


class ShufflesWithAnother(Sound):
    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        new = batch.copy()
        new.reward = np.random.default_rng().random(len(batch))
        return new


class MixesRows(Sound):
    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        return batch.rows(rng.permutation(len(batch)))


class MixesEpisodes(Sound):
    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        return Batch.concat([batch.copy(), batch.copy()])


class NeedsRows(Sound):
    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        new = batch.copy()
        new.episode -= new.episode.min()
        return new


def unpicklable_relabeller() -> type[Relabel]:
    class Local(Sound):
        pass

    return Local


MADE_WRONG: list[tuple[str, Any]] = [
    ("relabelling_leaves_its_input", HandsItsInputOn),
    ("same_generator_same_rows", ShufflesWithAnother),
    ("made_rows_are_aligned", MixesRows),
    ("made_rows_are_aligned", MixesEpisodes),
    ("relabelling_takes_no_rows", NeedsRows),
    ("relabeller_pickles", unpicklable_relabeller()),
]


@contextmanager
def entered(cls: type[Any]) -> Iterator[Entry]:
    """An entry of this class, taken out again."""
    role = "rows" if issubclass(cls, Relabel) else "add"
    registry.register("suspect", example="suspect", family="tests", claims=("nonnegative",), role=role)(cls)
    try:
        yield registry.methods()["suspect"]
    finally:
        del registry._entries["suspect"]


def run(what: str, cls: type[Any]) -> None:
    RemembersOutside.rows = 0
    with entered(cls) as entry:
        for seed in range(6):
            (checks.CHECKS | checks.MADE_ROWS)[what](entry, Draw(seed, unknown=0.2, discrete=seed % 2 == 0))


@pytest.mark.parametrize(("what", "cls"), FAILS + MADE_WRONG)
def test_what_is_forbidden_is_found_out(what: str, cls: Any) -> None:
    with pytest.raises(FOUND_OUT):
        run(what, cls)


@pytest.mark.parametrize("what", checks.CHECKS)
def test_a_sound_method_passes(what: str) -> None:
    run(what, Good)


@pytest.mark.parametrize("what", checks.MADE_ROWS)
def test_a_sound_relabeller_passes(what: str) -> None:
    run(what, Sound)


def test_every_check_has_a_method_that_fails() -> None:
    assert {what for what, _ in FAILS} == set(checks.CHECKS)
    assert {what for what, _ in MADE_WRONG} == set(checks.MADE_ROWS)


def test_a_memory_that_grows_and_a_method_that_pays_nothing_are_found_out() -> None:
    with entered(KeepsRows) as entry, pytest.raises(AssertionError, match="state and memory take"):
        checks.memory_is_bounded(entry, True)
    with entered(Nothing) as entry, pytest.raises(AssertionError, match="pays nothing"):
        checks.pays_something(entry)
