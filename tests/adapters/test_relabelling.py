"""Goal environments under a reward method: SB3's hindsight would mix two rewards, and is told so."""

from __future__ import annotations

import gymnasium as gym
import pytest
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.env_util import make_vec_env

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.wrappers import HindsightReplayBuffer, RewardError, sb3, with_reward

ID = "reward_envs/PointReach-v0"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda: make_vec_env(ID, 1, env_kwargs={"reward": "task + 0.1*count"}),
        lambda: with_reward(make_vec_env(ID, 1), "task + 0.1*count"),
        lambda: sb3(make_vec_env(ID, 1), "task + 0.1*count", SAC)[0],
    ],
)
@pytest.mark.parametrize("buffer", [HerReplayBuffer, HindsightReplayBuffer])
@pytest.mark.filterwarnings("ignore:.*no buffer asked")
def test_hindsight_on_the_task_alone_is_refused(wrap, buffer) -> None:
    said = "relabelled rows would get the task's bare reward|make the model with the kwargs"
    with pytest.raises(RewardError, match=said):
        model(wrap(), buffer).learn(60)


@pytest.mark.parametrize("buffer", [HerReplayBuffer, HindsightReplayBuffer])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda: make_vec_env(ID, 1, env_kwargs={"reward": "task"}),
        lambda: with_reward(make_vec_env(ID, 1), "task"),
    ],
)
def test_under_the_task_alone_it_is_right(wrap, buffer) -> None:
    """One rule pays the played rows and the relabelled ones."""
    sample = model(wrap(), buffer).learn(60).replay_buffer.sample(400)
    near = (sample.next_observations["achieved_goal"] - sample.observations["desired_goal"]).norm(dim=1) <= 0.1
    assert near.any() and (sample.rewards[:, 0] == near).all()


def test_zeros_that_another_buffer_should_score_are_refused_at_once() -> None:
    venv, _ = sb3(make_vec_env(ID, 1), "task", SAC)
    with pytest.raises(RewardError, match="make the model with the kwargs"):
        model(venv, HindsightReplayBuffer).learn(1)


def model(venv, buffer) -> SAC:
    small = {"learning_starts": 55, "policy_kwargs": {"net_arch": [8]}, "seed": 0}
    return SAC("MultiInputPolicy", venv, replay_buffer_class=buffer, device="cpu", **small)


def test_environments_without_goals_get_no_compute_reward() -> None:
    env = with_reward(gym.make("CartPole-v1"), "task")
    assert not env.has_wrapper_attr("compute_reward")
    assert with_reward(gym.make(ID), "task").has_wrapper_attr("compute_reward")
