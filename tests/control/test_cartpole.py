"""CartPoleSwingUp: the expert's gains, what counts as held, energy, rewards and hooks along the expert's play."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from scipy.linalg import solve_discrete_are
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from reward_envs.control.cartpole import GAINS

ID = "reward_envs/CartPoleSwingUp-v0"


def make(**kwargs: Any) -> Any:
    return gym.make(ID, **kwargs).unwrapped


def put(env: Any, x: float, angle: float, speed: float = 0.0, spin: float = 0.0) -> None:
    env.bodies.qpos[0], env.bodies.qvel[0] = (x, angle), (speed, spin)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_checkers_accept_it() -> None:
    check_env(make(), skip_render_check=True)
    check_env_sb3(make(), skip_render_check=True)


def test_gains_are_those_of_the_regulator() -> None:
    env = make()
    a, b = np.zeros((4, 4)), np.zeros((4, 1))
    data = mujoco.MjData(env.bodies.model)
    mujoco.mjd_transitionFD(env.bodies.model, data, 1e-6, True, a, b, None, None)
    assert env.task.substeps == 2
    a, b = a @ a, a @ b + b
    price = 5 * np.eye(1)
    cost = solve_discrete_are(a, b, np.diag([1, 10, 0.1, 0.1]), price)
    np.testing.assert_allclose(GAINS, np.linalg.solve(price + b.T @ cost @ b, b.T @ cost @ a)[0], atol=2e-3)


def test_random_play_fails() -> None:
    n = 200
    vector = gym.make_vec(ID, n, autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=0)
    bodies, rng = vector.unwrapped.bodies, np.random.default_rng(0)
    for _ in range(bodies.task.max_steps):
        assert not bodies.step(rng.uniform(-1, 1, (n, 1))) or bodies.truncated.all()
    assert not bodies.reward.any()


@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_the_expert_succeeds_and_pay_telescopes(mode: str) -> None:
    env = make(reward_mode=mode, hooks=("progress", "milestones", "caption"))
    for seed in range(15):
        _, info = env.reset(seed=seed)
        begin, infos, paid, over = env.task.aside(env.bodies)[0], [info], 0.0, False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.expert())
            paid, over = paid + reward, terminated or truncated
            infos.append(info)
        assert terminated and info["is_success"]
        gained = env.task.aside(env.bodies)[0] - begin
        assert paid == pytest.approx(1 + (gained if mode == "dense" else 0))
        shares = np.array([i["progress"] for i in infos])
        assert (np.diff(shares) >= 0).all() and 0 <= shares[0] < 0.1 and shares[-1] == pytest.approx(1)
        reached = np.array([i["milestones"] for i in infos])
        assert (np.diff(reached, axis=0) >= 0).all() and not reached[0].any() and reached[-1].all()


def test_energy_is_what_mujoco_says() -> None:
    env = make()
    model, data = env.bodies.model, mujoco.MjData(env.bodies.model)
    found = []
    for angle, spin in ((math.pi, 0.0), (0.0, 0.0), (1.0, -3.0), (2.0, 5.0)):
        data.qpos[:], data.qvel[:] = (0, angle), (0, spin)
        mujoco.mj_forward(model, data)
        mujoco.mj_energyPos(model, data), mujoco.mj_energyVel(model, data)
        put(env, 0, angle, 0, spin)
        found.append((data.energy.sum(), env.task.energy(env.bodies)[0]))
    told, ours = np.array(found).T
    assert ours[:2].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(ours, (told - told[0]) / (told[1] - told[0]), rtol=1e-9)


def test_held_is_in_one_go_and_all_at_once() -> None:
    env = make(hold=3, hooks=("caption",))
    env.reset(seed=0)
    rows = env.bodies.all
    for state, held in (
        ((0.0, 0.0), 1),
        ((0.4, 2 * math.pi + 0.2, 0.4, 0.9), 2),
        ((0.0, 0.22), 0),  # 12.6 degrees
        ((-0.4, -0.2, -0.4, -0.9), 1),
        ((0.6, 0.0), 0),
        ((0.0, 0.0, 0.6), 0),
        ((0.0, 0.0, 0.0, 1.1), 0),
        ((0.0, 0.0), 1),
    ):
        put(env, *state)
        env.task.remember(env.bodies, rows)
        assert env.bodies.memory[0, 0] == held
    put(env, 0.0, 0.0)
    env.bodies.memory[0, 0] = 1
    ended = [env.step(np.zeros(1))[2] for _ in range(2)]
    assert ended == [False, True]
    put(env, 0.5, math.pi / 2)
    assert env.task.caption(env.bodies, 0) == (
        "The pole is 90 degrees from upright and turns at 0.0 rad/s. The cart is at 0.50 of 1.8 m and drives at "
        "0.0 m/s. The pole has been held for 3 of 3 steps."
    )


def test_it_has_no_goals_and_says_so() -> None:
    env = make()
    assert not hasattr(env, "compute_reward")
    with pytest.raises(AttributeError, match="no compute_terminated: this task has no goals"):
        env.compute_terminated(np.zeros(2), np.zeros(2), {})
    with pytest.raises(ValueError, match="hold=0"):
        make(hold=0)
    with pytest.raises(ValueError, match="no hook 'steps_to_go'"):
        make(hooks=("steps_to_go",))
