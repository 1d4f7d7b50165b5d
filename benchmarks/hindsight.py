"""What a sample and a step of hindsight cost: HindsightReplayBuffer beside SB3's HerReplayBuffer, on the same rows.

    PYTHONPATH=. python benchmarks/hindsight.py [--sizes N ...] [--batches B ...] [--seconds S] [--repeats R]

Rows have the shapes of FetchReach (10 + 3 + 3 numbers, 4 actions), episodes 50 steps, k = 4, strategy future. A sample
ends as torch tensors. The reward is numpy on many rows, or compiled (`compute_goal`). The buffers take turns,
so that a busy machine slows all of them alike; figures are medians, in microseconds of CPU on one thread.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import _common as common

common.set_threads(1)

import gymnasium as gym
import numpy as np
import torch
from grid_turns import Turns, table
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv

from reward_envs.kernels.goals import distances
from reward_envs.wrappers import HindsightReplayBuffer

LENGTH = 50  # of an episode


class Reach(gym.Env[Any, Any]):
    """FetchReach's spaces and reward without its physics; it never terminates."""

    observation_space = gym.spaces.Dict(
        {
            name: gym.spaces.Box(-np.inf, np.inf, (n,), np.float64)
            for name, n in (("observation", 10), ("achieved_goal", 3), ("desired_goal", 3))
        }
    )
    action_space = gym.spaces.Box(-1, 1, (4,), np.float32)

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        return -(np.linalg.norm(achieved - desired, axis=-1) > 0.05).astype(np.float32)


class Ends(Reach):
    """It ends where it is reached, so termination is asked for too."""

    def compute_terminated(self, achieved: Any, desired: Any, info: Any) -> Any:
        return np.linalg.norm(achieved - desired, axis=-1) <= 0.05


class Compiled(Reach):
    """Both at once, by a kernel."""

    def compute_goal(self, achieved: Any, desired: Any, info: Any) -> tuple[Any, Any]:
        far = np.empty(len(achieved))
        distances(achieved, desired, far)
        near = far <= 0.05
        return near - 1.0, near


KINDS: dict[str, tuple[type[HerReplayBuffer], type[Reach]]] = {
    "SB3": (HerReplayBuffer, Reach),
    "ours, numpy": (HindsightReplayBuffer, Reach),
    "ours, numpy, ends": (HindsightReplayBuffer, Ends),
    "ours, compiled, ends": (HindsightReplayBuffer, Compiled),
}


def empty(kind: str, size: int, n: int = 1) -> Any:
    cls, task = KINDS[kind]
    venv = DummyVecEnv([task] * n)
    return cls(size, venv.observation_space, venv.action_space, venv, device="cpu", n_envs=n)


def full(kind: str, size: int, n: int = 1) -> Any:
    """A buffer of whole episodes, written into its arrays: `add` would take a minute."""
    buffer, rng = empty(kind, size, n), np.random.default_rng(0)
    for arrays in (buffer.observations, buffer.next_observations):
        for array in arrays.values():
            array[:] = rng.normal(size=array.shape) * 0.1
    buffer.actions[:] = rng.uniform(-1, 1, buffer.actions.shape)
    buffer.rewards[:] = -1
    buffer.ep_start[:] = np.arange(size // n)[:, None] // LENGTH * LENGTH
    buffer.ep_length[:] = LENGTH
    buffer.full = True
    if isinstance(buffer, HindsightReplayBuffer):
        buffer._valid = size
    return buffer


def sample_play(buffer: Any, batch: int) -> Any:
    def play(steps: int) -> None:
        for _ in range(steps):
            buffer.sample(batch)

    return play, batch


def add_play(buffer: Any) -> Any:
    n, rng = buffer.n_envs, np.random.default_rng(0)
    path = {key: rng.normal(size=(LENGTH + 1, n, *s.shape)) for key, s in Reach.observation_space.spaces.items()}
    path["desired_goal"][:] = 0.0
    seen = [{key: values[t] for key, values in path.items()} for t in range(LENGTH + 1)]
    action, reward = np.zeros((n, 4), np.float32), np.full(n, -1.0, np.float32)
    dones = [np.full(n, t + 1 == LENGTH) for t in range(LENGTH)]
    infos: list[dict[str, Any]] = [{"is_success": 0.0, "TimeLimit.truncated": False} for _ in range(n)]

    def play(steps: int) -> None:
        for step in range(steps):
            t = step % LENGTH
            buffer.add(seen[t], seen[t + 1], action, reward, dones[t], infos)

    return play, 1


def samples(turns: Turns, sizes: list[int], batches: list[int]) -> None:
    rows = []
    for size in sizes:
        buffers = {kind: full(kind, size) for kind in KINDS}
        for batch in batches:
            cost = turns({kind: sample_play(buffer, batch) for kind, buffer in buffers.items()})
            theirs = cost["SB3"].cpu
            rows += [(size, batch, kind, c.cpu, theirs / c.cpu) for kind, c in cost.items()]
    table("Samples", ("buffer", "batch", "which", "us CPU a row", "times as fast as SB3"), rows)


def several(turns: Turns, size: int, batch: int) -> None:
    """Eight environments: SB3 asks the first about all rows, ours each about its own, or one that is alike."""
    buffers = {kind: full(kind, size, 8) for kind in KINDS}
    alike = full("ours, numpy", size, 8)
    alike.env.alike = True
    cost = turns({kind: sample_play(b, batch) for kind, b in {**buffers, "ours, numpy, alike": alike}.items()})
    rows = [(kind, c.cpu, cost["SB3"].cpu / c.cpu) for kind, c in cost.items()]
    title = f"Samples of {batch} from {size:,} rows of 8 environments"
    table(title, ("which", "us CPU a row", "times as fast as SB3"), rows)


def adds(turns: Turns) -> None:
    rows = []
    for n in (1, 8):
        both = {kind: add_play(empty(kind, 100_000, n)) for kind in ("SB3", "ours, numpy")}
        cost = turns(both)
        rows += [(n, kind, c.cpu, c.cpu / cost["SB3"].cpu) for kind, c in cost.items()]
    table("Adding a step", ("environments", "which", "us CPU", "ratio to SB3"), rows)


def memory() -> None:
    """Bytes of what is held for a row: arrays, and the info dict that SB3 keeps even where nothing is copied."""
    rows = []
    for kind in ("SB3", "ours, numpy"):
        buffer = empty(kind, 10_000)
        if isinstance(buffer, HindsightReplayBuffer):
            held = buffer._table.nbytes
        else:
            arrays = [*buffer.observations.values(), *buffer.next_observations.values(), buffer.actions, buffer.rewards]
            arrays += [buffer.dones, buffer.timeouts, buffer.ep_start, buffer.ep_length, buffer.infos]
            held = sum(a.nbytes for a in arrays) + sum(sys.getsizeof(info) for info in buffer.infos.flat)
        rows.append((kind, held / 10_000))
    table("Memory", ("which", "bytes a row"), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 2048])
    parser.add_argument("--seconds", type=float, default=0.4, help="CPU of a timed stretch")
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    timed = Turns(asked.seconds, asked.repeats)
    memory()
    adds(timed)
    samples(timed, asked.sizes, asked.batches)
    several(timed, asked.sizes[0] // 400 * 400, asked.batches[0])
