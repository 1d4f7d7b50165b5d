"""Execution components: what calls are worth, and what does not matter to them."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_envs.text.calls import Counts
from reward_envs.text.tools import office, tools_env
from reward_envs.text.tools.components import execution_value
from reward_envs.text.tools.office import OfficeTask, tools_of
from reward_envs.text.tools.words import WORDS
from reward_envs.wrappers import Batch, Rewarder, RewardError, with_reward
from tests.text.test_tools import DEPTHS, drawn, fewest_calls

ONE_CALL = {
    "not json": 0.0,
    '{"name": "no_tool", "arguments": {}}': 0.1,
    '{"name": "read_mail", "arguments": {"mail": "MAI-000000"}}': 0.35,
    '{"name": "read_mail", "arguments": {"mail_id": 5}}': 0.375,
    '{"name": "read_mail", "arguments": {}}': 0.375,
    '{"name": "read_mail", "arguments": {"mail_id": "MAI-000000"}}': 0.4,
}
WRONG = '{"name": "submit", "arguments": {"answer": "what?"}}'


def worth(task: OfficeTask, calls: list[str]) -> list[float]:
    """What the calls so far are worth, after each, on a copy of the task."""
    task = copy.deepcopy(task)
    return [task.value() for call in calls if task.act(call)]


def paid(depth: int, seed: int, calls: list[str]) -> float:
    """The return of the method over these calls."""
    env = with_reward(tools_env(depth=depth), "execution_components")
    env.reset(seed=seed)
    return sum(env.step(call)[1] for call in calls)


def experts(task: OfficeTask) -> list[str]:
    """The expert's calls."""
    task, calls = copy.deepcopy(task), []
    while not calls or "answer" not in calls[-1]:
        calls.append(task.expert())
        task.act(calls[-1])
    return calls


def arguments(call: str) -> list[Any]:
    return list(json.loads(call)["arguments"].values())


def test_values_invariances_and_depth() -> None:
    for depth in DEPTHS:
        env = tools_env(depth=depth)
        env.reset(seed=depth)
        calls = experts(env.task)  # type: ignore[arg-type]
        assert paid(depth, depth, calls) == pytest.approx(1.0)
        assert paid(depth, depth, [*calls[:-1], WRONG]) == pytest.approx(0.5)
        for call, value in ONE_CALL.items():
            assert paid(depth, depth, [call]) == pytest.approx(value)
    for depth in (3, 5):
        check_ways(depth)
    check_names(drawn(4, 3))
    for depth in (1, 2, 3):
        assert fewest_calls(drawn(depth, 7)) == depth


def check_ways(depth: int) -> None:
    """Reordered independent calls, and other tools that do the same, are worth the same; a reference parts them."""
    for task in (t for t in (drawn(depth, s) for s in range(12)) if "gives for the two" in t.instructions):
        calls = experts(task)
        second = [i for i, c in enumerate(calls) if all(str(v) in task.instructions for v in arguments(c))][1]
        reordered = [*calls[second:-2], *calls[:second], *calls[-2:]]
        find = {tool.name: other.name for tool, other in itertools.pairwise(task.tools)}
        name = json.loads(calls[0])["name"]
        other = [calls[0].replace(name, find[name]), *calls[1:]]
        for way in (calls, reordered, other):
            assert worth(task, way)[-1] == 1.0
            matched = sum(a == b for a, b in zip(calls, way, strict=True)) / len(calls)
            assert (matched == 1.0) == (way == calls)


def check_names(task: OfficeTask) -> None:
    """Tools and parameters of other names, in schemas and calls, change nothing."""
    words = WORDS["train"]
    old = [w for d in words.desks for w in (d.read, d.find, d.key)] + [words.join, words.submit]
    desks = tuple(d._replace(read=f"r_{d.read}", find=f"f_{d.find}", key=f"k_{d.key}") for d in words.desks)
    renamed = words._replace(desks=desks, join="j_" + words.join, submit="s_" + words.submit)
    new = [w for d in desks for w in (d.read, d.find, d.key)] + [renamed.join, renamed.submit]
    calls = [*ONE_CALL, *experts(task)]
    pattern = re.compile("|".join(f'(?<=")({w})(?=")' for w in old))
    said = [pattern.sub(lambda found: new[old.index(found.group())], call) for call in calls]
    assert said[-1] != calls[-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(WORDS, "train", renamed)
        patch.setattr(office, "tools_of", tools_of.__wrapped__)
        other = drawn(4, 3)
    for some in (slice(0, None), slice(len(ONE_CALL), None), slice(2, 3), slice(3, 4)):
        assert worth(other, said[some]) == worth(task, calls[some])


@pytest.mark.parametrize("split", ["train", "validation"])
def test_the_dense_task_pays_what_the_method_pays(split: str) -> None:
    for seed in range(5):
        dense = tools_env(depth=3, split=split, reward_mode="dense")
        method = with_reward(tools_env(depth=3, split=split), "execution_components")
        dense.reset(seed=seed)
        method.reset(seed=seed)
        done = False
        while not done:
            call = dense.expert() if dense.np_random.random() < 0.7 else "{}"
            _, reward, terminated, truncated, _ = dense.step(call)
            assert method.step(call)[1] == pytest.approx(reward)
            done = terminated or truncated


@settings(max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=7, max_size=7))
def test_worth_stays_in_its_range_and_faults_never_help(counts: list[int]) -> None:
    worth = float(execution_value(np.array(counts, float)))
    assert 0.0 <= worth <= 1.0
    for at in range(1, 6):
        more = counts.copy()
        more[at] += 1
        assert execution_value(np.array(more, float)) <= worth
    assert math.isnan(execution_value(np.array([math.nan] * 7)))


def test_counts_are_the_columns_of_the_hook() -> None:
    task = drawn(2, 0)
    for call in ONE_CALL:
        task.act(call)
    assert task.counts == Counts(calls=6, unparsed=1, unknown=1, names=3, values=1, failed=6, answer=0)
    assert task.execution().tolist() == [6.0, 1.0, 1.0, 3.0, 1.0, 6.0, 0.0]


# the method


def rows(before: Any, after: Any) -> Batch:
    n = len(before)
    columns = {"info": {"execution": np.array(before, float)}, "next_info": {"execution": np.array(after, float)}}
    return Batch.of(obs=[0] * n, action=[0] * n, next_obs=[0] * n, reward=[0] * n, **columns)


def test_golden_rows() -> None:
    none, fails = [0] * 7, [1, 0, 0, 0, 0, 1, 0]
    runs, wrong_names, answered = [1, 0, 0, 0, 0, 0, 0], [2, 0, 0, 2, 0, 1, 0], [2, 0, 0, 0, 0, 0, 1]
    batch = rows([none, none, runs, runs], [fails, runs, answered, wrong_names])
    assert Rewarder("execution_components").step(batch).values.tolist() == pytest.approx([0.4, 0.5, 0.5, 0.35 - 0.5])
    doubled = Rewarder("execution_components(penalty=0.5, answer_weight=0)").step(batch).values
    assert doubled.tolist() == pytest.approx([0.8, 1.0, 0.0, 0.6 - 1.0])


def test_a_row_without_the_hook_is_unknown() -> None:
    scored = Rewarder("execution_components").step(rows([[0] * 7], [[math.nan] * 7]))
    assert scored.known.tolist() == [False]


def test_wrong_fields_and_shapes_get_a_sentence() -> None:
    with pytest.raises(RewardError, match="it is .1, 7."):
        Rewarder("execution_components").step(rows([[0] * 6], [[0] * 6]))
    for text in ("execution_components(-0.1)", "execution_components(answer_weight=inf)"):
        with pytest.raises(RewardError, match="finite number of 0 or more"):
            Rewarder(text)
