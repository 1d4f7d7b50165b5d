"""What the buffers of sb3() score: the recorder below the learner, the rows it hands over, and sums of episodes."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from reward_envs.wrappers.adapters.log import EpisodeSums as EpisodeSums
from reward_envs.wrappers.adapters.rows import Rows, unknown_reward
from reward_envs.wrappers.adapters.sb3_vec import Infos, Transitions, spec_of
from reward_envs.wrappers.batch import Batch, Bool, map_tree
from reward_envs.wrappers.core import Method
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.runner import Rewarder, Schedule, Scored


class Unscored(np.ndarray[Any, np.dtype[Any]]):
    """Rewards that are not scored yet: zeros that know their recorder.

    They live through copies and casts, so through VecNormalize(norm_reward=False), and SB3 adds gamma*V of truncated
    rows to them in place, which is then exactly what a buffer finds in them. Anything that calculates with them gets a
    plain array, by which a buffer sees that a wrapper has changed the rewards.
    """

    recorder: VecRecorder | None

    def __array_finalize__(self, obj: object) -> None:
        self.recorder = getattr(obj, "recorder", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else array


class VecRecorder(Transitions):
    """The environment of `sb3()`: pays nothing, and keeps each step's true rows for the buffer that will score them.

    Adds `task_reward` to `infos[i]`, and at an episode's end `episode_task_return`. `rewarder` is the runner, to save,
    load and freeze what was learned: `venv.rewarder.state_dict()`.
    """

    _patience = 256  # steps that nobody asks for before it warns

    def __init__(
        self, venv: VecEnv, method: Method, gamma: float | None, seed: int | None, schedule: Schedule | None
    ) -> None:
        super().__init__(venv, Rows(venv.num_envs, method.hooks, venv.action_space), method)
        self.method = method
        self.place = spec_of(venv, gamma)
        self.schedule = schedule
        self._runner_seed = seed
        self._rewarder: Rewarder | None = None
        self._last: Batch | None = None
        self._unasked: float = 0
        self._task_return = np.zeros(venv.num_envs)

    @property
    def rewarder(self) -> Rewarder:
        """The runner; made when first needed, for until then gamma may still come from the learner."""
        if self._rewarder is None:
            self._rewarder = Rewarder(
                self.method, self.place, n=self.num_envs, seed=self._runner_seed, schedule=self.schedule
            )
        return self._rewarder

    def learner_discounts_by(self, gamma: float) -> None:
        """Take over the learner's gamma where none was told, and refuse another."""
        if self.place.gamma is None and self._rewarder is None:
            self.place = dataclasses.replace(self.place, gamma=gamma)
        if self.place.gamma not in (None, gamma):
            raise RewardError(
                f"the learner discounts by gamma={gamma}, the reward was made for gamma={self.place.gamma}: hand the "
                f"learner's gamma to sb3(..., gamma={gamma}), and make the model with its kwargs."
            )

    def pay(self, batch: Batch, rewards: NDArray[Any], infos: Infos) -> Unscored:
        self._last = batch
        self._unasked += 1
        if self._unasked == self._patience:
            warnings.warn(
                f"{self._patience} steps were played and no buffer asked for their rewards: make the model with the "
                f"kwargs that sb3() returned, PPO(policy, venv, **kwargs), or it learns from zeros. Evaluate on the "
                f"bare environment.",
                stacklevel=4,
            )
        self._task_return += np.where(batch.known, batch.reward, 0.0)
        for i, info in enumerate(infos):
            info["task_reward"] = float(rewards[i])
        for i in np.flatnonzero(batch.ended).tolist():
            infos[i]["episode_task_return"] = self._task_return[i].item()
        self._task_return[batch.ended] = 0.0
        paid = np.zeros_like(rewards).view(Unscored)
        paid.recorder = self
        return paid

    def reset(self) -> Any:
        self._task_return[:] = 0.0
        return super().reset()

    def take(self, reward: NDArray[Any]) -> Batch:
        """The rows of the step that `reward` came with, for the buffer that scores them; read before the next step."""
        if self._last is None:
            raise RewardError("the rows of this step were taken already: one step is added to one buffer, once.")
        rows, self._last = self._last, None
        self._unasked = -np.inf
        if np.any(np.asarray(reward)[~rows.truncated]):
            raise _changed()
        return rows


def recorder_of(reward: Any) -> VecRecorder:
    """The recorder that rewards came from; an error where they did not, or where a wrapper has changed them."""
    recorder = reward.recorder if isinstance(reward, Unscored) else None
    if recorder is None:
        raise _changed()
    return recorder


def _changed() -> RewardError:
    return RewardError(
        "these rewards are not as the environment of sb3() gave them. Train on the venv that sb3() returned (set_env "
        "needs such a one too), and let nothing above it change rewards: VecNormalize(venv, norm_reward=False), with "
        "normalise(...) in the reward's text."
    )


class RowStore:
    """Rows of many steps, time-major, in arrays that grow; `batch` views them."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}
        self._size = 0
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def batch(self) -> Batch:
        """All rows, without a copy."""
        return Batch(**{k: map_tree(lambda a: a[: self._n], v) for k, v in self._columns.items()})

    def append(self, rows: Batch) -> None:
        columns = {k: v for k, v in rows.columns().items() if v is not None}
        start, end = self._n, self._n + len(rows)
        if end > self._size:
            self._grow(columns, max(2 * self._size, end))
        for name, into in self._columns.items():
            map_tree(lambda a, new: a.__setitem__(slice(start, end), new), into, columns[name])
        self._n = end

    def keep(self, mask: Bool) -> None:
        """Drop the other rows."""
        rows = np.flatnonzero(mask)
        for column in self._columns.values():
            map_tree(lambda a: a.__setitem__(slice(len(rows)), a[rows]), column)
        self._n = len(rows)

    def cut(self, n: int) -> None:
        """Drop all but the first n rows."""
        self._n = min(n, self._n)

    def _grow(self, like: Mapping[str, Any], size: int) -> None:
        old, self._size = self._columns, size
        self._columns = {k: map_tree(lambda a: np.empty((size, *a.shape[1:]), a.dtype), v) for k, v in like.items()}
        for name, column in old.items():
            map_tree(lambda a, was: a.__setitem__(slice(self._n), was[: self._n]), self._columns[name], column)


def finished(batch: Batch, n: int) -> tuple[Bool, Bool]:
    """(rows of episodes that lie whole in the batch, rows of episodes that still run), of a batch whose last n rows are
    the last step of n streams. An episode that its stream has left without an end was reset, which truncated it."""
    running = batch.episode[-n:]
    _, from_end = np.unique(batch.episode[::-1], return_index=True)
    last = len(batch) - 1 - from_end
    batch.truncated[last[~batch.ended[last] & ~np.isin(batch.episode[last], running)]] = True
    episodes = batch.episodes()
    return episodes.whole[episodes.index], ~batch.ended[last][episodes.index]


def score_rows(rewarder: Rewarder, batch: Batch) -> Scored:
    """Step the runner; rows without a value are an error, for SB3 needs numbers."""
    scored = rewarder.step(batch)
    if not scored.known.all():
        raise unknown_reward(scored, batch)
    return scored
