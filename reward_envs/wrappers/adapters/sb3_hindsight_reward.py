"""Hindsight under a reward method: the goal is changed first, and then the method's terms are scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.wrappers.adapters.rows import unknown_reward
from reward_envs.wrappers.adapters.sb3_hindsight import HindsightReplayBuffer
from reward_envs.wrappers.adapters.sb3_record import VecRecorder
from reward_envs.wrappers.adapters.sb3_replay import RewardReplayBuffer, as_played, remembers, unscaled
from reward_envs.wrappers.batch import Batch, Float, Int
from reward_envs.wrappers.core import Method, Scope, Spec
from reward_envs.wrappers.errors import RewardError, ScopeError
from reward_envs.wrappers.runner import Scored
from reward_envs.wrappers.shaping.function import Task

HOOK = "steps_to_go"


class RewardHindsightReplayBuffer(RewardReplayBuffer, HindsightReplayBuffer):  # type: ignore[misc]
    """`HindsightReplayBuffer` under the method of `sb3(..., hindsight=...)`, which makes it.

    Rows that keep their goal are paid as in `RewardReplayBuffer`. A row with another goal is paid, term by term, what
    the method gives for it: the task's reward and the termination are those of the new goal, and the hook `steps_to_go`
    is asked of the environment's `compute_potential(achieved_goal, desired_goal, info)`, minus that hook, at s and at
    s'. So a potential is that of the new goal, and counts as 0 where the new goal ends the episode. A term with an
    episode memory cannot be scored again; it keeps what it paid when it was played, which is right where it does not
    depend on the goal.

    Raises ScopeError for methods of whole episodes, whose rows have several goals here; RewardError for a term with a
    memory that reads the task's reward or a hook, for other hooks than `steps_to_go`, and for that one where the
    environment has no `compute_potential`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        HindsightReplayBuffer.__init__(self, *args, **kwargs)
        self._begin_scoring()
        shape = self.buffer_size, self.n_envs
        self._carried, self._t = np.zeros(shape, np.float32), np.zeros(shape, np.int64)
        self._fresh: tuple[str, ...] = ()  # terms that are scored for the new goal

    def _meet(self, recorder: VecRecorder, rows: Batch, obs: Any) -> None:
        if recorder.method.scope > Scope.BATCH:
            raise ScopeError(
                f"{recorder.method.label} looks at whole episodes, and hindsight gives their rows other goals one by "
                f"one: train on it without hindsight, or take a step method."
            )
        for term in recorder.method.terms:
            self._check(term, recorder.place)
        super()._meet(recorder, rows, obs)
        self._fresh = tuple(t.label for t in recorder.method.terms if not remembers(t, recorder.place))

    def _check(self, term: Method, place: Spec) -> None:
        """Refuse a term that cannot be paid for another goal."""
        if remembers(term, place):
            reads = sorted(term.hooks) or [m.label for m in term.walk() if isinstance(m, Task)]
            if reads:
                raise RewardError(
                    f"{term.label} remembers its episode and reads {reads[0]}, which another goal changes: leave it "
                    f"out, or train without hindsight."
                )
            return
        if other := sorted(term.hooks - {HOOK}):
            raise RewardError(
                f"{term.label} reads the hook {other[0]}, and nothing says what it would be for another goal; "
                f"potential({HOOK}) asks the environment's compute_potential."
            )
        if term.hooks and not self._inner.has_attr("compute_potential"):
            raise RewardError(
                f"{term.label} reads {HOOK}, and the environment has no compute_potential(achieved_goal, desired_goal, "
                f"info), minus the steps to go for another goal: give it one, or leave the term out."
            )

    def _part_to_store(self, scored: Scored, rows: Batch) -> Float:
        memory = [values for name, values in scored.terms.items() if name not in self._fresh]
        self._carried[self.pos] = np.sum(memory, axis=0) if memory else 0.0
        self._t[self.pos] = rows.t
        return super()._part_to_store(scored, rows)

    def _score_sample(self, sample: dict[str, NDArray[Any]], index: Int, real: int) -> None:
        at = index // self.n_envs, index % self.n_envs
        paid, keys = sample["reward"], self.observation_space.spaces
        seen, then = ({key: sample[f"{when}/{key}"] for key in keys} for when in ("obs", "next"))
        if self._anew and real:
            own = [{key: a[:real] for key, a in part.items()} for part in (seen, then)]
            paid[:real] += self._score_anew((at[0][:real], at[1][:real]), *own)
        if real < len(index):
            own = [{key: a[real:] for key, a in part.items()} for part in (seen, then)]
            paid[real:] = self._score_relabelled(sample, (at[0][real:], at[1][real:]), *own)

    def _score_relabelled(self, sample: dict[str, NDArray[Any]], at: tuple[Int, Int], obs: Any, then: Any) -> Float:
        """What the rows with other goals are paid, float64[V]; their `reward` in the sample is the task's."""
        if self._recorder is None:
            raise RewardError(
                "rows with other goals are scored when they are sampled, and this buffer was loaded: play one step of "
                "the environment of sb3() first, so that it meets the runner."
            )
        space, n = self._recorder.observation_space, len(at[0])
        obs, then = (as_played(part, space) for part in (obs, then))
        hooks = [{HOOK: self._steps_to_go(part, at[1])} if self._asks_hook else {} for part in (obs, then)]
        batch = Batch(
            obs=obs,
            next_obs=then,
            action=unscaled(sample["action"][-n:], self.action_space),
            reward=sample["reward"][-n:].astype(np.float64),
            known=np.ones(n, np.bool_),
            terminated=sample["terminated"],
            truncated=sample["timeout"][-n:] > 0,
            stream=at[1],
            episode=np.arange(n),
            group=np.zeros(n, np.int64),
            t=self._t[at],
            info=hooks[0],
            next_info=hooks[1],
        )
        terms = self._recorder.rewarder.score_terms(batch, self._fresh)
        total: Float = np.sum([self._carried[at].astype(np.float64), *terms.values()], axis=0)
        if np.isnan(total).any():
            raise unknown_reward(Scored(total, terms, {}), batch)
        return total

    @property
    def _asks_hook(self) -> bool:
        assert self._recorder is not None
        return any(t.hooks for t in self._recorder.method.terms if t.label in self._fresh)

    def _steps_to_go(self, obs: Any, envs: Int) -> Float:
        steps = np.empty(len(envs))
        for env, at in self._by_env(envs):
            steps[at] = -self._ask[env].potential(obs["achieved_goal"][at], obs["desired_goal"][at])
        return steps
