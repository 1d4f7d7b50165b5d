"""Tools-v0: what depth means, that splits share nothing, that the expert is right, and how calls are read."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_envs.text import TextEnv
from reward_envs.text.calls import Call, CallError, Counts, Tool, mismatch, read_call
from reward_envs.text.task import SPLITS
from reward_envs.text.tools import office, tools_env, tools_vector
from reward_envs.text.tools.components import execution_value
from reward_envs.text.tools.office import OfficeSource, OfficeTask, tools_of
from reward_envs.text.tools.words import WORDS

DEPTHS = range(1, 7)


def drawn(depth: int, seed: int, split: str = "train") -> OfficeTask:
    task = OfficeSource(depth).draw(np.random.default_rng(seed), split)
    assert isinstance(task, OfficeTask)
    return task


def solved(env: TextEnv, seed: int) -> tuple[float, list[str], dict[str, Any]]:
    """The return, actions and last info of the expert's episode."""
    env.reset(seed=seed)
    total, done, actions = 0.0, False, []
    info: dict[str, Any] = {}
    while not done:
        actions.append(env.expert())
        _, reward, terminated, truncated, info = env.step(actions[-1])
        total, done = total + reward, terminated or truncated
    return total, actions, info


def values(tree: Any) -> set[Any]:
    """All texts and numbers of a JSON tree."""
    if isinstance(tree, dict):
        return set().union(*map(values, tree.values()))
    if isinstance(tree, list):
        return set().union(*map(values, tree))
    return {tree}


def fewest_calls(task: OfficeTask) -> float:
    """By exhaustive search: calls of every tool with all values that were seen, until one shows the answer.

    Calls only look, so the order of a set of calls does not matter and what was seen only grows.
    """
    answer = json.loads(expert_answer(task))["arguments"]["answer"]
    words = task.instructions.split("Task:\n")[1].replace('"', " ").replace(".", " ").split()
    given = {w for w in words} | {int(w) for w in words if w.isdigit()}
    tools = [tool for tool in task.tools if "answer" not in tool.parameters["properties"]]
    results: dict[tuple[Any, ...], frozenset[Any]] = {}

    def shown(tool: Tool, chosen: tuple[Any, ...]) -> frozenset[Any]:
        key = (tool.name, *chosen)
        if key not in results:
            arguments = dict(zip(tool.parameters["properties"], chosen, strict=True))
            if mismatch(tool, arguments).told:
                results[key] = frozenset()
            else:
                try:
                    results[key] = frozenset(values(json.loads(copy.deepcopy(task).call(tool.name, arguments).text)))
                except CallError:
                    results[key] = frozenset()
        return results[key]

    level, seen = {frozenset(given)}, set()
    for calls in itertools.count():
        if any(answer in known for known in level):
            return calls
        following = set()
        for known in level:
            for tool in tools:
                for chosen in itertools.product(known, repeat=len(tool.parameters["properties"])):
                    following.add(known | shown(tool, chosen))
        level = following - seen
        seen |= level
        if not level:
            return math.inf
    raise AssertionError


def expert_answer(task: OfficeTask) -> str:
    """The expert's last call."""
    task = copy.deepcopy(task)
    while "answer" not in json.loads(task.expert())["arguments"]:
        task.act(task.expert())
    return task.expert()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_depth_is_the_fewest_calls_by_exhaustive_search(depth: int, split: str) -> None:
    for seed in range(3):
        assert fewest_calls(drawn(depth, seed, split)) == depth


@pytest.mark.parametrize("depth", [5, 6])
def test_depth_is_the_fewest_calls_of_long_chains(depth: int) -> None:
    for seed in range(2):
        assert fewest_calls(drawn(depth, seed)) == depth


@pytest.mark.parametrize("depth", DEPTHS)
def test_later_calls_need_what_earlier_ones_showed(depth: int) -> None:
    for seed in range(20):
        task = drawn(depth, seed)
        shown, late = task.instructions.split("Task:\n")[1], 0
        for _ in range(depth):
            action = task.expert()
            late += not all(str(v) in task.instructions for v in json.loads(action)["arguments"].values())
            assert all(str(v) in shown for v in json.loads(action)["arguments"].values())
            shown += task.act(action).text
        assert late >= depth - 2
        assert str(json.loads(task.expert())["arguments"]["answer"]) in shown


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_the_expert_is_right_on_every_split(depth: int, split: str) -> None:
    for mode in ("sparse", "dense"):
        env = tools_env(depth=depth, split=split, reward_mode=mode)
        for seed in range(15):
            total, actions, info = solved(env, seed)
            assert math.isclose(total, 1.0) and info["is_success"] and len(actions) == depth + 1
            assert env.task.grade() == env.task.grade() == info["grade"]
            assert info["grade"].score == 1.0


def test_splits_share_no_tool_no_word_and_no_key() -> None:
    names = [{tool.name for tool in tools_of(split)} for split in SPLITS]
    parameters = [{p for t in tools_of(s) for p in t.parameters["properties"]} - {"answer"} for s in SPLITS]
    for a, b in itertools.combinations(range(3), 2):
        assert not names[a] & names[b] and not parameters[a] & parameters[b]
    keys: list[set[str]] = [set(), set(), set()]
    for found, split in zip(keys, SPLITS, strict=True):
        for seed in range(50):
            action = drawn(2, seed, split).expert()
            found.add(action)
    assert not keys[0] & keys[1] and not keys[0] & keys[2] and not keys[1] & keys[2]


@pytest.mark.parametrize("depth", DEPTHS)
def test_hooks_along_the_experts_way(depth: int) -> None:
    env = tools_env(depth=depth, hooks=("steps_to_go", "progress", "milestones", "admissible"))
    _, info = env.reset(seed=depth)
    for left in range(depth + 1, 0, -1):
        assert info["steps_to_go"] == left and info["milestones"].sum() == depth + 1 - left
        assert info["progress"] == pytest.approx(info["milestones"].sum() * 0.5 / depth)
        action = env.expert()
        assert action in info["admissible"] and len(set(info["admissible"])) == len(info["admissible"]) <= 32
        info = env.step(action)[4]
    assert (info["steps_to_go"], info["progress"]) == (0.0, 1.0)
    assert len(info["milestones"]) == len(env.card.milestone_names)


def test_every_admissible_call_runs() -> None:
    for seed in range(10):
        task = drawn(4, seed)
        for _ in range(4):
            for action in task.admissible():
                if json.loads(action)["name"] != "match_payment":
                    assert "error" not in copy.deepcopy(task).act(action).text
            task.act(task.expert())


def in_turn(task: OfficeTask, calls: list[str]) -> list[float]:
    """The values along these calls, of a copy of the task."""
    task = copy.deepcopy(task)
    return [task.value() for call in calls if task.act(call)]


def experts_calls(task: OfficeTask) -> list[str]:
    task, calls = copy.deepcopy(task), []
    while not calls or "answer" not in calls[-1]:
        calls.append(task.expert())
        task.act(calls[-1])
    return calls


def joined(depth: int, seeds: range) -> list[OfficeTask]:
    """Tasks of two chains that a last call joins."""
    return [t for t in (drawn(depth, s) for s in seeds) if "gives for the two" in t.instructions]


@pytest.mark.parametrize("depth", [3, 4, 5, 6])
def test_valid_ways_are_worth_the_same_where_a_reference_would_part_them(depth: int) -> None:
    for task in joined(depth, range(12)):
        calls = experts_calls(task)
        starts = [i for i, c in enumerate(calls) if all(str(v) in task.instructions for v in arguments(c))]
        second = starts[1]
        reordered = [*calls[second:-2], *calls[:second], *calls[-2:]]
        find = {tool.name: other.name for tool, other in itertools.pairwise(task.tools)}
        other = [c.replace(name, find[name]) if (name := json.loads(c)["name"]) in find and i < depth - 1 else c
                 for i, c in enumerate(calls)]  # fmt: skip
        assert len({tuple(calls), tuple(reordered), tuple(other)}) == 3
        for way in (calls, reordered, other):
            assert in_turn(task, way)[-1] == 1.0
            matched = sum(a == b for a, b in zip(calls, way, strict=True)) / len(calls)
            assert (matched == 1.0) == (way == calls)


def arguments(call: str) -> list[Any]:
    return list(json.loads(call)["arguments"].values())


def test_renaming_tools_and_parameters_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task, words = drawn(4, 3), WORDS["train"]
    calls = [*ONE_CALL, *experts_calls(task)]
    old = [w for d in words.desks for w in (d.read, d.find, d.key)] + [words.join, words.submit]
    desks = tuple(d._replace(read=f"r_{d.read}", find=f"f_{d.find}", key=f"k_{d.key}") for d in words.desks)
    renamed = words._replace(desks=desks, join="j_" + words.join, submit="s_" + words.submit)
    new = [w for d in desks for w in (d.read, d.find, d.key)] + [renamed.join, renamed.submit]
    monkeypatch.setitem(WORDS, "train", renamed)
    monkeypatch.setattr(office, "tools_of", tools_of.__wrapped__)
    pattern = re.compile("|".join(f'(?<=")({w})(?=")' for w in old))
    said = [pattern.sub(lambda found: new[old.index(found.group())], call) for call in calls]
    for some in (slice(0, None), slice(len(ONE_CALL), None), slice(2, 3), slice(3, 4)):
        assert in_turn(drawn(4, 3), said[some]) == in_turn(task, calls[some])


# calls


def test_calls_are_read_strictly() -> None:
    assert read_call(' {"arguments": {"a": [1, 2.5, null]}, "name": "f"} ') == Call("f", {"a": [1, 2.5, None]})
    for text, told in {
        "": "no JSON",
        "read_mail('x')": "no JSON",
        '{"name": "f", "arguments": {}} and more': "no JSON",
        '{"name": "f", "name": "g", "arguments": {}}': "'name' stands twice",
        '{"name": "f", "arguments": {"a": {"b": 1, "b": 1}}}': "'b' stands twice",
        '{"name": "f", "arguments": {"a": NaN}}': "NaN is no number",
        '{"name": "f", "arguments": {"a": -Infinity}}': "-Infinity is no number",
        '{"name": "f", "arguments": {"a": 1e999}}': "too large",
        '{"name": "f", "arguments": {"a": ' + "9" * 3000 + "}}": "3000 digits",
        "[" * 3000: "nested too deep",
        '[{"name": "f", "arguments": {}}]': "the keys name and arguments",
        '{"name": "f"}': "the keys name and arguments",
        '{"name": "f", "arguments": {}, "id": 1}': "the keys name and arguments",
        '{"name": 1, "arguments": {}}': "name is a text",
        '{"name": "f", "arguments": "{}"}': "arguments an object",
    }.items():
        with pytest.raises(CallError, match=told):
            read_call(text)


SCHEMA = {
    "properties": {"n": {"type": "integer"}, "s": {"type": "string", "pattern": "^a"}, "b": {"type": "boolean"}},
    "required": ["n", "s"],
}


@pytest.mark.parametrize(
    ("arguments", "names", "kinds"),
    [
        ({"n": 1, "s": "a"}, 0, 0),
        ({"n": 1, "s": "a", "b": True}, 0, 0),
        ({"n": "1", "s": "a"}, 0, 1),
        ({"n": True, "s": "a"}, 0, 1),
        ({"n": 1.5, "s": "b"}, 0, 2),
        ({"n": 1, "s": "a", "b": 1}, 0, 1),
        ({"m": 1, "s": "a"}, 2, 0),
        ({}, 2, 0),
        ({"n": None, "x": 1, "y": 2}, 3, 1),
    ],
)
def test_nothing_is_coerced(arguments: dict[str, Any], names: int, kinds: int) -> None:
    assert mismatch(Tool("f", "", SCHEMA), arguments)[:2] == (names, kinds)


# execution components


ONE_CALL = {
    "not json": 0.0,
    '{"name": "no_tool", "arguments": {}}': 0.1,
    '{"name": "read_mail", "arguments": {"mail": "MAI-000000"}}': 0.35,
    '{"name": "read_mail", "arguments": {"mail_id": 5}}': 0.375,
    '{"name": "read_mail", "arguments": {}}': 0.375,
    '{"name": "read_mail", "arguments": {"mail_id": "MAI-000000"}}': 0.4,
}


@pytest.mark.parametrize(("call", "worth"), ONE_CALL.items())
def test_what_one_call_is_worth(call: str, worth: float) -> None:
    env = tools_env(depth=2, reward_mode="dense", hooks=("execution",))
    env.reset(seed=0)
    reward, info = env.step(call)[1::3]
    assert reward == pytest.approx(worth) == execution_value(info["execution"])


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_wrong_answer_is_worth_a_half_at_every_depth(depth: int) -> None:
    env = tools_env(depth=depth, reward_mode="dense")
    env.reset(seed=depth)
    total = sum(env.step(env.expert())[1] for _ in range(depth))
    _, reward, terminated, _, info = env.step('{"name": "submit", "arguments": {"answer": "what?"}}')
    assert total + reward == 0.5 and terminated and not info["is_success"]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 6), min_size=7, max_size=7))
def test_components_stay_in_their_range_and_faults_never_help(counts: list[int]) -> None:
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


# ids and vectors


@pytest.mark.parametrize("workers", [0, 2])
def test_vectors_play_what_single_environments_play(workers: int) -> None:
    envs = tools_vector(num_envs=3, depth=2, workers=workers, autoreset_mode="SameStep")
    singles = [tools_env(depth=2) for _ in range(3)]
    seen, _ = envs.reset(seed=4)
    assert list(seen) == [env.reset(seed=4 + i)[0] for i, env in enumerate(singles)]
    for _ in range(7):
        actions = tuple(env.expert() for env in singles)
        seen, rewards, terminated, _, _ = envs.step(actions)
        for i, env in enumerate(singles):
            obs, reward, term, _, _ = env.step(actions[i])
            assert (rewards[i], terminated[i]) == (reward, term)
            assert seen[i] == (env.reset()[0] if term else obs)
    envs.close()


def test_gymnasium_makes_it_with_its_keywords() -> None:
    env = gym.make("reward_envs/Tools-v0", depth=3, split="test", reward="task + progress")
    again = gym.make(env.spec)
    assert env.reset(seed=1)[0] == again.reset(seed=1)[0]
    inner: Any = env.unwrapped
    assert env.step(inner.expert())[1] == pytest.approx(0.5 / 3)
    for depth in (0, 7, "2"):
        with pytest.raises(ValueError, match="it is one of 1 to 6"):
            tools_env(depth=depth)  # type: ignore[arg-type]
