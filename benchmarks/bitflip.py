"""Does hindsight learn what is not learnt without it: DQN on bit-flipping, with our buffer, SB3's, and none.

    PYTHONPATH=. python benchmarks/bitflip.py [--bits 8] [--steps 6000] [--seeds 3]

n bits begin at random, an action flips one, the goal is another row of bits, and an episode has n steps (Andrychowicz
et al. 2017, section 3.1). Reward 1 at the goal, which ends the episode, else 0. Printed is the success of the greedy
policy in 200 episodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import _common as common

common.set_threads(1)

import gymnasium as gym
import numpy as np
import torch
from grid_turns import table
from stable_baselines3 import DQN, HerReplayBuffer

from reward_envs.wrappers import HindsightReplayBuffer


class BitFlip(gym.Env[Any, Any]):
    """The task, with goals that are rows of bits."""

    def __init__(self, bits: int) -> None:
        row = gym.spaces.MultiBinary(bits)
        self.observation_space = gym.spaces.Dict({"observation": row, "achieved_goal": row, "desired_goal": row})
        self.action_space = gym.spaces.Discrete(bits)
        self.bits = bits

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        return self.compute_terminated(achieved, desired, info).astype(np.float64)

    def compute_terminated(self, achieved: Any, desired: Any, info: Any) -> Any:
        return (achieved == desired).all(axis=-1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.now, self.goal = self.np_random.integers(0, 2, (2, self.bits), np.int8)
        self.t = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.now[action] ^= 1
        self.t += 1
        met = bool(self.compute_terminated(self.now, self.goal, {}))
        return self._seen(), float(met), met, self.t == self.bits, {"is_success": met}

    def _seen(self) -> dict[str, Any]:
        return {"observation": self.now.copy(), "achieved_goal": self.now.copy(), "desired_goal": self.goal.copy()}


def success(model: DQN, bits: int, episodes: int = 200) -> float:
    env, met = BitFlip(bits), 0
    for seed in range(episodes):
        seen, over, info = env.reset(seed=10_000 + seed)[0], False, {}
        while not over:
            seen, _, terminated, truncated, info = env.step(int(model.predict(seen, deterministic=True)[0]))
            over = terminated or truncated
        met += info["is_success"]
    return met / episodes


def learn(bits: int, steps: int, seed: int, buffer: Any) -> tuple[float, float]:
    """Success in the end, and seconds of CPU."""
    begun = time.process_time()
    model = DQN(
        "MultiInputPolicy",
        BitFlip(bits),
        replay_buffer_class=buffer,
        learning_rate=1e-3,
        buffer_size=100_000,
        learning_starts=500,
        batch_size=128,
        gamma=0.95,
        train_freq=1,
        target_update_interval=200,
        exploration_fraction=0.3,
        exploration_final_eps=0.1,
        policy_kwargs={"net_arch": [128]},
        device="cpu",
        seed=seed,
    ).learn(steps)
    return success(model, bits), time.process_time() - begun


BUFFERS = {"HindsightReplayBuffer": HindsightReplayBuffer, "HerReplayBuffer": HerReplayBuffer, "no hindsight": None}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=int, default=8)
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name, buffer in BUFFERS.items():
        runs = [learn(asked.bits, asked.steps, seed, buffer) for seed in range(asked.seeds)]
        reached = ", ".join(f"{s:.0%}" for s, _ in runs)
        rows.append((name, reached, float(np.median([t for _, t in runs]))))
    table(f"{asked.bits} bits, {asked.steps:,} steps", ("buffer", "success of each seed", "seconds of CPU a run"), rows)
