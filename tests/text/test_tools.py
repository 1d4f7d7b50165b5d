"""Tools-v0: what depth means, that splits share nothing, that the expert is right, and how calls are read."""

from __future__ import annotations

import copy
import itertools
import json
import math
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reward_envs.text import TextEnv
from reward_envs.text.calls import Call, CallError, Tool, mismatch, read_call
from reward_envs.text.task import SPLITS
from reward_envs.text.tools import tools_env, tools_vector
from reward_envs.text.tools.office import OfficeSource, OfficeTask, tools_of
from reward_envs.wrappers import with_reward

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


def test_what_is_missing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ImportError, match=r"reward-envs\[text\]"):
        tools_env()


def test_subtasks_behind_a_gate_pay_in_a_success_alone() -> None:
    def play(delta: str, answer: str | None) -> float:
        env = with_reward(tools_env(depth=3), f"gated_accumulation(task, progress, delta={delta}, streaming=True)")
        inner: Any = env.unwrapped
        env.reset(seed=2)
        total = sum(env.step(inner.expert())[1] for _ in range(3))
        return total + float(env.step(answer or inner.expert())[1])

    wrong = '{"name": "submit", "arguments": {"answer": "?"}}'
    assert play("1", None) == pytest.approx(2.0)  # the task's 1, and all of the progress
    assert play("1", wrong) == 0.0  # half of the progress was made, and is worth nothing
    assert play("-inf", wrong) == pytest.approx(0.5)
    assert (play("inf", None), play("inf", wrong)) == (1.0, 0.0)
