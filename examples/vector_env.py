"""A Gymnasium vector environment that pays a reward method, with every term of every environment.

The autoreset mode is stated, for the reward across an episode's end depends on it. In NEXT_STEP mode, Gymnasium's
default, the step after an end is spent on the reset: it is no transition, and pays 0 in every term.

    python examples/vector_env.py --steps 12
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from reward_envs.wrappers import with_reward

REWARD = "task + 0.1*count + potential((0, 1, 2, 3, 1, 0, 3, 0, 2, 3, 4, 0, 0, 4, 5, 6), gamma=0.99, scale=0.1)"


def main(steps: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> None:
    envs = SyncVectorEnv([lambda: gym.make("FrozenLake-v1", is_slippery=False)] * 3, autoreset_mode=mode)
    envs = with_reward(envs, REWARD, seed=0)
    terms = [term.label for term in envs.rewarder.method.terms]
    envs.reset(seed=0)
    envs.action_space.seed(0)
    print("step env state " + " ".join(f"{name:>9}" for name in terms) + "      paid")
    paid_in_all, dead = np.zeros(3), 0
    over = np.zeros(3, bool)
    for k in range(steps):
        states, paid, terminated, truncated, infos = envs.step(envs.action_space.sample())
        for i, state in enumerate(states):
            values = " ".join(f"{infos[f'reward/{name}'][i]:9.3f}" for name in terms)
            note = "  reset, no transition" if over[i] else "  end" if terminated[i] or truncated[i] else ""
            print(f"{k:4} {i:3} {state:5} {values} {paid[i]:9.3f}{note}")
        if "_episode_task_return" in infos:
            for i in np.flatnonzero(infos["_episode_task_return"]):
                print(f"         environment {i} ended with the task's return {infos['episode_task_return'][i]:.0f}")
        dead += int(over.sum())
        over = (terminated | truncated) & (mode is AutoresetMode.NEXT_STEP)
        paid_in_all += paid
    print(f"paid in all {paid_in_all.sum():.3f} in {3 * steps - dead} transitions and {dead} resets")
    envs.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12, help="steps of the vector of three")
    main(parser.parse_args().steps)
