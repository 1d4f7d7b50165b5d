"""PPO of Stable-Baselines3 on a sparse task, with and without a potential, judged by the task's own reward.

The task is FrozenLake 8x8 without slipping: 1 at the goal, 0 elsewhere, ten holes. The potential grows towards the goal.
One seed shows how it is done, not which reward is better: for that there is `reward-envs compare`.

    python examples/sb3_shaped.py --steps 40000
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from reward_envs.wrappers import TrueRewardEvalCallback, sb3

SIDE, N_ENVS = 8, 8
PHI = tuple(
    round((s // SIDE + s % SIDE) / (2 * SIDE - 2), 3) for s in range(SIDE * SIDE)
)  # 0 at the start, 1 at the goal
REWARDS = {"task": "task", "shaped": f"task + potential({PHI}, scale=0.5)"}
TASK = {"map_name": "8x8", "is_slippery": False}


def train(reward: str, steps: int, seed: int) -> None:
    """Train, and print the success rate on the bare task four times, and what the terms paid at last."""
    venv = make_vec_env("FrozenLake-v1", N_ENVS, seed=seed, env_kwargs=TASK)
    venv, kwargs = sb3(venv, reward, PPO, gamma=0.99, seed=seed)  # the buffer and gamma are in kwargs
    settings = {"n_steps": 64, "batch_size": 128, "n_epochs": 4, "learning_rate": 2e-3, "ent_coef": 0.02}
    model = PPO("MlpPolicy", venv, **settings, device="cpu", seed=seed, **kwargs)
    evaluation = TrueRewardEvalCallback(
        gym.make("FrozenLake-v1", **TASK),
        eval_freq=max(steps // N_ENVS // 4, 1),
        n_eval_episodes=10,
        deterministic=False,
    )
    for _ in range(4):
        model.learn(steps // 4, callback=evaluation, reset_num_timesteps=False)
        print(f"  {model.num_timesteps:6} steps: success rate {evaluation.last_mean_reward:.1f}")
    for name, values in model.rollout_buffer.terms.items():
        print(f"  {name} in the last rollout: {values.mean():+.4f} a step")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12_000, help="environment steps of each training")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)  # faster for small networks
    for name, reward in REWARDS.items():
        print(f"trained on {name}")
        train(reward, given.steps, given.seed)
