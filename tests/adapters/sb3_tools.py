"""What the SB3 tests share: small methods of every kind, environments, and rows replayed without SB3."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch as th
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from reward_envs.wrappers import Batch, Masked, Scope, Spec, Task, function, sb3
from reward_envs.wrappers.adapters.sb3_rollout import RewardRolloutBuffer
from reward_envs.wrappers.core import Method
from tests.adapters.recording import batch_of
from tests.scripted import Scripted, walk

Maker = Callable[[], gym.Env[Any, Any]]


def keys(obs: Any, n: int) -> list[bytes]:
    arrays = list(obs.values()) if isinstance(obs, dict) else [obs]
    return [b"".join(np.ascontiguousarray(a[i]).tobytes() for a in arrays) for i in range(n)]


@dataclass(frozen=True, repr=False)
class Visits(Method):
    """Learns: 1 / sqrt(visits of s', this one included); equal rows of a batch count by rank."""

    def init(self, spec: Spec, rng: np.random.Generator) -> dict[bytes, int]:
        return {}

    def score(self, state: dict[bytes, int], carry: Any, batch: Batch) -> tuple[Any, Any]:
        here: dict[bytes, int] = {}
        out = np.empty(len(batch))
        for i, key in enumerate(keys(batch.next_obs, len(batch))):
            here[key] = here.get(key, 0) + 1
            out[i] = (state.get(key, 0) + here[key]) ** -0.5
        return out, None

    def learn(self, state: dict[bytes, int], batch: Batch, scores: Any) -> Mapping[str, float]:
        for key in keys(batch.next_obs, len(batch)):
            state[key] = state.get(key, 0) + 1
        return {"states": len(state)}


@dataclass(frozen=True, repr=False)
class Trained(Method):
    """Learns under the schedule: pays the number of learning steps so far, and keeps their sizes."""

    gradient: ClassVar[bool] = True

    def init(self, spec: Spec, rng: np.random.Generator) -> dict[str, list[int]]:
        return {"sizes": []}

    def score(self, state: dict[str, list[int]], carry: Any, batch: Batch) -> tuple[Any, Any]:
        return np.full(len(batch), float(len(state["sizes"]))), None

    def learn(self, state: dict[str, list[int]], batch: Batch, scores: Any) -> Mapping[str, float]:
        state["sizes"].append(len(batch))
        return {"loss": 0.5}


@dataclass(frozen=True, repr=False)
class Spread(Method):
    """Looks at its batch: the row's first number less the batch's mean."""

    own_scope: ClassVar[Scope] = Scope.BATCH

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Any, Any]:
        x = batch.next_obs.reshape(len(batch), -1)[:, 0].astype(np.float64)
        return x - x.mean(), None


@dataclass(frozen=True, repr=False)
class Share(Method):
    """Looks at whole episodes: every row gets the episode's task reward per step."""

    own_scope: ClassVar[Scope] = Scope.EPISODE

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Any, Any]:
        episodes = batch.episodes()
        sums = np.bincount(episodes.index, batch.reward, episodes.n)
        share = (sums / np.bincount(episodes.index, minlength=episodes.n))[episodes.index]
        return Masked(share, episodes.whole[episodes.index]), None


@dataclass(frozen=True, repr=False)
class NeedsGamma(Method):
    """Pays the discount that it was told."""

    def init(self, spec: Spec, rng: np.random.Generator) -> float:
        return spec.discount(None, self)

    def score(self, state: float, carry: Any, batch: Batch) -> tuple[Any, Any]:
        return np.full(len(batch), state), None


class Short(gym.Wrapper[Any, Any, Any, Any]):
    """Truncates by itself after `max_steps` steps, and pays an uneven reward."""

    def __init__(self, env: gym.Env[Any, Any], max_steps: int) -> None:
        super().__init__(env)
        self.max_steps = max_steps
        self._t = 0

    def reset(self, **kwargs: Any) -> Any:
        self._t = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._t += 1
        return obs, float(reward) + 0.1 * self._t, terminated, truncated or self._t >= self.max_steps, info


class AsDict(gym.ObservationWrapper[Any, Any, Any]):
    """The observation in a dict, with a Discrete entry beside it."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = gym.spaces.Dict({"x": env.observation_space, "sign": gym.spaces.Discrete(2)})

    def observation(self, observation: Any) -> Any:
        return {"x": observation, "sign": np.int64(np.sum(observation) > 0)}


def cartpole(max_steps: int = 7) -> gym.Env[Any, Any]:
    return Short(gym.make("CartPole-v1").unwrapped, max_steps)


def cartpole_dict() -> gym.Env[Any, Any]:
    return AsDict(cartpole())


def lake() -> gym.Env[Any, Any]:
    return gym.make("FrozenLake-v1", max_episode_steps=9)


def minigrid() -> gym.Env[Any, Any]:
    from minigrid.wrappers import ImgObsWrapper

    return gym.wrappers.TimeLimit(ImgObsWrapper(gym.make("MiniGrid-DoorKey-5x5-v0")), 12)


def pendulum() -> gym.Env[Any, Any]:
    return Short(gym.make("Pendulum-v1").unwrapped, 9)


def vector(make: Maker, n: int = 3) -> VecEnv:
    return DummyVecEnv([make] * n)


def replayed(make: Maker, actions: Sequence[Any], seed: int, hooks: tuple[str, ...] = ()) -> Batch:
    """The rows [T * n] of a run whose `actions` [T, n] are known, from single environments, with float32 rewards."""
    envs = [make() for _ in range(len(actions[0]))]
    now = [env.reset(seed=seed + i) for i, env in enumerate(envs)]
    t, episode, started, rows = [0] * len(envs), list(range(len(envs))), len(envs), []
    for step in actions:
        for i, env in enumerate(envs):
            obs, reward, terminated, truncated, info = env.step(step[i])
            rows.append(
                {
                    "obs": now[i][0],
                    "action": step[i],
                    "next_obs": obs,
                    "reward": np.float32(reward),
                    "terminated": terminated,
                    "truncated": truncated and not terminated,
                    "stream": i,
                    "t": t[i],
                    "episode": episode[i],
                    "info": now[i][1],
                    "next_info": info,
                }
            )
            now[i], t[i] = (obs, info), t[i] + 1
            if terminated or truncated:
                now[i] = env.reset()
                t[i], episode[i], started = 0, started, started + 1
    return batch_of(rows, hooks)


def rollout_by_hand(
    r_ext: list[float], r_int: list[float], beta: float, values: list[float], end: str, final_value: float, **gae: float
) -> RewardRolloutBuffer:
    """One episode through the real recorder and buffer, as SB3's collect_rollouts would do it."""
    n = len(r_ext)
    infos = [{"bonus": b} for b in [np.nan, *r_int]]
    env = Scripted([walk(list(range(n + 1)), end, rewards=r_ext, infos=infos)])
    method = Task() + beta * function(lambda bonus: bonus, reads=("bonus",), name="bonus")
    venv, kwargs = sb3(DummyVecEnv([lambda: env]), method, PPO)
    buffer = kwargs["rollout_buffer_class"](n, venv.observation_space, venv.action_space, device="cpu", **gae)
    obs, starts, dones = venv.reset(), np.ones(1, bool), np.zeros(1, bool)
    for value in values:
        next_obs, rewards, dones, infos = venv.step(np.zeros(1, int))
        if infos[0]["TimeLimit.truncated"]:
            rewards[0] += gae["gamma"] * th.tensor([final_value])
        buffer.add(obs, np.zeros(1, int), rewards, starts, th.tensor([value]), th.zeros(1))
        obs, starts = next_obs, dones
    buffer.compute_returns_and_advantage(th.tensor([99.0]), dones)
    return buffer


def parameters(model: Any) -> list[Any]:
    return [p.detach().clone() for p in model.policy.parameters()]


def assert_same_parameters(a: Any, b: Any) -> None:
    for x, y in zip(parameters(a), parameters(b), strict=True):
        assert th.equal(x, y)
