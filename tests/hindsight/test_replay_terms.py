"""Hindsight under a reward method: what each kind of term is told of a row with another goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import DQN, SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from reward_envs.wrappers import Potential, RewardError, Task, function, sb3
from tests.hindsight.played import BitFlip, Line, numbers

ID = "reward_envs/PointReach-v0"
GAMMA = 0.9


def trained(method: Any, venv: Any = None, steps: int = 160, algo: Any = SAC, **hindsight: Any) -> Any:
    venv = venv or make_vec_env(ID, 2, seed=0)
    venv, kwargs = sb3(venv, method, algo, gamma=GAMMA, seed=0, hindsight={"seed": 0, **hindsight})
    small = {"learning_starts": 110, "device": "cpu", "seed": 0, "policy_kwargs": {"net_arch": [8]}}
    return algo("MultiInputPolicy", venv, **small, **kwargs).learn(steps)


def parts(model: Any, n: int = 500) -> tuple[Any, Any, Any]:
    """Sampled rewards; which rows have other goals; and which of all rows reach theirs."""
    sample = model.replay_buffer.sample(n)
    near = (
        np.linalg.norm(sample.next_observations["achieved_goal"] - sample.observations["desired_goal"], axis=1) <= 0.1
    )
    return sample, np.arange(n) >= n - int(0.8 * n), near


def test_a_function_sees_the_new_goal_and_the_new_reward() -> None:
    def gap(obs: Any, next_obs: Any) -> Any:
        np.testing.assert_array_equal(obs["desired_goal"], next_obs["desired_goal"])
        return np.linalg.norm(next_obs["achieved_goal"] - next_obs["desired_goal"], axis=1)

    def twice(reward: Any, terminated: Any, action: Any) -> Any:
        return 2 * reward + 4 * terminated + action[:, 0] * 0

    model = trained(Task() - function(gap) + function(twice), goal_selection_strategy="episode")
    sample, _, near = parts(model)
    away = np.linalg.norm(sample.next_observations["achieved_goal"] - sample.observations["desired_goal"], axis=1)
    np.testing.assert_allclose(numbers(sample.rewards), near - away + 2 * near + 4 * near, atol=1e-5)


def test_a_bonus_that_learns_is_scored_for_the_new_goal_as_of_today() -> None:
    model = trained("task + rnd(warmup=0)")
    buffer = model.replay_buffer
    rewarder, scored = buffer._recorder.rewarder, []
    score = rewarder.score_terms

    def remember(batch: Any, names: Any) -> Any:
        scored.append((batch, tuple(names), score(batch, names)))
        return scored[-1][2]

    rewarder.score_terms = remember
    sample, new, near = parts(model)
    (played, only, _), (made, both, terms) = scored
    assert (len(played), only, len(made), both) == (100, ("rnd",), 400, ("task", "rnd"))
    np.testing.assert_array_equal(made.obs["desired_goal"], sample.observations["desired_goal"][new])
    np.testing.assert_array_equal(made.terminated, near[new])
    np.testing.assert_allclose(numbers(sample.rewards)[new], terms["task"] + terms["rnd"], rtol=1e-6)


def test_loaded_rows_are_scored_once_the_runner_is_met(tmp_path: Path) -> None:
    model = trained("task + rnd(warmup=0)")
    model.save_replay_buffer(tmp_path / "rows")
    steps = model.replay_buffer._steps.copy()
    model.load_replay_buffer(tmp_path / "rows", truncate_last_traj=False)
    assert model.replay_buffer._steps.tolist() == steps.tolist()
    with pytest.raises(RewardError, match="this buffer was loaded: play one step"):
        model.replay_buffer.sample(10)
    model.learn(2, reset_num_timesteps=False)
    assert model.replay_buffer.sample(10).rewards.isfinite().all()


def test_algorithms_with_discrete_actions_and_normalised_observations() -> None:
    model = trained("task + 0.1*count", make_vec_env(BitFlip, 2), algo=DQN)
    assert model.replay_buffer.sample(50).rewards.max() > 1
    venv, kwargs = sb3(make_vec_env(ID, 1, seed=0), "task + 0.1*count(bits=8)", SAC, gamma=GAMMA, hindsight=True)
    small = {"learning_starts": 55, "device": "cpu", "policy_kwargs": {"net_arch": [8]}}
    model = SAC("MultiInputPolicy", VecNormalize(venv, norm_reward=False), **small, **kwargs).learn(60)
    sample = model.replay_buffer.sample(100, env=model.get_vec_normalize_env())
    assert sample.rewards.isfinite().all() and abs(float(sample.observations["observation"].mean())) < 1


class Walk(Line):
    """Six steps along the line, with a hook."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.t = 0
        return self.seen(), {"steps_to_go": 9.0}

    def step(self, action: Any) -> Any:
        self.t += 1
        return self.seen(), 0.0, False, self.t == 6, {"steps_to_go": 9.0}

    def seen(self) -> Any:
        return {"observation": [0.0], "achieved_goal": [float(self.t)], "desired_goal": [-7.0]}


def test_a_potential_of_one_row_is_asked_row_by_row() -> None:
    class Alone(Walk):
        def compute_potential(self, achieved: Any, desired: Any, info: Any) -> float:
            assert np.shape(achieved) == (1,)
            return -abs(float(achieved[0] - desired[0]))

    model = trained(Task() + Potential("steps_to_go", d_max=20, offset=0, scale=20.0), DummyVecEnv([Alone]), 20)
    sample = model.replay_buffer.sample(100)
    was, now = (
        np.abs(numbers(o["achieved_goal"]) - numbers(sample.observations["desired_goal"]))
        for o in (sample.observations, sample.next_observations)
    )
    new = np.arange(100) >= 20
    expected = np.where(now == 0, 1.0, -GAMMA * now) + was
    np.testing.assert_allclose(numbers(sample.rewards)[new], expected[new], rtol=1e-5)


def test_potentials_that_are_no_numbers_and_environments_without_them_are_refused() -> None:
    class Lost(Walk):
        def compute_potential(self, achieved: Any, desired: Any, info: Any) -> Any:
            return np.full(len(achieved), np.nan)

    for task, said in (
        (Lost, "compute_potential gave float64 .* one finite number a row"),
        (Walk, "has no compute_pot"),
    ):
        with pytest.raises(RewardError, match=said):
            trained(Task() + Potential("steps_to_go", d_max=20), DummyVecEnv([task]), 20).replay_buffer.sample(10)
