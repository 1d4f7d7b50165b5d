"""Hindsight: rows relabelled with goals that were reached."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reward_envs.wrappers.batch import Batch, Int, Tree, map_tree
from reward_envs.wrappers.core import Relabel, resolve
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.hindsight.goals import GoalFunction
from reward_envs.wrappers.registry import register

# With the rows sorted by episode and step: where the goal of the row at place `at` may come from, as [low, high).
STRATEGIES: dict[str, Callable[[Int, Int, Int], tuple[Int, Int]]] = {
    "future": lambda at, first, last: (at, last + 1),
    "final": lambda at, first, last: (last, last + 1),
    "episode": lambda at, first, last: (first, last + 1),
    "random": lambda at, first, last: (np.zeros_like(at), np.full_like(at, len(at))),
}


@register(
    "hindsight",
    example="hindsight(future, k=4, compute_reward='tests.rewards:reached', compute_terminated='tests.rewards:ends')",
    role="rows",
    source="andrychowicz2017hindsight",
    claims=("goals_were_reached", "pays_its_goal"),
    covers={146: "tests/hindsight/test_replay_property.py::test_every_sampled_row_is_what_hindsight_says"},
)
@dataclass(frozen=True)
class Hindsight(Relabel):
    """Rows that were played, with goals that were reached, as if these had been asked for.

    k copies of every row, [kN] rows in k runs through the batch. In each, `desired_goal` (of obs and next_obs) is
    `g = achieved_goal(s_{i+1})`, the next achieved goal of a row i, and reward and termination are those of the task
    for g: `r = compute_reward(achieved_goal(s_{t+1}), g, info)`. With t the row and T the length of its episode,

    - future: i is uniform over t, ..., T-1;
    - final: i = T-1;
    - episode: i is uniform over 0, ..., T-1;
    - random: i is any row of the batch.

    Observations are dicts with `achieved_goal` and `desired_goal`. Truncations stay, and so do streams and
    steps; each copy of an episode has an episode number of its own, which the batch does not use. Hooks may depend on
    the goal, so the new rows have only those named in `keep`.

    Parameters
    ----------
    strategy
        Where goals come from: future, final, episode or random.
    k
        Copies of each row.
    compute_reward
        The task's function of (achieved_goal, desired_goal, info), or "package.module:function". Called with all rows
        at once and info as a dict of columns at s'; where it answers two rows otherwise than one by one, row by row.
    compute_terminated
        The same for bool; None where no row of the task terminates.
    keep
        Hooks that do not depend on the goal.

    `goals_of(env)` gives both functions. Episodes may be open; future then ends with the last row at hand.
    Raises RewardError for another strategy, k below 1, observations without goals, a terminated row without
    compute_terminated, and a function that gives no number a row.
    Misleads where what is reached is soon reached by chance and never what is asked for; and where the outcome is
    random, since only goals that luck gave are learnt from. The relabelled rows are off-policy: for replay buffers.
    Misleads a reward that looks at more than its row: except with final, the goal changes from row to row, and an
    episode may go on after a row that now terminates. Score new rows with step methods that have no episode memory.

    Source: Andrychowicz et al. 2017, "Hindsight Experience Replay", arXiv:1707.01495, algorithm 1 and section 4.5.

    >>> from reward_envs.wrappers import Batch, relabel_rows
    >>> was, now = ({"achieved_goal": [a], "desired_goal": [9]} for a in (0, 1))
    >>> batch = Batch.of(obs=was, action=[0], next_obs=now, reward=[0])
    >>> how = Hindsight("final", k=1, compute_reward=lambda achieved, desired, info: achieved == desired)
    >>> new = relabel_rows(batch, how)
    >>> new.next_obs["desired_goal"].tolist(), new.reward.tolist()
    ([1], [1.0])
    """

    strategy: str = "future"
    k: int = 4
    compute_reward: str | Callable[..., Any] = field(kw_only=True)
    compute_terminated: str | Callable[..., Any] | None = field(default=None, kw_only=True)
    keep: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            near = difflib.get_close_matches(str(self.strategy), STRATEGIES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"write one of {', '.join(STRATEGIES)}."
            raise RewardError(f"{self.label}: no strategy {self.strategy!r}: {hint}")
        if type(self.k) is not int or self.k < 1:
            raise RewardError(f"{self.label}: k={self.k!r}; the number of copies is 1 or more.")

    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        """The [kN] new rows; `rng` draws the goals, and the batch is unchanged."""
        reached = self._reached(batch)
        n = len(batch)
        new = batch.rows(np.tile(np.arange(n), self.k))
        source = self._sources(batch, rng).ravel()
        goals = map_tree(lambda a: a[source], reached)
        for obs in (new.obs, new.next_obs):
            obs["desired_goal"] = map_tree(np.copy, goals)
        given = (new.next_obs["achieved_goal"], goals, new.next_info, len(new))
        new.reward = self._ask(self.compute_reward)(*given).astype(np.float64)
        new.known = np.ones(len(new), dtype=np.bool_)
        if self.compute_terminated is not None:
            new.terminated = self._ask(self.compute_terminated)(*given).astype(np.bool_)
        if n:
            new.episode += np.repeat(np.arange(1, self.k + 1), n) * (np.ptp(batch.episode) + 1)
        new.info, new.next_info = ({h: hooks[h] for h in self.keep} for hooks in (new.info, new.next_info))
        return new

    def _ask(self, function: str | Callable[..., Any]) -> GoalFunction:
        return GoalFunction(resolve(function, self), self.label)

    def _reached(self, batch: Batch) -> Tree:
        for obs in (batch.obs, batch.next_obs):
            if not isinstance(obs, dict) or not {"achieved_goal", "desired_goal"} <= set(obs):
                got = f"a dict of {', '.join(obs)}" if isinstance(obs, dict) else type(obs).__name__
                raise RewardError(
                    f"{self.label} needs goals: observations are dicts with achieved_goal and desired_goal, got {got}."
                )
        if batch.terminated.any() and self.compute_terminated is None:
            raise RewardError(
                f"{self.label}: row {int(np.argmax(batch.terminated))} terminated, which may not hold for another "
                f"goal: give compute_terminated=..., such as goals_of(env) finds."
            )
        for hook in self.keep:
            batch.hook(hook)
        return batch.next_obs["achieved_goal"]

    def _sources(self, batch: Batch, rng: np.random.Generator) -> Int:
        """int64[k, N]: the row that gives each copy its goal."""
        order = np.lexsort((batch.t, batch.episode))
        episode = batch.episode[order]
        first = np.searchsorted(episode, episode, side="left")
        last = np.searchsorted(episode, episode, side="right") - 1
        places = np.arange(len(order))
        low, high = STRATEGIES[self.strategy](places, first, last)
        sources = np.empty((self.k, len(order)), dtype=np.int64)
        sources[:, order] = order[rng.integers(low, high, size=sources.shape)] if len(order) else 0
        return sources


def goals_of(env: Any) -> dict[str, Any]:
    """The goal functions of an environment, as fields: `Hindsight(k=4, **goals_of(env))`.

    `compute_reward`, and `compute_terminated` where there is one, of `env.unwrapped`. Raises RewardError where there is
    no `compute_reward`.
    """
    inner = env.unwrapped
    if not callable(getattr(inner, "compute_reward", None)):
        raise RewardError(
            f"{type(inner).__name__} has no compute_reward(achieved_goal, desired_goal, info), so it cannot say what "
            f"another goal would have paid: hindsight needs a goal environment."
        )
    return {"compute_reward": inner.compute_reward, "compute_terminated": getattr(inner, "compute_terminated", None)}
