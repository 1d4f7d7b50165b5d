"""Rows with goals that were reached."""

from __future__ import annotations

import math
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.wrappers import Batch, Hindsight, HookError, RewardError, TextError, goals_of, parse, relabel_rows
from reward_envs.wrappers.registry import as_relabel, text
from tests.drawn import rollout
from tests.rewards import ends, reached

STRATEGIES = ("future", "final", "episode", "random")
FUNCTIONS = {"compute_reward": reached, "compute_terminated": ends}
NAMED = {"compute_reward": "tests.rewards:reached", "compute_terminated": "tests.rewards:ends"}


def places(at: Any) -> Any:
    return np.asarray(at, float)[:, None]


def walk(achieved: Any, **columns: Any) -> Batch:
    """Rows 0 -> 1 -> 2 ... through the places `achieved` [T + 1], asking for place 9."""
    path, goal = places(achieved), np.full((len(achieved) - 1, 1), 9.0)
    was, now = ({"achieved_goal": p, "desired_goal": goal.copy()} for p in (path[:-1], path[1:]))
    n = len(goal)
    return Batch.of(obs=was, action=np.arange(n), next_obs=now, reward=np.zeros(n), **columns)


def goals(batch: Batch) -> list[float]:
    np.testing.assert_array_equal(batch.obs["desired_goal"], batch.next_obs["desired_goal"])
    return batch.obs["desired_goal"].ravel().tolist()


def test_golden_final() -> None:
    """The walk 0, 1, 2, 3 asked for 3: only its last row gets there."""
    batch = walk([0, 1, 2, 3], truncated=[0, 0, 1])
    new = relabel_rows(batch, Hindsight("final", k=1, **FUNCTIONS))
    assert goals(new) == [3.0, 3.0, 3.0]
    assert new.reward.tolist() == [0.0, 0.0, 1.0]
    assert new.terminated.tolist() == [False, False, True]
    assert new.truncated.tolist() == [False, False, True]
    assert new.known.all() and new.t.tolist() == [0, 1, 2] and new.action.tolist() == [0, 1, 2]


def test_a_row_that_ended_for_its_old_goal_goes_on_for_another() -> None:
    batch = walk([5, 9, 1], terminated=[1, 0], t=[0, 0], episode=[0, 1])
    new = relabel_rows(batch, Hindsight("random", k=200, **FUNCTIONS), seed=0)
    first = new.rows(new.action == 0)
    assert set(goals(first)) == {9.0, 1.0}
    np.testing.assert_array_equal(first.terminated, first.obs["desired_goal"].ravel() == 9.0)
    np.testing.assert_array_equal(first.reward, first.terminated)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("future", [{1, 2}, {2}, {5, 6}, {6}]),
        ("final", [{2}, {2}, {6}, {6}]),
        ("episode", [{1, 2}, {1, 2}, {5, 6}, {5, 6}]),
        ("random", [{1, 2, 5, 6}] * 4),
    ],
)
def test_golden_goals_of_every_strategy(strategy: str, expected: list[set[int]]) -> None:
    """Two episodes, 0 1 2 and 4 5 6, in two streams; the second is still open."""
    one, two = walk([0, 1, 2]), walk([4, 5, 6])
    both = Batch.concat([one, two]).rows([0, 2, 1, 3])
    both.stream[:], both.episode[:], both.t[:] = [0, 1, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]
    both.truncated[2] = True
    new = relabel_rows(both, Hindsight(strategy, k=300, **FUNCTIONS), seed=0)
    seen = np.array(goals(new)).reshape(300, 4)
    assert [set(seen[:, i]) for i in (0, 2, 1, 3)] == expected


def test_future_draws_evenly() -> None:
    new = relabel_rows(walk([0, 1, 2, 3, 4]), Hindsight(k=4000, **FUNCTIONS), seed=0)
    counts = np.bincount(np.array(goals(new)).reshape(4000, 4)[:, 0].astype(int), minlength=5)
    assert np.all(np.abs(counts[1:] - 1000) < 120)  # 4 standard deviations


def test_copies_are_runs_through_the_batch_with_episodes_of_their_own() -> None:
    batch = walk([0, 1, 2, 3], truncated=[0, 1, 0])
    new = relabel_rows(batch, Hindsight(k=3, compute_reward=reached))
    assert new.t.tolist() == [0, 1, 0] * 3
    assert new.episode.tolist() == [2, 2, 3, 4, 4, 5, 6, 6, 7]
    assert new.episodes().whole.tolist() == [True, False] * 3
    assert Batch.concat([batch, new]).episodes().n == 8


def goal_rollout(seed: int) -> Batch:
    """Drawn walks whose states, as points of a plane, are the achieved goals."""
    batch = rollout(np.random.default_rng(seed))
    point = np.stack([np.arange(6.0), np.arange(6.0) ** 2], axis=1)
    asked = np.full((len(batch), 2), -1.0)
    batch.obs, batch.next_obs = (
        {"achieved_goal": point[s], "desired_goal": asked.copy()} for s in (batch.obs, batch.next_obs)
    )
    return batch


@given(seed=st.integers(0, 2**32 - 1), strategy=st.sampled_from(STRATEGIES), k=st.integers(1, 4))
def test_every_goal_was_reached_and_pays_what_the_task_says(seed: int, strategy: str, k: int) -> None:
    batch = goal_rollout(seed)
    before = pickle.dumps(batch)
    new = relabel_rows(batch, Hindsight(strategy, k=k, **FUNCTIONS), seed=seed)
    assert pickle.dumps(batch) == before, "the batch has changed"
    n = len(batch)
    assert len(new) == k * n
    for row in range(k * n):
        i, goal = row % n, new.obs["desired_goal"][row]
        same = batch.episode == batch.episode[i]
        sources = {
            "future": same & (batch.t >= batch.t[i]),
            "final": same & (batch.t == batch.t[same].max()),
            "episode": same,
            "random": np.ones(n, bool),
        }[strategy]
        assert goal.tolist() in batch.next_obs["achieved_goal"][sources].tolist()
        met = np.array_equal(batch.next_obs["achieved_goal"][i], goal)
        assert (new.reward[row], new.terminated[row]) == (float(met), met)
        for name in ("action", "t", "stream", "truncated", "group"):
            assert getattr(new, name)[row] == getattr(batch, name)[i]
    new.next_obs["achieved_goal"][:] = new.obs["desired_goal"][:] = 77.0
    new.action[:] = new.t[:] = 7
    assert pickle.dumps(batch) == before, "the new rows share memory with the old"


def test_the_generator_decides() -> None:
    batch, how = goal_rollout(3), Hindsight(**FUNCTIONS)
    one, two, other = (goals(relabel_rows(batch, how, seed=s)) for s in (0, 0, 1))
    assert one == two != other
    rng = np.random.default_rng(0)
    assert goals(relabel_rows(batch, how, seed=rng)) == one != goals(relabel_rows(batch, how, seed=rng))


def test_no_rows() -> None:
    new = relabel_rows(walk([0, 1]).rows([]), Hindsight(**FUNCTIONS))
    assert len(new) == 0 and new.obs["desired_goal"].shape == (0, 1)


# functions of one row, of many, and their like


class Counted:
    def __init__(self, f: Any) -> None:
        self.f, self.shapes = f, []

    def __call__(self, achieved: Any, desired: Any, info: Any) -> Any:
        self.shapes.append(np.shape(achieved))
        return self.f(achieved, desired)


def norm_of_all(achieved: Any, desired: Any) -> Any:
    """One number, however many rows come."""
    return float(np.linalg.norm(achieved - desired) <= 0.1)


def sum_of_first_axis(achieved: Any, desired: Any) -> Any:
    """Right for a row; for two rows of a plane it gives two numbers that are not theirs."""
    return -np.abs(achieved - desired).sum(axis=0)


def by_hand(achieved: Any, desired: Any) -> Any:
    """Fails on more than one row."""
    return 1.0 if all(a == d for a, d in zip(achieved, desired, strict=True)) else 0.0


def checked(achieved: Any, desired: Any) -> Any:
    """Insists on one row."""
    assert achieved.shape == (2,)
    return float(np.linalg.norm(achieved - desired) <= 0.1)


def by_attribute(achieved: Any, desired: Any) -> Any:
    """Asks something of the row that many rows cannot answer."""
    first = achieved[0] if achieved.ndim == 1 else list(achieved[0])
    return float(first.item() == desired[0])


@pytest.mark.parametrize("f", [norm_of_all, sum_of_first_axis, by_hand, checked, by_attribute])
def test_a_function_of_one_row_is_asked_row_by_row(f: Any) -> None:
    batch = goal_rollout(1).rows(np.arange(10))
    counted = Counted(f)
    new = relabel_rows(batch, Hindsight(k=2, compute_reward=counted, compute_terminated=ends), seed=0)
    expected = [f(a, d) for a, d in zip(new.next_obs["achieved_goal"], new.obs["desired_goal"], strict=True)]
    assert new.reward.tolist() == expected
    assert counted.shapes[-20:] == [(2,)] * 20


def test_a_function_of_many_rows_is_asked_once() -> None:
    counted = Counted(lambda a, d: np.linalg.norm(a - d, axis=1))
    new = relabel_rows(goal_rollout(1), Hindsight(compute_reward=counted, compute_terminated=ends), seed=0)
    assert counted.shapes == [(2, 2), (1, 2), (1, 2), (len(new), 2)]


def test_an_error_of_the_function_is_shown() -> None:
    def broken(achieved: Any, desired: Any, info: Any) -> Any:
        raise ValueError("no such goal")

    with pytest.raises(ValueError, match="no such goal"):
        relabel_rows(walk([0, 1]), Hindsight(compute_reward=broken))


def test_functions_see_every_hook_and_new_rows_keep_only_the_named() -> None:
    hooks = {"was": np.array([1.0, 2.0]), "progress": np.array([0.1, 0.2])}
    batch = walk([0, 1, 2], info=hooks, next_info=hooks)

    def of_hook(achieved: Any, desired: Any, info: Any) -> Any:
        return info["was"] * 10

    def of_one(achieved: Any, desired: Any, info: Any) -> float:
        return float(info["was"].item())

    new = relabel_rows(batch, Hindsight(k=1, compute_reward=of_hook, keep=("was",)))
    assert new.reward.tolist() == [10.0, 20.0]
    assert new.info.keys() == new.next_info.keys() == {"was"}
    assert relabel_rows(batch, Hindsight(k=1, compute_reward=of_one)).reward.tolist() == [1.0, 2.0]
    with pytest.raises(HookError, match="gives no 'caption'"):
        relabel_rows(batch, Hindsight(compute_reward=of_hook, keep=("caption",)))


def test_goals_may_be_trees() -> None:
    path = {"hand": np.arange(3.0), "box": np.arange(6.0).reshape(3, 2)}
    obs = {"achieved_goal": path, "desired_goal": {k: v - 100 for k, v in path.items()}}
    batch = Batch.of(obs=obs, action=np.zeros(3), next_obs=obs, reward=np.zeros(3))

    def met(achieved: Any, desired: Any, info: Any) -> Any:
        return (achieved["hand"] == desired["hand"]) & (achieved["box"] == desired["box"]).all(axis=-1)

    new = relabel_rows(batch, Hindsight("final", k=1, compute_reward=met))
    assert new.reward.tolist() == [0.0, 0.0, 1.0]
    assert new.next_obs["desired_goal"]["box"].tolist() == [[4.0, 5.0]] * 3


# an environment's own functions


def test_rows_of_an_environment() -> None:
    env = gym.make("reward_envs/PointReach-v0")
    rng, observations = np.random.default_rng(0), []
    observations.append(env.reset(seed=0)[0])
    flags = []
    for _ in range(12):
        obs, _, terminated, truncated, _ = env.step(rng.uniform(-1, 1, 2).astype(np.float32))
        observations.append(obs)
        flags.append((terminated, truncated))
        assert not terminated
    was, now = ({k: np.stack([o[k] for o in part]) for k in obs} for part in (observations[:-1], observations[1:]))
    batch = Batch.of(obs=was, action=np.zeros(12), next_obs=now, reward=np.zeros(12))
    new = relabel_rows(batch, Hindsight(k=4, **goals_of(env)), seed=0)
    near = (
        np.linalg.norm(new.next_obs["achieved_goal"] - new.obs["desired_goal"], axis=1) <= env.unwrapped.task.tolerance
    )
    np.testing.assert_array_equal(new.reward, near)
    np.testing.assert_array_equal(new.terminated, near)
    assert near.any()
    with pytest.raises(RewardError, match="CartPoleEnv has no compute_reward"):
        goals_of(gym.make("CartPole-v1"))


def test_one_without_terminations_needs_no_function_of_them() -> None:
    class Goes(gym.Env[Any, Any]):
        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return reached(achieved, desired, info)

    new = relabel_rows(walk([0, 1, 2], truncated=[0, 1]), Hindsight("final", k=1, **goals_of(Goes())))
    assert new.reward.tolist() == [0.0, 1.0] and not new.terminated.any()


# text and mistakes


def test_text_and_repr_rebuild() -> None:
    how = Hindsight("final", k=2, **NAMED, keep=("was",))
    assert text(how) == (
        "hindsight(final, k=2, compute_reward='tests.rewards:reached', compute_terminated='tests.rewards:ends', "
        "keep=(was,))"
    )
    assert as_relabel(text(how)) == how == eval(repr(how)) == pickle.loads(pickle.dumps(how))
    assert as_relabel(how) is how
    assert relabel_rows(walk([0, 1]), text(how).replace(", keep=(was,)", "")).reward.tolist() == [1.0, 1.0]
    with pytest.raises(TextError, match="hindsight holds the callable reached, which has no text"):
        text(Hindsight(**FUNCTIONS))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("hindsight(futur, compute_reward=f)", "no strategy 'futur': did you mean 'future'"),
        ("hindsight(k=0, compute_reward=f)", "k=0; the number of copies is 1 or more"),
        ("hindsight(k=True, compute_reward=f)", "k=True"),
        ("hindsight", "needs compute_reward"),
        ("task", "task in 'task' pays rewards and makes no rows"),
        ("2*task", "names no relabeller"),
        (3, "got 3; this takes a relabeller"),
    ],
)
def test_mistakes_in_the_text_get_a_sentence(wrong: Any, sentence: str) -> None:
    with pytest.raises(RewardError, match=sentence):
        as_relabel(wrong)


def test_it_is_no_reward() -> None:
    with pytest.raises(TextError, match="makes rows, not rewards"):
        parse("task + hindsight(compute_reward='tests.rewards:reached')")


def test_mistakes_in_the_rows_get_a_sentence() -> None:
    plain = Batch.of(obs=[0], action=[0], next_obs=[0], reward=[0])
    with pytest.raises(RewardError, match="hindsight needs goals: .* got ndarray"):
        relabel_rows(plain, Hindsight(**FUNCTIONS))
    half = Batch.of(obs={"achieved_goal": [0]}, action=[0], next_obs={"achieved_goal": [0]}, reward=[0])
    with pytest.raises(RewardError, match="got a dict of achieved_goal"):
        relabel_rows(half, Hindsight(**FUNCTIONS))
    with pytest.raises(RewardError, match="row 1 terminated, which may not hold for another goal"):
        relabel_rows(walk([0, 1, 2], terminated=[0, 1]), Hindsight(compute_reward=reached))
    for wrong in (lambda a, d, i: np.zeros((len(a), 3)), lambda a, d, i: "good", lambda a, d, i: math.nan):
        with pytest.raises(RewardError, match="one finite number a row, shape \\[8\\]"):
            relabel_rows(walk([0, 1, 2]), Hindsight(compute_reward=wrong))
    with pytest.raises(RewardError, match="cannot import 'tests.rewards:nothing'"):
        relabel_rows(walk([0, 1]), Hindsight(compute_reward="tests.rewards:nothing"))
