"""Weights that move with training, and gates."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.agents.tabular import MDP, optimal_actions, value_iteration, with_reward
from reward_envs.wrappers import Anneal, Batch, Gate, Potential, Rewarder, RewardError, Task, function, parse
from tests.drawn import STATES, cut, process, rollout, transitions

nan = math.nan
seeds = st.integers(0, 10**6)
NEVER = 10**12


def ones(n: int, **columns: Any) -> Batch:
    return Batch.of(obs=[0] * n, action=[0] * n, next_obs=[0] * n, **({"reward": [1.0] * n} | columns))


# anneal


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("anneal(task, 1, 0, steps=4)", [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]),
        ("anneal(task, 0, 2, steps=2, after=1)", [0.0, 0.0, 1.0, 2.0, 2.0, 2.0]),
        ("anneal(task, 0, 1, steps=0, after=3)", [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
        ("anneal(task, 0, 1, steps=0)", [1.0] * 6),
        ("anneal(task, 0.5, 0.5, steps=3)", [0.5] * 6),
        ("anneal(task, -1, 1, steps=1, after=2)", [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_anneal_golden(text: str, weights: list[float]) -> None:
    assert Rewarder(text).step(ones(6)).values.tolist() == weights
    by_row = Rewarder(text)
    assert [by_row.step(ones(1)).values.item() for _ in range(6)] == weights


@given(seed=seeds, steps=st.integers(0, 40), after=st.integers(0, 40))
def test_the_weight_is_exact_to_the_row_however_the_rows_are_cut(seed: int, steps: int, after: int) -> None:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    method = Anneal(Task(), 0.25, 2.0, steps=steps, after=after)
    rewarder = Rewarder(method, n=3)
    values = np.concatenate([rewarder.step(part).values for part in cut(batch, rng)])
    past = [i - after for i in range(len(batch))]
    share = [min(max(p / steps, 0.0), 1.0) if steps else float(p >= 0) for p in past]
    assert values == pytest.approx([r * (0.25 + 1.75 * w) for r, w in zip(batch.reward, share, strict=True)])


def test_only_training_moves_the_count() -> None:
    rewarder = Rewarder("anneal(task, 0, 1, steps=0, after=2)")
    frozen = rewarder.freeze()
    for _ in range(3):
        assert frozen.step(ones(1)).values.tolist() == rewarder.score(ones(1)).values.tolist() == [0.0]
    rewarder.step(ones(1))
    assert frozen.step(ones(3)).values.tolist() == rewarder.score(ones(3)).values.tolist() == [0.0, 1.0, 1.0]
    rewarder.step(ones(1))
    assert frozen.step(ones(1)).values.tolist() == [1.0]


def test_it_goes_on_after_saving() -> None:
    one, other = Rewarder("anneal(task, 1, 0, steps=4)"), Rewarder("anneal(task, 1, 0, steps=4)")
    one.step(ones(3))
    other.load_state_dict(one.state_dict())
    assert other.step(ones(2)).values.tolist() == [0.25, 0.0]


def test_unknown_rows_stay_unknown_and_count() -> None:
    values = Rewarder("anneal(task, 1, 0, steps=2)").step(ones(3, reward=[nan, 1.0, 1.0])).values
    assert values == pytest.approx([nan, 0.5, 0.0], nan_ok=True)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ((math.inf, 0.0, 1), "anneal: initial=inf, final=0.0; a weight is finite."),
        ((0.0, nan, 1), "anneal: initial=0.0, final=nan; a weight is finite."),
        ((0.0, 1.0, -1), "anneal: steps=-1, after=0; a number of rows is 0 or more."),
        ((0.0, 1.0, 1, -2), "anneal: steps=1, after=-2; a number of rows is 0 or more."),
        ((0.0, 1.0, 0.5), "anneal: steps=0.5, but steps takes a int."),
    ],
)
def test_wrong_fields(fields: Any, sentence: str) -> None:
    with pytest.raises(RewardError, match=re.escape(sentence)):
        Anneal(Task(), *fields)


# from sparse to dense and back


def sparse_to_dense(phi: Any, gamma: float, after: int) -> Any:
    return Task() + Anneal(Potential(phi, gamma=gamma), 0.0, 1.0, steps=0, after=after)


def dense_to_sparse(phi: Any, gamma: float, after: int) -> Any:
    return Task() + Anneal(Potential(phi, gamma=gamma), 1.0, 0.0, steps=0, after=after)


def paid_in(mdp: MDP, method: Any, rows_before: int) -> MDP:
    """The process paying what the method pays after so many rows of training."""
    rewarder = Rewarder(method)
    if rows_before:
        rewarder.step(transitions(mdp).rows(np.zeros(rows_before, int)))
    return with_reward(mdp, rewarder.score(transitions(mdp)).values)


def check_phases(rng: np.random.Generator, gamma: float) -> None:
    """Before the switch the task's reward exactly, from it on the potential's too; the best actions never change."""
    mdp, phi = process(rng, gamma), tuple(rng.normal(size=STATES, scale=2.0).tolist())
    rows = len(transitions(mdp))
    best = optimal_actions(value_iteration(mdp))
    dense = Rewarder(Task() + Potential(phi, gamma=gamma)).score(transitions(mdp)).values
    sparse = transitions(mdp).reward
    for make, early, late in ((sparse_to_dense, sparse, dense), (dense_to_sparse, dense, sparse)):
        for before, expected in ((0, early), (rows, late)):
            changed = paid_in(mdp, make(phi, gamma, after=rows), before)
            assert np.array_equal(changed.reward, with_reward(mdp, expected).reward)
            assert np.array_equal(optimal_actions(value_iteration(changed)), best)
    assert np.array_equal(paid_in(mdp, sparse_to_dense(phi, gamma, 0), 0).reward, with_reward(mdp, dense).reward)
    assert np.array_equal(paid_in(mdp, sparse_to_dense(phi, gamma, NEVER), rows).reward, mdp.reward)


def check_that_a_dense_reward_that_is_no_potential_changes_the_best_action() -> None:
    """A corridor 0, 1, goal: being near the goal pays 0.5 a step, so staying near beats arriving."""
    transition, reward = np.zeros((3, 2, 3)), np.zeros((3, 2, 3))
    transition[0, 0, 0] = transition[0, 1, 1] = transition[1, 0, 1] = transition[1, 1, 2] = transition[2, :, 2] = 1.0
    reward[1, 1, 2] = 1.0
    mdp = MDP(transition, reward, np.array([False, False, True]), gamma=0.9)
    nearness = (0.0, 0.5, 1.0)

    def near(next_obs: Any) -> Any:
        return np.take(nearness, next_obs)

    dense = Task() + Anneal(function(near), 0.0, 1.0, steps=0, after=4)
    shaped = sparse_to_dense(nearness, 0.9, after=4)
    assert value_iteration(paid_in(mdp, dense, 0))[1].argmax() == 1
    assert value_iteration(paid_in(mdp, dense, 4))[1].argmax() == 0  # 0.5/(1 - 0.9) = 5 > 1 + 1
    assert value_iteration(paid_in(mdp, shaped, 4))[1].argmax() == 1


def check_sums(rng: np.random.Generator, gamma: float, length: int, k: int) -> None:
    """-φ(s_0) or γ^T φ(s_T) - φ(s_0) after the switch, by the kind of end; -γ^k φ(s_k) where it falls at step k."""
    phi, path = rng.normal(size=STATES), rng.integers(STATES, size=length + 1)

    def added(terminated: bool, after: int) -> float:
        end = np.arange(length) == length - 1
        batch = Batch.of(
            obs=path[:-1],
            action=[0] * length,
            next_obs=path[1:],
            reward=[0.0] * length,
            terminated=end & terminated,
            truncated=end & (not terminated),
        )
        term = Rewarder(sparse_to_dense(tuple(phi.tolist()), gamma, after)).step(batch).terms["anneal"]
        return math.fsum(gamma**t * v for t, v in enumerate(term))

    first, last = phi[path[0]], gamma**length * phi[path[-1]]
    assert added(True, after=0) == pytest.approx(-first, abs=1e-9)
    assert added(False, after=0) == pytest.approx(last - first, abs=1e-9)
    assert added(True, after=k) == pytest.approx(-(gamma**k) * phi[path[k]], abs=1e-9)
    assert added(False, after=k) == pytest.approx(last - gamma**k * phi[path[k]], abs=1e-9)
    assert added(True, after=length) == 0.0


@given(seed=seeds, gamma=st.sampled_from([0.5, 0.95]), length=st.integers(1, 8), data=st.data())
def test_from_sparse_to_dense_keeps_the_optimal_policies(seed: int, gamma: float, length: int, data: Any) -> None:
    rng = np.random.default_rng(seed)
    check_phases(rng, gamma)
    check_sums(rng, gamma, length, k=data.draw(st.integers(0, length - 1)))
    check_that_a_dense_reward_that_is_no_potential_changes_the_best_action()


# gate


def test_gate_golden() -> None:
    batch = ones(4, reward=[2.0, 0.0, -1.0, nan])
    assert Rewarder("gate(shift(task, 5), by=task)").step(batch).values == pytest.approx(
        [7.0, 0.0, 0.0, nan], nan_ok=True
    )


def test_a_gate_is_unknown_where_either_is() -> None:
    batch = ones(3, info={"a": [0.0] * 3, "b": [0.0] * 3}, next_info={"a": [nan, nan, 1.0], "b": [1.0, 0.0, nan]})
    values = Rewarder("gate(progress(a), by=progress(b))").step(batch).values
    assert values == pytest.approx([nan] * 3, nan_ok=True)


def test_a_gate_keeps_what_its_parts_ask_for() -> None:
    gate = parse("gate(progress, by=milestones)")
    assert gate == Gate(parse("progress"), parse("milestones"))
    assert gate.hooks == {"progress", "milestones"}


@pytest.mark.parametrize(
    "text",
    [
        "anneal(task, initial=0.0, final=1.0, steps=0, after=10)",
        "anneal(potential(steps_to_go), initial=1, final=0, steps=5, name=early)",
        "gate(task, progress)",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)
