"""SAC of Stable-Baselines3 on an arm that is paid 1 at its goal and else nothing, with hindsight or without.

    python examples/binary_goals.py --steps 4000
    python examples/binary_goals.py --steps 4000 --goals 0
    python examples/binary_goals.py --steps 250000 --task Push

`--goals` is how many other goals each row is learnt for; 0 is SAC alone. Five times it prints the share of fresh
episodes that end at the goal.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
from stable_baselines3 import SAC
from stable_baselines3.common.evaluation import evaluate_policy

from reward_envs.registration import sb3_vec
from reward_envs.wrappers import HindsightReplayBuffer

WORLDS = {"Reach": 1, "Push": 8, "PickPlace": 8}
EVALUATIONS, EPISODES = 5, 20
SETTINGS = {
    "gamma": 0.95,
    "tau": 0.05,
    "learning_rate": 1e-3,
    "ent_coef": "auto_0.02",
    "train_freq": 1,
    "policy_kwargs": {"net_arch": [64, 64]},
    "device": "cpu",
}


def agent(task: str, goals: int, seed: int) -> SAC:
    """SAC, which learns from the goals that were asked for, or from others as well."""
    worlds = WORLDS[task]
    settings = SETTINGS | {"gradient_steps": worlds, "learning_starts": 500 * worlds}
    if goals:
        settings["replay_buffer_class"] = HindsightReplayBuffer
        settings["replay_buffer_kwargs"] = {"n_sampled_goal": goals}
    venv = sb3_vec(f"reward_envs/{task}-v0", worlds, seed=seed)
    return SAC("MultiInputPolicy", venv, seed=seed, **settings)


def success(model: SAC, env: gym.Env) -> float:
    """The share of episodes that end at the goal: there the task pays 1, and nothing elsewhere."""
    returns, _ = evaluate_policy(model, env, EPISODES, return_episode_rewards=True, warn=False)
    return sum(returns) / EPISODES


def train(task: str, goals: int, steps: int, seed: int = 0) -> None:
    model, env = agent(task, goals, seed), gym.make(f"reward_envs/{task}-v0")
    env.reset(seed=10_000 + seed)
    for part in range(EVALUATIONS):
        model.learn(steps // EVALUATIONS, reset_num_timesteps=not part)
        print(f"success_{model.num_timesteps} {success(model, env):.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=WORLDS, default="Reach")
    parser.add_argument("--goals", type=int, default=4)
    parser.add_argument("--steps", type=int, default=4_000)
    given = parser.parse_args()
    train(given.task, given.goals, given.steps)
