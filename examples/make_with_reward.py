"""Make an environment that pays a reward method, and look at what is paid.

A potential pays at every step, yet it adds up to a constant: over an episode that terminates, its discounted sum is
-phi(s_0) whatever was done. The script plays two drivers and prints both numbers.

    python examples/make_with_reward.py --steps 600
"""

from __future__ import annotations

import argparse

import gymnasium as gym

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.wrappers import with_reward

GAMMA = 0.99


def drive(steps: int, patience: int) -> None:
    """Push where the car already goes, but do nothing in the first `patience` steps of an episode."""
    env = gym.make("reward_envs/MountainCar-v0", reward="task + potential(steps_to_go)", gamma=GAMMA)
    farthest = env.unwrapped.card.steps_to_go_max
    _, info = env.reset(seed=0)
    start, discounted, t = info["steps_to_go"], 0.0, 0
    for _ in range(steps):
        action = env.unwrapped.expert() if t >= patience else 1
        _, _, terminated, truncated, info = env.step(action)
        discounted += GAMMA**t * info["reward/potential"]
        t += 1
        if terminated or truncated:
            print(
                f"idle {patience:2}: {t:3} steps, the task paid {info['episode_task_return']:.0f}, the potential's "
                f"discounted sum is {discounted:.4f} and -phi(s_0) is {start / farthest:.4f}"
            )
            _, info = env.reset()
            start, discounted, t = info["steps_to_go"], 0.0, 0


def other_peoples_environment(steps: int) -> None:
    """Any Gymnasium environment takes a reward by a wrapper."""
    env = with_reward(gym.make("FrozenLake-v1", is_slippery=False), "task + 0.1*count", seed=0)
    env.reset(seed=0)
    env.action_space.seed(0)
    episodes = []
    for _ in range(steps):
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        if terminated or truncated:
            episodes.append((info["episode_task_return"], info["episode_reward/count"]))
            env.reset()
    for i, name in enumerate(("task", "0.1*count")):
        sums = [episode[i] for episode in episodes]
        print(f"FrozenLake, {name}: first episode {sums[0]:.3f}, mean of {len(sums)} {sum(sums) / len(sums):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600, help="environment steps of each part")
    wanted = parser.parse_args().steps
    drive(wanted, patience=0)
    drive(wanted, patience=20)
    other_peoples_environment(wanted)
