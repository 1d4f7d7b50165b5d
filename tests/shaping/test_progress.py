"""Progress beyond the best so far, and milestones paid once."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.card import Card
from reward_envs.wrappers import Batch, HookError, Milestones, Progress, Rewarder, RewardError, Spec, Task, parse
from tests import naive
from tests.drawn import cut, rollout, whole_episodes

seeds = st.integers(0, 10**6)
nan = math.nan


def walk(hook: str, now: Any, nxt: Any, **columns: Any) -> Batch:
    n = len(now)
    info, next_info = {hook: np.array(now, float)}, {hook: np.array(nxt, float)}
    return Batch.of(
        obs=[0] * n, action=[0] * n, next_obs=[0] * n, reward=[0] * n, info=info, next_info=next_info, **columns
    )


def paid(method: Any, *batches: Batch, spec: Spec | None = None) -> list[float]:
    rewarder = Rewarder(Task() + method, spec, n=1 + max(int(b.stream.max()) for b in batches))
    return [v for b in batches for v in rewarder.step(b).terms[method.label].tolist()]


# progress


def test_progress_golden() -> None:
    batch = walk("progress", [0.1, 0.4, 0.2, 0.3], [0.4, 0.2, 0.3, 0.9])
    assert paid(Progress(), batch) == pytest.approx([0.3, 0.0, 0.0, 0.5])


def test_progress_starts_anew_in_each_episode_and_stream() -> None:
    batch = walk(
        "progress",
        [0.0, 0.5, 0.9, 0.5, 0.1, 0.7],
        [0.9, 0.6, 0.8, 0.7, 0.3, 0.8],
        stream=[0, 1, 0, 1, 0, 1],
        terminated=[False, False, False, False, False, False],
        truncated=[False, False, True, False, False, False],
    )
    assert paid(Progress(), batch) == pytest.approx([0.9, 0.1, 0.0, 0.1, 0.2, 0.1])


def test_absent_progress_is_unknown_and_moves_nothing() -> None:
    batch = walk("progress", [0.2, nan, 0.4], [nan, 0.4, 0.5])
    assert paid(Progress(), batch) == pytest.approx([nan, 0.2, 0.1], nan_ok=True)
    without_base = walk("progress", [nan, nan, 0.4], [nan, 0.4, 0.5])
    assert paid(Progress(), without_base) == pytest.approx([nan, 0.0, 0.1], nan_ok=True)


def test_a_row_in_mid_episode_takes_its_own_level_as_the_base() -> None:
    assert paid(Progress(), walk("progress", [0.5], [0.75], t=[7], episode=[0])) == [0.25]


def test_another_hook() -> None:
    assert paid(Progress("coverage"), walk("coverage", [1.0], [3.0])) == [2.0]
    assert Progress("coverage").hooks == {"coverage"}


@given(seed=seeds)
def test_progress_pays_the_best_less_the_first(seed: int) -> None:
    batch = rollout(np.random.default_rng(seed))
    values = np.array(paid(Progress(), batch))
    for episode in whole_episodes(batch):
        levels = [batch.info["progress"][episode[0]], *batch.next_info["progress"][episode]]
        assert values[episode].sum() == pytest.approx(max(levels) - levels[0])
        assert values[episode].sum() <= 1.0 - levels[0]


@given(seed=seeds)
def test_progress_equals_its_twin_however_the_rows_are_cut(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = rollout(rng)
    batch.next_info["progress"][rng.random(len(batch)) < 0.1] = nan
    twin, _ = naive.best_gain(batch.info["progress"], batch.next_info["progress"], batch.first, batch.stream, [nan] * 3)
    assert paid(Progress(), *cut(batch, rng)) == pytest.approx(twin, nan_ok=True)


def test_progress_is_refused_where_it_is_no_column() -> None:
    batch = walk("progress", [[0.0, 1.0]], [[0.0, 1.0]])
    with pytest.raises(RewardError, match=re.escape("the hook 'progress' has shape (1, 2); progress needs (1,)")):
        paid(Progress(), batch)
    with pytest.raises(HookError, match="the environment gives no 'progress'"):
        paid(Progress(), walk("other", [0.0], [0.0]))


# milestones


def flags(now: Any, nxt: Any, **columns: Any) -> Batch:
    return walk("milestones", now, nxt, **columns)


def test_milestones_golden() -> None:
    batch = flags([[0, 0], [1, 0], [0, 0]], [[1, 0], [0, 0], [1, 1]])
    assert paid(Milestones(), batch) == [1.0, 0.0, 1.0]
    assert paid(Milestones(0.5), batch) == [0.5, 0.0, 0.5]
    assert paid(Milestones((0.25, -2)), batch) == [0.25, 0.0, -2.0]


def test_what_holds_at_the_start_is_never_paid() -> None:
    batch = flags([[1, 0], [0, 0]], [[0, 0], [1, 1]])
    assert paid(Milestones(), batch) == [0.0, 1.0]


def test_milestones_are_paid_again_in_the_next_episode() -> None:
    batch = flags([[0, 0], [0, 0]], [[1, 1], [1, 0]], terminated=[True, False])
    assert paid(Milestones(), batch) == [2.0, 1.0]


def test_absent_flags_are_unknown() -> None:
    batch = flags([[0, 0], [nan, nan], [0, nan]], [[nan, nan], [0, nan], [1, nan]])
    assert paid(Milestones(), batch) == pytest.approx([nan, 0.0, 1.0], nan_ok=True)


def test_no_milestones_pay_nothing() -> None:
    assert paid(Milestones(), flags(np.zeros((2, 0)), np.zeros((2, 0)))) == [0.0, 0.0]


@given(seed=seeds)
def test_milestones_equal_their_twin_however_the_rows_are_cut(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, weights = rollout(rng), (0.5, 1.0, 2.0)
    now, nxt = batch.info["milestones"], batch.next_info["milestones"]
    twin, _ = naive.milestones(now, nxt, batch.first, batch.stream, weights, np.zeros((3, 3)))
    assert paid(Milestones(weights), *cut(batch, rng)) == pytest.approx(twin)
    for episode in whole_episodes(batch):
        reached = (nxt[episode].max(axis=0) > now[episode[0]]) @ np.array(weights)
        assert np.array(twin)[episode].sum() == pytest.approx(reached)


@pytest.mark.parametrize("weights", [math.nan, "many", True, (1.0, None), (1.0, math.inf), [1.0]])
def test_wrong_weights(weights: Any) -> None:
    with pytest.raises(RewardError, match=re.escape(f"milestones: weights={weights!r}; write a finite number")):
        Milestones(weights)


def test_the_number_of_weights_is_checked_at_once_where_the_card_names_the_milestones() -> None:
    spec = Spec(card=Card("door", milestone_names=("key", "door", "goal")))
    sentence = "milestones got 2 weights, the environment has 3 milestones (key, door, goal): write one weight each"
    with pytest.raises(RewardError, match=re.escape(sentence)):
        Rewarder(Milestones((1.0, 2.0)), spec)
    with pytest.raises(RewardError, match="milestones got 2 weights, the environment has 3 milestones: write one"):
        paid(Milestones((1.0, 2.0)), flags([[0, 0, 0]], [[0, 0, 1]]))
    assert paid(Milestones((1.0, 2.0, 4.0)), flags([[0, 0, 0]], [[0, 1, 1]]), spec=spec) == [6.0]


def test_milestones_are_refused_where_they_are_no_table() -> None:
    with pytest.raises(RewardError, match=re.escape("the hook 'milestones' has shape (2,); milestones needs (2, 2)")):
        paid(Milestones(), flags([0, 1], [1, 1]))


@pytest.mark.parametrize("text", ["progress", "milestones"])
def test_scoring_moves_no_memory(text: str) -> None:
    batch = rollout(np.random.default_rng(1))
    one, other = Rewarder(text, n=3), Rewarder(text, n=3)
    assert one.score(batch).values.tolist() == one.score(batch).values.tolist()
    late = batch.rows(np.arange(9, len(batch)))
    one.step(batch.rows(np.arange(9)))
    other.step(batch.rows(np.arange(9)))
    one.score(late)
    assert one.step(late).values.tolist() == other.step(late).values.tolist()


def test_the_memory_goes_on_after_saving() -> None:
    first, second = flags([[0, 0]], [[1, 0]]), flags([[1, 0]], [[1, 1]], t=[1], episode=[0])
    runner, other = Rewarder(Milestones()), Rewarder(Milestones())
    runner.step(first)
    other.load_state_dict(runner.state_dict())
    assert other.step(second).values.tolist() == [1.0]


@pytest.mark.parametrize(
    "text", ["progress", "progress(coverage)", "milestones", "milestones(0.5)", "milestones((0.5, 1.0), name=keys)"]
)
def test_text_round_trip(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)
