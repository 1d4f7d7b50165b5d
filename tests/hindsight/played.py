"""Small goal tasks, and buffers filled with episodes that are written down."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv

from reward_envs.wrappers import HindsightReplayBuffer


class Mute(gym.Env[Any, Any]):
    """Has goals, and does not say what they pay."""

    _box = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    observation_space = spaces.Dict({"observation": _box, "achieved_goal": _box, "desired_goal": _box})
    action_space = spaces.Box(-2, 2, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return {n: np.zeros(1) for n in self.observation_space}, {}

    def step(self, action: Any) -> Any:
        return {n: np.zeros(1) for n in self.observation_space}, 0.0, False, False, {}


class Endless(Mute):
    """Does not say what they end."""

    near = 0.5

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        return (np.abs(achieved - desired)[..., 0] <= self.near).astype(np.float64)


class Line(Endless):
    """Goals are numbers."""

    ends = True

    def compute_terminated(self, achieved: Any, desired: Any, info: Any) -> Any:
        return (np.abs(achieved - desired)[..., 0] <= self.near) & self.ends


class BitFlip(gym.Env[Any, Any]):
    """Flip one of n bits a step; the goal is a row of bits (Andrychowicz et al. 2017, section 3.1)."""

    def __init__(self, bits: int = 6) -> None:
        goal = spaces.MultiBinary(bits)
        self.observation_space = spaces.Dict({"observation": goal, "achieved_goal": goal, "desired_goal": goal})
        self.action_space = spaces.Discrete(bits)
        self.bits = bits

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        return (achieved == desired).all(axis=-1).astype(np.float64)

    def compute_terminated(self, achieved: Any, desired: Any, info: Any) -> Any:
        return (achieved == desired).all(axis=-1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.now, self.goal = self.np_random.integers(0, 2, (2, self.bits), np.int8)
        self.t = 0
        return self._seen(), {}

    def _seen(self) -> Any:
        return {"observation": self.now.copy(), "achieved_goal": self.now.copy(), "desired_goal": self.goal.copy()}

    def step(self, action: Any) -> Any:
        self.now[action] ^= 1
        self.t += 1
        met = bool((self.now == self.goal).all())
        return self._seen(), float(met), met, self.t >= self.bits, {"is_success": met}


def buffer(size: int = 60, n: int = 1, cls: Any = HindsightReplayBuffer, make: Any = Line, **kwargs: Any) -> Any:
    venv = DummyVecEnv([make] * n)
    kwargs = {"seed": 0, **kwargs} if cls is HindsightReplayBuffer else kwargs
    return cls(size, venv.observation_space, venv.action_space, venv, device="cpu", n_envs=n, **kwargs)


def play(into: Any, lengths: list[list[int]], end: str = "truncated", steps: int | None = None) -> None:
    """Add episodes of these lengths, of each environment; states are 1000 env + 100 episode + step."""
    n = len(lengths)
    place = [(0, 0)] * n
    for _ in range(sum(lengths[0]) if steps is None else steps):
        obs, nxt = (np.zeros((n, 1)) for _ in range(2))
        done, infos = np.zeros(n, bool), []
        for env, (episode, step) in enumerate(place):
            obs[env] = 1000 * env + 100 * episode + step
            nxt[env] = obs[env] + 1
            over = step + 1 == lengths[env][episode]
            done[env] = over
            infos.append({"TimeLimit.truncated": bool(over and end == "truncated")})
            place[env] = (episode + 1, 0) if over else (episode, step + 1)
        goal = np.full((n, 1), -7.0)
        seen = {"observation": obs, "achieved_goal": obs, "desired_goal": goal}
        then = {"observation": nxt, "achieved_goal": nxt, "desired_goal": goal}
        into.add(seen, then, np.zeros((n, 1)), np.full(n, -1.0), done, infos)


def numbers(tensor: Any) -> Any:
    return tensor.numpy().reshape(len(tensor), -1)[:, 0]


def virtual(sample: Any) -> Any:
    return numbers(sample.observations["desired_goal"]) != -7.0
