"""DoorKey, MultiRoom, KeyCorridor: MiniGrid's own behaviour, and exact hooks."""

from __future__ import annotations

import pickle
from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.kernels.grid_plan import NOWHERE, SUCCESS, successor

TWINS = {
    "DoorKey-5x5-v0": "MiniGrid-DoorKey-5x5-v0",
    "DoorKey-6x6-v0": "MiniGrid-DoorKey-6x6-v0",
    "DoorKey-8x8-v0": "MiniGrid-DoorKey-8x8-v0",
    "MultiRoom-N2-S4-v0": "MiniGrid-MultiRoom-N2-S4-v0",
    "KeyCorridorS3R1-v0": "MiniGrid-KeyCorridorS3R1-v0",
    "LavaCrossingS9N1-v0": "MiniGrid-LavaCrossingS9N1-v0",
}
IDS = list(TWINS)
pytest.importorskip("minigrid")


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"reward_envs/{name}", disable_env_checker=True, **kwargs)


def plan_next(task: Any) -> int | None:
    """An action that brings success one step nearer, by the plan."""
    task._steps_to_go()
    code = task._code()
    for action in range(6):
        after = successor(code, action, task._ahead, task._kind, task._fits, task._key is not None, len(task._fits))
        left = 0.0 if after == SUCCESS else np.inf if after == NOWHERE else task._plan[after]
        if left == task._plan[code] - 1:
            return action
    return None


def searched(task: Any) -> float:
    """Slow twin: steps to success by a search that steps copies of the minigrid environment itself."""
    start = pickle.dumps(task.inner)
    seen, queue = {_key(task.inner)}, deque([(start, 0)])
    while queue:
        state, depth = queue.popleft()
        for action in range(6):
            inner = pickle.loads(state)
            _, reward, terminated, _, _ = inner.step(action)
            if terminated and reward > 0:
                return depth + 1
            key = _key(inner)
            if not terminated and key not in seen:
                seen.add(key)
                queue.append((pickle.dumps(inner), depth + 1))
    return np.inf


def _key(inner: Any) -> Any:
    held = inner.carrying.type if inner.carrying else None
    return tuple(map(int, inner.agent_pos)), int(inner.agent_dir), held, inner.grid.encode().tobytes()


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_accepts_the_environment(name: str) -> None:
    check_env(make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", IDS)
def test_rows_equal_minigrids_own(name: str) -> None:
    ours, theirs = make(name), gym.make(TWINS[name], disable_env_checker=True)
    for seed in range(5):
        (obs, _), (expected, _) = ours.reset(seed=seed), theirs.reset(seed=seed)
        ours.action_space.seed(seed)
        for _ in range(120):
            assert obs["direction"] == expected["direction"] and obs["mission"] == expected["mission"]
            np.testing.assert_array_equal(obs["image"], expected["image"])
            action = ours.action_space.sample()
            obs, *row, info = ours.step(action)
            expected, *right, _ = theirs.step(action)
            assert row == right
            assert info["is_success"] == (row[1] and row[0] > 0)
            if row[1] or row[2]:
                break


@pytest.mark.parametrize("name", ["DoorKey-5x5-v0", "MultiRoom-N2-S4-v0", "LavaCrossingS9N1-v0"])
def test_steps_to_go_equal_a_search_that_steps_minigrid(name: str) -> None:
    env = make(name, hooks=("steps_to_go",))
    for seed in range(3):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        for _ in range(seed * 7):
            _, _, terminated, _, info = env.step(env.action_space.sample())
            info = env.reset()[1] if terminated else info
        assert info["steps_to_go"] == searched(env.unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_the_plan_is_kept_step_by_step_from_anywhere(name: str) -> None:
    env = make(name, hooks=("steps_to_go", "progress", "milestones"))
    for seed in range(15):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        ended = False
        for _ in range(40):  # carries, drops and shuts things
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            ended = terminated or truncated
            if ended:
                break
        if ended:
            continue
        left = info["steps_to_go"]
        while left > 0:
            action = plan_next(env.unwrapped)
            assert action is not None
            _, _, terminated, _, info = env.step(action)
            left -= 1
            assert info["steps_to_go"] == left
        assert terminated and info["is_success"] and info["progress"] == 1.0
        assert info["milestones"].tolist() == [1.0] * len(env.unwrapped.card.milestone_names)


@pytest.mark.parametrize("name", IDS)
def test_distances_stay_within_the_card(name: str) -> None:
    env = make(name, hooks=("steps_to_go",))
    task = env.unwrapped
    for seed in range(100):
        env.reset(seed=seed)
        finite = task._plan[np.isfinite(task._plan)]
        assert finite.max() <= task.card.steps_to_go_max


def test_milestones_stay_reached_and_come_in_the_cards_order() -> None:
    env = make("DoorKey-5x5-v0", hooks=("milestones", "progress", "caption"))
    _, info = env.reset(seed=3)
    task = env.unwrapped
    assert task.card.milestone_names == ("take the key", "open the locked door", "succeed")
    assert info["milestones"].tolist() == [0, 0, 0] and info["progress"] == 0.0
    while not info["milestones"][0]:
        info = env.step(plan_next(task))[4]
    assert "carries the yellow key" in info["caption"] and "locked" in info["caption"]
    info = env.step(0)[4]
    info = env.step(4)[4] if task.inner.grid.get(*task.inner.front_pos) is None else info
    assert info["milestones"].tolist() == [1, 0, 0]


def test_lava_is_infinitely_far_and_the_card_says_that_episodes_can_fail() -> None:
    env = make("LavaCrossingS9N1-v0", hooks=("steps_to_go",), reward_mode="dense")
    task = env.unwrapped
    assert task.card.failing_ends and not make("DoorKey-5x5-v0").unwrapped.card.failing_ends
    for seed in range(200):
        start = env.reset(seed=seed)[1]["steps_to_go"]
        env.action_space.seed(seed)
        total, terminated, truncated, info = 0.0, False, False, {}
        while not (terminated or truncated):
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            total += reward
        if terminated and not info["is_success"]:
            assert info["steps_to_go"] == np.inf
            assert total == pytest.approx(start / task.card.steps_to_go_max - 1)
            return
    pytest.fail("no episode ended in lava")


def test_an_unreachable_end_is_infinitely_far() -> None:
    env = make("DoorKey-5x5-v0", hooks=("steps_to_go",))
    env.reset(seed=0)
    task = env.unwrapped
    key = task._key.cur_pos
    task.inner.grid.set(*key, None)  # the key is gone: put it behind the locked door
    task.inner.put_obj(task._key, 3, 1)
    task._map()
    task._plan = None
    assert task._steps_to_go() == np.inf


def test_dense_pay_adds_up_to_the_way_made() -> None:
    sparse = make("DoorKey-6x6-v0", hooks=("steps_to_go",))
    dense = make("DoorKey-6x6-v0", reward_mode="dense")
    start = sparse.reset(seed=4)[1]["steps_to_go"]
    dense.reset(seed=4)
    extra, info, task = 0.0, {}, sparse.unwrapped
    for _ in range(12):
        action = plan_next(task)
        _, plain, _, _, info = sparse.step(action)
        extra += dense.step(action)[1] - plain
    assert extra == pytest.approx((start - info["steps_to_go"]) / task.card.steps_to_go_max)


def test_hooks_cost_nothing_unless_asked_for_and_unknown_ones_are_refused() -> None:
    env = make("DoorKey-5x5-v0")
    assert set(env.reset(seed=0)[1]) == {"is_success"}
    assert env.unwrapped._plan is None
    with pytest.raises(
        ValueError, match="no hook 'height': this task gives steps_to_go, progress, milestones, caption"
    ):
        make("DoorKey-5x5-v0", hooks=("height",))
    with pytest.raises(ValueError, match="reward_mode='rich': it is 'sparse' or 'dense'"):
        make("DoorKey-5x5-v0", reward_mode="rich")


@pytest.mark.parametrize("name", IDS)
def test_seeds_decide_everything_and_resets_go_on(name: str) -> None:
    one, two = make(name), make(name)
    one.reset(seed=7), two.reset(seed=7)
    for _ in range(3):
        np.testing.assert_array_equal(one.reset()[0]["image"], two.reset()[0]["image"])
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.reset()[0]["image"], again.reset()[0]["image"])


def test_without_a_seed_every_environment_goes_its_own_way() -> None:
    layouts = {make("DoorKey-8x8-v0").reset()[0]["image"].tobytes() for _ in range(8)}
    assert len(layouts) > 1
