"""Arrays: rewards of a recorded batch. The reference that every other adapter is tested against."""

from __future__ import annotations

from typing import Any

import numpy as np

from reward_envs.wrappers.batch import Batch
from reward_envs.wrappers.core import Method, Relabel, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import as_relabel
from reward_envs.wrappers.runner import Rewarder, Schedule, Scored


def relabel(
    batch: Batch,
    method: Method | str,
    *,
    spec: Spec | None = None,
    gamma: float | None = None,
    seed: int | np.random.Generator | None = None,
    schedule: Schedule | None = None,
    cut: int | None = None,
) -> Scored:
    """Score the rows of a batch with any method, of any scope.

    Parameters
    ----------
    batch
        Rows in time order within each stream.
    spec
        What the method is told; by default only `gamma`.
    gamma
        The learner's discount, for methods that need it.
    cut
        Rows handed to the method at a time (the number of environments gives what a vector environment would have
        given); by default all at once. Only methods that learn can tell the difference.

    Returns
    -------
    Scored
        values float64[N] with NaN where a row is unknown, the terms, and metrics of the last learning.

    Raises RewardError where cut is given to a method that must see whole episodes.

    >>> from reward_envs.wrappers import Batch, relabel
    >>> batch = Batch.of(obs=[0, 1], action=[0, 0], next_obs=[1, 2], reward=[0, 1], terminated=[0, 1])
    >>> relabel(batch, "task + potential((0, 1, 2), gamma=0.5)").values
    array([0.5, 0. ])
    """
    spec = spec or Spec(gamma=gamma)
    n = int(batch.stream.max()) + 1 if len(batch) else 1
    rewarder = Rewarder(method, spec, n=n, seed=seed, schedule=schedule)
    if cut is None:
        return rewarder.step(batch)
    if rewarder.method.scope > 1:
        raise RewardError(f"{rewarder.method.label} must see whole episodes: leave cut out.")
    parts = [rewarder.step(batch.rows(np.arange(i, min(i + cut, len(batch))))) for i in range(0, len(batch), cut)]
    terms = {k: np.concatenate([p.terms[k] for p in parts]) for k in parts[0].terms}
    return Scored(np.concatenate([p.values for p in parts]), terms, parts[-1].metrics)


def relabel_rows(batch: Batch, how: Relabel | str, *, seed: int | np.random.Generator | None = None) -> Batch:
    """Make other rows of a batch, such as hindsight goals; the batch is unchanged."""
    return as_relabel(how).relabel(batch, np.random.default_rng(seed))


def from_minari(dataset: Any) -> Batch:
    """The rows of a Minari dataset (or any iterable of its episodes), one episode after the other.

    An episode has `observations` [T+1] (arrays, dicts, tuples), `actions`, `rewards`, `terminations`, `truncations` [T]
    and `infos`, whose [T+1] columns become hooks. Needs `pip install "reward-envs[minari]"` to load datasets.
    """
    episodes = dataset.iterate_episodes() if hasattr(dataset, "iterate_episodes") else dataset
    batches = []
    for number, e in enumerate(episodes):
        steps = len(e.rewards)
        infos = {k: np.asarray(v) for k, v in (e.infos or {}).items() if np.shape(v)[:1] == (steps + 1,)}
        batches.append(
            Batch.of(
                obs=_slice(e.observations, slice(0, steps)),
                action=e.actions,
                next_obs=_slice(e.observations, slice(1, steps + 1)),
                reward=e.rewards,
                terminated=e.terminations,
                truncated=e.truncations,
                episode=np.full(steps, number),
                t=np.arange(steps),
                info={k: v[:-1] for k, v in infos.items()},
                next_info={k: v[1:] for k, v in infos.items()},
            )
        )
    if not batches:
        raise RewardError("the dataset has no episodes: nothing to relabel.")
    return Batch.concat(batches)


def _slice(tree: Any, where: slice) -> Any:
    if isinstance(tree, dict):
        return {k: _slice(v, where) for k, v in tree.items()}
    return tuple(_slice(v, where) for v in tree) if isinstance(tree, tuple) else tree[where]
