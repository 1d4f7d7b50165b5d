"""Evaluation on the task's own reward, and the log of the terms."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import StopTrainingOnRewardThreshold
from stable_baselines3.common.logger import Logger, configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor, VecNormalize

from reward_envs.grid import sb3_vec
from reward_envs.grid.env import FlatView
from reward_envs.wrappers import (
    RewardError,
    RewardLogCallback,
    RewardWrapper,
    Task,
    TrueRewardEvalCallback,
    VecReward,
    sb3,
)
from tests.adapters.sb3_tools import Share, Trained, Visits, assert_same_parameters, cartpole, lake, vector
from tests.scripted import Scripted, walk

SMALL: dict[str, Any] = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "device": "cpu", "seed": 3}


def task() -> Scripted:
    """Two steps that pay 1 and 2."""
    infos = [{"is_success": False}, {"is_success": False}, {"is_success": True}]
    return Scripted([walk([0, 1, 2], rewards=[1.0, 2.0], infos=infos)])


def evaluated(eval_env: Any, tmp_path: Path, **kwargs: Any) -> tuple[TrueRewardEvalCallback, Any, Any]:
    venv, made = sb3(vector(task, 2), 10 * Task() + Visits(), PPO)
    callback = TrueRewardEvalCallback(
        eval_env, n_eval_episodes=4, eval_freq=8, best_model_save_path=str(tmp_path), log_path=str(tmp_path), **kwargs
    )
    model = PPO("MlpPolicy", venv, **SMALL, **made)
    model.learn(64, callback=callback)
    return callback, model, venv


def test_evaluation_reports_the_task_and_moves_no_state(tmp_path: Path) -> None:
    callback, _, venv = evaluated(task(), tmp_path)
    assert callback.best_mean_reward == 3.0
    log = np.load(tmp_path / "evaluations.npz")
    assert log["results"].tolist() == [[3.0] * 4] * 4
    assert log["successes"].all()
    assert log["ep_lengths"].max() == 2
    assert (tmp_path / "best_model.zip").exists()
    assert sum(venv.rewarder.states[2].values()) == 64  # rows of training only


@pytest.mark.parametrize(
    "make",
    [
        task,
        lambda: Monitor(task()),
        lambda: RewardWrapper(Monitor(task()), "5*task"),
        lambda: vector(task, 2),
        lambda: VecMonitor(vector(task, 2)),
        lambda: vector(lambda: Monitor(task()), 2),
        lambda: VecReward(vector(task, 2), "5*task"),
        lambda: sb3(vector(task, 2), "5*task", PPO)[0],
    ],
)
def test_reward_wrappers_on_the_outside_come_off(make: Any, tmp_path: Path) -> None:
    assert evaluated(make(), tmp_path)[0].best_mean_reward == 3.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Monitor(RewardWrapper(task(), "5*task")),
        lambda: vector(lambda: RewardWrapper(task(), "5*task")),
        lambda: VecMonitor(VecReward(vector(task), "5*task")),
        lambda: VecNormalize(sb3(vector(cartpole), "task", PPO)[0], norm_reward=False),
    ],
)
def test_reward_methods_deeper_down_are_refused(make: Any) -> None:
    with pytest.raises(RewardError, match="evaluate on the bare environment"):
        TrueRewardEvalCallback(make())


def test_reward_methods_in_subprocesses_are_refused() -> None:
    venv = SubprocVecEnv([lambda: RewardWrapper(task(), "5*task")], start_method="fork")
    with pytest.raises(RewardError, match="evaluate on the bare environment"):
        TrueRewardEvalCallback(venv)
    venv.close()


def test_normalised_observations_are_evaluated_with_the_statistics_of_training() -> None:
    with pytest.raises(RewardError, match="no episode statistics below it"):
        TrueRewardEvalCallback(VecNormalize(vector(cartpole)))
    venv, kwargs = sb3(vector(cartpole), 10 * Task(), PPO)
    eval_env = VecNormalize(VecMonitor(vector(cartpole)), training=False)
    callback = TrueRewardEvalCallback(eval_env, n_eval_episodes=3, eval_freq=16)
    model = PPO("MlpPolicy", VecNormalize(venv, norm_reward=False), **SMALL, **kwargs).learn(48, callback=callback)
    assert eval_env.obs_rms.count == model.get_vec_normalize_env().obs_rms.count > 48
    assert 7.0 < callback.last_mean_reward < 10.0  # the task's return, neither times 10 nor normalised
    with pytest.raises(RewardError, match="evaluate on VecNormalize"):
        model.learn(48, callback=TrueRewardEvalCallback(cartpole(), eval_freq=16))


@pytest.mark.parametrize("many", [False, True])
def test_rewards_that_the_task_hides_count(many: bool) -> None:
    name = "reward_envs/Monitored-v0"
    bare = sb3_vec(name, 2, seed=0) if many else FlatView(gym.make(name))
    callback = TrueRewardEvalCallback(bare, n_eval_episodes=2, eval_freq=16)
    model = PPO("MlpPolicy", sb3_vec("reward_envs/Empty-8x8-v0", 2, seed=1), **SMALL)
    model.learn(64, callback=callback)
    assert np.isfinite(callback.last_mean_reward)


def test_threshold_stops_on_the_task() -> None:
    venv, kwargs = sb3(vector(task, 2), 10 * Task(), PPO)
    stop = StopTrainingOnRewardThreshold(3.0)
    callback = TrueRewardEvalCallback(task(), eval_freq=4, n_eval_episodes=2, callback_on_new_best=stop)
    model = PPO("MlpPolicy", venv, **SMALL, **kwargs).learn(640, callback=callback)
    assert model.num_timesteps == 8


# Log


class Written(Logger):
    def __init__(self) -> None:
        super().__init__(None, [])
        self.written: list[dict[str, Any]] = []

    def dump(self, step: int = 0) -> None:
        self.written.append(dict(self.name_to_value))
        super().dump(step)


def test_terms_and_the_task_reach_the_log() -> None:
    venv, kwargs = sb3(vector(task, 2), 10 * Task() + Share() + Trained(), PPO)
    model = PPO("MlpPolicy", venv, **{**SMALL, "n_steps": 15, "batch_size": 15}, **kwargs)
    logger = Written()
    model.set_logger(logger)
    model.learn(60, callback=RewardLogCallback())
    first, second = logger.written
    assert {k: v for k, v in first.items() if "reward" in k} == {
        "reward/task_return": 3.0,
        "episode_reward/task": 30.0,
        "episode_reward/share": 3.0,
        "episode_reward/trained": 0.0,
        "reward/unscored_share": pytest.approx(1 / 15),
    }
    assert first["rollout/ep_rew_mean"] == 3.0
    assert second["reward/trained/loss"] == 0.5
    assert second["reward/unscored_share"] == 0.0


def test_log_off_policy_and_with_a_paying_environment() -> None:
    venv, kwargs = sb3(vector(task, 1), 10 * Task(), DQN)
    for env, made in ((venv, kwargs), (VecReward(VecMonitor(vector(task, 1)), 10 * Task()), {})):
        model = DQN("MlpPolicy", env, learning_starts=5, batch_size=4, buffer_size=50, device="cpu", **made)
        logger = Written()
        model.set_logger(logger)
        model.learn(40, callback=RewardLogCallback(), log_interval=4)
        last = logger.written[-1]
        assert (last["reward/task_return"], last["episode_reward/task"], last["rollout/ep_rew_mean"]) == (
            3.0,
            30.0,
            3.0,
        )


def test_log_is_written_as_csv(tmp_path: Path) -> None:
    venv, kwargs = sb3(vector(lake, 2), Task() + Visits(), PPO)
    model = PPO("MlpPolicy", venv, **SMALL, **kwargs)
    model.set_logger(configure(str(tmp_path), ["csv", "stdout"]))
    model.learn(64, callback=RewardLogCallback())
    model.logger.close()
    header = (tmp_path / "progress.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert {"episode_reward/visits", "episode_reward/task", "reward/task_return", "reward/visits/states"} <= set(header)


def test_statistics_above_the_reward_are_warned_of() -> None:
    venv, kwargs = sb3(vector(task, 2), "task", PPO)
    model = PPO("MlpPolicy", VecMonitor(venv), **SMALL, **kwargs)
    with pytest.warns(UserWarning, match="VecMonitor sits above a reward wrapper"):
        model.learn(32, callback=RewardLogCallback())


def test_callbacks_leave_training_bit_by_bit_alone() -> None:
    models = []
    for callbacks in ([], [RewardLogCallback(), TrueRewardEvalCallback(gym.make("CartPole-v1"), eval_freq=8)]):
        venv, kwargs = sb3(vector(cartpole), Task() + Visits(), PPO)
        models.append(PPO("MlpPolicy", venv, **SMALL, **kwargs).learn(96, callback=callbacks))
        states = copy.deepcopy(venv.rewarder.states)
    assert_same_parameters(*models)
    assert venv.rewarder.states == states
