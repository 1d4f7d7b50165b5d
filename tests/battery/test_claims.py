"""Every property can fail: a method without it is found out, and a claim that names none is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from reward_envs.wrappers import Batch, Function, Hindsight, LeaveOneOut, Method, Relabel, Task, Uniform
from tests.batches import Draw
from tests.battery import claims

GOALS: dict[str, Any] = {"compute_reward": "tests.rewards:reached", "compute_terminated": "tests.rewards:ends"}
MANY = [Draw(seed, steps=20, aborted=0.1) for seed in range(12)]


@dataclass(frozen=True, repr=False)
class Centred(Method):
    """The task's reward less the mean of the batch."""

    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        return batch.reward - batch.reward.mean(), None


@dataclass(frozen=True, repr=False)
class Running(Method):
    """The sum of a stream's rewards, whatever ends."""

    def start(self, spec: Any, n: int) -> Any:
        return np.zeros(n)

    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        out, total = np.empty(len(batch)), carry.copy()
        for i, s in enumerate(batch.stream):
            total[s] += batch.reward[i]
            out[i] = total[s]
        return out, total


@dataclass(frozen=True, repr=False)
class EndlessPotential(Method):
    """Shaping that pays γ φ(s') at a termination too."""

    gamma: float = 0.99

    def score(self, state: Any, carry: Any, batch: Batch) -> Any:
        now, then = batch.hook("steps_to_go")
        return self.gamma * -then + now, None


@dataclass(frozen=True)
class KeepsReward(Relabel):
    """New goals with the old rewards and terminations."""

    compute_reward: ClassVar[str] = GOALS["compute_reward"]
    compute_terminated: ClassVar[str] = GOALS["compute_terminated"]

    def relabel(self, batch: Batch, rng: np.random.Generator) -> Batch:
        new = Hindsight("final", k=1, **GOALS).relabel(batch, rng)
        new.reward, new.terminated = batch.reward.copy(), batch.terminated.copy()
        return new


WITHOUT: dict[str, list[Any]] = {
    "identity": [2 * Task()],
    "nonnegative": [Task()],
    "bounded(0, 1)": [Task(), 0.5 * Task()],
    "fades": [Task()],
    "telescopes": [EndlessPotential(), Task()],
    "policy_invariant": [5 * Function("tests.rewards:distance"), EndlessPotential()],
    "resets_each_episode": [Running(), Centred()],
    "cut_invariant": [Centred()],
    "return_preserving": [0.5 * Task(), Centred()],
    "episode_local": [Centred(), Running()],
    "causal": [Uniform()],
    "group_zero_mean": [Uniform()],
    "shift_invariant": [Uniform()],
    "scale_invariant": [LeaveOneOut()],
    "group_local": [Centred()],
    "ties_give_zero": [Uniform()],
    "singleton_gives(0)": [Uniform(), Centred()],
    "goals_were_reached": [Hindsight("random", **GOALS), Hindsight("episode", **GOALS)],
    "pays_its_goal": [KeepsReward()],
}


@pytest.mark.parametrize(("claim", "method"), [(c, m) for c, found in WITHOUT.items() for m in found])
def test_a_method_without_the_property_is_found_out(claim: str, method: Any) -> None:
    failed = 0
    for draw in MANY:
        try:
            claims.read(claim)(method, draw)
        except AssertionError:
            failed += 1
    assert failed, "no draw shows it"


def test_every_property_has_a_counterexample() -> None:
    assert {c.partition("(")[0] for c in WITHOUT} == set(claims.CLAIMS)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("telescoping", "no property is called 'telescoping'"),
        ("bounded(0)", r"takes \(low, high\)"),
        ("nonnegative(0)", r"takes \(\)"),
        ("bounded(low=0, high=1)", "is no claim"),
        ("0.5*fades", "is no claim"),
    ],
)
def test_a_claim_that_names_no_property_is_refused(wrong: str, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        claims.read(wrong)
