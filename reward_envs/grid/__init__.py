"""Gridworlds: MiniGrid's tasks on an engine of our own, and tasks that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reward_envs.grid.sb3 import GridVecEnv


def sb3_vec(env_id: str, n: int, **kwargs: Any) -> GridVecEnv:
    """N worlds of a gridworld task as a vector environment of Stable-Baselines3, without copies.

    Parameters
    ----------
    env_id
        Such as "reward_envs/DoorKey-8x8-v0".
    n
        Number of worlds.
    kwargs
        Of the task, such as the `layout` of "reward_envs/Layout-v0", and of `GridVecEnv`: seed, view_size, full_view,
        reward_mode, hooks.

    Raises ValueError where the id is no gridworld task.

    >>> from reward_envs.grid import sb3_vec
    >>> venv = sb3_vec("reward_envs/DoorKey-8x8-v0", 16, seed=0)
    >>> venv.reset().shape
    (16, 147)
    """
    from reward_envs.grid.more import asked
    from reward_envs.grid.sb3 import GridVecEnv
    from reward_envs.grid.tasks import TASKS

    name = env_id.removeprefix("reward_envs/")
    if name not in TASKS:
        raise ValueError(f"{env_id!r} is no gridworld task; reward-envs list names them.")
    return GridVecEnv(asked(TASKS, name, kwargs), n, **kwargs)
