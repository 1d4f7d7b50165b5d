"""The engine beside the minigrid package: its layouts, driven by the same actions, step by step the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from tests.grid.minigrid_layouts import ball_moves, code, load, theirs

pytest.importorskip("minigrid")
LAYOUTS, STEPS = 12, 60  # a layout each; `python -m tests.grid.parity` plays more


def drive(name: str, layouts: int, steps: int, seed: int = 0) -> int:
    """Play both, and compare all that they give; returns the number of steps compared."""
    spec = TASKS[name]
    env, worlds = theirs(spec), Worlds(spec, 3)  # the middle one is theirs, its neighbours are our own
    rng = np.random.default_rng(seed)
    compared = 0
    worlds.begin(worlds.all)
    for layout in range(layouts):
        obs, _ = env.reset(seed=seed + layout)
        load(worlds, 1, env)
        worlds.look(worlds.all)
        assert env.max_steps == spec.max_steps and env.action_space.n == spec.actions
        _same(worlds, obs)
        bias = rng.dirichlet(np.ones(spec.actions))  # some play walks, some lifts, some toggles
        for _ in range(steps):
            action = int(rng.choice(spec.actions, p=bias if rng.random() < 0.7 else None))
            before = [tuple(map(int, o.cur_pos)) for o in getattr(env, "obstacles", ())]
            obs, reward, terminated, truncated, _ = env.step(action)
            moves = np.repeat(ball_moves(env, before), 3, axis=0) if before else None
            skip = np.array([True, False, True])
            worlds.step(np.full(3, action), skip, moves)
            compared += 1
            found = (worlds.reward[1], worlds.terminated[1], worlds.truncated[1])
            assert found == (reward, terminated, truncated), (name, layout, action)
            assert worlds.state[1, k.CARRY] & ~k.OPENED == (code(env.carrying) if env.carrying else 0)
            _same(worlds, obs)
            if terminated or truncated:
                break
    return compared


def _same(worlds: Worlds, obs: Any) -> None:
    np.testing.assert_array_equal(worlds.image[1], obs["image"])
    assert worlds.direction[1] == obs["direction"]


@pytest.mark.parametrize("name", [name for name, spec in TASKS.items() if spec.source])
def test_observation_reward_ends_and_hands_equal_minigrids(name: str) -> None:
    assert drive(name, LAYOUTS, STEPS) >= LAYOUTS
