"""Record FrozenLake with random play, then score the same rows with other rewards.

    python examples/offline_relabel.py --steps 4000

Prints what random play earns, and what each reward pays for the same rows.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import numpy as np

from reward_envs.wrappers import Batch, Spec, relabel

GAMMA = 0.95


def record(steps: int, seed: int) -> tuple[Batch, Spec]:
    """Rows of random play, and what methods are told of the place."""
    env = gym.make("FrozenLake-v1", is_slippery=False)
    env.action_space.seed(seed)
    names = ("obs", "action", "next_obs", "reward", "terminated", "truncated")
    rows: dict[str, list[object]] = {name: [] for name in names}
    obs, _ = env.reset(seed=seed)
    for _ in range(steps):
        action = env.action_space.sample()
        after, reward, terminated, truncated, _ = env.step(action)
        for name, value in zip(names, (obs, action, after, reward, terminated, truncated), strict=True):
            rows[name].append(value)
        obs = env.reset()[0] if terminated or truncated else after
    return Batch.of(**rows), Spec(env.observation_space, env.action_space, GAMMA, max_steps=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    batch, spec = record(args.steps, args.seed)
    print(f"rows {len(batch)}")
    print(f"episodes {int(batch.ended.sum())}")
    print(f"task_return {batch.reward.sum():g}")

    # Step methods. The potential's discounted sum over an episode that terminates is -phi(s_0), here 0.
    phi = tuple(float(cell // 4 + cell % 4) for cell in range(16))
    shaped = relabel(batch, f"task + potential({phi})", spec=spec).terms["potential"]
    print(f"potential_nonzero_share {np.mean(shaped != 0):.3f}")
    print(f"potential_of_terminated_episodes {np.abs(discounted_sums(batch, shaped)).max():.6f}")
    print(f"count_mean {relabel(batch, 'task + count', spec=spec).terms['count'].mean():.4f}")

    # An episode method: the return in equal shares. Rows of the last, open episode have no value.
    shares = relabel(batch, "uniform", spec=spec)
    print(f"uniform_known {int(shares.known.sum())}")
    print(f"uniform_return {np.nansum(shares.values):.6f}")
    print(f"uniform_nonzero_share {np.mean(shares.values[shares.known] != 0):.3f}")

    # A group method: how far an episode lies above the others of its task; one number for each row of an episode.
    advantage = relabel(batch, "group_normalise", spec=spec)
    won = np.isin(batch.episode, batch.episode[batch.reward > 0])
    print(f"advantage_of_successes {advantage.values[won].mean():.3f}")
    print(f"advantage_of_failures {np.nanmean(advantage.values[~won]):.3f}")


def discounted_sums(batch: Batch, values: np.ndarray) -> np.ndarray:
    """The discounted sum of each episode that terminated."""
    sums = np.bincount(batch.episode, values * GAMMA**batch.t)
    return sums[batch.episode[batch.terminated]]


if __name__ == "__main__":
    main()
