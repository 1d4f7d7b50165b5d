"""Everything that the registry holds, against everything that it is held to. The registry is the only list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from reward_envs.wrappers import NonFiniteError, RewardError, methods, parse
from reward_envs.wrappers.registry import Entry, as_relabel
from tests.batches import Draw, draws
from tests.battery import claims
from tests.battery.checks import CHECKS, MADE_ROWS, memory_is_bounded, pays_something
from tests.battery.tools import is_relabeller, runner
from tests.battery.written import WRITTEN

ENTRIES = methods()
REWARDS = {name: e for name, e in ENTRIES.items() if not is_relabeller(e)}
RELABELLERS = {name: e for name, e in ENTRIES.items() if is_relabeller(e)}
CLAIMS = [(name, c) for name, e in ENTRIES.items() for c in e.claims]


@pytest.mark.parametrize("what", WRITTEN)
@pytest.mark.parametrize("name", ENTRIES)
def test_entry_says(name: str, what: str) -> None:
    WRITTEN[what](ENTRIES[name])


@pytest.mark.parametrize("what", CHECKS)
@pytest.mark.parametrize("name", REWARDS)
def test_method(name: str, what: str) -> None:
    @settings(max_examples=6)
    @given(draw=draws())
    def check(draw: Draw) -> None:
        CHECKS[what](REWARDS[name], draw)

    check()


@pytest.mark.parametrize("what", MADE_ROWS)
@pytest.mark.parametrize("name", RELABELLERS)
def test_relabeller(name: str, what: str) -> None:
    @settings(max_examples=12)
    @given(draw=draws())
    def check(draw: Draw) -> None:
        MADE_ROWS[what](RELABELLERS[name], draw)

    check()


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_claim(name: str, claim: str) -> None:
    test = claims.read(claim)
    example = as_relabel(ENTRIES[name].example) if is_relabeller(ENTRIES[name]) else parse(ENTRIES[name].example)

    @settings(max_examples=12)
    @given(draw=draws())
    def check(draw: Draw) -> None:
        test(example, draw)

    check()


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("name", REWARDS)
def test_memory_is_bounded(name: str, discrete: bool) -> None:
    memory_is_bounded(REWARDS[name], discrete)


@pytest.mark.parametrize("name", REWARDS)
def test_example_pays_something(name: str) -> None:
    pays_something(REWARDS[name])


def spoilt(entry: Entry, monkeypatch: pytest.MonkeyPatch, change: Any) -> Any:
    """A runner of the entry's example, whose outermost method answers what `change` makes of its values."""
    method = parse(entry.example)
    verb = "apply" if method.children else "score"
    whole = getattr(type(method), verb)

    def broken(self: Any, state: Any, carry: Any, batch: Any, *r: Any) -> Any:
        values, carry = whole(self, state, carry, batch, *r)
        return (change(np.zeros(len(batch))) if self is method else values), carry

    monkeypatch.setattr(type(method), verb, broken)
    return runner(method, Draw(0))


def nan_in_row_3(values: Any) -> Any:
    values[3] = np.nan
    return values


@pytest.mark.parametrize(
    "change", [lambda v: v[:-1], lambda v: v[:, None], lambda v: v.astype(np.float32), list, lambda v: 0.0]
)
@pytest.mark.parametrize("name", REWARDS)
def test_wrong_shape_gets_a_sentence(name: str, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rewarder = spoilt(REWARDS[name], monkeypatch, change)
    with pytest.raises(RewardError, match=rf"^{rewarder.method.label} gave .* for 42 rows: return one float64 a row"):
        rewarder.step(Draw(0).batch())


@pytest.mark.parametrize("name", REWARDS)
def test_non_finite_value_stops_the_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rewarder = spoilt(REWARDS[name], monkeypatch, nan_in_row_3)
    batch = Draw(0, unknown=0.0, aborted=0.0).batch()
    for hooks in (batch.info, batch.next_info):
        assert all(np.isfinite(v).all() for v in hooks.values())
    with pytest.raises(NonFiniteError, match=rf"^{rewarder.method.label} gave nan in row 3 \(stream 0, step 1\)"):
        rewarder.step(batch)
