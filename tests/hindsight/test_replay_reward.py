"""Hindsight under a reward method: goals change first, then terms are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import PPO, SAC

from reward_envs.agents.plan import Plan
from reward_envs.agents.sb3 import train
from reward_envs.control import sb3_vec
from reward_envs.wrappers import HindsightReplayBuffer, Method, RewardError, ScopeError, sb3

ID = "reward_envs/PointReach-v0"
STEP, TOLERANCE, FAR, GAMMA = 0.1, 0.1, 29.0, 0.99


def filled(method: Any, steps: int = 300, n: int = 2, **hindsight: Any) -> Any:
    """The buffer after random play."""
    venv, kwargs = sb3(
        sb3_vec(ID, n, seed=0, tolerance=0.3), method, SAC, gamma=GAMMA, hindsight={"seed": 1, **hindsight}
    )
    model = SAC("MultiInputPolicy", venv, learning_starts=10_000, device="cpu", seed=0, **kwargs)
    model.learn(steps)
    return model.replay_buffer


def column(tensor: Any) -> Any:
    return tensor.numpy()[:, 0].astype(np.float64)


def gap(sample: Any, of: str) -> Any:
    obs = getattr(sample, of)
    return np.linalg.norm(obs["achieved_goal"].numpy() - obs["desired_goal"].numpy(), axis=1)


def steps_left(distance: Any) -> Any:
    return np.ceil(np.maximum(0, distance - 0.3) / STEP)


def test_under_the_task_alone_it_is_the_plain_buffer() -> None:
    plain = SAC(
        "MultiInputPolicy",
        sb3_vec(ID, 2, seed=0, tolerance=0.3),
        replay_buffer_class=HindsightReplayBuffer,
        replay_buffer_kwargs={"seed": 1},
        learning_starts=10_000,
        device="cpu",
        seed=0,
    )
    one, two = plain.learn(300).replay_buffer.sample(200), filled("task").sample(200)
    for name in ("rewards", "dones", "actions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.observations["desired_goal"], two.observations["desired_goal"])


def test_a_potential_is_that_of_the_new_goal_and_nothing_where_that_ends_the_episode() -> None:
    sample = filled("task + potential(steps_to_go, d_max=29, offset=0)").sample(500)
    before, after = (-steps_left(gap(sample, of)) / FAR for of in ("observations", "next_observations"))
    met = gap(sample, "next_observations") <= 0.3
    np.testing.assert_array_equal(column(sample.dones)[100:], met[100:])
    expected = met + GAMMA * np.where(met, 0.0, after) - before
    np.testing.assert_allclose(column(sample.rewards), expected, atol=1e-6)


def test_a_bonus_is_scored_again_and_a_memory_keeps_what_it_paid() -> None:
    @dataclass(frozen=True, repr=False)
    class Step(Method):
        """Pays the step of the episode by a memory of its own."""

        def start(self, spec: Any, n: int) -> Any:
            return np.zeros(n)

        def score(self, state: Any, carry: Any, batch: Any) -> Any:
            now = np.where(batch.t == 0, 0.0, carry[batch.stream]) + 1
            after = carry.copy()
            after[batch.stream] = now
            return now, after

    replay = filled(0.01 * Step(name="step"), goal_selection_strategy="final")
    sample = replay.sample(300)
    assert (column(sample.rewards) >= 0.009).all() and column(sample.rewards).max() > 0.1
    assert filled("task + 0.1*count").sample(100).rewards.isfinite().all()


def test_what_another_goal_changes_and_cannot_be_asked_is_refused() -> None:
    for method, said in (
        ("task + progress", "progress remembers its episode and reads progress"),
        ("delay(task, every=3)", "delay remembers its episode and reads task"),
        ("task + function('tests.rewards:advance', reads=('progress',))", "nothing says what it would be"),
    ):
        with pytest.raises(RewardError, match=said):
            filled(method)
    with pytest.raises(ScopeError, match="looks at whole episodes"):
        filled("uniform")
    with pytest.raises(RewardError, match="played by nobody"):
        sb3(sb3_vec(ID, 2), "task", PPO, hindsight=True)
    with pytest.raises(RewardError, match="hindsight=-1"):
        Plan(ID, algo="sac", hindsight=-1)


def test_an_agent_trains_with_it_by_name() -> None:
    plan = Plan(ID, algo="sac", steps=200, hindsight=4, eval_episodes=2)
    run = train(plan, "task + potential(steps_to_go)", seed=0)
    assert run.rows
