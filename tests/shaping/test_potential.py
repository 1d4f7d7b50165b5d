"""Potential shaping: golden rows, its identities, what it refuses and what it says."""

from __future__ import annotations

import logging
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.agents.tabular import MDP, optimal_actions, value_iteration, with_reward
from reward_envs.card import Card
from reward_envs.wrappers import (
    Batch,
    HookError,
    NonFiniteError,
    Potential,
    Rewarder,
    RewardError,
    Spec,
    Task,
    TextError,
    core,
    parse,
    registry,
    relabel,
)
from tests import naive
from tests.drawn import STATES, process, rollout, transitions, whole_episodes

seeds = st.integers(0, 10**6)
GAMMA = 0.9
TABLE = (1.0, 2.0, 5.0)


def row(s: Any, s2: Any, **columns: Any) -> Batch:
    return Batch.of(obs=[s], action=[0], next_obs=[s2], reward=[0.0], **columns)


def distances(now: float, then: float, **columns: Any) -> Batch:
    return row(0, 0, info={"steps_to_go": [now]}, next_info={"steps_to_go": [then]}, **columns)


def paid(method: Any, batch: Batch, spec: Spec | None = None) -> list[float]:
    return Rewarder(Task() + method, spec, n=int(batch.stream.max()) + 1).step(batch).terms["potential"].tolist()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The notices, as in a new process."""
    monkeypatch.setattr(core, "_said", set())
    caplog.set_level(logging.WARNING)
    return caplog


# golden rows, φ = 1, 2, 5 and γ = 0.9


@pytest.mark.parametrize(
    ("states", "ends", "f"),
    [
        ((0, 1), {}, 0.9 * 2 - 1),
        ((1, 2), {"terminated": [True]}, -2.0),
        ((1, 2), {"truncated": [True]}, 0.9 * 5 - 2),
        ((1, 2), {"terminated": [True], "truncated": [True]}, -2.0),
        ((1, 1), {}, 0.9 * 2 - 2),
    ],
    ids=["step", "terminated", "truncated", "both", "self loop"],
)
def test_golden_rows(states: tuple[int, int], ends: dict[str, Any], f: float) -> None:
    assert paid(Potential(TABLE, gamma=GAMMA), row(*states, **ends)) == pytest.approx([f])


@pytest.mark.parametrize(
    ("text", "f"),
    [  # d goes from 3 to 2 of 4
        ("potential(steps_to_go, gamma=0.5, d_max=4, offset=0)", 0.5 * -0.5 + 0.75),
        ("potential(steps_to_go, gamma=0.5, d_max=4, offset=1)", 0.5 * 0.5 - 0.25),
        ("potential(steps_to_go, gamma=0.5, d_max=4, offset=1, scale=2)", 0.5 * 1.0 - 0.5),
        ("potential(steps_to_go, gamma=0.5, d_max=2, offset=1)", 0.0),
        ("potential(steps_to_go, gamma=0.5, decay=0.25, offset=0)", 0.5 / 16 - 1 / 64),
        ("potential(steps_to_go, gamma=0.5, decay=0.5, offset=0)", 0.0),
        ("potential(steps_to_go, gamma=0.5, decay=0.5, offset=-1, scale=2)", 1.0),
    ],
)
def test_golden_distance(text: str, f: float) -> None:
    assert paid(parse(text), distances(3.0, 2.0)) == pytest.approx([f])


def test_an_unsolvable_state_counts_as_the_farthest() -> None:
    potential = Potential("steps_to_go", gamma=1.0, d_max=4.0, offset=0.0)
    assert paid(potential, distances(1.0, math.inf)) == paid(potential, distances(1.0, 4.0)) == [-0.75]
    assert paid(potential, distances(math.inf, math.inf)) == [0.0]


@pytest.mark.parametrize("far", [1.0, 2.0, 30.0])
def test_with_decay_gamma_a_step_on_the_way_pays_nothing_but_for_the_offset(far: float) -> None:
    nearer = distances(far, far - 1)
    assert paid(Potential("steps_to_go", gamma=0.9, decay=0.9, offset=0.0), nearer) == pytest.approx([0.0])
    assert paid(Potential("steps_to_go", gamma=0.9, decay=0.9, offset=-1.0), nearer) == pytest.approx([0.1])


def test_with_decay_the_unsolvable_is_worth_nothing() -> None:
    potential = Potential("steps_to_go", gamma=1.0, decay=0.5, offset=0.0)
    assert paid(potential, distances(1.0, math.inf)) == [-0.5]
    assert paid(potential, distances(math.inf, math.inf)) == [0.0]


def test_any_distance_may_be_given_with_d_max() -> None:
    batch = row(3, 2)
    by_table = Potential((0.0, 1.0, 2.0, 3.0), gamma=0.5, d_max=4.0)
    assert paid(by_table, batch) == pytest.approx([0.5])
    other = row(0, 0, info={"far": [3.0]}, next_info={"far": [2.0]})
    assert paid(Potential("far", gamma=0.5, d_max=4.0), other) == pytest.approx([0.5])


def test_scale_and_offset_of_a_hook() -> None:
    batch = row(0, 0, info={"progress": [0.25]}, next_info={"progress": [0.5]})
    assert paid(Potential("progress", gamma=0.5, scale=2.0, offset=1.0), batch) == pytest.approx([0.5 * 3.0 - 2.5])


# the same thing in other words


def height(s: Any) -> float:
    return TABLE[int(s)]


def heights(s: Any) -> Any:
    return np.take(TABLE, s)


@given(seed=seeds)
def test_table_function_batched_function_and_hook_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    batch.obs %= 3
    batch.next_obs %= 3
    batch.info["hill"], batch.next_info["hill"] = heights(batch.obs), heights(batch.next_obs)
    twin = naive.potential_difference(heights(batch.both), batch.terminated, GAMMA)
    for phi, rowwise in ((TABLE, True), (height, True), (heights, False), ("hill", True)):
        assert paid(Potential(phi, gamma=GAMMA, rowwise=rowwise), batch) == pytest.approx(twin)


def test_functions_by_name() -> None:
    batch = row([1.0, 2.0], [3.0, 4.0])
    assert paid(parse("potential('math:fsum', gamma=0.5)"), batch) == pytest.approx([0.5 * 7.0 - 3.0])
    flat = row(3.0, 4.0)
    assert paid(parse("potential('numpy:ravel', gamma=0.5, rowwise=False)"), flat) == pytest.approx([-1.0])


def test_rows_of_dicts_and_of_text() -> None:
    trees = Batch.of(
        obs={"x": [[1.0], [2.0]], "y": [5.0, 6.0]},
        next_obs={"x": [[2.0], [4.0]], "y": [6.0, 7.0]},
        action=[0, 0],
        reward=[0, 0],
        terminated=[False, True],
    )
    assert paid(Potential(lambda o: o["x"][0] * o["y"], gamma=1.0), trees) == [12.0 - 5.0, -12.0]
    words = Batch.of(obs=["a", "bcd"], next_obs=["bcd", "e"], action=["x", "y"], reward=[0, 0])
    assert paid(Potential(len, gamma=1.0), words) == [2.0, -2.0]


def test_the_learners_gamma_is_taken_and_another_refused() -> None:
    batch = row(0, 1)
    assert paid(Potential(TABLE), batch, Spec(gamma=0.5)) == [0.0]
    assert paid(Potential(TABLE, gamma=1.0), batch) == [1.0]
    assert paid(Potential(TABLE, gamma=0), batch) == [-1.0]
    with pytest.raises(RewardError, match="written with gamma=1.0, and the learner discounts by gamma=0.5"):
        paid(Potential(TABLE, gamma=1.0), batch, Spec(gamma=0.5))


# identities


@given(seed=seeds, gamma=st.sampled_from([0.0, 0.5, 0.97, 1.0]))
def test_discounted_sums_telescope(seed: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    batch, phi = rollout(rng), rng.normal(size=STATES)
    f = np.array(paid(Potential(tuple(phi.tolist()), gamma=gamma), batch))
    for episode in whole_episodes(batch):
        total = math.fsum(gamma**t * f[i] for t, i in enumerate(episode))
        first, last = episode[0], episode[-1]
        end = 0.0 if batch.terminated[last] else gamma ** len(episode) * phi[batch.next_obs[last]]
        assert total == pytest.approx(end - phi[batch.obs[first]], abs=1e-9)


@given(seed=seeds, gamma=st.sampled_from([0.3, 0.9]))
def test_the_optimal_policies_stay_and_q_moves_by_phi(seed: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    mdp, phi = process(rng, gamma), tuple(rng.normal(size=STATES, scale=3.0).tolist())
    shaped = with_reward(mdp, relabel(transitions(mdp), Task() + Potential(phi, gamma=gamma)).values)
    before, after = value_iteration(mdp), value_iteration(shaped)
    assert np.array_equal(optimal_actions(before), optimal_actions(after))
    going_on = ~mdp.terminal
    assert after[going_on] == pytest.approx(before[going_on] - np.array(phi)[going_on, None], abs=1e-7)


def test_another_gamma_than_the_learners_changes_the_optimal_policy() -> None:
    """From 0 either over 1 to the goal 2, which pays 1, or at once to the goal, which pays 0.9; φ(1) = 50."""
    transition, reward = np.zeros((3, 2, 3)), np.zeros((3, 2, 3))
    transition[0, 0, 1] = transition[0, 1, 2] = transition[1, :, 2] = transition[2, :, 2] = 1.0
    reward[1, :, 2], reward[0, 1, 2] = 1.0, 0.9
    mdp = MDP(transition, reward, np.array([False, False, True]), gamma=0.99)

    def best(method: Any) -> int:
        return int(value_iteration(with_reward(mdp, relabel(transitions(mdp), method).values))[0].argmax())

    assert best(Task()) == best(Task() + Potential((0.0, 50.0, 0.0), gamma=0.99)) == 0
    assert best(Task() + Potential((0.0, 50.0, 0.0), gamma=0.8)) == 1  # 0.8·50 - 0.99·50 = -9.5


# absent hooks


def test_a_row_with_an_absent_hook_is_unknown() -> None:
    nan = math.nan
    batch = Batch.of(
        obs=[0] * 5,
        action=[0] * 5,
        next_obs=[0] * 5,
        reward=[0.0] * 5,
        terminated=[False, False, True, True, False],
        stream=range(5),
        info={"steps_to_go": [2.0, nan, 2.0, nan, 2.0]},
        next_info={"steps_to_go": [nan, 1.0, nan, nan, 1.0]},
    )
    f = paid(Potential("steps_to_go", gamma=1.0, d_max=2.0, offset=0.0), batch)
    assert f == pytest.approx([nan, nan, 1.0, nan, 0.5], nan_ok=True)


def test_an_infinite_potential_stops_the_run() -> None:
    batch = row(0, 0, info={"hill": [math.inf]}, next_info={"hill": [math.inf]})
    with pytest.raises(NonFiniteError, match=re.escape("potential gave nan in row 0 (stream 0, step 0)")):
        paid(Potential("hill", gamma=0.9), batch)


def test_a_nan_of_a_function_stops_the_run_unless_it_is_at_a_terminal_state() -> None:
    lost = Potential(lambda s: math.nan if s == 1 else 3.0, gamma=0.5)
    assert paid(lost, row(0, 1, terminated=[True])) == [-3.0]
    with pytest.raises(NonFiniteError, match="potential gave nan in row 0"):
        paid(lost, row(0, 1))


def test_no_rows() -> None:
    empty = row(0, 1).rows(np.zeros(0, int))
    for phi in (TABLE, height, "hill"):
        empty.info["hill"] = empty.next_info["hill"] = np.zeros(0)
        assert Rewarder(Potential(phi, gamma=0.9, name="p")).step(empty).values.shape == (0,)


# what it chooses, and says


@pytest.mark.parametrize(
    ("failing", "f", "sentence"),
    [
        (True, 0.5 * 0.5 - 0.25, "the potential of steps_to_go is 1 - d/d_max, since an episode can end in failure"),
        (False, 0.5, "the potential of steps_to_go is -d/d_max, since every end is the goal"),
        (None, 0.5, "the potential of steps_to_go is -d/d_max; where an episode can end in failure"),
    ],
)
def test_the_card_chooses_the_form(failing: bool | None, f: float, sentence: str, said: Any) -> None:
    spec = Spec(gamma=0.5, card=Card("walk", steps_to_go_max=4.0, failing_ends=failing))
    assert paid(Potential("steps_to_go"), distances(3.0, 2.0), spec) == pytest.approx([f])
    assert sentence in said.text


@pytest.mark.parametrize(
    ("failing", "f", "sentence"),
    [
        (True, 0.0, "the potential of steps_to_go is decay^d, since an episode can end in failure"),
        (False, 0.5, "the potential of steps_to_go is decay^d - 1, since every end is the goal"),
        (
            None,
            0.5,
            "decay^d - 1; where an episode can end in failure, which the environment does not tell, write offset=0",
        ),
    ],
)
def test_the_card_chooses_the_offset_of_a_decay(failing: bool | None, f: float, sentence: str, said: Any) -> None:
    spec = Spec(gamma=0.5, card=Card("walk", failing_ends=failing))
    assert paid(Potential("steps_to_go", decay=0.5), distances(3.0, 2.0), spec) == pytest.approx([f])
    assert sentence in said.text


def test_a_given_offset_is_not_commented(said: Any) -> None:
    spec = Spec(gamma=0.5, card=Card("walk", steps_to_go_max=4.0, failing_ends=True))
    paid(Potential("steps_to_go", offset=0.0), distances(3.0, 2.0), spec)
    assert said.text == ""


def test_a_scale_beyond_the_task_is_named(said: Any) -> None:
    spec = Spec(gamma=0.5, card=Card("walk", reward_range=(0.0, 1.0)))
    hill = row(0, 1, info={"progress": [0.0]}, next_info={"progress": [1.0]})
    paid(Potential("progress", scale=1.0), hill, spec)
    paid(Potential(height, scale=10.0), hill, spec)
    assert said.text == ""
    paid(Potential("progress", scale=-10.0), hill, spec)
    assert "potential has potentials up to 10, more than twice the task's returns (0.0, 1.0)" in said.text
    paid(Potential(TABLE, scale=0.5), hill, spec)
    assert "potentials up to 2.5" in said.text


# what it refuses


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"phi": ()}, "phi=(); a potential is a hook's name, a tuple of finite numbers"),
        ({"phi": ""}, "phi=''; a potential is a hook's name"),
        ({"phi": 3}, "phi=3; a potential is"),
        ({"phi": [1.0]}, "phi=[1.0]; a potential is"),
        ({"phi": (1.0, math.nan)}, "phi=(1.0, nan); a potential is"),
        ({"phi": ("a",)}, "phi=('a',); a potential is"),
        ({"phi": "d", "scale": math.inf}, "scale=inf, offset=None; both are finite"),
        ({"phi": "d", "offset": math.nan}, "scale=1.0, offset=nan; both are finite"),
        ({"phi": "d", "d_max": 0.0}, "d_max=0.0; the farthest distance is finite and above 0"),
        ({"phi": "d", "d_max": math.inf}, "d_max=inf; the farthest distance is finite and above 0"),
        ({"phi": "d", "decay": 1.0}, "decay=1.0; it lies between 0 and 1"),
        ({"phi": "d", "d_max": 3.0, "decay": 0.5}, "d_max=3.0 and decay=0.5; a value has one form, give one"),
        ({"phi": "d", "gamma": "high"}, "gamma='high', but gamma takes a float | None"),
        ({"phi": "d", "rowwise": 1}, "rowwise=1, but rowwise takes a bool"),
    ],
)
def test_wrong_fields(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RewardError, match=re.escape(sentence)):
        Potential(**fields)


@pytest.mark.parametrize(
    ("phi", "spec", "sentence"),
    [
        (TABLE, Spec(), "potential needs the learner's discount and this place does not know it"),
        (TABLE, Spec(gamma=1.5), "potential got gamma=1.5; a discount lies between 0 and 1"),
        (
            "steps_to_go",
            Spec(gamma=0.9),
            "the environment, which may have no hook steps_to_go at all, says None",
        ),
        ("steps_to_go", Spec(gamma=0.9, card=Card("x", steps_to_go_max=0.0)), "says 0.0: write d_max"),
        ("no.such:thing", Spec(gamma=0.9), "cannot import 'no.such:thing'"),
        ("math:pi", Spec(gamma=0.9), "'math:pi' is a float, not a function"),
    ],
)
def test_wrong_places(phi: Any, spec: Spec, sentence: str) -> None:
    with pytest.raises(RewardError, match=re.escape(sentence)):
        Rewarder(Potential(phi), spec)


@pytest.mark.parametrize(
    ("method", "batch", "sentence"),
    [
        (Potential(TABLE), row(0, 3), "the table has 3 numbers, the observations are 0 to 3"),
        (Potential(TABLE), row(-1, 0), "the table has 3 numbers, the observations are -1 to 0"),
        (Potential(TABLE), row(0.5, 0.0), "a table needs one integer observation a row"),
        (Potential(TABLE), row([0], [1]), "a table needs one integer observation a row"),
        (Potential(lambda s: [1.0, 2.0]), row(0, 1), "called row by row, gave shape (2, 2) for the 2 rows of s and s'"),
        (Potential(lambda s: "far"), row(0, 1), "called row by row, gave no numbers"),
        (Potential(lambda s: s[:1], rowwise=False), row(0, 1), "called with all rows, gave shape (1,) for the 2 rows"),
        (
            Potential("milestones"),
            row(0, 1, info={"milestones": [[1, 0]]}, next_info={"milestones": [[1, 0]]}),
            "the hook 'milestones' gave shape (2, 2)",
        ),
        (
            Potential("caption"),
            row(0, 1, info={"caption": ["here"]}, next_info={"caption": ["there"]}),
            "the hook 'caption' gave no numbers",
        ),
    ],
)
def test_wrong_rows(method: Potential, batch: Batch, sentence: str) -> None:
    with pytest.raises(RewardError, match=re.escape(sentence)):
        paid(method, batch, Spec(gamma=0.9))


def test_a_missing_hook_is_named() -> None:
    with pytest.raises(HookError, match="the environment gives no 'hill' in its info"):
        paid(Potential("hill", gamma=0.9), row(0, 1))


def test_the_functions_own_error_comes_through() -> None:
    def broken(s: Any) -> float:
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        paid(Potential(broken, gamma=0.9), row(0, 1))


# text, and what it is made of


@pytest.mark.parametrize(
    "text",
    [
        "potential(steps_to_go, gamma=0.99)",
        "potential((1.0, 2.0), gamma=0.9, scale=0.5)",
        "potential('tests.rewards:height', rowwise=False)",
        "potential(progress, offset=1.0, d_max=3.0, name=near)",
    ],
)
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_a_callable_has_no_text() -> None:
    with pytest.raises(TextError, match="potential holds the callable height"):
        registry.text(Potential(height))


def test_only_a_hook_is_asked_for() -> None:
    assert Potential("progress").hooks == {"progress"}
    assert Potential("math:fsum").hooks == Potential(TABLE).hooks == Potential(height).hooks == frozenset()


def test_the_arrays_handed_in_are_left_alone() -> None:
    kept = np.array([1.0, 2.0])
    batch = row(0, 1)
    assert paid(Potential(lambda rows: kept, gamma=1.0, scale=3.0, offset=1.0, rowwise=False), batch) == [3.0]
    assert kept.tolist() == [1.0, 2.0]
