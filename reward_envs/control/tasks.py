"""All control tasks on the engine by id without prefix, and what `gym.make` and `gym.make_vec` make of them."""

from __future__ import annotations

from typing import Any

from reward_envs.control.ant import AntMazeMedium, AntMazeUMaze
from reward_envs.control.arm import PickPlace, Push, Reach
from reward_envs.control.cartpole import CartPoleSwingUp
from reward_envs.control.env import ControlEnv, ControlVector
from reward_envs.control.mazes import PointMazeLarge, PointMazeMedium, PointMazeUMaze
from reward_envs.control.point_reach import PointReach
from reward_envs.control.task import ControlTask

TASKS: dict[str, type[ControlTask]] = {
    "PointReach-v0": PointReach,
    "CartPoleSwingUp-v0": CartPoleSwingUp,
    "Reach-v0": Reach,
    "Push-v0": Push,
    "PickPlace-v0": PickPlace,
    "PointMaze-UMaze-v0": PointMazeUMaze,
    "PointMaze-Medium-v0": PointMazeMedium,
    "PointMaze-Large-v0": PointMazeLarge,
    "AntMaze-UMaze-v0": AntMazeUMaze,
    "AntMaze-Medium-v0": AntMazeMedium,
}
_OF_ENVIRONMENTS = ("hooks", "render_mode", "autoreset_mode", "threads", "seed")


def asked(task: str, kwargs: dict[str, Any]) -> ControlTask:
    """The task, with those of the keywords that are its own, which leave `kwargs`."""
    own = {name: kwargs.pop(name) for name in list(kwargs) if name not in _OF_ENVIRONMENTS}
    return TASKS[task](**own)


def control_env(task: str, **kwargs: Any) -> ControlEnv:
    """A single environment; `kwargs` of the task and of `ControlEnv`."""
    return ControlEnv(asked(task, kwargs), **kwargs)


def control_vector(task: str, num_envs: int, **kwargs: Any) -> ControlVector:
    """A vector environment; `kwargs` of the task and of `ControlVector`."""
    return ControlVector(asked(task, kwargs), num_envs, **kwargs)
