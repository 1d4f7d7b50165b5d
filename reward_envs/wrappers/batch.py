"""Batch: the rows that a reward method sees, as a structure of arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.wrappers.errors import HookError, RewardError

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]
Tree = Any  # an array, an object array of str, or a dict or tuple of these, rows first


def map_tree(f: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """f on every array of a tree; `others` have the same shape of tree."""
    if isinstance(tree, Mapping):
        return {k: map_tree(f, v, *(o[k] for o in others)) for k, v in tree.items()}
    if isinstance(tree, tuple):
        return tuple(map_tree(f, v, *(o[i] for o in others)) for i, v in enumerate(tree))
    return f(tree, *others)


def read_only(tree: Tree) -> Tree:
    """The same arrays, as a stranger's function may have them: writing into them is an error."""

    def locked(array: NDArray[Any]) -> NDArray[Any]:
        view = array.view()
        view.flags.writeable = False
        return view

    return map_tree(locked, tree)


def as_tree(values: Tree, n: int) -> Tree:
    """Arrays of n rows where a user may have handed lists or a tuple of rows; else a tuple holds a Tuple's parts."""
    if isinstance(values, tuple) and len(values) == n:
        sizes = {np.shape(v)[:1] for v in values if not isinstance(v, Mapping | tuple)}
        if sizes == {(n,)}:
            raise RewardError(
                f"a tuple of {n} arrays of {n} rows may mean rows or the parts of a Tuple: hand rows as a list."
            )
        if sizes and not any(isinstance(v, Mapping | tuple) for v in values):
            values = list(values)
    return map_tree(lambda v: np.asarray(v, dtype=object) if _is_text(v) else np.asarray(v), values)


def _is_text(values: Any) -> bool:
    return isinstance(values, list) and len(values) > 0 and isinstance(values[0], str)


def tree_rows(tree: Tree) -> int:
    """Number of rows of a tree, by its first array."""
    while isinstance(tree, Mapping | tuple):
        tree = next(iter(tree.values())) if isinstance(tree, Mapping) else tree[0]
    return len(tree)


def all_true(flags: Bool) -> bool:
    """`flags.all()`, in a third of its time on the few rows of an environment's step."""
    return bool(flags.item()) if flags.size == 1 else int(np.count_nonzero(flags)) == flags.size


@dataclass(frozen=True, slots=True)
class Episodes:
    """The episodes of a batch: `index` i64[N] numbers them 0..n-1; `whole` bool[n] has first and last row here."""

    index: Int
    n: int
    whole: Bool


@dataclass(slots=True)
class Batch:
    """N transitions, time-major: the rows of one time step lie before those of the next.

    Adapters preallocate the arrays and write the next batch over them, so whoever keeps a row copies it.

    Parameters
    ----------
    obs, action, next_obs
        Arrays `[N, ...]`, dicts or tuples of arrays, or object arrays of str. `next_obs` is the true successor, never
        the first observation of the next episode.
    reward : float64[N]
        The task's own reward; meaningless where `known` is false.
    known : bool[N]
        The task's reward was observed.
    terminated, truncated : bool[N]
        Never merged: a learner bootstraps beyond a truncation and not beyond a termination.
    stream, episode, group, t : int64[N]
        Which environment of the vector, which episode (unique over the streams), which group of episodes of one task,
        and the step within the episode. `t == 0` starts an episode and is what resets a carry.
    info, next_info : dict of arrays [N, ...]
        Hook columns at s and at s'.
    unit, author : object[N] or None
        For text: what a row is (step, turn, token) and who wrote it.
    pair
        Storage `[2N, ...]` whose halves are `obs` and `next_obs`; None lets `both` build it.
    """

    obs: Tree
    action: Tree
    next_obs: Tree
    reward: Float
    known: Bool
    terminated: Bool
    truncated: Bool
    stream: Int
    episode: Int
    group: Int
    t: Int
    info: dict[str, NDArray[Any]]
    next_info: dict[str, NDArray[Any]]
    unit: NDArray[Any] | None = None
    author: NDArray[Any] | None = None
    pair: Tree = None

    @classmethod
    def of(
        cls,
        *,
        obs: Tree,
        action: Tree,
        next_obs: Tree,
        reward: Any,
        terminated: Any = None,
        truncated: Any = None,
        stream: Any = None,
        episode: Any = None,
        group: Any = None,
        t: Any = None,
        known: Any = None,
        info: Mapping[str, Any] | None = None,
        next_info: Mapping[str, Any] | None = None,
        unit: Any = None,
        author: Any = None,
    ) -> Batch:
        """A batch from plain arrays; `t` and `episode` follow from the ends, rows with a NaN reward are unknown.

        >>> b = Batch.of(obs=[[0.0], [1.0]], action=[0, 0], next_obs=[[1.0], [2.0]], reward=[0, 1], terminated=[0, 1])
        >>> len(b), b.t.tolist(), b.episode.tolist()
        (2, [0, 1], [0, 0])
        """
        reward = np.array(reward, dtype=np.float64)
        if reward.ndim != 1:
            raise RewardError(f"reward has shape {reward.shape}; a batch needs one number a row, shape [N].")
        n = len(reward)

        def column(values: Any, kind: Any, fill: Any) -> NDArray[Any]:
            return np.full(n, fill, dtype=kind) if values is None else np.asarray(values).astype(kind)

        term, trunc = column(terminated, np.bool_, False), column(truncated, np.bool_, False)
        streams = column(stream, np.int64, 0)
        if len(term) == len(trunc) == len(streams) == n and (t is None or episode is None):
            derived_t, derived_episode = _steps_and_episodes(streams, term | trunc)
            t = derived_t if t is None else t
            episode = derived_episode if episode is None else episode
        seen = ~np.isnan(reward) if known is None else np.asarray(known).astype(np.bool_)
        batch = cls(
            as_tree(obs, n),
            as_tree(action, n),
            as_tree(next_obs, n),
            np.where(seen, reward, 0.0) if len(seen) == n else reward,
            seen,
            term,
            trunc,
            streams,
            column(episode, np.int64, 0),
            column(group, np.int64, 0),
            column(t, np.int64, 0),
            {k: np.asarray(v) for k, v in (info or {}).items()},
            {k: np.asarray(v) for k, v in (next_info or {}).items()},
            None if unit is None else np.asarray(unit, dtype=object),
            None if author is None else np.asarray(author, dtype=object),
        )
        for name, value in batch.columns().items():
            if value is not None:
                map_tree(lambda a, name=name: _check_rows(name, a, n), value)
        if np.any(~np.isfinite(batch.reward)):
            row = int(np.flatnonzero(~np.isfinite(batch.reward))[0])
            raise RewardError(f"reward of row {row} is {reward[row]}; mark it known=False or give a finite number.")
        return batch

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def both(self) -> Tree:
        """obs and next_obs as `[2N, ...]` rows, s first."""
        if self.pair is None:
            self.pair = map_tree(lambda a, b: np.concatenate([a, b]), self.obs, self.next_obs)
        return self.pair

    @property
    def ended(self) -> Bool:
        """bool[N]: terminated or truncated."""
        return self.terminated | self.truncated

    @property
    def first(self) -> Bool:
        """bool[N]: the row is the first of its episode."""
        first: Bool = self.t == 0
        return first

    def hook(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The column `name` at s and at s', or a HookError that says which hooks there are."""
        try:
            return self.info[name], self.next_info[name]
        except KeyError:
            there = ", ".join(sorted(self.info)) or "none"
            raise HookError(
                f"the environment gives no '{name}' in its info (hooks there: {there}). Wrap an environment that "
                f"offers this hook, or add it to info at reset and at every step."
            ) from None

    def episodes(self) -> Episodes:
        """The batch's episodes, and which of them lie in it from first row to end."""
        _, index = np.unique(self.episode, return_inverse=True)
        n = int(index.max()) + 1 if len(index) else 0
        whole = np.zeros((2, n), dtype=np.bool_)
        whole[0, index[self.first]] = True
        whole[1, index[self.ended]] = True
        return Episodes(index.astype(np.int64), n, whole[0] & whole[1])

    def columns(self) -> dict[str, Any]:
        """The columns by name; `Batch(**columns)` is the same batch."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "pair"}

    def rows(self, index: Any) -> Batch:
        """A batch of the chosen rows, copied."""
        pick = np.asarray(index)
        pick = pick if pick.size else pick.astype(np.int64)
        picked: dict[str, Any] = {
            k: None if v is None else map_tree(lambda a: a[pick].copy(), v) for k, v in self.columns().items()
        }
        return Batch(**picked)

    def copy(self) -> Batch:
        """A batch that shares no memory with this one."""
        return self.rows(np.arange(len(self)))

    @staticmethod
    def concat(batches: Sequence[Batch]) -> Batch:
        """One batch of all rows, in the order given."""
        if len(batches) == 1:
            return batches[0]
        first, *rest = (b.columns() for b in batches)
        joined: dict[str, Any] = {
            k: None if v is None else map_tree(lambda *a: np.concatenate(a), v, *(r[k] for r in rest))
            for k, v in first.items()
        }
        return Batch(**joined)


def _steps_and_episodes(stream: Int, ended: Bool) -> tuple[Int, Int]:
    """t and a unique episode number of each row, from the streams and the ends."""
    t, episode = np.zeros(len(stream), np.int64), np.zeros(len(stream), np.int64)
    open_at: dict[int, tuple[int, int]] = {}
    started = 0
    for i, (s, end) in enumerate(zip(stream.tolist(), ended.tolist(), strict=True)):
        if s not in open_at:
            open_at[s] = (0, started)
            started += 1
        t[i], episode[i] = open_at[s]
        if end:
            del open_at[s]
        else:
            open_at[s] = (open_at[s][0] + 1, open_at[s][1])
    return t, episode


def _check_rows(name: str, values: Any, n: int) -> None:
    if np.ndim(values) == 0 or len(values) != n:
        raise RewardError(f"{name} has shape {np.shape(values)}; the batch has {n} rows, so it needs [{n}, ...].")
