"""Gymnasium vector environments, in all three autoreset modes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from reward_envs.wrappers.adapters.place import warn_of_reward_below
from reward_envs.wrappers.adapters.rows import Plugged, missing_hook, request_hooks
from reward_envs.wrappers.batch import Bool, Tree
from reward_envs.wrappers.core import Method, Scope, Spec
from reward_envs.wrappers.errors import HookError, RewardError
from reward_envs.wrappers.registry import as_method
from reward_envs.wrappers.runner import Rewarder, Schedule


class VectorRewardWrapper(VectorWrapper):
    """Pay a reward method instead of a vector environment's reward.

    Adds to `infos` the arrays `task_reward`, `reward/<term>` and, where an episode ended (mask `_episode_task_return`),
    `episode_reward/<term>` and `episode_task_return`.

    NEXT_STEP: the row after an end is no transition; it pays 0 in every term and is never learnt from.
    SAME_STEP: the successor is `final_obs`, its hooks are in `final_info`. DISABLED: reset ended rows by
    `reset(options={"reset_mask": mask})`. Any other mode is an error.

    Parameters
    ----------
    env
        The vector environment. A NaN reward means that the task's reward was not observed.
    method
        A step or batch method, or its text.
    gamma, seed, schedule
        As of `RewardWrapper`.

    >>> import gymnasium as gym
    >>> from reward_envs.wrappers import VectorRewardWrapper
    >>> envs = VectorRewardWrapper(gym.make_vec("FrozenLake-v1", 2, vectorization_mode="sync"), "task + count")
    >>> _ = envs.reset(seed=0)
    >>> envs.step(envs.action_space.sample())[1].shape
    (2,)
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        method: Method | str,
        *,
        gamma: float | None = None,
        seed: int | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        super().__init__(env)
        warn_of_reward_below(env)
        method = as_method(method)
        self._mode = _autoreset_mode(env)
        spec = Spec(
            env.single_observation_space,
            env.single_action_space,
            gamma,
            env.spec.max_episode_steps if env.spec is not None else None,
            getattr(env.unwrapped, "card", None) or _card_of(env),
        )
        self._plugged = Plugged("VectorRewardWrapper", Scope.BATCH, method, spec, env.num_envs, seed, schedule)
        request_hooks(method, lambda name: _has(env, name), lambda name, *a: _call(env, name, *a))
        self._over = np.zeros(env.num_envs, np.bool_)

    @property
    def rewarder(self) -> Rewarder:
        """The runner, for saving, loading and freezing."""
        return self._plugged.rewarder

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = None if options is None else options.get("reset_mask")
        obs, infos = self.env.reset(seed=seed, options=options)
        rows = np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask, np.bool_)
        self._begin(obs, infos, rows)
        return obs, infos

    def step(self, actions: Any) -> tuple[Any, NDArray[np.float64], Bool, Bool, dict[str, Any]]:
        obs, rewards, terminated, truncated, infos = self.env.step(actions)
        plugged, ended, dead = self._plugged, terminated | truncated, self._over
        successor, hooks = self._successors(obs, infos, ended)
        batch = plugged.rows.transition(actions, successor, rewards, terminated, truncated, hooks)
        live = np.flatnonzero(~dead) if dead.any() else None
        if live is not None:
            batch = batch.rows(live)
        scored = plugged.score(batch)
        plugged.add(scored, batch, slice(None) if live is None else live)
        infos["task_reward"] = np.array(rewards, dtype=np.float64)
        for name, term in scored.terms.items():
            infos[f"reward/{name}"] = self._spread(term, live)
        if ended.any():
            self._report(infos, ended & ~dead)
        plugged.rows.advance()
        self._move_on(obs, infos, ended)
        return obs, self._spread(scored.values, live), terminated, truncated, infos

    def _spread(self, values: NDArray[np.float64], live: NDArray[np.intp] | None) -> NDArray[np.float64]:
        if live is None:
            return values.copy()
        out = np.zeros(self.num_envs)
        out[live] = values
        return out

    def _successors(self, obs: Tree, infos: dict[str, Any], ended: Bool) -> tuple[Tree, dict[str, Any]]:
        hooks = self._hooks(infos)
        if self._mode is not AutoresetMode.SAME_STEP or not ended.any():
            return obs, hooks
        if "final_obs" not in infos:
            raise RewardError("an episode ended in SAME_STEP mode without infos['final_obs']: the successor is lost.")
        where = np.flatnonzero(ended)
        final = [infos["final_obs"][i] for i in where]
        last = self._hooks(infos.get("final_info", {}))
        for name, column in hooks.items():
            column[where] = last[name][where]
        return _put(obs, final, where), hooks

    def _move_on(self, obs: Tree, infos: dict[str, Any], ended: Bool) -> None:
        if self._mode is AutoresetMode.SAME_STEP:
            if ended.any():
                self._begin(obs, infos, ended)
        elif self._mode is AutoresetMode.NEXT_STEP:
            if self._over.any():
                self._begin(obs, infos, self._over)
            self._over = ended.copy()
        else:
            self._over = self._over | ended

    def _begin(self, obs: Tree, infos: dict[str, Any], rows: Bool) -> None:
        self._plugged.rows.begin(obs, self._hooks(infos), rows)
        self._plugged.clear(rows)
        self._over = self._over & ~rows

    def _report(self, infos: dict[str, Any], ended: Bool) -> None:
        for name, total in self._plugged.totals.items():
            key = self._plugged.episode_key(name)
            infos[key] = np.where(ended, total, 0.0)
            infos[f"_{key}"] = ended

    def _hooks(self, infos: dict[str, Any]) -> dict[str, NDArray[Any]]:
        hooks = {}
        for name in self._plugged.rows.hooks:
            if name not in infos:
                raise HookError(missing_hook(name))
            column = np.array(infos[name])
            if column.dtype != object:
                column = column.astype(np.float64)
            there = infos.get(f"_{name}")
            if there is not None and not np.all(there):
                column[~np.asarray(there)] = None if column.dtype == object else np.nan
            hooks[name] = column
        return hooks


def _put(obs: Tree, final: list[Any], where: NDArray[np.intp]) -> Tree:
    """A copy of the batched observations in which the rows `where` are the final ones."""
    if isinstance(obs, dict):
        return {k: _put(v, [f[k] for f in final], where) for k, v in obs.items()}
    if isinstance(obs, tuple) and not isinstance(obs[0], str):
        return tuple(_put(v, [f[i] for f in final], where) for i, v in enumerate(obs))
    out = np.array(obs, dtype=object) if isinstance(obs, tuple) else obs.copy()
    for i, value in zip(where, final, strict=True):
        out[i] = value
    return out


def _autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    if isinstance(mode, AutoresetMode):
        return mode
    raise RewardError(
        f"{type(env.unwrapped).__name__} says autoreset_mode={mode!r}: set metadata['autoreset_mode'] to "
        f"AutoresetMode.NEXT_STEP, SAME_STEP or DISABLED, for the reward across an episode's end depends on it."
    )


def _has(env: VectorEnv[Any, Any, Any], name: str) -> bool:
    if hasattr(env.unwrapped, name):
        return True
    return hasattr(env.unwrapped, "call") and all(_call(env, "has_wrapper_attr", name))


def _call(env: VectorEnv[Any, Any, Any], name: str, *args: Any) -> Any:
    inner: Any = env.unwrapped
    return getattr(inner, name)(*args) if hasattr(inner, name) else inner.call(name, *args)


def _card_of(env: VectorEnv[Any, Any, Any]) -> Any:
    envs: list[gym.Env[Any, Any]] = getattr(env.unwrapped, "envs", [])
    return getattr(envs[0].unwrapped, "card", None) if envs else None
