"""SB3's replay buffers: scores that cannot change are stored with the row, the others are made when it is sampled."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples
from stable_baselines3.common.vec_env import VecNormalize

from reward_envs.wrappers.adapters.rows import unknown_reward
from reward_envs.wrappers.adapters.sb3_record import (
    EpisodeSums,
    RowStore,
    VecRecorder,
    finished,
    recorder_of,
    score_rows,
)
from reward_envs.wrappers.batch import Batch, Float, Tree, map_tree
from reward_envs.wrappers.core import Method, Scope, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.runner import Scored

_KEPT = ("TimeLimit.truncated",)  # of infos
_EXTRA = ("reward", "known", "terminated", "t")


class RewardReplayBuffer(ReplayBuffer):
    """SB3's replay buffer for DQN, SAC, TD3, DDPG, TQC, QRDQN and CrossQ, which `sb3()` hands to the algorithm.

    Rows are scored as they are added, in order; there methods learn, under the schedule. Of each top-level term:

    - the score is stored (float32, summed) where it cannot change, or could not be made again: the term has no learned
      state, or an episode memory anywhere in it, or looks at whole episodes;
    - the score is made anew whenever the row is sampled where the term learns, so that an old row gets the bonus that
      it is worth today, and where it looks at its batch, which is then the sample. Nothing learns or moves by that. A
      count takes the row for one more visit, and equal rows of a sample by rank, as it does everywhere.

    Episode methods: rows wait until their episode ends, are scored whole, and are then added in the order in which they
    were played; the buffer never holds an unscored row. Waiting rows are lost where another environment is set, and are
    not saved.

    `rewards` is the stored part. Saving and loading (`model.save_replay_buffer`) works; scoring terms anew then needs
    one step of the environment of `sb3()` first.

    Under VecNormalize, SB3 gets the successor of an episode's last row back by inverting the clipped normalisation, and
    stores that; rows are scored as they were, so only a term scored anew sees it.

    Raises RewardError where the rewards do not come from the environment of `sb3()`, for `n_steps` other than 1, for
    VecNormalize with norm_reward, for `optimize_memory_usage` with terms that are scored anew (it loses the successor
    at an end), and where the buffer is sampled before the first episode of an episode method has ended.
    """

    relabel_info: Mapping[str, tuple[int, ...]] = {}

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: th.device | str = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        n_steps: int = 1,
        gamma: float | None = None,
    ) -> None:
        if n_steps != 1:
            raise RewardError(
                f"RewardReplayBuffer got n_steps={n_steps}; it samples single steps, whose scores may be made anew. "
                f"Leave n_steps out, or train with VecReward(venv, method) and SB3's own buffer."
            )
        super().__init__(
            buffer_size,
            cast(Any, observation_space),
            action_space,
            device,
            n_envs,
            optimize_memory_usage,
            handle_timeout_termination,
        )
        self._begin_scoring()

    def _begin_scoring(self) -> None:
        self.sums = EpisodeSums()
        self.metrics: dict[str, float] = {}
        self._labels: tuple[str, ...] = ()  # terms of the rewards that are stored here
        self._anew: tuple[str, ...] = ()  # those of them that are scored at sampling
        self._extra: dict[str, Any] = {}  # columns [size, n_envs, ...] for that, beside SB3's
        self._recorder: VecRecorder | None = None
        self._let_go()

    def _let_go(self) -> None:
        self._rows = RowStore()  # of episodes that still run
        self._waiting: deque[tuple[Any, ...]] = deque()  # the steps that these rows belong to
        self._paid = np.zeros(0)  # what the rows are paid; NaN where the episode runs

    def __getstate__(self) -> dict[str, Any]:
        waiting = {"_rows": RowStore(), "_waiting": deque(), "_paid": np.zeros(0)}
        return dict(cast(Any, super().__getstate__())) | waiting | {"_recorder": None}

    def add(
        self,
        obs: Any,
        next_obs: Any,
        action: NDArray[Any],
        reward: NDArray[Any],
        done: NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        recorder = recorder_of(reward)
        rows = recorder.take(reward)
        if recorder is not self._recorder:
            self._meet(recorder, rows, obs)
        step = (
            obs,
            next_obs,
            action,
            done,
            [{name: i[name] for name in (*_KEPT, *self.relabel_info) if name in i} for i in infos],
        )
        if recorder.method.scope is Scope.EPISODE:
            self._wait(recorder, rows, map_tree(np.copy, step[:4]) + step[4:])
        else:
            self._store(rows, step, self._score(recorder, rows))

    def _meet(self, recorder: VecRecorder, rows: Batch, obs: Tree) -> None:
        labels = tuple(t.label for t in recorder.method.terms)
        if self.size() and labels != self._labels:
            raise RewardError(
                f"the buffer holds rewards of {' + '.join(self._labels)}, the environment pays {' + '.join(labels)}: "
                f"make a model with a buffer of its own for another reward."
            )
        if recorder.method.scope is Scope.EPISODE and rows.t.any():
            raise RewardError("an episode method cannot start in mid-episode: let set_env(venv) reset the environment.")
        self._labels = labels
        self._anew = tuple(t.label for t in recorder.method.terms if _ages(t, recorder.place))
        if self._anew and self.optimize_memory_usage:
            raise RewardError(
                f"{self._anew[0]} is scored when rows are sampled, and optimize_memory_usage overwrites the successor "
                f"at an episode's end: leave it out."
            )
        if self._anew and not self._extra:
            seen = as_played(obs, recorder.observation_space)
            map_tree(lambda a, b: _check_same(a, b), seen, rows.obs)
            columns = self._extra_columns(recorder, rows)
            self._extra = map_tree(lambda a: np.zeros((self.buffer_size, *a.shape), a.dtype), columns)
        self._recorder = recorder
        self.sums = EpisodeSums()
        self._let_go()

    def _extra_columns(self, recorder: VecRecorder, rows: Batch) -> dict[str, Any]:
        hooks = frozenset[str]().union(*(t.hooks for t in recorder.method.terms if t.label in self._anew))
        columns: dict[str, Any] = {name: getattr(rows, name) for name in _EXTRA}
        columns["info"] = {h: rows.info[h] for h in hooks}
        columns["next_info"] = {h: rows.next_info[h] for h in hooks}
        return columns

    def _score(self, recorder: VecRecorder, rows: Batch) -> Float:
        """The part to store of the rows' score; the method has learned from them."""
        scored = score_rows(recorder.rewarder, rows)
        self.sums.add(rows, scored.terms)
        self.metrics.update(scored.metrics)
        return self._part_to_store(scored, rows)

    def _part_to_store(self, scored: Scored, rows: Batch) -> Float:
        if not self._anew:
            return scored.values
        kept = [values for name, values in scored.terms.items() if name not in self._anew]
        return np.sum(kept, axis=0) if kept else np.zeros(len(rows))

    def _store(self, rows: Batch, step: tuple[Any, ...], values: Float) -> None:
        if self._anew:
            assert self._recorder is not None
            columns = self._extra_columns(self._recorder, rows)
            map_tree(lambda into, new: into.__setitem__(self.pos, new), self._extra, columns)
        obs, next_obs, action, done, infos = step
        super().add(obs, next_obs, action, values.astype(np.float32), done, infos)

    def _wait(self, recorder: VecRecorder, rows: Batch, step: tuple[Any, ...]) -> None:
        self._rows.append(rows)
        self._waiting.append(step)
        self._paid = np.append(self._paid, np.full(len(rows), np.nan))
        if not (rows.ended.any() or rows.first.any()):
            return
        batch = self._rows.batch
        due = finished(batch, self.n_envs)[0] & np.isnan(self._paid)
        if due.any():
            self._paid[due] = self._score(recorder, batch.rows(due))
        open_rows = np.flatnonzero(np.isnan(self._paid))
        steps = (int(open_rows[0]) if len(open_rows) else len(batch)) // self.n_envs
        for i in range(steps):
            at = np.arange(i * self.n_envs, (i + 1) * self.n_envs)
            self._store(batch.rows(at), self._waiting.popleft(), self._paid[at])
        self._rows.keep(np.arange(len(batch)) >= steps * self.n_envs)
        self._paid = self._paid[steps * self.n_envs :]

    def sample(self, batch_size: int, env: VecNormalize | None = None) -> Any:
        if self.size() == 0:
            raise RewardError(
                "the replay buffer is empty: rows of an episode method are added when their episode has ended. Set "
                "learning_starts above n_envs times the length of the longest episode."
            )
        if env is not None and env.norm_reward:
            raise RewardError(
                "VecNormalize would normalise the reward by statistics of the zeros that stand for unscored rows: make "
                "it VecNormalize(venv, norm_reward=False), with normalise(...) in the reward's text."
            )
        return super().sample(batch_size, env)

    def _get_samples(self, batch_inds: NDArray[Any], env: VecNormalize | None = None) -> Any:
        if not self._anew:
            return super()._get_samples(batch_inds, env)
        # The row's environment is drawn by torch, which the model's seed rules as it does SB3's own draw.
        at = batch_inds, th.randint(self.n_envs, (len(batch_inds),)).numpy()
        obs, next_obs = (map_tree(lambda a: a[at], o) for o in (self.observations, self.next_observations))
        rewards = self.rewards[at] + self._score_anew(at, obs, next_obs)
        kind: Any = DictReplayBufferSamples if isinstance(obs, dict) else ReplayBufferSamples
        return kind(
            observations=map_tree(self.to_torch, self._normalize_obs(obs, env)),
            actions=self.to_torch(self.actions[at]),
            next_observations=map_tree(self.to_torch, self._normalize_obs(next_obs, env)),
            dones=self.to_torch((self.dones[at] * (1 - self.timeouts[at])).reshape(-1, 1)),
            rewards=self.to_torch(rewards.astype(np.float32).reshape(-1, 1)),
        )

    def _score_anew(self, at: tuple[NDArray[Any], NDArray[Any]], obs: Tree, next_obs: Tree) -> Float:
        if self._recorder is None:
            raise RewardError(
                f"{self._anew[0]} is scored when rows are sampled, and this buffer was loaded: play one step of the "
                f"environment of sb3() first, so that it meets the runner."
            )
        space, n = self._recorder.observation_space, len(at[0])
        extra = map_tree(lambda a: a[at], self._extra)
        batch = Batch(
            **extra,
            obs=as_played(obs, space),
            next_obs=as_played(next_obs, space),
            action=unscaled(self.actions[at], self.action_space),
            truncated=(self.dones[at] > 0) & ~extra["terminated"],
            stream=at[1],
            episode=np.arange(n),
            group=np.zeros(n, np.int64),
        )
        terms = self._recorder.rewarder.score_terms(batch, self._anew)
        total = np.sum(list(terms.values()), axis=0)
        if np.isnan(total).any():
            raise unknown_reward(Scored(total, terms, {}), batch)
        return cast(Float, total)

    def reward_log(self) -> dict[str, float]:
        """What `RewardLogCallback` writes: means over the last 100 episodes, as first scored; metrics of learning."""
        return self.sums.means() | {f"reward/{name}": value for name, value in self.metrics.items()}


class RewardDictReplayBuffer(RewardReplayBuffer, DictReplayBuffer):
    """The same for observations that are dicts."""


def remembers(term: Method, spec: Spec) -> bool:
    """Whether the term has an episode memory anywhere in it."""
    return any(m.start(spec, 1) is not None for m in term.walk())


def _ages(term: Method, spec: Spec) -> bool:
    """Whether the term's score of a stored row changes, and can be made again from the row alone."""
    learns = any(m.overrides("observe") or m.overrides("learn") for m in term.walk())
    return not remembers(term, spec) and (term.scope is Scope.BATCH or (learns and term.scope is Scope.STEP))


def as_played(stored: Tree, space: spaces.Space[Any]) -> Tree:
    """Stored observations [N, ...] in the shape that the environment gave: SB3 stores images with channels first, and a
    Discrete observation as [N, 1]."""
    if isinstance(space, spaces.Dict):
        return {k: as_played(stored[k], space[k]) for k in space.spaces}
    shape, got = space.shape or (), stored.shape[1:]
    if got != shape and len(shape) == 3 and got == (shape[2], *shape[:2]):
        return np.moveaxis(stored, 1, -1)
    return stored.reshape(-1, *shape) if got == (1,) and shape == () else stored


def _check_same(seen: NDArray[Any], played: NDArray[Any]) -> None:
    if not np.array_equal(seen, played):
        raise RewardError(
            f"the learner's observations {seen.shape[1:]} are not those of the environment {played.shape[1:]}, and "
            f"rows are scored when they are sampled: put wrappers that change observations (VecFrameStack) below sb3()."
        )


def unscaled(stored: NDArray[Any], space: spaces.Space[Any]) -> NDArray[Any]:
    """Stored actions as they were played: SB3 stores those of a Box on the scale [-1, 1]."""
    actions = stored.reshape(-1, *(space.shape or ()))
    if not isinstance(space, spaces.Box):
        return actions
    return cast(NDArray[Any], space.low + 0.5 * (actions + 1.0) * (space.high - space.low)).astype(space.dtype)
