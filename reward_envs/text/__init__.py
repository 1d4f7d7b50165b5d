"""Text tasks: an agent that writes calls or commands and reads what they print, graded at the end."""

from __future__ import annotations

from typing import Any

from reward_envs.text.env import TextEnv
from reward_envs.text.task import Grade, Reply, Source, TaskError, TextTask
from reward_envs.text.transcript import Transcript

__all__ = ["Grade", "Reply", "Source", "TaskError", "TextEnv", "TextTask", "Transcript", "sb3_vec"]


def sb3_vec(env_id: str, n: int, *, k: int = 32, seed: int | None = None, **kwargs: Any) -> Any:
    """N text tasks as a vector environment of Stable-Baselines3 that chooses among admissible actions.

    Parameters
    ----------
    env_id
        Such as "reward_envs/Tools-v0".
    n
        Number of environments.
    k
        Places of `AdmissibleActions`.
    seed
        Of environment 0; the others have the seeds after it. None draws them.
    kwargs
        Of the task.

    >>> from reward_envs.text import sb3_vec
    >>> venv = sb3_vec("reward_envs/Tools-v0", 4, k=8, seed=0, depth=1)
    >>> venv.reset().shape, venv.env_method("action_masks")[0].shape
    ((4, 576), (8,))
    """
    import gymnasium as gym
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from reward_envs.text.views import AdmissibleActions

    venv = DummyVecEnv([lambda: Monitor(AdmissibleActions(gym.make(env_id, **kwargs), k))] * n)
    venv.seed(seed)
    return venv
