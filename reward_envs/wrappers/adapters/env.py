"""A single Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from reward_envs.wrappers.adapters.place import pays_the_task, refuse_relabelling, warn_of_reward_below
from reward_envs.wrappers.adapters.rows import Plugged, hook_column, one_row, request_hooks
from reward_envs.wrappers.core import Method, Scope, Spec
from reward_envs.wrappers.registry import as_method, text_or_reason
from reward_envs.wrappers.runner import Rewarder, Schedule


class RewardWrapper(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pay a reward method instead of the environment's reward.

    Adds to `info`: `task_reward` (the raw reward), `reward/<term>` for each top-level term (their plain sum is the
    returned reward), and at an episode's end `episode_reward/<term>` and `episode_task_return`. A reset in mid-episode
    ends the episode as a truncation. `env.spec` records the method's text.

    Parameters
    ----------
    env
        The environment. A NaN reward means that the task's reward was not observed.
    method
        A step method or its text.
    gamma
        The learner's discount, for methods that need it.
    seed, schedule
        Of the runner: see `Rewarder`.

    Raises ScopeError for methods that need more than a step, HookError where the environment lacks a hook, RewardError
    where a row has no value.

    >>> import gymnasium as gym
    >>> from reward_envs.wrappers import RewardWrapper
    >>> env = RewardWrapper(gym.make("FrozenLake-v1", is_slippery=False), "task + count")
    >>> _ = env.reset(seed=0)
    >>> _, reward, _, _, info = env.step(1)
    >>> reward, info["task_reward"], info["reward/count"]
    (1.0, 0.0, 1.0)
    """

    __module__ = "reward_envs.wrappers"  # the entry point that specs record; it outlives moved files

    def __init__(
        self,
        env: gym.Env[Any, Any],
        method: Method | str,
        *,
        gamma: float | None = None,
        seed: int | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        warn_of_reward_below(env)
        method = as_method(method)
        given: dict[str, Any] = {"gamma": gamma, "seed": seed, "schedule": schedule}
        recorded: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        RecordConstructorArgs.__init__(self, method=text_or_reason(method), **recorded)
        gym.Wrapper.__init__(self, env)
        spec = Spec(
            env.observation_space,
            env.action_space,
            gamma,
            env.spec.max_episode_steps if env.spec is not None else None,
            getattr(env.unwrapped, "card", None),
        )
        self._plugged = Plugged("RewardWrapper", Scope.STEP, method, spec, 1, seed, schedule, single=True)
        names = ["", *self._plugged.labels]
        self._keys = [f"reward/{name}" for name in names]
        self._episode_keys = [self._plugged.episode_key(name) for name in names]
        self._totals = [0.0] * len(names)
        request_hooks(method, env.has_wrapper_attr, lambda name, *a: env.get_wrapper_attr(name)(*a))

    @property
    def compute_reward(self) -> Any:
        """Of a goal environment below: refuses, for relabelled rows would get the task's bare reward; under the method
        `task` that is right, and it is the environment's own."""
        return self._of_goals("compute_reward")

    @property
    def compute_goal(self) -> Any:
        """The same of reward and termination at once."""
        return self._of_goals("compute_goal")

    def _of_goals(self, name: str) -> Any:
        function = self.env.get_wrapper_attr(name)  # AttributeError where there is none
        return function if pays_the_task(self.rewarder.method) else refuse_relabelling

    @property
    def rewarder(self) -> Rewarder:
        """The runner, for saving, loading and freezing."""
        return self._plugged.rewarder

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._plugged.rows.begin(one_row(obs), self._hooks(info))
        self._totals = [0.0] * len(self._keys)
        return obs, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, task, terminated, truncated, info = self.env.step(action)
        plugged = self._plugged
        batch = plugged.rows.transition(one_row(action), one_row(obs), task, terminated, truncated, self._hooks(info))
        scored = plugged.score(batch)
        info["task_reward"] = float(task)
        totals = self._totals
        totals[0] += batch.reward.item()
        for i, values in enumerate(scored.terms.values(), start=1):
            value = values.item()
            info[self._keys[i]] = value
            totals[i] += value
        if terminated or truncated:
            info.update(zip(self._episode_keys, totals, strict=True))
        plugged.rows.advance()
        return obs, scored.values.item(), terminated, truncated, info

    def _hooks(self, info: dict[str, Any]) -> dict[str, Any]:
        hooks = self._plugged.rows.hooks
        return {name: hook_column(name, [info.get(name)]) for name in hooks} if hooks else {}
