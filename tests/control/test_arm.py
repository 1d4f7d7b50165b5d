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
from reward_envs.control.arm import AIR, APART, SHIFT, SIDE, START
from reward_envs.control.arm_model import CUBE, HIGH, LOW, forward, inverse, scene, velocity

CUBES = ["Push-v0", "PickPlace-v0"]
ARMS = ["Reach-v0", *CUBES]
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
    env, heights = make(name, hooks=env_hooks(name)), []
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
            continue
        cube = obs["achieved_goal"]
        assert (np.abs(cube[:2]) <= SIDE).all() and np.linalg.norm(cube[:2] - START[:2]) > APART
        assert cube[2] == CUBE and not info["milestones"].any()
        heights.append(goal[2] - CUBE)
    if name == "Push-v0":
        assert not any(heights)
    if name == "PickPlace-v0":
        assert max(heights) <= AIR and 0.3 < np.count_nonzero(heights) / len(heights) < 0.7


@pytest.mark.parametrize("name", CUBES)
def test_a_cube_rests_until_it_is_touched(name: str) -> None:
    env = make(name, hooks=("milestones",))
    before, _ = env.reset(seed=0)
    for _ in range(30):
        obs, _, _, _, info = env.step(np.array([0, 0, 0, 1.0]))
        assert not info["milestones"].any()
    np.testing.assert_allclose(obs["achieved_goal"], before["achieved_goal"], atol=1e-3)
    np.testing.assert_allclose(obs["observation"][11:15], [1, 0, 0, 0], atol=1e-3)
    np.testing.assert_allclose(obs["observation"][15:], 0, atol=5e-3)


def test_the_parts_of_an_observation_agree() -> None:
    env = make("PickPlace-v0")
    seen = play(env, 1)[0]
    rows, achieved = (np.stack([o[k] for o in seen]) for k in ("observation", "achieved_goal"))
    np.testing.assert_array_equal(rows[:, 3:6], achieved)
    np.testing.assert_array_equal(rows[:, 6:9], rows[:, 3:6] - rows[:, :3])
    np.testing.assert_allclose(np.linalg.norm(rows[:, 11:15], axis=1), 1)
    assert rows.shape[1] == 26 and (rows[:, 11] >= 0).all()
    data, bodies = mujoco.MjData(env.bodies.model), env.bodies
    mujoco.mj_setState(bodies.model, data, bodies.state[0], int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_kinematics(bodies.model, data)
    np.testing.assert_allclose(rows[-1, :3], data.body("palm").xpos, atol=1e-12)
    np.testing.assert_allclose(rows[-1, 3:6], data.body("cube").xpos, atol=1e-12)
    bodies.qpos[0, 9:] *= -1
    np.testing.assert_array_equal(env.task.observation(bodies)[0, 11:15], rows[-1, 11:15])


def test_a_grip_holds_while_the_arm_shakes() -> None:
    env = make("PickPlace-v0", ends_on_success=False, max_steps=300)
    bodies = env.bodies
    off = lambda: bodies.qpos[0, 6:9] - forward(bodies.qpos[0])  # noqa: E731
    for seed in range(4):
        env.reset(seed=seed)
        while bodies.qpos[0, 4:6].sum() > 2 * CUBE + 0.004 or np.abs(off()).max() > 0.015:
            env.step(env.expert())
        rng, held = np.random.default_rng(seed), off()
        shakes = np.repeat(rng.uniform(-1, 1, (30, 3)), 4, axis=0)
        for shift in [*[np.array([0, 0, 1.0])] * 5, *shakes]:
            env.step(np.append(shift, -1.0))
            assert np.abs(off() - held).max() < 0.02 or bodies.qpos[0, 2] < 0.06
        for _ in range(5):
            env.step(np.array([0, 0, 1.0, 1.0]))
        assert np.linalg.norm(off()) > 0.05, "an open gripper lets go"


def test_a_gripper_that_only_pushes_stays_closed() -> None:
    for name in ("Reach-v0", "Push-v0"):
        env, other = make(name), make(name)
        env.reset(seed=3), other.reset(seed=3)
        for _ in range(5):
            a, b = env.step(np.array([0.2, 0, -1, 1.0]))[0], other.step(np.array([0.2, 0, -1, -1.0]))[0]
            np.testing.assert_array_equal(a["observation"], b["observation"])
            assert np.abs(env.bodies.qpos[0, 4:6]).max() < 2e-3


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
    task, seeds, wins = env.task, range(25), 0
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
            if "milestones" in infos[0]:
                reached = np.array([i["milestones"] for i in infos])
                assert (np.diff(reached, axis=0) >= 0).all() and not reached[0].any()
                lifts = desired[0, 2] > 2 * CUBE + task.tolerance
                assert reached[-1, [0, -1]].all() and (not lifts or reached[-1].all())
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
