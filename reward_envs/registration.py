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
    """An id's maker "module:function" under `reward_envs`, its fixed keywords, the maker of a vector where it has a
    faster one than a loop, the catalogue rows that it covers, each with the test of its property, and whether steps may
    pay NaN for unseen, which Gymnasium's checker takes for a fault."""

    maker: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    vector: str = ""
    covers: Mapping[int, str] = field(default_factory=dict)
    unseen: bool = False

    @property
    def family(self) -> str:
        """The folder that the maker lies in."""
        return self.maker.partition(".")[0]


# Those of `grid.tasks.TASKS`, written out, since Gymnasium enters them when it is imported and nobody wants to wait.
_GRID = """
    Empty-5x5 Empty-6x6 Empty-8x8 Empty-16x16 Empty-Random-5x5 Empty-Random-6x6 FourRooms
    DoorKey-5x5 DoorKey-6x6 DoorKey-8x8 DoorKey-16x16 MultiRoom-N2-S4 MultiRoom-N4-S5 MultiRoom-N6
    LavaCrossingS9N1 LavaCrossingS9N2 LavaCrossingS9N3 LavaCrossingS11N5
    SimpleCrossingS9N1 SimpleCrossingS9N2 SimpleCrossingS9N3 SimpleCrossingS11N5
    LavaGapS5 LavaGapS6 LavaGapS7 DistShift1 DistShift2 LockedRoom
    Unlock UnlockPickup BlockedUnlockPickup
    KeyCorridorS3R1 KeyCorridorS3R2 KeyCorridorS3R3 KeyCorridorS4R3 KeyCorridorS5R3 KeyCorridorS6R3
    ObstructedMaze-1Dl ObstructedMaze-1Dlh ObstructedMaze-1Dlhb ObstructedMaze-2Dl ObstructedMaze-2Dlh
    ObstructedMaze-2Dlhb ObstructedMaze-1Q ObstructedMaze-2Q ObstructedMaze-Full
    GoToDoor-5x5 GoToDoor-6x6 GoToDoor-8x8 GoToObject-6x6-N2 GoToObject-8x8-N2
    Fetch-5x5-N2 Fetch-6x6-N2 Fetch-8x8-N3 PutNear-6x6-N2 PutNear-8x8-N3 RedBlueDoors-6x6 RedBlueDoors-8x8
    MemoryS7 MemoryS9 MemoryS11 MemoryS13 MemoryS13Random MemoryS17Random
    Dynamic-Obstacles-5x5 Dynamic-Obstacles-6x6 Dynamic-Obstacles-8x8 Dynamic-Obstacles-16x16
    Dynamic-Obstacles-Random-5x5 Dynamic-Obstacles-Random-6x6
    Maze Maze-Large Maze-Detour Maze-Shortcut NoisyTV Layout
"""
_MONITORED: dict[str, dict[int, str]] = {
    "Monitored": {45: "tests/grid/test_monitored.py::test_what_an_agent_makes_of_an_unseen_reward"},
    "Monitored-Random": {},
    "Monitored-Area": {},
}


def _grid(name: str, **more: Any) -> Row:
    return Row("grid.tasks:grid_env", {"task": f"{name}-v0"}, "grid.tasks:grid_vector", **more)


_CONTROL = """
    PointReach CartPoleSwingUp Reach Push PickPlace
    PointMaze-UMaze PointMaze-Medium PointMaze-Large AntMaze-UMaze AntMaze-Medium
"""  # those of control.tasks.TASKS


def _control(name: str, **more: Any) -> Row:
    return Row("control.tasks:control_env", {"task": f"{name}-v0"}, "control.tasks:control_vector", **more)


_TERMINAL = {
    134: "tests/text/terminal/test_packs.py::test_the_property_of_graded_long_work",
    204: "tests/text/terminal/test_packs.py::test_the_property_of_cues_and_distractors",
}

IDS: dict[str, Row] = {
    **{f"{n}-v0": _grid(n) for n in _GRID.split()},
    **{f"{n}-v0": _grid(n, covers=covers, unseen=True) for n, covers in _MONITORED.items()},
    "MountainCar-v0": Row("control.mountain_car:MountainCar"),
    **{f"{n}-v0": _control(n) for n in _CONTROL.split()},
    "Tools-v0": Row(
        "text.tools:tools_env",
        vector="text.tools:tools_vector",
        covers={26: "tests/text/test_components.py::test_values_invariances_and_depth"},
    ),
    "Terminal-v0": Row("text.terminal:terminal_env", vector="text.terminal:terminal_vector", covers=_TERMINAL),
}


def engine_of(env_id: str) -> str:
    """The family whose engine moves an id's worlds together, "grid" or "control"; "" where none does."""
    row = IDS.get(env_id.removeprefix(PREFIX)) if env_id.startswith(PREFIX) else None
    return row.family if row is not None and row.vector else ""


def sb3_vec(env_id: str, n: int, **kwargs: Any) -> Any:
    """N worlds of an id that has an engine as a vector environment of Stable-Baselines3, moved together.

    Parameters
    ----------
    env_id
        Such as "reward_envs/PointReach-v0".
    n
        Number of worlds.
    kwargs
        Of the task, and of the family's class, `grid.sb3.GridVecEnv` or `control.sb3.ControlVecEnv`.

    Raises ValueError where no engine moves the id.
    """
    family = engine_of(env_id)
    if not family:
        raise ValueError(f"no engine moves {env_id!r}: take stable_baselines3.common.env_util.make_vec_env.")
    return _maker(f"{family}:sb3_vec")(env_id, n, **kwargs)


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
    env: gym.Env[Any, Any] = _maker(row.maker)(**{**row.kwargs, **kwargs})
    return env if reward is None else _Made(_with_reward(env, reward, gamma))


def make_vec(name: str, num_envs: int = 1, reward: Any = None, gamma: float | None = None, **kwargs: Any) -> Any:
    """The same as a Gymnasium vector environment, which `gym.make_vec` takes by default.

    Parameters
    ----------
    name, reward, gamma
        As of `make`.
    num_envs
        How many.
    kwargs
        Of the task, and `autoreset_mode` (an `AutoresetMode` or its value, by default NEXT_STEP).
    """
    kwargs.pop("max_episode_steps", None)
    row = IDS[name]
    if row.vector:
        envs = _maker(row.vector)(num_envs=num_envs, **{**row.kwargs, **kwargs})
    else:
        mode = kwargs.pop("autoreset_mode", gym.vector.AutoresetMode.NEXT_STEP)
        envs = gym.vector.SyncVectorEnv([lambda: make(name, **kwargs)] * num_envs, autoreset_mode=mode)
    return envs if reward is None else _with_reward(envs, reward, gamma)


def _maker(path: str) -> Any:
    module, _, function = path.partition(":")
    return getattr(importlib.import_module(f"reward_envs.{module}"), function)


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
    for name, row in IDS.items():
        if PREFIX + name not in gym.registry:
            gym.register(
                id=PREFIX + name,
                entry_point="reward_envs.registration:make",
                vector_entry_point="reward_envs.registration:make_vec",
                kwargs={"name": name},
                disable_env_checker=row.unseen,
            )
