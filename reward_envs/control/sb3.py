"""Control tasks as a vector environment of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from reward_envs.control.env import _Goals
from reward_envs.control.task import ControlTask
from reward_envs.vectors_sb3 import RowsVecEnv


class ControlVecEnv(_Goals, RowsVecEnv):
    """N worlds of a task for SB3, moved by one call of MuJoCo's rollout. Rewards are float32[N].

    Parameters
    ----------
    task, num_envs
        The task, and N.
    threads, hooks, render_mode
        As of `ControlVector`.
    seed
        Of world 0; the others have the seeds after it. None draws them.
    """

    def __init__(
        self,
        task: ControlTask,
        num_envs: int,
        *,
        threads: int = 1,
        hooks: Iterable[str] = (),
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._open(task, num_envs, hooks, threads)
        self._set_up(*self._spaces(), seed, render_mode)

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return [self._pictures.draw(self.bodies, i) for i in range(self.num_envs)]
