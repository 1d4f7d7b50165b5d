"""Batch, combinations, and the runner."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from reward_envs.wrappers import (
    Batch,
    HookError,
    Masked,
    NonFiniteError,
    Rewarder,
    RewardError,
    Schedule,
    Scope,
    ScopeError,
    Spec,
    Sum,
    Task,
    function,
)
from reward_envs.wrappers.core import Method, Scale
from reward_envs.wrappers.state import export, restore


def batch_of(rewards: Any, **columns: Any) -> Batch:
    n = len(rewards)
    rows = {"obs": np.arange(n), "action": np.zeros(n), "next_obs": np.arange(1, n + 1), **columns}
    return Batch.of(reward=rewards, **rows)


@dataclass(frozen=True, repr=False)
class Tally(Method):
    """Learns: pays the number of rows learnt before."""

    def init(self, spec: Spec, rng: np.random.Generator) -> dict[str, int]:
        return {"rows": 0}

    def score(self, state: dict[str, int], carry: Any, batch: Batch) -> tuple[Any, Any]:
        return np.full(len(batch), float(state["rows"])), None

    def learn(self, state: dict[str, int], batch: Batch, scores: Any) -> dict[str, float]:
        state["rows"] += len(batch)
        return {"rows": state["rows"]}


@dataclass(frozen=True, repr=False)
class Gradient(Tally):
    """The same under the schedule, with the sizes of its minibatches."""

    gradient: ClassVar[bool] = True

    def init(self, spec: Spec, rng: np.random.Generator) -> Any:
        return {"rows": 0, "sizes": [], "seen": []}

    def learn(self, state: Any, batch: Batch, scores: Any) -> dict[str, float]:
        state["rows"] += len(batch)
        state["sizes"].append(len(batch))
        state["seen"] += batch.obs.tolist()
        return {}


@dataclass(frozen=True, repr=False)
class Abstain(Method):
    """Unknown on odd rows."""

    def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Any, Any]:
        return Masked(np.ones(len(batch)), np.arange(len(batch)) % 2 == 0), None


# batch


def test_batch_numbers_steps_and_episodes_of_interleaved_streams() -> None:
    b = batch_of([0] * 6, stream=[0, 1, 0, 1, 0, 1], terminated=[0, 0, 1, 0, 0, 0], truncated=[0, 1, 0, 0, 0, 0])
    assert b.t.tolist() == [0, 0, 1, 0, 0, 1]
    assert b.episode.tolist() == [0, 1, 0, 2, 3, 2]
    assert b.episodes().whole.tolist() == [True, True, False, False]
    assert b.first.tolist() == [True, True, False, True, True, False]


def test_batch_keeps_both_flags_and_marks_unknown_rewards() -> None:
    b = batch_of([1.0, np.nan], terminated=[1, 0], truncated=[1, 1])
    assert b.known.tolist() == [True, False]
    assert b.reward.tolist() == [1.0, 0.0]
    assert (b.terminated & b.truncated).tolist() == [True, False]


def test_batch_both_is_observations_then_successors() -> None:
    b = batch_of([0, 0], obs={"x": np.array([[1.0], [2.0]])}, next_obs={"x": np.array([[3.0], [4.0]])})
    assert b.both["x"].tolist() == [[1.0], [2.0], [3.0], [4.0]]


def test_batch_rows_and_concat_share_nothing_and_lose_nothing() -> None:
    b = batch_of(
        [1, 2, 3], obs=["a", "b", "c"], next_obs=["b", "c", "d"], info={"h": [0, 1, 2]}, next_info={"h": [1, 2, 3]}
    )
    again = Batch.concat([b.rows([0]), b.rows([1, 2])])
    for name, column in b.columns().items():
        if isinstance(column, np.ndarray):
            assert again.columns()[name].tolist() == column.tolist(), name
    again.obs[:] = "z"
    assert b.obs.tolist() == ["a", "b", "c"]
    assert again.info["h"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"reward": [[1.0]]}, "shape \\(1, 1\\)"),
        ({"obs": np.zeros(3)}, "obs has shape \\(3,\\); the batch has 2 rows"),
        ({"terminated": [1]}, "terminated has shape"),
        ({"info": {"h": [1.0]}}, "info has shape"),
        ({"reward": [np.inf, 0.0], "known": [1, 1]}, "reward of row 0 is inf"),
    ],
)
def test_batch_refuses_wrong_columns(columns: dict[str, Any], sentence: str) -> None:
    given = {"obs": np.zeros(2), "action": np.zeros(2), "next_obs": np.zeros(2), "reward": [0.0, 0.0], **columns}
    with pytest.raises(RewardError, match=sentence):
        Batch.of(**given)


def test_missing_hook_says_which_hooks_there_are() -> None:
    b = batch_of([0], info={"progress": [0.0]}, next_info={"progress": [1.0]})
    with pytest.raises(HookError, match="no 'steps_to_go' in its info \\(hooks there: progress\\)"):
        b.hook("steps_to_go")


# combinations


def test_sums_flatten_and_weights_distribute() -> None:
    a, b, c = Task(), Task(name="b"), Task(name="c")
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))
    assert 2 * (a + b) == 2 * a + 2 * b
    assert 2 * (3 * a) == Scale(a, 6.0)
    assert a - b == a + (-1.0) * b
    assert sum([a, b]) == a + b
    assert [t.label for t in (a + 0.5 * b).terms] == ["task", "b"]


def test_combination_scores_as_its_formula() -> None:
    scored = Rewarder(Task() + 0.5 * Task(name="b") - Task(name="c")).step(batch_of([2.0, -4.0]))
    assert scored.values.tolist() == [1.0, -2.0]
    assert {k: v.tolist() for k, v in scored.terms.items()} == {"task": [2, -4], "b": [1, -2], "c": [-2, 4]}
    np.testing.assert_array_equal(sum(scored.terms.values()), scored.values)


def test_two_terms_of_one_name_are_refused() -> None:
    with pytest.raises(RewardError, match="two terms of the sum are called 'task': give one of them name="):
        Task() + 0.1 * Task()


def test_rewards_and_advantages_never_mix() -> None:
    @dataclass(frozen=True, repr=False)
    class Advantage(Method):
        kind: ClassVar[Any] = "advantage"

    with pytest.raises(ScopeError, match="never mix in a sum \\(task is a reward, advantage is an advantage\\)"):
        Task() + Advantage()
    assert (2 * Advantage()).pays == "advantage"


def test_scope_and_hooks_are_the_widest_of_the_terms() -> None:
    @dataclass(frozen=True, repr=False)
    class Wide(Method):
        own_scope: ClassVar[Scope] = Scope.EPISODE
        needs: ClassVar[tuple[str, ...]] = ("h",)

    assert (Task() + 0.1 * Wide()).scope is Scope.EPISODE
    assert (Task() + Wide()).hooks == {"h"}


def test_unknown_rows_stay_unknown_through_sums_and_weights() -> None:
    scored = Rewarder(Task() + 2 * Abstain()).step(batch_of([1.0, 1.0, np.nan]))
    np.testing.assert_array_equal(scored.values, [3.0, np.nan, np.nan])
    assert scored.known.tolist() == [True, False, False]


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_weights_are_finite(weight: float) -> None:
    with pytest.raises(RewardError, match="a weight is finite"):
        Task() * weight


def test_a_method_times_a_method_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        Task() * Task()  # type: ignore[operator]


def test_fields_are_checked_against_their_types() -> None:
    with pytest.raises(RewardError, match="by='x', but by takes a float"):
        Scale(Task(), "x")  # type: ignore[arg-type]
    with pytest.raises(RewardError, match="of=3, but of takes a reward method"):
        Scale(3, 1.0)  # type: ignore[arg-type]


# runner


def test_wrong_shape_type_and_value_get_a_sentence() -> None:
    def made(values: Any) -> Rewarder:
        @dataclass(frozen=True, repr=False)
        class Wrong(Method):
            def score(self, state: Any, carry: Any, batch: Batch) -> tuple[Any, Any]:
                return values, None

        return Rewarder(Wrong())

    b = batch_of([0.0, 0.0], stream=[0, 0])
    with pytest.raises(RewardError, match="wrong gave float64 of shape \\(1,\\) for 2 rows"):
        made(np.zeros(1)).step(b)
    with pytest.raises(RewardError, match="wrong gave float32"):
        made(np.zeros(2, np.float32)).step(b)
    with pytest.raises(RewardError, match="wrong gave list"):
        made([0.0, 0.0]).step(b)
    with pytest.raises(NonFiniteError, match="wrong gave nan in row 1 \\(stream 0, step 1\\)"):
        made(np.array([0.0, np.nan])).step(b)
    with pytest.raises(NonFiniteError, match="wrong gave inf in row 0"):
        made(Masked(np.array([np.inf, np.nan]), np.array([True, False]))).step(b)
    assert made(np.array([1e200, -1e200])).step(b).values.tolist() == [1e200, -1e200]


def test_learning_moves_state_only_when_not_frozen() -> None:
    rewarder = Rewarder(Tally())
    assert rewarder.step(batch_of([0, 0])).values.tolist() == [0, 0]
    evaluation = rewarder.freeze(n=3)
    assert evaluation.step(batch_of([0, 0, 0], stream=[0, 1, 2])).values.tolist() == [2, 2, 2]
    assert rewarder.score(batch_of([0])).values.tolist() == [2]
    assert rewarder.step(batch_of([0])).metrics == {"tally/rows": 3.0}
    assert evaluation.step(batch_of([0])).values.tolist() == [3]
    assert evaluation.step(batch_of([0])).metrics == {}


def test_schedule_rules_gradient_methods_and_copies_what_it_keeps() -> None:
    rewarder = Rewarder(Gradient(), schedule=Schedule(learn_every=6, minibatch=4, epochs=2), seed=0)
    b = batch_of([0, 0], obs=np.array([0, 1]))
    for k in range(3):
        b.obs[:] = [2 * k, 2 * k + 1]
        rewarder.step(b)
    state = rewarder.states[0]
    assert state["sizes"] == [4, 2, 4, 2]
    assert sorted(state["seen"]) == sorted([*range(6), *range(6)])


def test_schedule_proportion_leaves_rows_out() -> None:
    rewarder = Rewarder(Gradient(), schedule=Schedule(learn_every=8, minibatch=8, proportion=0.25), seed=0)
    rewarder.step(batch_of([0] * 8))
    assert rewarder.states[0]["sizes"] == [2]
    with pytest.raises(RewardError, match="proportion lies in"):
        Schedule(proportion=0.0)


def test_streams_out_of_range_are_refused() -> None:
    with pytest.raises(RewardError, match="streams 0 to 1, the runner was made for n=1"):
        Rewarder("task").step(batch_of([0, 0], stream=[0, 1]))


def test_state_goes_on_after_loading_with_rows_still_pending() -> None:
    def stream(k: int) -> Batch:
        return batch_of([0, 0, 0], obs=np.arange(3) + 3 * k)

    schedule = Schedule(learn_every=8, minibatch=3)
    one, two = (Rewarder(Gradient() + Tally(), schedule=schedule, seed=s) for s in (1, 2))
    for k in range(4):
        one.step(stream(k))
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    for k in range(4, 9):
        np.testing.assert_array_equal(one.step(stream(k)).values, two.step(stream(k)).values)
    assert one.states == two.states
    with pytest.raises(RewardError, match="belongs to "):
        Rewarder("task").load_state_dict(one.state_dict())


def test_export_is_plain_and_restore_is_its_inverse() -> None:
    @dataclass
    class State:
        a: np.ndarray
        inner: dict[str, Any]
        rng: np.random.Generator

    state = State(np.arange(3), {"x": (1, 2.5), "y": [np.float64(3.0)]}, np.random.default_rng(1))
    saved = export(state)
    state.a += 1
    blank = restore(
        State(np.zeros(1, np.int64), {"x": (0, 0.0), "y": [np.float64(0)]}, np.random.default_rng(2)), saved
    )
    assert blank.a.tolist() == [0, 1, 2]
    assert blank.inner == {"x": (1, 2.5), "y": [3.0]}
    assert blank.rng.integers(1000) == state.rng.integers(1000)
    with pytest.raises(RewardError, match="cannot be saved"):
        export(object())


def test_task_absent_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    ones = function(lambda reward: np.ones(len(reward)), name="ones_without_task")
    Rewarder(ones)
    Rewarder(ones)
    said = [r.message for r in caplog.records if "ones_without_task" in r.message]
    assert said == ["ones_without_task holds no task: the environment's own reward is not paid."]


def test_discount_comes_from_the_method_then_the_place() -> None:
    assert Spec(gamma=0.9).discount(None, Task()) == 0.9
    assert Spec().discount(0.5, Task()) == Spec(gamma=0.5).discount(0.5, Task()) == 0.5
    with pytest.raises(RewardError, match="written with gamma=0.5, and the learner discounts by gamma=0.9"):
        Spec(gamma=0.9).discount(0.5, Task())
    with pytest.raises(RewardError, match="needs the learner's discount"):
        Spec().discount(None, Task())
    with pytest.raises(RewardError, match="between 0 and 1"):
        Spec(gamma=99).discount(None, Task())
