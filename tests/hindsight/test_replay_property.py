"""The property of hindsight, held by every row that SB3's buffer samples; and the cases of others' mistakes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from stable_baselines3.common.vec_env import DummyVecEnv

from reward_envs.wrappers import Batch, Hindsight, HindsightReplayBuffer, relabel_rows
from tests.cases._case import run_call
from tests.cases.test_h08_her_final_and_future_goal import CALLS as GOALS
from tests.cases.test_h09_her_relabelled_termination import CALLS as TERMINATIONS
from tests.hindsight.played import Line, buffer, numbers, play, virtual

ASKED = -7.0  # the goal of every row that is played
lengths_of_two = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).integers(1, 7, (2, 9)).tolist())


@settings(max_examples=25)
@given(
    lengths=lengths_of_two,
    strategy=st.sampled_from(("future", "final", "episode")),
    k=st.integers(1, 6),
    ends=st.booleans(),
    size=st.integers(14, 40),
)
def test_every_sampled_row_is_what_hindsight_says(
    lengths: list[list[int]], strategy: str, k: int, ends: bool, size: int
) -> None:
    """Row by row, from the rows that were played alone: a goal is reached in the row's own episode, after its action;
    reward and termination are the task's for it; the share is k / (k + 1); other rows are as they were played."""

    class Task(Line):
        pass

    Task.ends = ends
    replay = buffer(2 * size, n=2, make=Task, n_sampled_goal=k, goal_selection_strategy=strategy, seed=0)
    steps = min(map(sum, lengths))
    play(replay, lengths, steps=steps)
    sample = replay.sample(200)
    assert int(virtual(sample).sum()) == int(200 * (1 - 1 / (k + 1)))
    columns = [sample.observations["achieved_goal"], sample.observations["desired_goal"], sample.rewards, sample.dones]
    for state, goal, reward, done in zip(*(numbers(c).tolist() for c in columns), strict=True):
        env, episode, step = int(state // 1000), int(state % 1000 // 100), int(state % 100)
        begin = sum(lengths[env][:episode])
        length = lengths[env][episode]
        assert steps - size <= begin and begin + length <= steps, "the episode is neither overwritten nor open"
        if goal == ASKED:
            assert (reward, done) == (-1.0, 0.0), "as it was played; its end was a time limit"
            continue
        first, last = {"future": (step, length - 1), "final": (length - 1, length - 1), "episode": (0, length - 1)}[
            strategy
        ]
        reached = {1000 * env + 100 * episode + i + 1 for i in range(first, last + 1)}
        assert goal in reached
        met = state + 1 == goal
        assert (reward, done) == (float(met), float(met and ends))


def test_recorded_rows_and_the_buffer_get_the_same_goals_equally_often() -> None:
    lengths = [3, 5, 1, 4]
    states = np.array([100.0 * e + i for e, n in enumerate(lengths) for i in range(n)])[:, None]
    asked = np.full_like(states, ASKED)
    was, now = ({"achieved_goal": s, "desired_goal": asked} for s in (states, states + 1))
    over = np.cumsum(lengths) - 1
    flags = np.isin(np.arange(len(states)), over)
    batch = Batch.of(obs=was, action=states, next_obs=now, reward=np.zeros(len(states)), truncated=flags)
    for strategy in ("future", "episode", "random"):
        task = Line()
        how = Hindsight(strategy, 1000, compute_reward=task.compute_reward, compute_terminated=task.compute_terminated)
        made = relabel_rows(batch, how, seed=0)
        replay = buffer(goal_selection_strategy=strategy)
        play(replay, [lengths])
        sample = replay.sample(12_500)
        new = virtual(sample)
        offline = np.column_stack([made.obs["achieved_goal"], made.obs["desired_goal"]])
        online = np.column_stack([numbers(sample.observations[n])[new] for n in ("achieved_goal", "desired_goal")])
        pairs = np.unique(np.concatenate([offline, online]), axis=0)
        counts = [[int((rows == pair).all(axis=1).sum()) for pair in pairs] for rows in (offline, online)]
        assert np.min(counts) > 0 and chi2_contingency(counts).pvalue > 1e-4, strategy


# The cases, through the buffer


def replayed(rows: list[tuple[float, float, bool, bool]], tolerance: float, ends_on: bool, strategy: str) -> Any:
    """A buffer with rows (achieved, next achieved, terminated, truncated) of one environment; the action is the row."""

    class Task(Line):
        near, ends = tolerance, ends_on
        action_space = spaces.Box(-100, 100, (1,), np.float32)

    venv = DummyVecEnv([Task])
    replay = HindsightReplayBuffer(
        20, venv.observation_space, venv.action_space, venv, device="cpu", goal_selection_strategy=strategy, seed=0
    )
    for row, (was, now, terminated, truncated) in enumerate(rows):
        seen, then = (
            {name: np.array([[ASKED if name == "desired_goal" else at]]) for name in venv.observation_space.spaces}
            for at in (was, now)
        )
        done, late = np.array([terminated or truncated]), truncated and not terminated
        replay.add(seen, then, np.array([[row]]), np.zeros(1), done, [{"TimeLimit.truncated": late}])
    return replay


def her_goals(strategy: str, achieved: list[float], next_achieved: list[float], t: int, draws: int) -> Any:
    ends = [i == len(achieved) - 1 for i in range(len(achieved))]
    never = [False] * len(achieved)
    replay = replayed(list(zip(achieved, next_achieved, ends, never, strict=True)), 0.0, True, strategy)
    sample = replay.sample(draws)
    mine = virtual(sample) & (numbers(sample.actions) == t)
    return {"goals": np.unique(numbers(sample.observations["desired_goal"])[mine]).tolist()}


def her_relabel(
    next_achieved: float,
    new_goal: float,
    tolerance: float,
    terminated: bool,
    truncated: bool,
    ends_on_success: bool,
    gamma: float,
    next_q: float,
) -> Any:
    rows = [(0.0, next_achieved, terminated, truncated), (next_achieved, new_goal, False, True)]
    replay = replayed(rows, tolerance, ends_on_success, "random")
    sample = replay.sample(200)
    goal = numbers(sample.observations["desired_goal"])
    row = int(np.argmax(virtual(sample) & (numbers(sample.actions) == 0) & (goal == new_goal)))
    assert goal[row] == new_goal
    reward, done = (float(numbers(column)[row]) for column in (sample.rewards, sample.dones))
    target = reward + gamma * (1 - done) * next_q
    return {"reward": reward, "terminated": bool(done), "truncated": bool(replay.timeouts[0, 0]), "target": target}


@pytest.mark.parametrize("call", GOALS + TERMINATIONS)
def test_cases(call: Any) -> None:
    assert run_call(SimpleNamespace(her_goals=her_goals, her_relabel=her_relabel), call) is None
