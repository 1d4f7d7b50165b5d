"""Count: a bonus that falls with the number of visits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels.counts import add, count_episodic, empty_memory, empty_table, hash_rows, lookup_ranked, simhash
from reward_envs.wrappers.batch import Batch, Float, Tree
from reward_envs.wrappers.core import Method, Spec
from reward_envs.wrappers.encode import features, row_bytes
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register


@dataclass
class Visits:
    """Lifelong counts: a hash table of keys uint64[C] and counts int64[C]; for SimHash how observations become numbers,
    and the seed of the projection."""

    seed: int
    encode: Callable[[Tree], NDArray[np.float32]]
    keys: NDArray[np.uint64] = field(default_factory=lambda: empty_table()[0])
    counts: NDArray[np.int64] = field(default_factory=lambda: empty_table()[1])
    used: int = 0


@register(
    "count",
    example="count",
    source=("strehl2008analysis", "tang2017exploration"),
    claims=("nonnegative", "bounded(0, 1)", "fades", "cut_invariant"),
)
@dataclass(frozen=True, repr=False)
class Count(Method):
    """A bonus for states that were seldom reached.

    `r_t = 1 / N(s_{t+1})^power`, float64[N], where N counts the visit at hand: 1 at the first. Rows of one batch count
    by their order, so a batch pays what its rows would have paid one by one. With `bits = k > 0` two observations are
    one state where `sign(A g(s))` agrees: A is a k x D matrix of standard normal numbers, g the flattened observation,
    one-hot where it is discrete (SimHash).

    Parameters
    ----------
    bits
        0 counts exact observations; k of 1 to 64 counts SimHash codes of k bits: fewer bits, coarser states.
    episodic
        False counts over the whole of training (learned: saved, frozen in evaluation); True within the episode.
    power
        Exponent: 0.5 as in MBIE-EB, 1 for 1/N.
    resolution
        Exact counting rounds floats to multiples of it; None takes them as they are.

    Memory grows with the number of distinct states (lifelong) or with the longest running episode (episodic).
    Sampled again from a replay buffer, a row pays as one more visit on top of the counts of today.
    Raises RewardError where bits, power or resolution are out of range.
    Misleads on observations that never repeat, such as raw floats or a noisy screen: then every step pays 1 for ever;
    use `bits` or `resolution`. On SimHash, observations that all point one way share most bits.

    Source: Strehl and Littman 2008, "An analysis of model-based interval estimation for Markov decision processes"
    (the bonus β/√n); Tang et al. 2017, "#Exploration", arXiv:1611.04717, equation 2 and section 2.2 (hashing).
    Episodic counts: the same within an episode.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> batch = Batch.of(obs=[0, 1, 0, 1], action=[0] * 4, next_obs=[1, 0, 1, 1], reward=[0] * 4)
    >>> Rewarder("count(power=1.0)").step(batch).values.round(2).tolist()
    [1.0, 1.0, 0.5, 0.33]
    """

    bits: int = 0
    episodic: bool = False
    power: float = 0.5
    resolution: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.bits <= 64:
            raise RewardError(f"{self.label}: bits={self.bits}; it is 0 (exact) or 1 to 64 (SimHash).")
        if not self.power > 0 or (self.resolution is not None and not self.resolution > 0):
            raise RewardError(f"{self.label}: power={self.power}, resolution={self.resolution}; both lie above 0.")
        if self.bits and self.resolution is not None:
            raise RewardError(f"{self.label}: resolution is for exact counting; SimHash (bits={self.bits}) needs none.")

    def init(self, spec: Spec, rng: np.random.Generator) -> Visits:
        return Visits(int(rng.integers(2**31)), functools.partial(features, space=spec.observation_space))

    def start(self, spec: Spec, n: int) -> Any:
        return empty_memory(n) if self.episodic else None

    def score(self, state: Visits, carry: Any, batch: Batch) -> tuple[Float, Any]:
        keys = self._keys(state, batch)
        if self.episodic:
            visits, carry = count_episodic(carry, keys, batch.stream, batch.first)
        else:
            visits = np.empty(len(keys), np.int64)
            lookup_ranked(state.keys, state.counts, keys, visits)
        return visits.astype(np.float64) ** -self.power, carry

    def learn(self, state: Visits, batch: Batch, scores: Float) -> Mapping[str, float]:
        if self.episodic:
            return {}
        table = (state.keys, state.counts, state.used)
        state.keys, state.counts, state.used = add(table, self._keys(state, batch))
        return {"states": float(state.used)}

    def _keys(self, state: Visits, batch: Batch) -> NDArray[np.uint64]:
        if not self.bits:
            return hash_rows(row_bytes(batch.next_obs, self.resolution))
        seen = state.encode(batch.next_obs).astype(np.float64)
        return simhash(seen, _projection(state.seed, seen.shape[1], self.bits))


@functools.lru_cache(maxsize=32)
def _projection(seed: int, width: int, bits: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((width, bits))
