"""SB3's on-policy buffers: the rewards of a rollout are scored at once, before SB3 makes its advantages."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer

from reward_envs.wrappers.adapters.sb3_record import (
    EpisodeSums,
    RowStore,
    VecRecorder,
    finished,
    recorder_of,
    score_rows,
)
from reward_envs.wrappers.batch import Bool, Float
from reward_envs.wrappers.core import Scope
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.runner import Schedule


class RewardRolloutBuffer(RolloutBuffer):
    """SB3's rollout buffer for PPO, A2C and TRPO, which `sb3()` hands to the algorithm.

    Every row of the rollout is scored when it is complete, as one time-major batch of `n_steps * n_envs` rows: networks
    run once, equal rows count by rank, and methods with gradients learn once, unless a schedule was given. Then
    `rewards = float32(score) + gamma V(s')`, the second only where a row was truncated, as SB3 has it. The rows are
    kept with their true successors, which takes twice the memory of SB3's own observations.

    Episode methods: a row is scored, with every term, when its episode ends. Rows whose episode is still running when
    the rollout ends are trained on with a reward of 0, `task` included; they are kept until their episode ends, which
    is then scored whole and pays its rows in the present rollout. `unscored` is the share of rows without a score; the
    longer the rollout against the episodes, the smaller.

    Attributes
    ----------
    terms : dict of float64[n_steps, n_envs]
        Every term of the last rollout, weight included; their plain sum is what was paid.
    unscored : float
        Share of the last rollout's rows that have no score.

    Raises RewardError where the rewards do not come from the environment of `sb3()`, where its gamma is another, and,
    for episode methods, where an episode is longer than n_steps: at the first step where the time limit is known, else
    when an episode has outgrown the rollout.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: th.device | str = "auto",
        gae_lambda: float = 1,
        gamma: float = 0.99,
        n_envs: int = 1,
    ) -> None:
        self.terms: dict[str, Float] = {}
        self.unscored = 0.0
        self.sums = EpisodeSums()
        self.metrics: dict[str, float] = {}
        self._recorder: VecRecorder | None = None
        self._rows = RowStore()
        self._kept = 0  # rows of earlier rollouts, whose episodes still run
        super().__init__(buffer_size, observation_space, action_space, device, gae_lambda, gamma, n_envs)

    def reset(self) -> None:
        super().reset()
        self._rows.cut(self._kept)  # a rollout that a callback broke off never trains

    def add(self, obs: Any, action: NDArray[Any], reward: NDArray[Any], *args: Any, **kwargs: Any) -> None:
        recorder = recorder_of(reward)
        if recorder is not self._recorder:
            self._meet(recorder)
        self._rows.append(recorder.take(reward))
        super().add(obs, action, np.asarray(reward), *args, **kwargs)

    def _meet(self, recorder: VecRecorder) -> None:
        recorder.learner_discounts_by(self.gamma)
        limit, steps = recorder.place.max_steps, self.buffer_size
        if recorder.method.scope is Scope.EPISODE and limit is not None and limit > steps:
            raise _too_long(recorder, f"episodes have up to {limit} steps", steps)
        if recorder.schedule is None:
            recorder.rewarder.schedule = dataclasses.replace(Schedule(), learn_every=steps * self.n_envs)
        self._recorder, self._rows, self._kept = recorder, RowStore(), 0
        self.sums = EpisodeSums()

    def compute_returns_and_advantage(self, last_values: th.Tensor, dones: NDArray[Any]) -> None:
        paid, self.terms = self._score()
        self.rewards += paid.astype(np.float32)
        super().compute_returns_and_advantage(last_values, dones)

    def _score(self) -> tuple[Float, dict[str, Float]]:
        """What the rollout's rows are paid, and each term, as [n_steps, n_envs]."""
        assert self._recorder is not None
        batch, whole, running = self._rows.batch, np.ones(len(self._rows), np.bool_), None
        if self._recorder.method.scope is Scope.EPISODE:
            whole, running = finished(batch, self.n_envs)
        columns = {name: np.zeros(len(batch)) for name in ("", *(t.label for t in self._recorder.method.terms))}
        if whole.any():
            due = batch if whole.all() else batch.rows(whole)
            scored = score_rows(self._recorder.rewarder, due)
            self.sums.add(due, scored.terms)
            self.metrics.update(scored.metrics)
            for name, values in (("", scored.values), *scored.terms.items()):
                columns[name][whole] = values
        size = self.buffer_size * self.n_envs
        self.unscored = 1.0 - float(whole[-size:].mean())
        self._keep(running)
        shaped = {name: column[-size:].reshape(self.buffer_size, self.n_envs) for name, column in columns.items()}
        return shaped.pop(""), shaped

    def _keep(self, running: Bool | None) -> None:
        if running is None:
            self._rows.cut(0)
        else:
            longest = int(self._rows.batch.t[running].max(initial=-1)) + 1
            if longest >= self.buffer_size:
                assert self._recorder is not None
                raise _too_long(self._recorder, f"an episode still runs after {longest} steps", self.buffer_size)
            self._rows.keep(running)
        self._kept = len(self._rows)

    def reward_log(self) -> dict[str, float]:
        """What `RewardLogCallback` writes: means over the last 100 episodes, metrics of learning, unscored share."""
        log = self.sums.means() | {f"reward/{name}": value for name, value in self.metrics.items()}
        if self._recorder is not None and self._recorder.method.scope is Scope.EPISODE:
            log["reward/unscored_share"] = self.unscored
        return log


class RewardDictRolloutBuffer(RewardRolloutBuffer, DictRolloutBuffer):
    """The same for observations that are dicts."""


def _too_long(recorder: VecRecorder, what: str, steps: int) -> RewardError:
    wide = next(m for m in recorder.method.walk() if m.own_scope is Scope.EPISODE)
    return RewardError(
        f"{wide.label} is paid when an episode ends, {what}, and a rollout has n_steps={steps}: give the algorithm an "
        f"n_steps of several episodes, or the environment a shorter TimeLimit."
    )
