"""gymnasium-robotics' environments, where they are installed (with a MuJoCo below 3.12 for Fetch)."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from reward_envs.wrappers import Potential, Rewarder, RewardWrapper, VectorRewardWrapper, parse, relabel
from tests.adapters.recording import batch_of, record_single, record_vector

robotics = pytest.importorskip("gymnasium_robotics", reason="needs the robotics extra in an environment of its own")
pytestmark = pytest.mark.filterwarnings("ignore")
IDS = ["FetchReach-v4", "FetchPush-v4", "PointMaze_UMaze-v3"]


def nearness(obs: Any) -> float:
    return -float(np.linalg.norm(obs["achieved_goal"] - obs["desired_goal"]))


def method() -> Any:
    text = parse("task + 0.5*count(bits=8) + delay(name=late) + normalise(task, gamma=0.9, name=scaled)")
    return text + Potential(nearness, gamma=0.9, name="near")


@pytest.mark.parametrize("env_id", IDS)
def test_single_environments_pay_what_the_array_adapter_pays(env_id: str) -> None:
    gym.register_envs(robotics)
    rows, infos = record_single(RewardWrapper(gym.make(env_id), method(), seed=1), 120, seed=3)
    expected = relabel(batch_of(rows), method(), cut=1, seed=1)
    for name, values in expected.terms.items():
        np.testing.assert_array_equal([i[f"reward/{name}"] for i in infos], values, err_msg=name)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vectors_pay_what_the_array_adapter_pays(mode: AutoresetMode) -> None:
    gym.register_envs(robotics)
    envs = SyncVectorEnv([lambda: gym.make("FetchReach-v4")] * 2, autoreset_mode=mode)
    rows, infos, _, alive = record_vector(VectorRewardWrapper(envs, method(), seed=1), 110, seed=3)
    runner = Rewarder(method(), n=2, seed=1)
    for step, info, living in zip(rows, infos, alive, strict=True):
        if not step:  # both ended before
            continue
        for name, values in runner.step(batch_of(step)).terms.items():
            np.testing.assert_array_equal(info[f"reward/{name}"][living], values, err_msg=name)


def test_sb3_vectors_pay_what_the_array_adapter_pays() -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv

    from reward_envs.wrappers import VecReward

    gym.register_envs(robotics)
    venv = VecReward(DummyVecEnv([lambda: gym.make("FetchReach-v4")]), method(), seed=1)
    single = RewardWrapper(gym.make("FetchReach-v4"), method(), seed=1)
    venv.seed(5)
    venv.reset()
    single.reset(seed=5)
    venv.action_space.seed(0)
    for _ in range(50):
        action = venv.action_space.sample()
        _, _, dones, infos = venv.step(action[None])
        _, _, terminated, truncated, info = single.step(action)
        for name in runner_terms(info):
            assert infos[0][name] == pytest.approx(info[name], abs=1e-6), name
        if dones[0]:
            assert terminated or truncated
            break


def runner_terms(info: dict[str, Any]) -> list[str]:
    return [key for key in info if key.startswith("reward/")]
