"""Control: sparse tasks on MuJoCo, moved by its rollout one or many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reward_envs.control.sb3 import ControlVecEnv


def sb3_vec(env_id: str, n: int, **kwargs: Any) -> ControlVecEnv:
    """N worlds of a control task as a vector environment of Stable-Baselines3, moved by one call.

    Parameters
    ----------
    env_id
        Such as "reward_envs/PointReach-v0".
    n
        Number of worlds.
    kwargs
        Of the task, such as `tolerance`, and of `ControlVecEnv`: threads, seed, hooks.

    Raises ValueError where the id is no control task on the engine.

    >>> from reward_envs.control import sb3_vec
    >>> venv = sb3_vec("reward_envs/PointReach-v0", 16, seed=0)
    >>> venv.reset()["observation"].shape
    (16, 4)
    """
    from reward_envs.control.sb3 import ControlVecEnv
    from reward_envs.control.tasks import TASKS, asked

    name = env_id.removeprefix("reward_envs/")
    if name not in TASKS:
        raise ValueError(f"{env_id!r} is no control task on the engine; reward-envs list names them.")
    return ControlVecEnv(asked(name, kwargs), n, **kwargs)
