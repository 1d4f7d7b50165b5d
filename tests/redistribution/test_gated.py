"""Step rewards behind the gate of the episode's outcome."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, GatedAccumulation, Masked, Rewarder, RewardError, Scope, Task, parse, relabel
from reward_envs.wrappers.shaping.function import Function
from tests.drawn import cut, rollout, whole_episodes


class Column:
    """A hook at s', by name; unknown where it is absent."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, next_info: Any) -> Any:
        column = next_info[self.name]
        return Masked(column, ~np.isnan(column))


LOW = Function(Column("low"), name="low")
FORMS = [False, True]


def rows(high: Any, low: Any, **columns: Any) -> Batch:
    n = len(high)
    low = np.asarray(low, float)
    states = np.arange(n)
    return Batch.of(obs=states, action=states, next_obs=states, reward=high, info={"low": low},
                    next_info={"low": low}, **columns)  # fmt: skip


def paid(batch: Batch, delta: float, streaming: bool) -> list[float]:
    return relabel(batch, GatedAccumulation(Task(), LOW, delta, streaming)).values.tolist()


EPISODES = rows(
    high=[0, 1, 0, 0, 1, 2],
    low=[5, 7, 5, 7, 5, 7],
    terminated=[0, 1, 0, 1, 0, 0],
    truncated=[0, 0, 0, 0, 0, 1],
)


def test_golden_rows_by_step() -> None:
    """Return 1 passes and 0 does not; return 3 would, but the episode was cut short."""
    assert paid(EPISODES, 1.0, False) == [5.0, 8.0, 0.0, 0.0, 1.0, 2.0]


def test_golden_rows_at_the_end() -> None:
    assert paid(EPISODES, 1.0, True) == [0.0, 13.0, 0.0, 0.0, 1.0, 2.0]


def test_an_end_with_both_flags_passes() -> None:
    both = rows([1.0], [4.0], terminated=[1], truncated=[1])
    assert paid(both, 1.0, False) == paid(both, 1.0, True) == [5.0]


@pytest.mark.parametrize("streaming", FORMS)
def test_unknown_rewards(streaming: bool) -> None:
    low = rows([0.0, 0.0, 0.0, 1.0], [math.nan, 1.0, math.nan, 1.0], terminated=[0, 1, 0, 1])
    last = [math.nan, 2.0] if not streaming else [0.0, math.nan]
    assert paid(low, 1.0, streaming) == pytest.approx([0.0, 0.0, *last], nan_ok=True)
    high = rows([math.nan, 1.0, 1.0], [1.0, 1.0, 1.0], terminated=[0, 1, 1])
    assert paid(high, 1.0, streaming) == pytest.approx([math.nan, math.nan, 2.0], nan_ok=True)


def test_open_episodes_wait_or_are_unknown() -> None:
    batch = rows([0.5, 0.0], [3.0, 4.0])
    assert paid(batch, 0.0, False) == pytest.approx([math.nan, math.nan], nan_ok=True)
    assert paid(batch, 0.0, True) == [0.5, 0.0]


def test_an_episode_left_by_a_reset_pays_nothing_into_the_next() -> None:
    batch = rows([2.0, 1.0], [3.0, 4.0], terminated=[0, 1], t=[0, 0], episode=[0, 1])
    assert paid(batch, 1.0, True) == [2.0, 5.0]
    assert paid(batch, 3.0, True) == [2.0, 1.0]


def returns(batch: Batch, values: Any) -> dict[int, float]:
    return {int(batch.episode[e[0]]): math.fsum(values[e]) for e in whole_episodes(batch)}


def drawn(seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    batch.reward = rng.integers(-1, 2, len(batch)).astype(float)
    batch.next_info["low"] = rng.normal(size=len(batch))
    return batch


@given(seed=st.integers(0, 2**32 - 1), delta=st.sampled_from([-1.0, 0.0, 1.0, 2.0]), streaming=st.booleans())
def test_gate_of_step_rewards(seed: int, delta: float, streaming: bool) -> None:
    """A shut gate makes hacking of step rewards worth nothing, an open one adds all of them; no gate and no way through
    are the direct sum and the sparse reward; streaming, nothing of the steps is paid before the end; vectorised or
    alone, in one batch or row by row."""
    batch = drawn(seed)
    method = GatedAccumulation(Task(), LOW, delta, streaming)
    hacked = batch.copy()
    hacked.next_info["low"] += 100.0
    gated, farmed = (returns(b, relabel(b, method).values) for b in (batch, hacked))
    high, low = returns(batch, batch.reward), returns(batch, batch.next_info["low"])
    lengths = {int(batch.episode[e[0]]): len(e) for e in whole_episodes(batch)}
    shut = {int(batch.episode[e[-1]]) for e in whole_episodes(batch) if not batch.terminated[e[-1]]}
    for e, outcome in high.items():
        opens = outcome >= delta and e not in shut
        assert gated[e] == pytest.approx(outcome + (low[e] if opens else 0.0))
        assert farmed[e] == pytest.approx(gated[e] + (100.0 * lengths[e] if opens else 0.0))
    for limit, expected in ((-math.inf, {e: high[e] + low[e] for e in high}), (math.inf, high)):
        at_limit = GatedAccumulation(Task(), LOW, limit, streaming)
        assert returns(batch, relabel(batch, at_limit).values) == pytest.approx(expected)
    if streaming:
        held_back = relabel(batch, method).values[~batch.ended]
        np.testing.assert_array_equal(held_back, batch.reward[~batch.ended])
        runner = Rewarder(method, n=3)
        parts = cut(batch, np.random.default_rng(seed))
        together = np.concatenate([runner.step(b).values for b in parts])
        np.testing.assert_array_equal(together, relabel(batch, method).values)
        for s in range(3):
            alone = batch.rows(batch.stream == s)
            alone.stream[:] = 0
            np.testing.assert_array_equal(relabel(alone, method).values, together[batch.stream == s])


@given(seed=st.integers(0, 2**32 - 1))
def test_both_forms_give_an_episode_the_same_return(seed: int) -> None:
    batch = drawn(seed)
    by_step, at_end = (returns(batch, relabel(batch, GatedAccumulation(Task(), LOW, 0.0, f)).values) for f in FORMS)
    assert by_step == pytest.approx(at_end)


def test_levels_can_be_nested() -> None:
    """The outer gate asks for 9, which the inner one lets the third episode's steps reach."""
    batch = rows([0, 1, 0, 0, 1, 1], [5, 7, 5, 7, 4, 4], terminated=[0, 1, 0, 1, 0, 1])
    inner = GatedAccumulation(Task(), LOW, 2.0)
    outer = GatedAccumulation(inner, Function(Column("low"), name="again"), 9.0)
    assert relabel(batch, outer).values.tolist() == [0.0, 1.0, 0.0, 0.0, 9.0, 9.0]


def test_scope_text_and_mistakes() -> None:
    by_step, at_end = (parse(f"gated_accumulation(task, progress, delta=-inf, streaming={f})") for f in FORMS)
    assert (by_step.scope, at_end.scope) == (Scope.EPISODE, Scope.STEP)
    assert parse(str(at_end)) == at_end and str(by_step) == "gated_accumulation(task, progress, delta=-inf)"
    with pytest.raises(RewardError, match="delta=nan; a gate is a number"):
        GatedAccumulation(Task(), LOW, math.nan)
