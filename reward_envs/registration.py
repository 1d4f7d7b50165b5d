"""Ids of our environments: one row each, and the factories behind `gym.make` and `gym.make_vec`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

PREFIX = "reward_envs/"


@dataclass(frozen=True)
class Row:
    """An id's maker "module:function" under `reward_envs`, its fixed keywords, and the catalogue rows that it covers,
    each with the test of its property."""

    maker: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    covers: Mapping[int, str] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The folder that the maker lies in."""
        return self.maker.partition(".")[0]


IDS: dict[str, Row] = {
    "DoorKey-5x5-v0": Row("grid.doors:door_key", {"size": 5}),
    "DoorKey-6x6-v0": Row("grid.doors:door_key", {"size": 6}),
    "DoorKey-8x8-v0": Row("grid.doors:door_key", {"size": 8}),
    "MultiRoom-N2-S4-v0": Row("grid.doors:multi_room", {"rooms": 2, "size": 4}),
    "KeyCorridorS3R1-v0": Row("grid.doors:key_corridor", {"size": 3, "rows": 1}),
    "LavaCrossingS9N1-v0": Row("grid.doors:lava_crossing", {"size": 9, "crossings": 1}),
    "MountainCar-v0": Row("control.mountain_car:MountainCar"),
    "PointReach-v0": Row("control.point_reach:PointReach"),
}


def make(name: str, reward: Any = None, gamma: float | None = None, **kwargs: Any) -> gym.Env[Any, Any]:
    """The environment of a row, paying `reward` (a method or its text) where one is given.

    Parameters
    ----------
    name
        Id without the prefix.
    reward
        What to pay instead of the task's own reward; `gamma` is the learner's discount, for methods that need it.
    kwargs
        Of the task: `reward_mode`, `hooks`, `render_mode`.
    """
    row = IDS[name]
    module, _, function = row.maker.partition(":")
    env: gym.Env[Any, Any] = getattr(importlib.import_module(f"reward_envs.{module}"), function)(
        **{**row.kwargs, **kwargs}
    )
    return env if reward is None else _Made(_with_reward(env, reward, gamma))


def make_vec(name: str, num_envs: int = 1, reward: Any = None, gamma: float | None = None, **kwargs: Any) -> Any:
    """The same as a Gymnasium vector environment (`vectorization_mode="vector_entry_point"`)."""
    kwargs.pop("max_episode_steps", None)
    envs = gym.vector.SyncVectorEnv([lambda: make(name, **kwargs)] * num_envs)
    return envs if reward is None else _with_reward(envs, reward, gamma)


def _with_reward(env: Any, reward: Any, gamma: float | None) -> Any:
    from reward_envs.wrappers import with_reward

    return with_reward(env, reward, gamma=gamma)


class _Made(gym.Wrapper[Any, Any, Any, Any]):
    """Shows the id's own spec, which names the reward already; without it the reward would be recorded twice."""

    @property
    def spec(self) -> Any:  # type: ignore[override]
        return self.unwrapped.spec


def register() -> None:
    """Enter every row into Gymnasium's registry; runs when Gymnasium loads its plugins, and on import."""
    for name in IDS:
        if PREFIX + name not in gym.registry:
            gym.register(
                id=PREFIX + name,
                entry_point="reward_envs.registration:make",
                vector_entry_point="reward_envs.registration:make_vec",
                kwargs={"name": name},
            )
