"""One recorded episode of random actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from reward_envs.wrappers.adapters.env import _one
from reward_envs.wrappers.adapters.rows import Rows, hook_column, request_hooks
from reward_envs.wrappers.batch import Batch
from reward_envs.wrappers.core import Method, Spec


def random_episode(
    env: gym.Env[Any, Any], method: Method, *, seed: int = 0, gamma: float | None = None, steps: int = 1000
) -> tuple[Batch, Spec]:
    """An episode's rows with the hooks that a method needs, and what the method is told of the place.

    Parameters
    ----------
    env
        The bare environment, as the agent sees it.
    method
        Names the hooks; it scores nothing here.
    seed
        Of the episode and of the actions.
    gamma
        The learner's discount.
    steps
        Longest episode; one that is cut there is not marked as ended.

    Raises HookError where the environment lacks a hook.

    >>> from reward_envs.wrappers import Task
    >>> batch, _ = random_episode(gym.make("FrozenLake-v1"), Task(), seed=1)
    >>> bool(batch.ended[-1]), batch.t.tolist() == list(range(len(batch)))
    (True, True)
    """
    request_hooks(method, env.has_wrapper_attr, lambda name, *a: env.get_wrapper_attr(name)(*a))
    rows = Rows(1, method.hooks, env.action_space)
    env.action_space.seed(seed)

    def hooks(info: dict[str, Any]) -> dict[str, Any]:
        return {name: hook_column(name, [info.get(name)]) for name in rows.hooks}

    obs, info = env.reset(seed=seed)
    rows.begin(_one(obs), hooks(info))
    parts = []
    for _ in range(steps):
        action = env.action_space.sample()
        obs, reward, terminated, truncated, info = env.step(action)
        parts.append(rows.transition(_one(action), _one(obs), reward, terminated, truncated, hooks(info)).copy())
        rows.advance()
        if terminated or truncated:
            break
    limit = env.spec.max_episode_steps if env.spec is not None else None
    card = getattr(env.unwrapped, "card", None)
    return Batch.concat(parts), Spec(env.observation_space, env.action_space, gamma, limit, card)
