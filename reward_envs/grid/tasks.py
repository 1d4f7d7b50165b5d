"""All gridworld tasks by id without prefix, and what `gym.make` and `gym.make_vec` make of them."""

from __future__ import annotations

from typing import Any

from reward_envs.grid.env import GridEnv, GridVector
from reward_envs.grid.fields import FIELDS
from reward_envs.grid.more import MORE, asked
from reward_envs.grid.objects import OBJECTS
from reward_envs.grid.rooms import ROOMS
from reward_envs.grid.spec import GridSpec

TASKS: dict[str, GridSpec] = {**FIELDS, **ROOMS, **OBJECTS, **MORE}


def grid_env(task: str, **kwargs: Any) -> GridEnv:
    """A single environment; `kwargs` of the task, as `grid.more.KEYWORDS` has them, and of `GridEnv`."""
    return GridEnv(asked(TASKS, task, kwargs), **kwargs)


def grid_vector(task: str, num_envs: int, **kwargs: Any) -> GridVector:
    """A vector environment; `kwargs` of the task, as `grid.more.KEYWORDS` has them, and of `GridVector`."""
    return GridVector(asked(TASKS, task, kwargs), num_envs, **kwargs)
