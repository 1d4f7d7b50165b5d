"""The fast partial view against minigrid's own."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import minigrid
import numpy as np
import pytest
from minigrid.envs.doorkey import DoorKeyEnv

from reward_envs.grid.view import see_fast, view

assert minigrid.__name__  # registers its ids

# Walls, doors, keys, lava, moving balls, boxes with contents, rooms larger than the view, carried things, missions.
IDS = (
    "MiniGrid-Empty-Random-5x5-v0",
    "MiniGrid-DoorKey-8x8-v0",
    "MiniGrid-MultiRoom-N4-S5-v1",
    "MiniGrid-KeyCorridorS4R3-v0",
    "MiniGrid-LavaCrossingS9N2-v0",
    "MiniGrid-Dynamic-Obstacles-6x6-v0",
    "MiniGrid-ObstructedMaze-2Dlhb-v1",
    "BabyAI-GoToLocal-v0",
)


def random_walk(env: Any, seed: int, steps: int) -> Any:
    """The environment after each of its steps."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    yield env
    for action in rng.choice(env.action_space.n, size=steps):
        *_, terminated, truncated, _ = env.step(int(action))
        yield env
        if terminated or truncated:
            env.reset()


def assert_same(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    np.testing.assert_array_equal(mine["image"], theirs["image"])
    assert mine["image"].dtype == theirs["image"].dtype and mine["image"].flags.writeable
    assert (mine["direction"], mine["mission"]) == (theirs["direction"], theirs["mission"])
    assert list(mine) == list(theirs)


@pytest.mark.parametrize("env_id", IDS)
def test_sees_what_minigrid_sees(env_id: str) -> None:
    for seed in range(3):
        for env in random_walk(gym.make(env_id).unwrapped, seed, 60):
            assert_same(view(env), env.gen_obs())


@pytest.mark.parametrize("changes", [{"see_through_walls": True}, {"agent_view_size": 3}, {"agent_view_size": 5}])
def test_sees_what_minigrid_sees_with_other_eyes(changes: dict[str, Any]) -> None:
    env = DoorKeyEnv(size=6)
    for name, value in changes.items():
        setattr(env, name, value)
    for now in random_walk(env, 0, 60):
        assert_same(view(now), now.gen_obs())


def test_shows_what_is_carried_and_not_what_lies_beneath() -> None:
    env = DoorKeyEnv(size=5)
    env.reset(seed=0)
    key = next(thing for thing in env.grid.grid if thing is not None and thing.type == "key")
    env.carrying = key
    assert view(env)["image"][3, 6].tolist() == list(key.encode())


def test_steps_use_it_and_play_on_alike() -> None:
    plain, fast = DoorKeyEnv(size=5), DoorKeyEnv(size=5)
    see_fast(fast)
    rng = np.random.default_rng(1)
    assert_same(fast.reset(seed=1)[0], plain.reset(seed=1)[0])
    for action in rng.integers(7, size=100):
        a, b = fast.step(int(action)), plain.step(int(action))
        assert_same(a[0], b[0])
        assert a[1:] == b[1:]
        if a[2] or a[3]:
            assert_same(fast.reset()[0], plain.reset()[0])
    copy = pickle.loads(pickle.dumps(fast))
    assert_same(copy.step(0)[0], fast.step(0)[0])


def test_leaves_eyes_of_ones_own_alone() -> None:
    class Blind(DoorKeyEnv):
        def gen_obs(self) -> dict[str, Any]:
            return {**super().gen_obs(), "image": np.zeros((7, 7, 3), np.uint8)}

    env = Blind(size=5)
    see_fast(env)
    assert not env.reset(seed=0)[0]["image"].any()
