"""Gridworld tasks as a vector environment of Stable-Baselines3, without copies on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from reward_envs.grid.env import Mode, _Task
from reward_envs.grid.spec import GridSpec
from reward_envs.vectors_sb3 import RowsVecEnv


class GridVecEnv(_Task, RowsVecEnv):
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
        self._set_up(spaces.Box(0, 255, (pixels,), np.uint8), spaces.Discrete(spec.actions), seed, render_mode)

    def _move(self, actions: Any, skip: NDArray[np.bool_] | None = None) -> int:
        self._turns.reverse()
        self.worlds.swap(self._turns[0])
        return super()._move(actions, skip)

    def _seen(self) -> NDArray[np.uint8]:
        return self.worlds.image.reshape(self.num_envs, -1)

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        from reward_envs.grid.picture import picture

        return [picture(self.worlds, i) for i in range(self.num_envs)]
