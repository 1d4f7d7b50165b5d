"""PPO of Stable-Baselines3 on a sparse task, with and without a potential, judged by the task's own reward.

    python examples/sb3_shaped.py --steps 10000

DoorKey: take the key, open the door, go to the goal; paid at the goal only. The potential is minus the exact number of
steps to go. One seed shows how it is done, not which reward is better: for that there is `reward-envs compare`.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
from gymnasium.wrappers import FlattenObservation
from minigrid.wrappers import ImgObsWrapper
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import reward_envs
from reward_envs.wrappers import TrueRewardEvalCallback, sb3

N_ENVS = 8
REWARDS = {"task": "task", "shaped": "task + potential(steps_to_go)"}
TASK = f"{reward_envs.__name__}/DoorKey-5x5-v0"
SETTINGS = {"n_steps": 128, "batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3, "ent_coef": 0.01}


def make() -> gym.Env:
    """The bare task, of which the agent sees the flattened image of its partial view."""
    return FlattenObservation(ImgObsWrapper(gym.make(TASK)))


def train(reward: str, steps: int, seed: int = 0) -> dict[str, float]:
    """What the agent earns of the task's own reward, at best and at the end; what each term paid at last."""
    venv, kwargs = sb3(make_vec_env(make, N_ENVS, seed=seed), reward, PPO, gamma=0.99, seed=seed)
    model = PPO("MlpPolicy", venv, seed=seed, device="cpu", **SETTINGS, **kwargs)
    bare = make_vec_env(make, N_ENVS, seed=seed + 1)
    evaluation = TrueRewardEvalCallback(
        bare, eval_freq=max(1, steps // N_ENVS // 2), n_eval_episodes=8, deterministic=False
    )
    model.learn(steps, callback=evaluation)
    earned = {"best_task_return": evaluation.best_mean_reward, "last_task_return": evaluation.last_mean_reward}
    return earned | {f"last_{name}_a_step": values.mean() for name, values in model.rollout_buffer.terms.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000, help="environment steps of each training")
    wanted = parser.parse_args().steps
    for name, reward in REWARDS.items():
        for key, value in train(reward, wanted).items():
            print(f"{name}_{key} {value:.3f}")
