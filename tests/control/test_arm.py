"""The arm: kinematics against MuJoCo's, draws, grasps that hold, rewards and hooks along the expert's way."""

from __future__ import annotations

import doctest
from typing import Any

import gymnasium as gym
import hypothesis.strategies as st
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from reward_envs.control import arm_model
from reward_envs.control.arm import SHIFT, SIDE, START
from reward_envs.control.arm_model import HIGH, LOW, forward, inverse, scene, velocity

ARMS = ["Reach-v0"]
checked = settings(deadline=None, max_examples=60)
hands = st.tuples(*(st.floats(low, high) for low, high in zip(LOW, HIGH, strict=True))).map(np.array)


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"reward_envs/{name}", **kwargs).unwrapped


def play(env: Any, seed: int) -> Any:
    """The expert's episode: observations, infos, rewards, and whether it was a success."""
    obs, info = env.reset(seed=seed)
    rows, infos, paid, over = [obs], [info], [], False
    while not over:
        obs, reward, terminated, truncated, info = env.step(env.expert())
        over = terminated or truncated
        rows.append(obs), infos.append(info), paid.append(reward)
    return rows, infos, paid, terminated


# kinematics


def test_the_examples_run() -> None:
    assert doctest.testmod(arm_model) == doctest.TestResults(failed=0, attempted=3)


@checked
@given(hands)
def test_the_inverse_undoes_the_forward(hand: Any) -> None:
    joints = inverse(hand)
    np.testing.assert_allclose(forward(joints), hand, atol=1e-12)
    assert abs(joints[[0, 1, 3]].sum()) < 1e-12, "the gripper keeps its direction"
    rows = np.stack([hand, START])
    np.testing.assert_array_equal(inverse(rows)[0], joints)
    np.testing.assert_array_equal(forward(inverse(rows))[0], forward(joints))


@checked
@given(hands, st.integers(0, 2**32 - 1))
def test_the_forward_is_that_of_mujoco(hand: Any, seed: int) -> None:
    model = mujoco.MjModel.from_xml_string(scene(0.05, False))
    data, speeds = mujoco.MjData(model), np.random.default_rng(seed).uniform(-2, 2, 6)
    data.qpos[:4], data.qvel[:] = inverse(hand), speeds
    assert (data.qpos[:3] > model.jnt_range[:3, 0]).all() and (data.qpos[:3] < model.jnt_range[:3, 1]).all()
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    palm = data.body("palm")
    np.testing.assert_allclose(palm.xpos, hand, atol=1e-12)
    np.testing.assert_allclose(palm.xmat.reshape(3, 3), np.eye(3), atol=1e-12)
    along = np.empty((3, 6))
    mujoco.mj_jacBody(model, data, along, None, palm.id)
    np.testing.assert_allclose(velocity(data.qpos, speeds), along @ speeds, atol=1e-12)


def test_an_action_shifts_the_hand_and_the_box_holds_it() -> None:
    env = make("Reach-v0", tolerance=1e-3)
    env.reset(seed=0)
    targets = env.task.control(env.bodies, np.array([[1.0, -0.5, 0.0, 0.3]]))
    np.testing.assert_allclose(forward(targets[0]), START + np.array([SHIFT, -SHIFT / 2, 0]), atol=1e-12)
    for _ in range(20):
        obs, *_ = env.step(np.array([1.0, -1.0, 1.0, 0.0]))
    np.testing.assert_allclose(obs["achieved_goal"], [HIGH[0], LOW[1], HIGH[2]], atol=2e-3)
    for _ in range(20):
        obs, *_ = env.step(np.zeros(4))
    np.testing.assert_allclose(obs["achieved_goal"], [HIGH[0], LOW[1], HIGH[2]], atol=2e-3)


# tasks


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_checkers_accept_it(name: str) -> None:
    check_env(make(name), skip_render_check=True)
    check_env_sb3(make(name), skip_render_check=True)


@pytest.mark.parametrize("name", ARMS)
def test_draws_are_near_the_start_and_not_solved(name: str) -> None:
    env = make(name, hooks=env_hooks(name))
    for seed in range(60):
        obs, info = env.reset(seed=seed)
        goal = obs["desired_goal"]
        assert (np.abs(goal[:2]) <= SIDE).all()
        assert env.task.gap(obs["achieved_goal"], goal) > env.task.far
        assert not info["is_success"] and info["progress"] == 0
        assert env.observation_space.contains(obs)
        np.testing.assert_allclose(obs["observation"][:3], START, atol=1e-12)
        if name == "Reach-v0":
            assert abs(goal[2] - START[2]) <= SIDE


def env_hooks(name: str) -> tuple[str, ...]:
    return tuple(make(name).task.offers)


@pytest.mark.parametrize("name", ARMS)
def test_random_play_fails(name: str) -> None:
    n = 100
    vector = gym.make_vec(f"reward_envs/{name}", n, autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=0)
    bodies, rng, won, fastest = vector.unwrapped.bodies, np.random.default_rng(0), np.zeros(n, bool), 0.0
    for _ in range(bodies.task.max_steps):
        was = bodies.achieved
        bodies.step(rng.uniform(-1, 1, (n, 4)))
        won |= bodies.success
        fastest = max(fastest, np.linalg.norm(bodies.achieved - was, axis=1).max())
    assert won.mean() < 0.05 + 0.05  # of so few episodes
    assert fastest < bodies.task.step_length and not bodies.diverged.any()


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_rewards_and_hooks_along_the_way(name: str, mode: str) -> None:
    env = make(name, reward_mode=mode, hooks=env_hooks(name))
    task, seeds, wins = env.task, range(12), 0
    for seed in seeds:
        env.reset(seed=seed)
        aside = task.aside(env.bodies)[0]
        rows, infos, paid, success = play(env, seed)
        wins += success
        achieved, desired = (np.stack([o[k] for o in rows]) for k in ("achieved_goal", "desired_goal"))
        np.testing.assert_array_equal(paid, env.compute_reward(achieved[1:], desired[1:], infos[1:]))
        one = [env.compute_reward(*row) for row in zip(achieved[1:], desired[1:], infos[1:], strict=True)]
        np.testing.assert_array_equal(paid, one)
        bounds = np.array([i["steps_to_go"] for i in infos])
        np.testing.assert_array_equal(bounds, -env.compute_potential(achieved, desired, infos))
        assert bounds.max() <= env.card.steps_to_go_max
        shares = np.array([i["progress"] for i in infos])
        assert (np.diff(shares) >= 0).all() and shares[0] == 0
        if success:
            assert (bounds <= np.arange(len(bounds))[::-1]).all(), "never more than the expert took"
            assert shares[-1] == 1 and env.compute_terminated(achieved[-1], desired[-1], infos[-1])
        gained = task.gap(achieved[0], desired[0]) - task.gap(achieved[-1], desired[-1])
        gained += task.aside(env.bodies)[0] - aside
        assert sum(paid) == pytest.approx(success + (gained if mode == "dense" else 0))
    assert wins >= len(seeds) - 1


def test_what_is_no_distance_gets_a_sentence() -> None:
    for far in (0.01, 0.2, np.nan):
        with pytest.raises(ValueError, match="far="):
            make("Reach-v0", far=far)


def test_words() -> None:
    env = make("Reach-v0", hooks=("caption",))
    obs, info = env.reset(seed=0)
    x, y, z = obs["desired_goal"]
    left = np.linalg.norm(obs["desired_goal"] - START)
    assert info["caption"] == (
        f"The hand is at (0.00, 0.00, 0.17) m, the goal at ({x:.2f}, {y:.2f}, {z:.2f}) m, {left:.2f} m away."
    )


@pytest.mark.parametrize("name", ARMS)
def test_a_picture_shows_arm_and_goal(name: str) -> None:
    env = make(name, render_mode="rgb_array")
    env.reset(seed=0)
    try:
        picture = env.render().astype(int)
    except RuntimeError as reason:
        pytest.skip(str(reason))
    finally:
        env.close()
    red, green, blue = np.moveaxis(picture, -1, 0)
    assert ((green > red + 60) & (green > blue + 40)).sum() > 30, "the goal"
    assert ((red > green + 15) & (green > blue + 15)).mean() > 0.1, "the table"
