"""Our ids: `reward=` in gym.make and gym.make_vec, and specs that rebuild."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.registration import IDS, PREFIX
from reward_envs.text.terminal import unavailable
from reward_envs.wrappers import HookError, Potential, RewardWrapper, VectorRewardWrapper

REWARD = "task + potential(steps_to_go, gamma=0.99)"
DOOR = "reward_envs/DoorKey-5x5-v0"


def play(env: Any, steps: int = 30) -> list[float]:
    env.reset(seed=1)
    env.action_space.seed(1)
    return [float(env.step(env.action_space.sample())[1]) for _ in range(steps)]


@pytest.mark.parametrize("name", IDS)
def test_every_id_makes_an_environment_with_a_card(name: str) -> None:
    env = gym.make(PREFIX + name)
    assert env.unwrapped.card.task
    if name == "Terminal-v0" and unavailable():
        pytest.skip(unavailable())
    assert set(env.reset(seed=0)[1]) >= {"is_success"}


def test_the_reward_keyword_pays_and_asks_for_hooks() -> None:
    env = gym.make(DOOR, reward=REWARD)
    _, info = env.reset(seed=0)
    assert "steps_to_go" in info
    _, paid, _, _, info = env.step(0)
    assert paid == pytest.approx(info["reward/task"] + info["reward/potential"])
    assert info["task_reward"] == 0.0


def test_the_spec_rebuilds_the_same_reward_single_and_vector() -> None:
    env = gym.make(DOOR, reward=REWARD)
    again = gym.make(env.spec)
    written = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert play(env) == play(again) == play(written)
    assert env.spec.kwargs["reward"] == REWARD
    envs = gym.make_vec(env.spec, num_envs=2, vectorization_mode="vector_entry_point")
    assert isinstance(envs, VectorRewardWrapper)


def test_make_vec_pays_what_make_pays() -> None:
    envs = gym.make_vec(DOOR, num_envs=3, reward=REWARD, vectorization_mode="vector_entry_point")
    envs.reset(seed=[5, 6, 7])
    singles = [gym.make(DOOR, reward=REWARD) for _ in range(3)]
    for i, env in enumerate(singles):
        env.reset(seed=5 + i)
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = rng.integers(0, 6, 3)
        paid = envs.step(actions)[1]
        alone = [env.step(a) for env, a in zip(singles, actions, strict=True)]
        if any(r[2] or r[3] for r in alone):
            break
        np.testing.assert_allclose(paid, [r[1] for r in alone])


def test_a_method_object_works_as_keyword() -> None:
    env = gym.make(DOOR, reward=Potential("steps_to_go"), gamma=0.9)
    assert np.isfinite(play(env)).all()


def test_other_peoples_ids_take_a_reward_by_wrapper() -> None:
    with pytest.raises(HookError, match="needs the hook 'steps_to_go'"):
        RewardWrapper(gym.make("CartPole-v1"), "potential(steps_to_go, gamma=0.99, d_max=5)").reset()
