"""Milestones that are learned: the steps of the best success so far, matched in order by how their texts read."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reward_envs.text.encode import NGrams
from reward_envs.wrappers.batch import Batch, Float, Int
from reward_envs.wrappers.core import Method, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import register

LONGEST = 1_000  # distinct steps of an episode that milestones are taken from


@dataclass
class Distilled:
    """The milestones, how often they were renewed, the return and number of steps of the success that they come from;
    and the distinct texts and returns of the running episodes, by stream."""

    milestones: list[str] = field(default_factory=list)
    version: int = 0
    best: float = -math.inf
    steps: int = 0
    texts: dict[int, list[str]] = field(default_factory=dict)
    returns: dict[int, float] = field(default_factory=dict)


@register(
    "adaptive_milestones",
    example="adaptive_milestones",
    source="zheng2026adaptive",
    claims=("nonnegative", "bounded(0, 0.5)", "resets_each_episode"),
    covers={49: "tests/shaping/test_adaptive.py::test_milestones_of_successes_in_order_and_once"},
)
@dataclass(frozen=True, repr=False)
class AdaptiveMilestones(Method):
    """Steps that read like those of the best success so far pay, in its order and once each.

    `r_t = scale / K · [sim(text_t, m_k) >= threshold]`, float64[N], where m_1 ... m_K are the milestones, m_k is the
    next that the episode has not reached, and sim is the product of two texts' `NGrams`. All of them together pay
    `scale`, so a failed episode stays below any success; a step that reaches none is paid nothing.

    The milestones are learned. When an episode ends with a task return of at least `success`, and that is higher than
    the return of the success that they come from, or as high in fewer steps, they become its steps: those that do not
    read like an earlier one, at most `most` of them, evenly spread. Failed episodes teach nothing; before the first
    success all pay 0. An episode that runs while milestones are renewed is paid for no further ones.

    Parameters
    ----------
    scale
        What all milestones of an episode pay together.
    success
        The task return from which on an episode is a success.
    threshold
        How alike two texts are to be one, in [0, 1].
    most
        How many milestones there are at most.
    column
        "action" for what the agent wrote, "next_obs" for what it saw then. What is no text is written as one.

    Raises RewardError where `0 < scale < success` does not hold, or a field is out of range.
    Misleads where tasks differ so much that the steps of one success say nothing of another; where texts differ in a
    number that decides, since they read alike; and where the first success was lucky and its detours are paid too.

    Source: Zheng et al. 2026, "Adaptive Milestone Reward for GUI Agents", arXiv:2602.11524. There a language model
    writes the milestones and other embeddings match them, and credit is a part of the advantage.

    >>> from reward_envs.wrappers import Batch, Rewarder
    >>> steps = ["open the door", "look around", "take the key"]
    >>> rows = dict(obs=[0] * 3, action=steps, next_obs=[0] * 3, reward=[0, 0, 1], terminated=[0, 0, 1])
    >>> rewarder = Rewarder("task + adaptive_milestones(0.6)")
    >>> [rewarder.step(Batch.of(**rows)).values.round(6).tolist() for _ in range(2)]
    [[0.0, 0.0, 1.0], [0.2, 0.2, 1.2]]
    """

    scale: float = 0.5
    success: float = 1.0
    threshold: float = 0.7
    most: int = 10
    column: str = "action"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.scale < self.success < math.inf:
            raise RewardError(
                f"{self.label}: scale={self.scale}, success={self.success}; 0 < scale < success, so that no failure "
                f"pays as much as a success."
            )
        if not 0.0 < self.threshold <= 1.0 or self.most < 1:
            raise RewardError(
                f"{self.label}: threshold={self.threshold} lies in (0, 1], most={self.most} is 1 or more."
            )
        if self.column not in ("action", "next_obs"):
            raise RewardError(f"{self.label}: column={self.column!r}; it is 'action' or 'next_obs'.")

    def init(self, spec: Spec, rng: np.random.Generator) -> Distilled:
        return Distilled()

    def start(self, spec: Spec, n: int) -> Int:
        """int64[n, 2]: how many milestones were reached, and of which version."""
        return np.full((n, 2), -1)

    def score(self, state: Distilled, carry: Int, batch: Batch) -> tuple[Float, Int]:
        reached, out, known = carry.copy(), np.zeros(len(batch)), len(state.milestones)
        alike = _rows(self._texts(batch)) @ _rows(tuple(state.milestones)).T >= self.threshold - 1e-6
        for i, (stream, first) in enumerate(zip(batch.stream.tolist(), batch.first.tolist(), strict=True)):
            if first:
                reached[stream] = 0, state.version
            k, version = reached[stream].tolist()
            if version == state.version and k < known and alike[i, k]:
                out[i] = self.scale / known
                reached[stream, 0] += 1
        return out, reached

    def learn(self, state: Distilled, batch: Batch, scores: Float) -> Mapping[str, float]:
        gains = np.where(batch.known, batch.reward, np.nan).tolist()
        ends = batch.ended.tolist()
        for i, (stream, text) in enumerate(zip(batch.stream.tolist(), self._texts(batch), strict=True)):
            if batch.first[i]:
                state.texts[stream], state.returns[stream] = [], 0.0
            if stream not in state.texts:
                continue  # its beginning was not seen
            said = state.texts[stream]
            if text not in said and len(said) <= LONGEST:
                said.append(text)
            state.returns[stream] += gains[i]
            if ends[i]:
                self._ended(state, said, state.returns.pop(stream))
                del state.texts[stream]
        return {"milestones": float(len(state.milestones))}

    def _ended(self, state: Distilled, texts: list[str], gain: float) -> None:
        better = gain > state.best or (gain == state.best and len(texts) < state.steps)
        if not gain >= self.success or not better or len(texts) > LONGEST:
            return
        state.best, state.steps = gain, len(texts)
        state.milestones, state.version = self._distil(texts), state.version + 1

    def _distil(self, texts: list[str]) -> list[str]:
        rows, chosen = _rows(tuple(texts)), [0]
        for i in range(1, len(texts)):
            if (rows[chosen] @ rows[i] < self.threshold).all():
                chosen.append(i)
        kept = np.unique(np.linspace(0, len(chosen) - 1, self.most).round().astype(int))
        return [texts[chosen[i]] for i in kept]

    def _texts(self, batch: Batch) -> tuple[str, ...]:
        values = getattr(batch, self.column)
        if not isinstance(values, np.ndarray):
            raise RewardError(f"{self.label}: {self.column} has parts; it needs one text a row.")
        return tuple(v if isinstance(v, str) else str(v) for v in values.tolist())


@functools.lru_cache(maxsize=64)
def _rows(texts: tuple[str, ...]) -> NDArray[np.float32]:
    return NGrams()(texts)
