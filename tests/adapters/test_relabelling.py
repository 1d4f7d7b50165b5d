"""Goal environments under a reward method: SB3's hindsight would mix two rewards, and is told so."""

from __future__ import annotations

import gymnasium as gym
import pytest
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.env_util import make_vec_env

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.wrappers import RewardError, sb3, with_reward

ID = "reward_envs/PointReach-v0"


@pytest.mark.parametrize(
    "wrap",
    [
        lambda: make_vec_env(ID, 1, env_kwargs={"reward": "task + 0.1*count"}),
        lambda: with_reward(make_vec_env(ID, 1), "task + 0.1*count"),
        lambda: sb3(make_vec_env(ID, 1), "task + 0.1*count", SAC)[0],
    ],
)
@pytest.mark.filterwarnings("ignore:.*no buffer asked")
def test_hindsight_of_sb3_is_refused(wrap) -> None:
    model = SAC("MultiInputPolicy", wrap(), replay_buffer_class=HerReplayBuffer, learning_starts=60, device="cpu")
    with pytest.raises(RewardError, match="relabelled rows would get the task's bare reward"):
        model.learn(120)


def test_environments_without_goals_get_no_compute_reward() -> None:
    env = with_reward(gym.make("CartPole-v1"), "task")
    assert not env.has_wrapper_attr("compute_reward")
    assert with_reward(gym.make(ID), "task").has_wrapper_attr("compute_reward")
