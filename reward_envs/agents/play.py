"""One recorded episode, of random actions or of anybody's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from reward_envs.wrappers.adapters.rows import Rows, hook_column, one_row, request_hooks
from reward_envs.wrappers.batch import Batch
from reward_envs.wrappers.core import Method, Spec


def play(
    env: gym.Env[Any, Any],
    method: Method,
    act: Callable[[Any], Any],
    *,
    seed: int = 0,
    gamma: float | None = None,
    steps: int = 1000,
    look: Callable[[], None] = lambda: None,
) -> tuple[Batch, Spec]:
    """An episode's rows with the hooks that a method needs, and what the method is told of the place.

    Parameters
    ----------
    env
        The bare environment, as the agent sees it.
    method
        Names the hooks; it scores nothing here.
    act
        The action for an observation.
    seed
        Of the episode.
    gamma
        The learner's discount.
    steps
        Longest episode; one that is cut there is not marked as ended.
    look
        Called after the reset and after each step.

    Raises HookError where the environment lacks a hook.
    """
    request_hooks(method, env.has_wrapper_attr, lambda name, *a: env.get_wrapper_attr(name)(*a))
    rows = Rows(1, method.hooks, env.action_space)

    def hooks(info: dict[str, Any]) -> dict[str, Any]:
        return {name: hook_column(name, [info.get(name)]) for name in rows.hooks}

    obs, info = env.reset(seed=seed)
    rows.begin(one_row(obs), hooks(info))
    look()
    parts = []
    for _ in range(steps):
        action = act(obs)
        obs, reward, terminated, truncated, info = env.step(action)
        parts.append(rows.transition(one_row(action), one_row(obs), reward, terminated, truncated, hooks(info)).copy())
        rows.advance()
        look()
        if terminated or truncated:
            break
    limit = env.spec.max_episode_steps if env.spec is not None else None
    card = getattr(env.unwrapped, "card", None)
    return Batch.concat(parts), Spec(env.observation_space, env.action_space, gamma, limit, card)


def random_episode(env: gym.Env[Any, Any], method: Method, *, seed: int = 0, **options: Any) -> tuple[Batch, Spec]:
    """`play` with random actions, drawn from the seed too.

    >>> from reward_envs.wrappers import Task
    >>> batch, _ = random_episode(gym.make("FrozenLake-v1"), Task(), seed=1)
    >>> bool(batch.ended[-1]), batch.t.tolist() == list(range(len(batch)))
    (True, True)
    """
    env.action_space.seed(seed)
    return play(env, method, lambda obs: env.action_space.sample(), seed=seed, **options)
