"""Adaptive milestones: learned from successes alone, reached in order and once, and never worth a success."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from reward_envs.text.tools import tools_env
from reward_envs.wrappers import Batch, Rewarder, RewardError, with_reward
from reward_envs.wrappers.state import export

STEPS = ["open the door", "take the lamp", "go down the stairs", "read an old book"]
OTHERS = ["sing", "dance about", "???"]
SUCCESS = ("task + adaptive_milestones(0.6, most=4)", STEPS)


def episode(texts: list[str], won: bool, **more: Any) -> Batch:
    n = len(texts)
    end = {"terminated": [False] * (n - 1) + [True]}
    return Batch.of(obs=[0] * n, action=texts, next_obs=[0] * n, reward=[0.0] * (n - 1) + [float(won)], **end, **more)


def taught(steps: list[str] = STEPS) -> Rewarder:
    rewarder = Rewarder(SUCCESS[0])
    rewarder.step(episode(steps, True))
    return rewarder


def distilled(rewarder: Rewarder) -> list[str]:
    return next(s.milestones for s in rewarder.states if s is not None)


def process(rewarder: Rewarder, texts: list[str], won: bool = False) -> list[float]:
    """What the milestones pay, by a runner that does not learn."""
    return list(rewarder.freeze().step(episode(texts, won)).terms["adaptive_milestones"].round(9))


@settings(max_examples=40)
@given(st.lists(st.sampled_from(STEPS + OTHERS), min_size=1, max_size=12), st.booleans())
def test_milestones_of_successes_in_order_and_once(texts: list[str], won: bool) -> None:
    rewarder = taught()
    assert distilled(rewarder) == STEPS
    expected, k = [], 0
    for text in texts:
        hit = k < 4 and text == STEPS[k]
        expected.append(0.15 if hit else 0.0)
        k += hit
    paid = process(rewarder, texts, won)
    assert paid == expected  # a repeated hit, a hit out of order and a step that hits nothing pay 0
    assert sum(paid) <= 0.6 < 1.0  # a failure stays below any success
    assert sum(process(rewarder, [*texts, STEPS[min(k, 3)]])) >= sum(paid)
    fresh = Rewarder(SUCCESS[0])
    before = fresh.step(episode(texts, won))
    assert before.values.tolist() == [0.0] * (len(texts) - 1) + [float(won)]  # before a success: the sparse outcome
    assert (distilled(fresh) != []) == won
    was = export(rewarder.states)
    rewarder.step(episode(texts, False))
    assert export(rewarder.states) == was  # a failure teaches nothing


def test_a_better_success_renews_the_milestones() -> None:
    rewarder = taught()
    rewarder.step(episode([*STEPS, *OTHERS], True))  # longer: no better
    assert distilled(rewarder) == STEPS
    rewarder.step(episode(STEPS[:2], True))
    assert distilled(rewarder) == STEPS[:2]
    better = episode(OTHERS, True)
    better.reward[-1] = 2.0
    rewarder.step(better)
    assert distilled(rewarder) == OTHERS


def test_a_running_episode_is_paid_nothing_after_a_renewal() -> None:
    rewarder = Rewarder(SUCCESS[0], n=2)
    rewarder.step(episode(STEPS, True, stream=[0] * 4, episode=[0] * 4, t=range(4)))
    running = episode([STEPS[0], OTHERS[0]], False, stream=[1] * 2, episode=[1] * 2, t=range(2))
    assert rewarder.step(running.rows([0])).terms["adaptive_milestones"].tolist() == [0.15]
    rewarder.step(episode(STEPS[:2], True, stream=[0] * 2, episode=[2] * 2, t=range(2)))
    more = episode(STEPS, False, stream=[1] * 4, episode=[1] * 4, t=range(1, 5))
    assert rewarder.step(more).terms["adaptive_milestones"].tolist() == [0.0] * 4


def test_steps_that_read_alike_are_one_milestone_and_few_are_kept() -> None:
    alike = ["press the red button", "press the red button!", "leave"]
    assert distilled(taught(alike)) == ["press the red button", "leave"]
    many = [chr(97 + i) * 9 for i in range(20)]
    rewarder = taught(many)
    assert distilled(rewarder) == [many[0], many[6], many[13], many[19]]
    unknown = episode(STEPS, True)
    unknown.known[1] = False
    rewarder = Rewarder(SUCCESS[0].replace("task", "fill_unknown(task)"))
    rewarder.step(unknown)
    assert distilled(rewarder) == []


def test_on_tools_a_success_pays_more_than_any_failure() -> None:
    env = with_reward(tools_env(depth=3), "task + adaptive_milestones(0.5)")
    bare: Any = env.unwrapped

    def play(last: int) -> float:
        env.reset(seed=5)
        calls = 0
        total, done = 0.0, False
        while not done:
            answer = '{"name": "submit", "arguments": {"answer": "?"}}'
            _, reward, terminated, truncated, _ = env.step(bare.expert() if calls < last else answer)
            calls, total, done = calls + 1, total + reward, terminated or truncated
        return total

    assert [play(0), play(2)] == [0.0, 0.0]
    assert play(4) == 1.0
    partial = [play(k) for k in range(4)]
    assert partial == sorted(partial) and 0.0 < partial[-1] <= 0.5 < 1.0 < play(4) == pytest.approx(1.5)


def test_other_columns_and_wrong_fields() -> None:
    seen = Batch.of(obs=["a"], action=[0], next_obs=np.array(["the end"], object), reward=[1.0], terminated=[True])
    rewarder = Rewarder("task + adaptive_milestones(column=next_obs)")
    rewarder.step(seen)
    assert distilled(rewarder) == ["the end"]
    for text in ("scale=1", "scale=0", "threshold=0", "threshold=1.1", "most=0", "column=obs"):
        with pytest.raises(RewardError, match="adaptive_milestones: "):
            Rewarder(f"adaptive_milestones({text})")
    parts = Batch.of(obs=[0], action={"a": [1]}, next_obs=[0], reward=[0.0])
    with pytest.raises(RewardError, match="action has parts"):
        Rewarder("adaptive_milestones").step(parts)
