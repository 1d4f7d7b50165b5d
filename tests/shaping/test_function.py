"""The task's own reward, and a user's callable."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from reward_envs.wrappers import (
    Batch,
    Function,
    HookError,
    Masked,
    NonFiniteError,
    Rewarder,
    RewardError,
    Task,
    TextError,
    function,
    parse,
    registry,
)


def batch(**columns: Any) -> Batch:
    return Batch.of(
        **{
            "obs": [[3.0], [2.0]],
            "action": [0, 1],
            "next_obs": [[2.0], [0.0]],
            "reward": [0.0, 1.0],
            "terminated": [False, True],
            "info": {"progress": [0.25, 0.5], "door": [0.0, 0.0]},
            "next_info": {"progress": [0.5, 1.0], "door": [0.0, 1.0]},
            **columns,
        }
    )


def paid(method: Any, rows: Batch | None = None) -> list[float]:
    return Rewarder(method).step(batch() if rows is None else rows).values.tolist()


# task


def test_the_task_is_paid_as_it_came() -> None:
    assert paid("task") == [0.0, 1.0]


def test_an_unobserved_reward_is_unknown() -> None:
    assert paid("task", batch(reward=[math.nan, 1.0])) == pytest.approx([math.nan, 1.0], nan_ok=True)
    assert paid("task", batch(reward=[5.0, 1.0], known=[False, False])) == pytest.approx([math.nan] * 2, nan_ok=True)


def test_no_rows() -> None:
    assert paid("task", batch().rows(np.zeros(0, int))) == []


# function


def test_columns_by_the_names_of_the_parameters() -> None:
    assert paid(function(lambda next_obs: -next_obs[:, 0], name="near")) == [-2.0, 0.0]
    assert paid(function(lambda obs, next_obs, t: (obs - next_obs)[:, 0] * (t + 1), name="f")) == [1.0, 4.0]
    assert paid(function(lambda terminated, *, action: action + terminated, name="f")) == [0.0, 2.0]
    assert paid(function(lambda batch: batch.reward * 2, name="f")) == [0.0, 2.0]
    assert paid(function(lambda next_info: next_info["door"], name="f")) == [0.0, 1.0]


def test_hooks_at_both_ends_of_the_step() -> None:
    gain = function(lambda progress, was_progress: progress - was_progress, reads=("progress",), name="gain")
    assert gain.hooks == {"progress"}
    assert paid(gain) == [0.25, 0.5]


def test_defaults_and_spare_keywords_are_left_alone() -> None:
    assert paid(function(lambda reward, weight=3.0: weight * reward, name="f")) == [0.0, 3.0]
    assert paid(function(lambda reward, **spare: reward + len(spare), name="f")) == [0.0, 1.0]
    assert paid(function(lambda reward, *spare: reward + len(spare), name="f")) == [0.0, 1.0]


def test_any_numbers_are_taken_as_float64() -> None:
    assert paid(function(lambda action: action, name="f")) == [0.0, 1.0]
    assert paid(function(lambda obs: [True, False], name="f")) == [1.0, 0.0]
    assert paid(function(lambda obs: np.zeros(2, np.float32), name="f")) == [0.0, 0.0]


def test_it_may_abstain() -> None:
    some = function(lambda obs: Masked(np.array([math.nan, 2.0]), np.array([False, True])), name="some")
    assert paid(some) == pytest.approx([math.nan, 2.0], nan_ok=True)


@pytest.mark.parametrize(
    ("f", "sentence"),
    [
        (lambda obs: 1.0, "f returned shape () for 2 rows: one number a row."),
        (lambda obs: obs, "f returned shape (2, 1) for 2 rows"),
        (lambda obs: [1.0], "f returned shape (1,) for 2 rows"),
    ],
)
def test_nothing_is_spread(f: Any, sentence: str) -> None:
    with pytest.raises(RewardError, match=re.escape(sentence)):
        paid(function(f, name="f"))


def test_a_nan_stops_the_run() -> None:
    with pytest.raises(NonFiniteError, match=re.escape("f gave nan in row 1 (stream 0, step 1)")):
        paid(function(lambda obs: [0.0, math.nan], name="f"))


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(RewardError, match="f takes 'observation', which is no column: action, author, batch"):
        Rewarder(function(lambda observation: observation, name="f"))
    with pytest.raises(RewardError, match="f takes 'was_door', which is no column"):
        Rewarder(function(lambda was_door: was_door, name="f"))


def test_a_hook_that_the_environment_lacks_is_named() -> None:
    with pytest.raises(HookError, match="the environment gives no 'hill'"):
        paid(function(lambda hill: hill, reads=("hill",), name="f"))


def test_what_cannot_be_imported_is_named() -> None:
    for where, why in (("no.such:f", "cannot import"), ("math:pi", "is a float, not a function"), ("math", "cannot")):
        with pytest.raises(RewardError, match=why):
            Rewarder(Function(where))


def test_names_and_text() -> None:
    def near(next_obs: Any) -> Any:
        return -next_obs[:, 0]

    assert function(near).label == "near"
    assert function("somewhere:near").label == "near"
    assert function(lambda obs: obs).label == "function"
    assert str(function("somewhere:near")) == "function('somewhere:near', name=near)"
    with pytest.raises(TextError, match="near holds the callable .*near, which has no text"):
        registry.text(function(near))


@pytest.mark.parametrize("text", ["task", "function('a.b:c')", "function('a.b:c', reads=(progress,), name=d)"])
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_two_terms_of_one_task() -> None:
    scored = Rewarder(Task() + 0.5 * Task(name="again")).step(batch())
    assert {k: v.tolist() for k, v in scored.terms.items()} == {"task": [0.0, 1.0], "again": [0.0, 0.5]}
    assert scored.values.tolist() == [0.0, 1.5]
