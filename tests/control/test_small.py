"""MountainCar and PointReach."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import reward_envs  # noqa: F401  (enters the ids)

IDS = ["MountainCar-v0", "PointReach-v0"]


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"reward_envs/{name}", **kwargs)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_accepts_the_environment(name: str) -> None:
    check_env(make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", IDS)
def test_random_play_pays_nothing_and_the_expert_succeeds(name: str) -> None:
    env = make(name)
    env.action_space.seed(0)
    wins = 0
    for seed in range(20):
        env.reset(seed=seed)
        paid, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            paid, over = paid + reward, terminated or truncated
        wins += info["is_success"]
        assert paid == float(info["is_success"])
        env.reset(seed=seed)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.unwrapped.expert())
            over = terminated or truncated
        assert info["is_success"] and terminated and reward == 1.0
    assert wins <= (0 if name == "MountainCar-v0" else 4)


@pytest.mark.parametrize("name", IDS)
def test_hooks_are_bounds_and_shares(name: str) -> None:
    env = make(name, hooks=("steps_to_go", "progress"))
    for seed in range(10):
        _, info = env.reset(seed=seed)
        bounds, shares = [info["steps_to_go"]], [info["progress"]]
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.unwrapped.expert())
            over = terminated or truncated
            bounds.append(info["steps_to_go"])
            shares.append(info["progress"])
        left = np.arange(len(bounds))[::-1]
        assert (np.array(bounds) <= left).all(), "a lower bound never exceeds the steps that the expert still took"
        assert max(bounds) <= env.unwrapped.card.steps_to_go_max
        assert (np.diff(shares) >= 0).all() and 0 <= shares[0] and shares[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("name", IDS)
def test_seeds_decide_everything_and_it_pickles(name: str) -> None:
    one, two = make(name), make(name)
    one.reset(seed=3), two.reset(seed=3)
    one.action_space.seed(1)
    for _ in range(30):
        action = one.action_space.sample()
        assert _row(one.step(action)) == _row(two.step(action))
    again = pickle.loads(pickle.dumps(one))
    assert _row(one.step(action)) == _row(again.step(action))


def _row(result: Any) -> str:
    obs, reward, terminated, truncated, info = result
    return repr((obs, reward, terminated, truncated, info["is_success"]))


def test_dense_pay_adds_up_to_what_was_gained() -> None:
    car = make("MountainCar-v0", reward_mode="dense")
    car.reset(seed=0)
    before = car.unwrapped._energy()
    paid = sum(car.step(car.unwrapped.expert())[1] for _ in range(50))
    assert paid == pytest.approx(car.unwrapped._energy() - before)
    point = make("PointReach-v0", reward_mode="dense")
    point.reset(seed=0)
    obs, paid, terminated = point.reset(seed=0)[0], 0.0, False
    before = np.linalg.norm(obs["achieved_goal"] - obs["desired_goal"])
    while not terminated:
        obs, reward, terminated, _, _ = point.step(point.unwrapped.expert())
        paid += reward
    assert paid == pytest.approx(1.0 + before - np.linalg.norm(obs["achieved_goal"] - obs["desired_goal"]))


def test_the_goal_contract_is_batched_and_equals_the_step() -> None:
    env = make("PointReach-v0")
    obs, _ = env.reset(seed=0)
    task = env.unwrapped
    goals = np.stack([obs["achieved_goal"], obs["achieved_goal"] + 0.5])
    achieved = np.stack([obs["achieved_goal"]] * 2)
    assert task.compute_reward(achieved, goals, {}).tolist() == [1.0, 0.0]
    assert task.compute_terminated(achieved, goals, {}).tolist() == [True, False]
    assert task.compute_truncated(achieved, goals, {}).tolist() == [False, False]
    over = False
    while not over:
        obs, reward, terminated, truncated, info = env.step(env.unwrapped.expert())
        assert reward == task.compute_reward(obs["achieved_goal"], obs["desired_goal"], info)
        assert terminated == task.compute_terminated(obs["achieved_goal"], obs["desired_goal"], info)
        over = terminated or truncated


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_of_cars_begins_anew_in_every_mode(mode: AutoresetMode) -> None:
    envs = gym.make_vec("reward_envs/MountainCar-v0", 2, autoreset_mode=mode, max_steps=3, hooks=("steps_to_go",))
    first, _ = envs.reset(seed=0)
    for _ in range(3):
        obs, _, _, truncated, infos = envs.step(np.array([2, 2]))
    assert truncated.all() and infos["steps_to_go"].shape == (2,)
    if mode is AutoresetMode.SAME_STEP:
        assert (infos["final_obs"][0] != obs[0]).any() and (obs[:, 1] == 0).all()
    elif mode is AutoresetMode.NEXT_STEP:
        obs, reward, _, truncated, _ = envs.step(np.array([2, 2]))
        assert (obs[:, 1] == 0).all() and not reward.any() and not truncated.any()
    else:
        obs, _ = envs.reset(options={"reset_mask": np.array([True, False])})
        assert obs[0, 1] == 0 != obs[1, 1]
    assert first.shape == obs.shape


@pytest.mark.parametrize("name", IDS)
def test_wrong_keywords_get_a_sentence(name: str) -> None:
    with pytest.raises(ValueError, match="reward_mode='rich'"):
        make(name, reward_mode="rich")
    with pytest.raises(ValueError, match="no hook 'height'"):
        make(name, hooks=("height",))
