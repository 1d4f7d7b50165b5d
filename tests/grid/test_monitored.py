"""Monitors: who sees the reward, where, and what an agent makes of what it does not see."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from scipy.stats import chisquare

from reward_envs.grid import sb3_vec
from reward_envs.grid.env import GridEnv, GridVector
from reward_envs.grid.more import MORE, Monitor, area_monitor_spec, monitored, two_paths_spec
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.kernels.grid_fields import GOAL_CELL
from reward_envs.wrappers import RewardError, VecReward
from tests.grid.tools import begun

CHANCE = 1e-6

MONITORED = [name for name in MORE if name.startswith("Monitored")]


@pytest.mark.parametrize("name", ["DoorKey-5x5-v0", "Maze-v0", "Dynamic-Obstacles-6x6-v0"])
def test_a_monitor_that_is_always_on_for_nothing_changes_nothing(name: str) -> None:
    base = GridVector(TASKS[name], 8)
    other = GridVector(monitored(TASKS[name], Monitor(share=1.0)), 8)
    rng = np.random.default_rng(0)
    for a, b in zip(base.reset(seed=3)[0].values(), other.reset(seed=3)[0].values(), strict=True):
        np.testing.assert_array_equal(a, b)
    for _ in range(300):
        actions = rng.integers(0, base.single_action_space.n, 8)
        (obs, *ends, infos), (seen, *found, told) = base.step(actions), other.step(actions)
        np.testing.assert_array_equal(obs["image"], seen["image"])
        np.testing.assert_array_equal(ends, found)
        np.testing.assert_array_equal(told["true_reward"], ends[0])
        np.testing.assert_array_equal(told["is_success"], infos["is_success"])
        assert not told["monitor_reward"].any()


@pytest.mark.parametrize("name", MONITORED)
def test_one_world_alone_in_a_vector_and_in_sb3(name: str) -> None:
    single, seed = GridEnv(MORE[name]), 5
    vector = GridVector(MORE[name], 3, autoreset_mode=AutoresetMode.SAME_STEP)
    venv: Any = sb3_vec(f"reward_envs/{name}", 3, seed=seed)
    single.reset(seed=seed + 1)
    vector.reset(seed=seed)
    venv.reset()
    rng, unseen, seen = np.random.default_rng(1), 0, 0
    for _ in range(600):
        actions = rng.choice([0, 1, 2, 2, 2, 5], 3)
        _, reward, terminated, truncated, info = single.step(int(actions[1]))
        _, rewards, _, _, infos = vector.step(actions)
        _, paid, dones, told = venv.step(actions)
        over = terminated or truncated
        assert dones[1] == over and told[1]["is_success"] == info["is_success"]
        infos = infos["final_info"] if over else infos
        for value in (reward, info["true_reward"], info["monitor_reward"]):
            assert isinstance(value, float)
        np.testing.assert_array_equal([rewards[1], infos["true_reward"][1]], [reward, info["true_reward"]])
        np.testing.assert_array_equal(paid[1], np.float32(reward))
        for column in ("true_reward", "monitor_reward"):
            assert told[1][column] == infos[column][1] == info[column]
        assert np.isnan(reward) or reward == info["true_reward"]
        unseen, seen = unseen + np.isnan(reward), seen + (not np.isnan(reward))
        if over:
            assert (info["true_reward"] - info["monitor_reward"] > 0) == info["is_success"]
            single.reset()
    assert unseen > 50 and seen > 50


def test_the_step_that_begins_an_episode_pays_0_and_not_nan() -> None:
    envs = GridVector(two_paths_spec(), 2)
    envs.reset(seed=0)
    for action in (0, 0, 2, 2, 2):
        _, reward, terminated, _, _ = envs.step(np.array([action, 4]))
    assert terminated.tolist() == [True, False] and np.isnan(reward).all()
    _, reward, _, _, infos = envs.step(np.array([2, 2]))
    assert reward[0] == 0.0 and np.isnan(reward[1])
    assert infos["true_reward"].tolist() == [0.0, 0.0] and infos["_true_reward"].all()


def test_where_each_monitor_shows_the_reward() -> None:
    rng = np.random.default_rng(2)
    for spec in (two_paths_spec(0.125), area_monitor_spec(), monitored(TASKS["FourRooms-v0"], Monitor(share=0.3))):
        worlds, shown = begun(spec, 400), 0
        for _ in range(40):
            worlds.step(rng.choice([0, 1, 2, 2, 5], 400))
            on = np.zeros(400, bool)
            if spec.monitor.switch is not None:
                on = worlds.cells[:, 1 * 9 + 4] >> 7 & 3 == k.OPEN
                expected = on | (worlds.state[:, k.Y] >= 4)
            elif spec.monitor.area is not None:
                expected = worlds.state[:, k.X] < 9
            if spec.monitor.share == 0.0:
                np.testing.assert_array_equal(~np.isnan(worlds.reward), expected)
            np.testing.assert_array_equal(worlds.monitor_reward, np.where(on, -spec.monitor.cost, 0.0))
            shown += int((~np.isnan(worlds.reward)).sum())
            worlds.begin(np.flatnonzero(worlds.terminated))
        if spec.monitor.share > 0.0:
            assert chisquare([shown, 16000 - shown], [0.3 * 16000, 0.7 * 16000]).pvalue > CHANCE


def test_the_blue_floor_is_what_is_shown() -> None:
    for spec in (two_paths_spec(), area_monitor_spec()):
        worlds = begun(spec, 20)
        x, y, w, h = spec.monitor.area
        cells = worlds.cells.reshape(20, spec.height, spec.width)
        inside = np.zeros_like(cells, bool)
        inside[:, y : y + h, x : x + w] = True
        np.testing.assert_array_equal((cells & 15) == k.FLOOR, inside & (cells != k.WALL) & (cells != GOAL_CELL))


def test_dense_pay_is_hidden_and_true_as_the_rest() -> None:
    base = GridVector(TASKS["FourRooms-v0"], 6, reward_mode="dense")
    other = GridVector(monitored(TASKS["FourRooms-v0"], Monitor((0, 0, 9, 19))), 6, reward_mode="dense")
    base.reset(seed=1)
    other.reset(seed=1)
    rng = np.random.default_rng(3)
    for _ in range(90):
        actions = rng.integers(0, 3, 6)
        reward = base.step(actions)[1]
        found, infos = other.step(actions)[1::3]
        np.testing.assert_array_equal(infos["true_reward"], reward)
        assert ((found == reward) | np.isnan(found)).all() and np.isnan(found).any()


def paid(env: Any, n: int) -> list[Any]:
    """What 30 steps pay, the first of as many episodes where it is a single environment."""
    found = []
    for t in range(30):
        if t == 0 or n == 0:
            env.reset() if isinstance(env, VecReward) else env.reset(seed=t)
        found.append(env.step(2 if n == 0 else np.full(n, 2))[1])
    return found


@pytest.mark.parametrize("name", MONITORED)
def test_a_reward_says_what_an_unseen_one_is_worth(name: str) -> None:
    makers: list[tuple[Any, int]] = [
        (lambda reward: gym.make(f"reward_envs/{name}", reward=reward), 0),
        (lambda reward: gym.make_vec(f"reward_envs/{name}", num_envs=16, reward=reward), 16),
        (lambda reward: VecReward(sb3_vec(f"reward_envs/{name}", 16, seed=0), reward), 16),
    ]
    for make, n in makers:
        env = make("task")
        with pytest.raises(
            RewardError, match=r"task has no value in row .* wrap the term as fill_unknown\(task, 0.0\)"
        ):
            paid(env, n)
        assert np.isfinite(paid(make("fill_unknown(task)"), n)).all()


def test_what_cannot_be_a_monitor() -> None:
    with pytest.raises(ValueError, match="share=1.5: the chance"):
        Monitor(share=1.5)
    with pytest.raises(ValueError, match="cost=-1: what a monitor charges a step is 0 or more"):
        Monitor(cost=-1)
    for monitor in (Monitor((0, 0, 6, 5)), Monitor(switch=(5, 0)), Monitor(switch=(0, -1))):
        with pytest.raises(ValueError, match="beyond the grid of 5 by 5 cells"):
            monitored(TASKS["Empty-5x5-v0"], monitor)


# two paths: the property of monitored tasks

MOVES = np.array([k.LEFT, k.RIGHT, k.FORWARD, k.TOGGLE])
FAR, PAYING, BEST = 0.6625, 0.615, 0.8875  # to the far goal; to the near one with the monitor on; and with it off


def situation(worlds: Worlds) -> Any:
    """int[N]: cell, direction, switch as one number."""
    cell = worlds.state[:, k.Y] * worlds.spec.width + worlds.state[:, k.X]
    return (cell * 4 + worlds.state[:, k.DIR]) * 2 + (worlds.cells[:, 13] >> 7 & 3 == k.OPEN)


def best(read_as_zero: bool) -> float:
    """The largest return from the start by value iteration over every situation and step, in exact arithmetic."""
    spec = two_paths_spec()
    n = spec.width * spec.height * 8
    worlds = begun(spec, n)
    cell, heading, switch = np.unravel_index(worlds.all, (n // 8, 4, 2))
    free = (worlds.cells[0] & 15)[cell] != k.WALL_TYPE
    start = situation(worlds)[0]
    results = []
    for action in MOVES:
        worlds.begin(worlds.all)
        worlds.state[:, k.X], worlds.state[:, k.Y] = cell % spec.width, cell // spec.width
        worlds.state[:, k.DIR] = heading
        worlds.cells[switch == 1, 13] &= ~np.uint16(3 << 7 | k.OPAQUE)
        worlds.step(np.full(n, action), ~free)
        shown = ~np.isnan(worlds.reward)
        results.append((situation(worlds), worlds.success.copy(), worlds.monitor_reward.copy(), shown))
    value = np.zeros(n)
    for t in range(spec.max_steps, 0, -1):
        ahead = []
        for after, won, charged, shown in results:
            pay = won * (1 - 0.9 * t / spec.max_steps) * (shown | (not read_as_zero))
            ahead.append(pay + charged + np.where(won, 0.0, value[after]))
        value = np.max(ahead, axis=0)
    return float(value[start])


def learnt(with_model: bool) -> tuple[float, float, int]:
    """Q-learning on the two paths; the greedy agent's true return, its monitor's, and the steps it took.

    Where the reward is unseen the agent takes 0, or what its model of the task's reward says: the mean of all that it
    saw in that pose, whether the switch was on or not.
    """
    spec, n, gamma = two_paths_spec(), 128, 0.97
    worlds, rng = begun(spec, n), np.random.default_rng(0)
    q = np.zeros((spec.width * spec.height * 8, 4))
    total, count = np.zeros((len(q) // 2, 4)), np.zeros((len(q) // 2, 4))
    for _ in range(3000):
        s = situation(worlds)
        a = np.where(rng.random(n) < 0.4, rng.integers(0, 4, n), (q[s] + 1e-9 * rng.random((n, 4))).argmax(axis=1))
        worlds.step(MOVES[a])
        reward = np.nan_to_num(worlds.reward)
        if with_model:
            known = ~np.isnan(worlds.reward)
            np.add.at(total, (s[known] // 2, a[known]), (worlds.reward - worlds.monitor_reward)[known])
            np.add.at(count, (s[known] // 2, a[known]), 1)
            reward = (total / np.maximum(count, 1))[s // 2, a] + worlds.monitor_reward
        target = reward + gamma * np.where(worlds.terminated, 0.0, q[situation(worlds)].max(axis=1))
        q[s, a] += 0.2 * (target - q[s, a])
        worlds.begin(np.flatnonzero(worlds.terminated | worlds.truncated))
    one, true, charged = begun(spec, 1), 0.0, 0.0
    while not (one.terminated[0] or one.truncated[0]):
        one.step(MOVES[q[situation(one)].argmax(axis=1)])
        true, charged = true + one.true_reward[0], charged + one.monitor_reward[0]
    return true, charged, int(one.state[0, k.STEP])


def test_what_an_agent_makes_of_an_unseen_reward() -> None:
    """The best policy goes the unseen path with the monitor off. Reading unseen as 0 loses it, a model finds it."""
    assert best(read_as_zero=False) == pytest.approx(BEST)
    assert best(read_as_zero=True) == pytest.approx(FAR)
    true, charged, steps = learnt(with_model=True)
    assert (true, charged, steps) == (pytest.approx(BEST), 0.0, 5)
    true, charged, steps = learnt(with_model=False)
    assert true <= FAR + 1e-9 < BEST and (charged < 0 or steps >= 15)


def test_a_return_without_the_monitors_charge_misjudges() -> None:
    env = gym.make("reward_envs/Monitored-v0")
    returns = {}
    for name, actions in (("paying", (0, 5, 0, 2, 2, 2)), ("far", (2, 2, 2, 1, 2, 2, 2, 2, 1, *[2] * 6))):
        env.reset(seed=0)
        true = task = 0.0
        for action in actions:
            _, _, terminated, _, info = env.step(action)
            true, task = true + info["true_reward"], task + info["true_reward"] - info["monitor_reward"]
        assert terminated and info["is_success"]
        returns[name] = (true, task)
    assert returns["paying"] == (pytest.approx(PAYING), pytest.approx(0.865))
    assert returns["far"] == (pytest.approx(FAR), pytest.approx(FAR))
