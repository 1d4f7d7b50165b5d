"""Scale, clip, shift and fill_unknown."""

from __future__ import annotations

import logging
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.agents.tabular import MDP, optimal_actions, value_iteration, with_reward
from reward_envs.wrappers import (
    Batch,
    Clip,
    FillUnknown,
    Rewarder,
    RewardError,
    Shift,
    Spec,
    Task,
    TextError,
    core,
    parse,
    relabel,
)
from tests.drawn import process, transitions

nan = math.nan


def paid(method: Any, rewards: Any, **columns: Any) -> list[float]:
    n = len(rewards)
    batch = Batch.of(obs=[0] * n, action=[0] * n, next_obs=[0] * n, reward=rewards, **columns)
    return Rewarder(method).step(batch).values.tolist()


# scale


def test_scale_by_name() -> None:
    assert parse("scale(task, 0.5)") == 0.5 * Task()
    assert str(parse("scale(task, 0.5)")) == "0.5*task"
    assert str(parse("scale(task, by=0.5, name=half)")) == "scale(task, by=0.5, name=half)"
    assert paid("scale(task, -2)", [nan, 0.0, 1.5]) == pytest.approx([nan, 0.0, -3.0], nan_ok=True)


# clip


def test_clip_golden() -> None:
    assert paid("clip(task, -1, 1)", [-7.0, -1.0, 0.25, 1.0, 9.0]) == [-1.0, -1.0, 0.25, 1.0, 1.0]
    assert paid("clip(task, -inf, 0)", [-7.0, 9.0]) == [-7.0, 0.0]
    assert paid("clip(task, 2, 2)", [-7.0, 9.0]) == [2.0, 2.0]
    assert paid("clip(task, -1, 1)", [nan, 2.0]) == pytest.approx([nan, 1.0], nan_ok=True)


@pytest.mark.parametrize(("low", "high"), [(1.0, -1.0), (nan, 1.0), (0.0, nan)])
def test_bounds_the_wrong_way_round(low: float, high: float) -> None:
    with pytest.raises(RewardError, match=re.escape(f"clip: low={low} and high={high}; low must not lie above high.")):
        Clip(Task(), low, high)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(-10, 10), st.floats(0, 10))
def test_clip_is_bounded_and_idempotent(rewards: list[float], low: float, width: float) -> None:
    once = Clip(Task(), low, low + width)
    values = paid(once, rewards)
    assert all(low <= v <= low + width for v in values)
    assert paid(Clip(once, low, low + width), rewards) == values


# shift


def test_shift_golden() -> None:
    assert paid("shift(task, -0.5)", [0.0, 1.0, nan], terminated=[0, 1, 0]) == pytest.approx(
        [-0.5, 0.5, nan], nan_ok=True
    )
    absorbing = "shift(task, -0.5, absorbing=True, gamma=0.75)"  # 0.5/0.25 = 2
    assert paid(absorbing, [0.0, 1.0], terminated=[0, 1]) == [-0.5, -1.0]
    assert paid(absorbing, [0.0, 1.0], truncated=[0, 1]) == [-0.5, 0.5]
    assert paid(absorbing, [1.0], terminated=[1], truncated=[1]) == [-1.0]


def test_the_learners_gamma_counts_in_the_absorbing_mode() -> None:
    batch = Batch.of(obs=[0], action=[0], next_obs=[0], reward=[0.0], terminated=[1])
    assert Rewarder(Shift(Task(), 1.0, absorbing=True), Spec(gamma=0.5)).step(batch).values.tolist() == [2.0]
    with pytest.raises(RewardError, match="shift needs the learner's discount"):
        Rewarder(Shift(Task(), 1.0, absorbing=True))
    with pytest.raises(RewardError, match="shift got gamma=1.0: by/\\(1 - gamma\\) needs a gamma below 1"):
        Rewarder(Shift(Task(), 1.0, absorbing=True, gamma=1.0))
    with pytest.raises(RewardError, match="shift: by=inf; a constant reward is finite"):
        Shift(Task(), math.inf)


def test_a_constant_is_warned_of_where_ends_are_not_absorbing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(core, "_said", set())
    caplog.set_level(logging.WARNING)
    paid("shift(task, 0)", [0.0])
    paid("shift(task, 1, absorbing=True, gamma=0.5)", [0.0])
    assert caplog.text == ""
    paid("shift(task, 1)", [0.0])
    assert "shift adds 1 to every reward: where episodes terminate this can change the optimal policy" in caplog.text


def shifted(mdp: MDP, by: float, absorbing: bool) -> MDP:
    method = Shift(Task(), by, absorbing=absorbing, gamma=mdp.gamma)
    return with_reward(mdp, relabel(transitions(mdp), method).values)


def q_learning(mdp: MDP, method: Any, start: float, seed: int, steps: int = 400) -> tuple[list[int], list[Any]]:
    """Actions and tables of ε-greedy Q-learning, a step at a time, from `Q = start`; terminal states count as 0."""
    rng, rewarder = np.random.default_rng(seed), Rewarder(method)
    q, s, t, episode = np.full((mdp.n_states, mdp.n_actions), start), 0, 0, 0
    actions, tables = [], []
    for _ in range(steps):
        explores, any_action = rng.random() < 0.3, int(rng.integers(mdp.n_actions))
        a = any_action if explores else int(q[s].argmax())
        s2 = int(rng.choice(mdp.n_states, p=mdp.transition[s, a]))
        end = bool(mdp.terminal[s2])
        row = Batch.of(
            obs=[s],
            action=[a],
            next_obs=[s2],
            reward=mdp.reward[s, a, s2][None],
            terminated=[end],
            t=[t],
            episode=[episode],
        )
        r = rewarder.step(row).values[0]
        q[s, a] += 0.3 * (r + (0.0 if end else mdp.gamma * q[s2].max()) - q[s, a])
        actions.append(a)
        tables.append(q.copy())
        s, t, episode = (0, 0, episode + 1) if end else (s2, t + 1, episode)
    return actions, tables


@pytest.mark.parametrize("ends", [False, True], ids=["continuing", "absorbing"])
@pytest.mark.parametrize("by", [-2.0, 0.75])
def test_a_shift_is_another_starting_value(by: float, ends: bool) -> None:
    """Q* and every table of Q-learning move by b/(1 - γ), and the actions are the same on the same random numbers."""
    mdp = process(np.random.default_rng(7), gamma=0.8, ends=ends)
    move = by / (1 - 0.8)
    before, after = value_iteration(mdp), value_iteration(shifted(mdp, by, absorbing=ends))
    going_on = ~mdp.terminal
    assert after[going_on] == pytest.approx(before[going_on] + move, abs=1e-8)
    assert np.array_equal(optimal_actions(before), optimal_actions(after))

    actions, tables = q_learning(mdp, Task(), start=-move, seed=3)
    same, moved = q_learning(mdp, Shift(Task(), by, absorbing=ends, gamma=0.8), start=0.0, seed=3)
    assert actions == same
    assert np.array(moved) == pytest.approx(np.array(tables) + move, abs=1e-9)
    other, _ = q_learning(mdp, Task(), start=0.0, seed=3)
    assert other != same  # the starting value matters, so the agreement above says something


def test_a_shift_without_absorbing_ends_hurries_or_loiters() -> None:
    """In state 0: leave for 0.5 at once, wait for nothing, or go over 1 and 2 to an end that pays 1; γ = 0.9."""
    transition, reward = np.zeros((4, 3, 4)), np.zeros((4, 3, 4))
    transition[0, 0, 3] = transition[0, 1, 0] = transition[0, 2, 1] = 1.0
    transition[1, :, 2] = transition[2, :, 3] = transition[3, :, 3] = 1.0
    reward[0, 0, 3], reward[2, :, 3] = 0.5, 1.0
    mdp = MDP(transition, reward, np.array([False, False, False, True]), gamma=0.9)

    def best(by: float, absorbing: bool) -> int:
        return int(value_iteration(shifted(mdp, by, absorbing))[0].argmax())

    assert best(0.0, False) == 2  # 0.5 < 0.81
    assert best(-1.0, False) == 0  # 0.5 - 1 > -1 - 0.9 - 0.81·(1 - 1)
    assert best(1.0, False) == 1  # 1/(1 - 0.9) = 10
    assert best(-1.0, True) == best(1.0, True) == 2


# fill_unknown


def test_fill_unknown_golden() -> None:
    assert paid("fill_unknown(task)", [nan, 2.0]) == [0.0, 2.0]
    assert paid("fill_unknown(task, -1)", [nan, 2.0, nan]) == [-1.0, 2.0, -1.0]
    with pytest.raises(RewardError, match="fill_unknown: value=nan; a reward is finite"):
        FillUnknown(Task(), nan)


def test_a_sum_is_unknown_where_a_term_is_unless_it_is_filled() -> None:
    assert math.isnan(paid("task + shift(task, 1, name=b)", [nan])[0])
    assert paid("fill_unknown(task) + fill_unknown(task, 3, name=b)", [nan]) == [3.0]


@pytest.mark.parametrize(
    "text",
    [
        "clip(task, low=-1, high=1)",
        "clip(0.5*task + progress, low=-inf, high=2.5, name=both)",
        "shift(task, by=-0.01)",
        "shift(task, by=1.0, absorbing=True, gamma=0.9)",
        "fill_unknown(task)",
        "fill_unknown(milestones, value=-1.0)",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize("text", ["clip(task)", "clip(task, -1)", "shift(task)", "scale(task)", "fill_unknown"])
def test_missing_fields_are_named(text: str) -> None:
    with pytest.raises(TextError, match="needs (of|low|high|by)"):
        parse(text)
