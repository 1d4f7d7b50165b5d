"""Gridworld tasks as a vector environment of Stable-Baselines3, without copies on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from reward_envs.grid.env import Mode, _Task
from reward_envs.grid.spec import GridSpec
from reward_envs.grid.worlds import as_actions


class GridVecEnv(_Task, VecEnv):
    """N worlds of a task for SB3, moved by one kernel call a step.

    The observation is the flattened image, uint8[N, size * size * 3]. Two arrays take turns, so what a step returned
    is overwritten by the second step after it; SB3's buffers copy before that. Rewards are float32[N].

    Parameters
    ----------
    spec, num_envs
        The task, and N.
    view_size, full_view, reward_mode, hooks
        As of `GridEnv`.
    seed
        Of world 0; the others have the seeds after it. None draws them.
    """

    def __init__(
        self,
        spec: GridSpec,
        num_envs: int,
        *,
        view_size: int = 7,
        full_view: bool = False,
        reward_mode: Mode = "sparse",
        hooks: Iterable[str] = (),
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._open(spec, num_envs, view_size, full_view, reward_mode, hooks)
        image = self.worlds.image
        self._turns = [image, np.zeros_like(image)]
        pixels = int(np.prod(image.shape[1:]))
        self.render_mode = render_mode
        self._actions: NDArray[np.int64] = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, spaces.Box(0, 255, (pixels,), np.uint8), spaces.Discrete(spec.actions))
        self.seed(seed)

    def reset(self) -> NDArray[np.uint8]:
        worlds = self.worlds
        for i, seed in enumerate(self._seeds):
            if seed is not None:
                worlds.seed(worlds.all[i : i + 1], [seed])
        self._reset_seeds()
        self._reset_options()
        self._begin(worlds.all)
        self.reset_infos = self._infos()
        return self._flat()

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = as_actions(actions, self.num_envs)

    def step_wait(self) -> VecEnvStepReturn:
        worlds = self.worlds
        self._turns.reverse()
        worlds.swap(self._turns[0])
        ended = worlds.step(self._actions)
        if self._dense:
            self._pay_dense(worlds.all)
        reward, infos = worlds.reward.astype(np.float32), self._infos()
        dones = worlds.terminated | worlds.truncated
        if ended:
            rows = np.flatnonzero(dones)
            last = self._flat()
            for i in rows.tolist():
                infos[i]["terminal_observation"] = last[i].copy()
                infos[i]["TimeLimit.truncated"] = bool(worlds.truncated[i] and not worlds.terminated[i])
            self._begin(rows)
            after = self._infos()
            for i in rows.tolist():
                self.reset_infos[i] = after[i]
        return self._flat(), reward, dones, infos

    def _begin(self, rows: NDArray[np.int64]) -> None:
        self.worlds.begin(rows)
        self._hooks.begin(rows)
        if self._dense:
            if len(rows) == self.num_envs:
                self._distance = self._near(rows)
            else:
                self._distance[rows] = self._near(rows)

    def _flat(self) -> NDArray[np.uint8]:
        return self.worlds.image.reshape(self.num_envs, -1)

    def _infos(self) -> list[dict[str, Any]]:
        infos: list[dict[str, Any]] = [{"is_success": s} for s in self.worlds.success.tolist()]
        for name, column in self._hooks.values().items():
            for info, value in zip(infos, column, strict=True):
                info[name] = value
        return infos

    def close(self) -> None:
        """Nothing is held open."""

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        from reward_envs.grid.picture import picture

        return [picture(self.worlds, i) for i in range(self.num_envs)]

    # SB3 asks each environment for its attributes; here all worlds share one object.

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return [getattr(self, method_name)(*args, **kwargs)] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))
