"""The base of text tasks: what is paid, what counts as success, limits, and tasks that fail."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.passive_env_checker import env_reset_passive_checker, env_step_passive_checker
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_envs.text import Grade, TaskError, TextEnv
from reward_envs.text.episode import FAILED, Episode, Limits, Plan
from reward_envs.text.spaces import CHARSET, clean, text_space
from reward_envs.wrappers import RewardError, with_reward
from tests.text.tasks import Counting, Replayed, play, scored

SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=6)


def counting(**kwargs: Any) -> TextEnv:
    return TextEnv(Counting(), **kwargs)


# grades


def test_a_grade_is_the_weighted_share_and_exactly_one_when_all_hold() -> None:
    tenths = Grade.equal({f"{i}": True for i in range(10)})
    assert math.fsum(w for _, w, _ in tenths.checks) != sum(w for _, w, _ in tenths.checks)
    assert tenths.score == 1.0 and tenths.success
    assert Grade((("a", 0.3, True), ("b", 0.7, False))).score == 0.3
    broken = Grade((("a", 1.0, True), ("harm", -0.5, True)))
    assert broken.score == 0.5 and not broken.success
    assert Grade((("a", 1.0, True), ("harm", -0.5, False))).success
    unknown = Grade(known=False)
    assert math.isnan(unknown.score) and not unknown.success


@pytest.mark.parametrize(
    ("checks", "sentence"),
    [
        ((("a", 0.5, True),), "sum to 0.5"),
        ((("a", math.nan, True),), "finite"),
        ((("a", 0.5, True), ("a", 0.5, True)), "one name"),
        ((), "sum to 0"),
    ],
)
def test_grades_that_are_none(checks: Any, sentence: str) -> None:
    with pytest.raises(TaskError, match=sentence):
        Grade(checks)


@pytest.mark.parametrize("share", [math.nan, math.inf, -0.1, 1.0000001])
def test_a_share_is_never_clamped(share: float) -> None:
    with pytest.raises(TaskError, match=r"lies in \[0, 1\]"):
        Grade.share(share)


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.integers(0, 5))
def test_the_score_grows_with_the_checks_that_hold(holds: list[bool], at: int) -> None:
    more = [held or i == at for i, held in enumerate(holds)]
    low, high = (Grade.equal({str(i): h for i, h in enumerate(held)}) for held in (holds, more))
    assert 0.0 <= low.score <= high.score <= 1.0
    assert low.success == all(holds)


# pay


@settings(max_examples=40)
@given(SCORES, st.booleans())
def test_dense_pays_the_change_and_both_modes_agree_on_success(scores: list[float], ends: bool) -> None:
    source = Replayed([scored(s) for s in scores], ends)
    dense, sparse = (play(TextEnv(source, reward_mode=mode), [""] * (len(scores) - 1)) for mode in ("dense", "sparse"))
    assert [s[1] for s in dense] == [b - a for a, b in pairwise(scores)]
    assert math.isclose(sum(s[1] for s in dense), scores[-1] - scores[0], abs_tol=1e-12)
    assert [s[1] for s in sparse] == [0.0] * (len(scores) - 2) + [float(scores[-1] == 1.0)]
    assert [s[4]["is_success"] for s in dense] == [s[4]["is_success"] for s in sparse]
    assert sparse[-1][4]["is_success"] == (scores[-1] == 1.0)
    assert (sparse[-1][2], sparse[-1][3]) == (ends, not ends)


def test_an_end_is_no_success() -> None:
    *_, (_, reward, terminated, truncated, info) = play(counting(), ["add", "stop"])
    assert (reward, terminated, truncated, info["is_success"]) == (0.0, True, False, False)
    assert 0 < info["grade"].score < 1


def test_an_abstaining_grader_is_unknown_and_not_zero() -> None:
    *_, (_, reward, terminated, _, info) = play(counting(), ["unknown", "stop"])
    assert math.isnan(reward) and terminated and not info["is_success"]
    assert info["grade"].why == "cannot tell" and "error" not in info
    with pytest.raises(RewardError, match="no value in row 0"):
        play(with_reward(counting(), "task"), ["unknown", "stop"])
    assert play(with_reward(counting(), "fill_unknown(task, 0.5)"), ["unknown", "stop"])[-1][1] == 0.5


def test_the_dense_sum_skips_what_is_unknown() -> None:
    source = Replayed([scored(0.25), Grade(known=False), scored(1.0)])
    first, last = (s[1] for s in play(TextEnv(source, reward_mode="dense"), ["", ""]))
    assert math.isnan(first) and last == 0.75


# tasks that fail


@pytest.mark.parametrize("hooks", [(), ("progress", "milestones", "caption")])
@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("raise", "act raised RuntimeError: a bug"),
        ("nothing", "answered with a NoneType"),
        ("over", "OSError: the grader lost its file"),
    ],
)
@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_a_failing_task_truncates_unknown(action: str, why: str, mode: str, hooks: tuple[str, ...]) -> None:
    env = counting(reward_mode=mode, hooks=hooks)
    env.reset(seed=0)
    seen, reward, terminated, truncated, info = env.step(action)
    if action == "over" and mode == "sparse" and not hooks:
        assert (reward, truncated) == (0.0, False)  # nobody graded yet
        seen, reward, terminated, truncated, info = env.step("stop")
    assert seen == FAILED and math.isnan(reward)
    assert (terminated, truncated, info["is_success"]) == (False, True, False)
    assert why in info["error"]
    if hooks:
        assert math.isnan(info["progress"]) and np.isnan(info["milestones"]).tolist() == [True, True]
    with pytest.raises(gym.error.ResetNeeded):
        env.step("add")
    env.reset()
    assert env.step("add")[1] >= 0.0


def test_a_task_that_cannot_be_drawn_raises() -> None:
    with pytest.raises(TaskError, match="drawing a task raised ValueError"):
        TextEnv(Broken()).reset()


class Broken(Counting):
    def draw(self, rng: Any, split: str) -> Any:
        raise ValueError("no file")


# limits


def test_turns_truncate_and_say_so() -> None:
    steps = play(counting(max_steps=3), ["add"] * 3, seed=2)
    assert [s[3] for s in steps] == [False, False, True]
    assert [s[4].get("limit") for s in steps] == [None, None, "turns"]
    assert steps[-1][4]["is_success"] == (steps[-1][4]["grade"].score == 1.0)


def test_wall_time_truncates_and_says_so() -> None:
    ticks = iter([0.0, 4.0, 11.0])
    episode = Episode(Plan(Counting(), limits=Limits(seconds=10.0)), clock=lambda: next(ticks))
    episode.begin(0)
    assert not episode.step("add").truncated
    turn = episode.step("add")
    assert turn.truncated and turn.info["limit"] == "seconds"


def test_long_output_is_cut_in_the_middle() -> None:
    ((seen, _, _, _, info),) = play(counting(max_output=500), ["long"])
    assert len(seen) <= 500
    left, right = seen.split(f"\n[... {info['cut']} characters left out ...]\n")
    assert len(left) + info["cut"] + len(right) == 100_000


def test_odd_output_is_cleaned() -> None:
    ((seen, *_),) = play(counting(), ["odd"])
    assert seen == "bell \ufffd and\nline \ufffd"
    assert text_space(100).contains(seen)


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (3, "of type int"),
        (None, "of type NoneType"),
        (b"add", "of type bytes"),
        (["add"], "of type list"),
        ("x" * 4001, "4001 characters; 4000 are allowed"),
        ("add\x00", "U+0000"),
        ("\ud800", "U+D800"),
    ],
)
def test_actions_that_are_none_get_a_message_and_cost_a_turn(action: Any, told: str) -> None:
    env = counting(max_steps=1)
    ((seen, reward, _, truncated, info),) = play(env, [action])
    assert told in seen and reward == 0.0 and truncated and info["limit"] == "turns"
    assert env.task.count == 0  # type: ignore[attr-defined]


@given(st.text(max_size=60))
def test_cleaned_text_lies_in_the_space(text: str) -> None:
    seen = clean(text)
    assert text_space(60).contains(seen) and clean(seen) == seen
    assert all(
        c in CHARSET or d == "\ufffd" for c, d in zip(text.replace("\r\n", "\n"), seen, strict=True) if c != "\r"
    )


# as an environment


def test_gymnasiums_checkers_pass() -> None:
    check_env(counting(), skip_render_check=True)
    env = counting()
    env_reset_passive_checker(env, seed=0)
    env_step_passive_checker(env, "add")


def test_a_seed_decides_everything_and_it_pickles() -> None:
    env = counting(hooks=("progress", "milestones", "admissible", "caption"))
    first = [env.reset(seed=5)] + [env.step("add") for _ in range(2)]
    again = [env.reset(seed=5)] + [env.step("add") for _ in range(2)]
    assert repr(first) == repr(again)
    env.reset(seed=5)
    copy = pickle.loads(pickle.dumps(env))
    assert repr(copy.step("add")) == repr(env.step("add"))
    assert [copy.reset()[0] for _ in range(5)] == [env.reset()[0] for _ in range(5)]


def test_hooks_come_when_asked_for() -> None:
    env = counting()
    assert set(env.reset(seed=0)[1]) == {"is_success"}
    env.request_hooks(("progress", "caption"))
    env.reset()
    info = env.step("add")[4]
    assert info["progress"] == env.task.progress() and info["caption"].startswith("The count is 1")
    with pytest.raises(ValueError, match="no hook 'nothing'"):
        env.request_hooks(("nothing",))


@pytest.mark.parametrize(
    "kwargs", [{"split": "dev"}, {"reward_mode": "half"}, {"render_mode": "human"}, {"max_steps": 0}, {"max_output": 3}]
)
def test_wrong_keywords_get_a_sentence(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="it is"):
        counting(**kwargs)


def test_the_expert_succeeds_and_ansi_is_the_transcript() -> None:
    env = counting(render_mode="ansi")
    env.reset(seed=1)
    done = False
    while not done:
        _, reward, done, _, info = env.step(env.expert())
    assert reward == 1.0 and info["is_success"]
    assert str(env.render()).startswith("Count to") and "> add\n1" in str(env.render())
    task = env.task
    env.close()
    assert task.closed  # type: ignore[attr-defined]
