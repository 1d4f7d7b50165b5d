"""The control engine: one trajectory alone, in a vector, with threads, in SB3; the three modes; breakdowns."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from reward_envs.control.sb3 import ControlVecEnv
from reward_envs.control.tasks import TASKS
from reward_envs.wrappers.batch import map_tree

NAMES = tuple(TASKS)
STEPS = 70  # more than the shortest time limit


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"reward_envs/{name}", **kwargs).unwrapped


def actions(name: str, n: int, seed: int) -> Iterator[Any]:
    """Held for some steps each, so that things are touched."""
    rng = np.random.default_rng(seed)
    while True:
        yield from [rng.uniform(-1.2, 1.2, (n, TASKS[name].action_size)).astype(np.float32)] * 4


def equal(a: Any, b: Any) -> None:
    map_tree(lambda x, y: np.testing.assert_array_equal(x, y), a, b)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_seed_goes_one_way_alone_and_in_any_company(name: str, threads: int) -> None:
    hooks = TASKS[name].offers
    vector = gym.make_vec(
        f"reward_envs/{name}", 3, threads=threads, hooks=hooks, autoreset_mode=AutoresetMode.SAME_STEP
    )
    alone = [make(name, hooks=hooks) for _ in range(3)]
    obs, info = vector.reset(seed=5)
    singles = [env.reset(seed=5 + i) for i, env in enumerate(alone)]
    for _, act in zip(range(STEPS), actions(name, 3, 1), strict=False):
        for i, (one, told) in enumerate(singles):
            equal(map_tree(lambda a, at=i: a[at], obs), one)
            for hook in hooks:
                np.testing.assert_array_equal(info[hook][i], told[hook])
        obs, reward, terminated, truncated, info = vector.step(act)
        for i, env in enumerate(alone):
            one, paid, ended, cut, told = env.step(act[i])
            assert (paid, ended, cut) == (reward[i], terminated[i], truncated[i])
            if ended or cut:
                equal(info["final_obs"][i], one)
                assert info["final_info"]["is_success"][i] == told["is_success"]
                one, told = env.reset()
            singles[i] = one, told
    vector.close()


@pytest.mark.parametrize("name", NAMES)
def test_sb3_sees_the_same(name: str) -> None:
    venv: VecEnv = ControlVecEnv(TASKS[name](), 2, seed=7)
    vector = gym.make_vec(f"reward_envs/{name}", 2, autoreset_mode=AutoresetMode.SAME_STEP)
    obs, (same, _) = venv.reset(), vector.reset(seed=7)
    for _, act in zip(range(STEPS), actions(name, 2, 2), strict=False):
        equal(obs, same)
        obs, reward, dones, infos = venv.step(act)
        same, paid, terminated, truncated, info = vector.step(act)
        np.testing.assert_array_equal(reward, paid.astype(np.float32))
        np.testing.assert_array_equal(dones, terminated | truncated)
        for i in np.flatnonzero(dones):
            equal(infos[i]["terminal_observation"], info["final_obs"][i])
            assert infos[i]["TimeLimit.truncated"] == (truncated[i] and not terminated[i])


@pytest.mark.parametrize("name", NAMES)
def test_next_step_and_disabled_begin_when_they_say(name: str) -> None:
    later = gym.make_vec(f"reward_envs/{name}", 2, max_steps=3)
    off = gym.make_vec(f"reward_envs/{name}", 2, max_steps=3, autoreset_mode=AutoresetMode.DISABLED)
    later.reset(seed=1), off.reset(seed=1)
    play = actions(name, 2, 3)
    for _ in range(3):
        act = next(play)
        a, b = later.step(act), off.step(act)
        equal(a[0], b[0])
    assert a[3].all()
    obs, reward, terminated, truncated, _ = later.step(next(play))
    assert not reward.any() and not terminated.any() and not truncated.any()
    with pytest.raises(ValueError, match="the episode of world 0 is over"):
        off.step(next(play))
    equal(off.reset(options={"reset_mask": np.array([True, True])})[0], obs)


@pytest.mark.parametrize("name", NAMES)
def test_it_steps_as_mujoco_does(name: str) -> None:
    env = make(name)
    env.reset(seed=2)
    model, data = env.bodies.model, mujoco.MjData(env.bodies.model)
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    mujoco.mj_setState(model, data, env.bodies.state[0], full)
    for _, act in zip(range(30), actions(name, 1, 4), strict=False):
        data.ctrl[:] = env.task.control(env.bodies, np.clip(act.astype(np.float64), -1, 1))[0]
        data.qacc_warmstart[:] = 0
        mujoco.mj_step(model, data, env.task.substeps)
        _, _, terminated, truncated, _ = env.step(act[0])
        found = np.empty_like(env.bodies.state[0])
        mujoco.mj_getState(model, data, found, full)
        np.testing.assert_array_equal(found, env.bodies.state[0])
        if terminated or truncated:
            break


@pytest.mark.parametrize("name", NAMES)
def test_a_breakdown_leaves_the_world_as_it_was_and_cuts_its_episode(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log
    vector = gym.make_vec(f"reward_envs/{name}", 3, autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=0)
    bodies = vector.unwrapped.bodies
    bodies.qvel[1] = 1e12
    before = bodies.state.copy()
    act = next(actions(name, 3, 5))
    _, _, _, truncated, _ = vector.step(act)
    assert truncated.tolist() == [False, True, False]
    np.testing.assert_array_equal(bodies.state[1], before[1])
    assert (bodies.state[[0, 2]] != before[[0, 2]]).any(axis=1).all()
    alone = make(name)
    alone.reset(seed=2)
    alone.step(act[2])
    np.testing.assert_array_equal(alone.bodies.state[0], bodies.state[2])


@pytest.mark.parametrize("name", NAMES)
def test_it_pickles_in_mid_episode(name: str) -> None:
    env = make(name)
    env.reset(seed=1)
    play = actions(name, 1, 6)
    for _ in range(5):
        env.step(next(play)[0])
    again = pickle.loads(pickle.dumps(env))
    for _ in range(5):
        act = next(play)[0]
        a, b = env.step(act), again.step(act)
        equal(a[0], b[0])
    equal(env.reset()[0], again.reset()[0])


def test_what_is_no_action_gets_a_sentence() -> None:
    vector = gym.make_vec("reward_envs/PointReach-v0", 2)
    vector.reset(seed=0)
    for wrong, said in (
        (np.zeros((3, 2)), r"actions of shape \(3, 2\): 2 worlds take \[2, 2\]"),
        (np.array([[0.0, 0.0], [0.0, np.nan]]), r"of world 1 is not finite"),
    ):
        with pytest.raises(ValueError, match=said):
            vector.step(wrong)
    with pytest.raises(ValueError, match="num_envs=0"):
        gym.make_vec("reward_envs/PointReach-v0", 0)
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        make("PointReach-v0").unwrapped.step(np.zeros(2))
    with pytest.raises(ValueError, match="tolerance=0"):
        make("PointReach-v0", tolerance=0)
    with pytest.raises(ValueError, match="max_steps=0"):
        make("PointReach-v0", max_steps=0)
