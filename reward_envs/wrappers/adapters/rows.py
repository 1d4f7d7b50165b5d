"""Rows: the preallocated batch of n running environments, into which every streaming adapter writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.wrappers.batch import Batch, Bool, Tree, map_tree
from reward_envs.wrappers.core import Method, Scope, Spec
from reward_envs.wrappers.errors import HookError, RewardError, ScopeError
from reward_envs.wrappers.runner import Rewarder, Schedule, Scored


class Rows:
    """One transition of each of n environments, written over at every step.

    `begin` takes the first observations of new episodes, `transition` the successors and gives the batch, `advance`
    moves on. `batch` has one row an environment, in order.
    """

    def __init__(self, n: int, hooks: frozenset[str], action_space: Any, single: bool = False) -> None:
        self.n = n
        self.hooks = sorted(hooks)
        self._action_space = action_space
        self._pair: Tree = None
        self._action: Tree = None
        self._moves: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._episodes = 0
        self._one = np.ones(n, np.int64)
        self._where: Any = 0 if single else ...  # one environment hands over numbers, not arrays of one
        self._sure = True  # batch.known is all true
        self.batch: Batch = None  # type: ignore[assignment]  # made by the first begin

    def begin(self, obs: Tree, hooks: Mapping[str, NDArray[Any]], rows: Bool | None = None) -> None:
        """Start new episodes in all rows, or in those of the mask `rows`, at the batched `obs`."""
        if self._pair is None:
            self._allocate(obs, hooks)
            rows = None
        elif not self._fits(obs):
            raise RewardError("the observation changed its shape or structure since the first reset.")
        where: Any = slice(None) if rows is None else np.flatnonzero(rows)
        _write(self.batch.obs, obs, None if rows is None else where)
        for name in self.hooks:
            self.batch.info[name][where] = hooks[name][where]
        count = self.n if rows is None else len(where)
        self.batch.t[where] = 0
        self.batch.episode[where] = np.arange(self._episodes, self._episodes + count)
        self._episodes += count

    def transition(
        self, action: Tree, obs: Tree, reward: Any, terminated: Any, truncated: Any, hooks: Mapping[str, NDArray[Any]]
    ) -> Batch:
        """The batch of the step just made; `obs` and `hooks` are those of the true successors."""
        batch = self.batch
        if self._action is None:
            self._action = batch.action = _action_columns(self._action_space, action, self.n)
        _write(batch.action, action)
        _write(batch.next_obs, obs)
        where = self._where
        batch.reward[where] = reward
        batch.terminated[where] = terminated
        batch.truncated[where] = truncated
        for name in self.hooks:
            batch.next_info[name][:] = hooks[name]
        total = batch.reward.item() if self.n == 1 else batch.reward.sum()
        if self._sure and total == total:  # no NaN among the rewards, as nearly always
            return batch
        np.isnan(batch.reward, out=batch.known)
        batch.reward[batch.known] = 0.0
        np.logical_not(batch.known, out=batch.known)
        self._sure = bool(batch.known.all())
        return batch

    def advance(self) -> None:
        """The successors become the observations of the next step."""
        for now, after in self._moves:
            now[...] = after
        t = self.batch.t
        np.add(t, self._one, out=t)

    def _allocate(self, obs: Tree, hooks: Mapping[str, NDArray[Any]]) -> None:
        n = self.n
        self._pair = map_tree(lambda a: np.zeros((2 * n, *a.shape[1:]), a.dtype), _as_arrays(obs))
        columns = {k: np.zeros((2 * n, *hooks[k].shape[1:]), hooks[k].dtype) for k in self.hooks}
        map_tree(lambda a: self._moves.append((a[:n], a[n:])), (self._pair, columns))
        self.batch = Batch(
            obs=map_tree(lambda a: a[:n], self._pair),
            action=np.zeros(n),
            next_obs=map_tree(lambda a: a[n:], self._pair),
            reward=np.zeros(n),
            known=np.ones(n, np.bool_),
            terminated=np.zeros(n, np.bool_),
            truncated=np.zeros(n, np.bool_),
            stream=np.arange(n),
            episode=np.zeros(n, np.int64),
            group=np.zeros(n, np.int64),
            t=np.zeros(n, np.int64),
            info={k: a[:n] for k, a in columns.items()},
            next_info={k: a[n:] for k, a in columns.items()},
            pair=self._pair,
        )

    def _fits(self, obs: Tree) -> bool:
        try:
            shapes: list[bool] = []
            map_tree(lambda mine, new: shapes.append(mine.shape[1:] == new.shape[1:]), self._pair, _as_arrays(obs))
        except (KeyError, IndexError, TypeError):
            return False
        return all(shapes)


def _as_arrays(obs: Tree) -> Tree:
    """The observation's arrays; a tuple of n texts is one object array."""
    if isinstance(obs, tuple) and len(obs) > 0 and isinstance(obs[0], str):
        return np.array(obs, dtype=object)
    if isinstance(obs, Mapping):
        return {k: _as_arrays(v) for k, v in obs.items()}
    if isinstance(obs, tuple):
        return tuple(_as_arrays(v) for v in obs)
    return np.asarray(obs, dtype=object) if isinstance(obs, list) and isinstance(obs[0], str) else np.asarray(obs)


def one_row(value: Tree) -> Tree:
    """A batch of one row, without a copy where it can be."""
    if type(value) is np.ndarray:
        return value[None]
    if isinstance(value, dict):
        return {k: one_row(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return tuple(one_row(v) for v in value)
    if isinstance(value, str):
        return np.array([value], dtype=object)
    return np.asarray(value)[None]


def _write(into: Tree, values: Tree, where: NDArray[np.intp] | None = None) -> None:
    """Copy batched values into the columns, all rows or those of `where`."""
    if type(into) is np.ndarray:
        if type(values) is not np.ndarray:
            values = np.asarray(values, dtype=into.dtype)
        if values.shape != into.shape:
            raise RewardError(f"got shape {values.shape[1:]} a row where the first ones had {into.shape[1:]}.")
        if where is None:
            into[...] = values
        else:
            into[where] = values[where]
    elif isinstance(into, Mapping):
        for key, column in into.items():
            _write(column, values[key], where)
    else:
        for i, column in enumerate(into):
            _write(column, values[i], where)


def _action_columns(space: Any, action: Tree, n: int) -> Tree:
    """Storage for actions: the space's dtype, so that a first action of integers fixes nothing."""
    if isinstance(action, Mapping):
        return {k: _action_columns(space[k], v, n) for k, v in action.items()}
    dtype = getattr(space, "dtype", None)
    if dtype is None or not isinstance(action, np.ndarray):
        given = _as_arrays(action)
        if isinstance(given, tuple):
            return tuple(_action_columns(s, v, n) for s, v in zip(space, given, strict=True))
        action = given
    return np.zeros((n, *action.shape[1:]), action.dtype if dtype is None or action.dtype == object else dtype)


def hook_column(name: str, values: list[Any]) -> NDArray[Any]:
    """One hook of n environments as float64 `[n, ...]`, or as objects where it is text or ragged; None is absent."""
    there = [v for v in values if v is not None]
    if not there:
        raise HookError(missing_hook(name))
    shape = np.shape(there[0])
    if all(not isinstance(v, str | dict | set) and np.shape(v) == shape for v in there):
        blank = np.full(shape, np.nan)
        return np.array([blank if v is None else v for v in values], dtype=np.float64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def missing_hook(name: str) -> str:
    """The sentence for an environment that does not give a hook."""
    return (
        f"the method needs the hook {name!r}, and the environment's info does not hold it. Use an environment that "
        f"offers it (its card lists hooks), or add info[{name!r}] at reset and at every step."
    )


class Plugged:
    """What every streaming adapter does once: make the runner, refuse what it cannot serve, and add up the episode.

    Parameters
    ----------
    place
        Name of the adapter, for its refusals.
    serves
        The widest scope that it can serve.
    """

    def __init__(
        self,
        place: str,
        serves: Scope,
        method: Method | str,
        spec: Spec,
        n: int,
        seed: int | np.random.Generator | None,
        schedule: Schedule | None,
        single: bool = False,
    ) -> None:
        self.rewarder = Rewarder(admit(method, place, serves), spec, n=n, seed=seed, schedule=schedule)
        self.rows = Rows(n, self.rewarder.method.hooks, spec.action_space, single)
        self.labels = [t.label for t in self.rewarder.method.terms]
        self.totals: dict[str, Any] = {}
        self.clear()

    def score(self, batch: Batch) -> Scored:
        """Step the runner; refuses rows without a value."""
        scored = self.rewarder.step(batch)
        total = scored.values.item() if scored.values.size == 1 else scored.values.sum()
        if total != total:
            raise unknown_reward(scored, batch)
        return scored

    def add(self, scored: Scored, batch: Batch, rows: Any = slice(None)) -> None:
        """Add a step to the sums of the running episodes."""
        self.totals[""][rows] += batch.reward
        for name, values in scored.terms.items():
            self.totals[name][rows] += values

    def clear(self, rows: Bool | None = None) -> None:
        """Start the sums of new episodes; the sum named "" is the task's return."""
        if rows is None:
            self.totals = {name: np.zeros(self.rows.n) for name in ("", *self.labels)}
        else:
            for total in self.totals.values():
                total[rows] = 0.0

    @staticmethod
    def episode_key(name: str) -> str:
        """Key of an episode's sum in info."""
        return f"episode_reward/{name}" if name else "episode_task_return"


def unknown_reward(scored: Scored, batch: Batch) -> RewardError:
    """The error for rows that no term values, naming the term."""
    row = int(np.flatnonzero(~scored.known)[0])
    term = next(name for name, v in scored.terms.items() if np.isnan(v[row]))
    return RewardError(
        f"{term} has no value in row {row} (stream {batch.stream[row]}, step {batch.t[row]}), and this place needs a "
        f"number: wrap the term as fill_unknown({term}, 0.0) if a number is meant."
    )


def admit(method: Method | str, place: str, serves: Scope) -> Method:
    """The method, or one sentence that says what would serve it."""
    from reward_envs.wrappers.registry import as_method

    method = as_method(method)
    if method.pays == "advantage":
        raise ScopeError(
            f"{method.label} gives advantages, which only a group trainer takes; {place} takes rewards. For arrays use "
            f"relabel(batch, method)."
        )
    if method.scope > serves:
        wide = next(m for m in method.walk() if m.own_scope == method.scope)
        instead = {
            Scope.BATCH: "a vector environment (VectorRewardWrapper, VecReward), sb3() or relabel(batch, method)",
            Scope.EPISODE: "sb3() or relabel(batch, method)",
            Scope.GROUP: "relabel(batch, method) or a group trainer",
        }[method.scope]
        raise ScopeError(
            f"{wide.label} looks at a whole {method.scope.name.lower()}, {place} serves {serves.name.lower()} methods: "
            f"use {instead}."
        )
    return method


def request_hooks(method: Method, has: Callable[[str], bool], call: Callable[..., Any]) -> None:
    """Ask the environment for the hooks that the method needs, where it can be asked."""
    if method.hooks and has("request_hooks"):
        call("request_hooks", tuple(sorted(method.hooks)))
