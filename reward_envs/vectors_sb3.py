"""Worlds that move together as a vector environment of Stable-Baselines3."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from reward_envs.hooks import check_render_mode
from reward_envs.vectors import RESET_FIRST, Moved, Rows


class RowsVecEnv(Moved, VecEnv):
    """An SB3 vector environment: rewards float32[N], ended worlds begin anew, their last observation is in their info.

    A family calls `_set_up` once its engine stands, and writes the methods of `Moved`.
    """

    alike = True  # one object answers for all worlds

    def _set_up(
        self,
        observation: spaces.Space[Any],
        action: spaces.Space[Any],
        seed: int | None,
        render_mode: str | None,
    ) -> None:
        self.render_mode = check_render_mode(render_mode, {"render_modes": ["rgb_array", "human"]})
        self._actions: Any = None
        self._begun = False
        VecEnv.__init__(self, self.engine.n, observation, action)
        self.seed(seed)

    def reset(self) -> Any:
        engine = self.engine
        for i, seed in enumerate(self._seeds):
            if seed is not None:
                self._seed_rows(engine.all[i : i + 1], [seed])
        self._reset_seeds()
        self._reset_options()
        self._start(engine.all)
        self._begun = True
        self.reset_infos = self._infos(engine.all)
        return self._seen()

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        if not self._begun:
            raise gym.error.ResetNeeded(RESET_FIRST)
        engine = self.engine
        ended = self._move(self._actions, None)
        reward, infos = engine.reward.astype(np.float32), self._infos(engine.all)
        dones = engine.terminated | engine.truncated
        if ended:
            rows = np.flatnonzero(dones)
            last = self._seen()
            for i in rows.tolist():
                infos[i]["terminal_observation"] = _row(last, i)
                infos[i]["TimeLimit.truncated"] = bool(engine.truncated[i] and not engine.terminated[i])
            self._start(rows)
            for i, info in zip(rows.tolist(), self._infos(rows), strict=True):
                self.reset_infos[i] = info
        return self._seen(), reward, dones, infos

    def _infos(self, rows: Rows) -> list[dict[str, Any]]:
        infos: list[dict[str, Any]] = [{"is_success": s} for s in self.engine.success[rows].tolist()]
        for name, column in self._columns(rows).items():
            for info, value in zip(infos, column, strict=True):
                info[name] = value
        return infos

    def close(self) -> None:
        """Nothing is held open."""

    # SB3 asks each environment for its attributes; here all worlds share one object.

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return [getattr(self, method_name)(*args, **kwargs)] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))


def _row(seen: Any, i: int) -> Any:
    """What world i saw, a copy."""
    return {name: seen[name][i].copy() for name in seen} if isinstance(seen, dict) else seen[i].copy()
