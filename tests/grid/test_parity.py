"""The engine beside the minigrid package: its layouts, driven by the same actions, step by step the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from reward_envs.grid.experts import Expert
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from tests.grid.minigrid_layouts import ball_moves, code, load, theirs

pytest.importorskip("minigrid")
LAYOUTS, STEPS = 12, 60  # `benchmarks/grid_parity.py` plays more


def drive(name: str, layouts: int, steps: int, total: int = 0, seed: int = 0) -> Counter[str]:
    """Play both on their layouts, at most `steps` steps on each, and compare all that they give.

    Goes on until at least `layouts` layouts and `total` steps are compared; returns how many of these, and of each end.
    """
    spec = TASKS[name]
    env, worlds = theirs(spec), Worlds(spec, 3)  # the middle one is theirs, its neighbours are our own
    rng = np.random.default_rng(seed)
    worlds.seed(worlds.all, [seed, seed + 1, seed + 2])
    worlds.begin(worlds.all)
    expert, compared = Expert(worlds), Counter[str]()
    while compared["layouts"] < layouts or compared["steps"] < total:
        obs, _ = env.reset(seed=seed + compared["layouts"])
        load(worlds, 1, env)
        if compared["layouts"] % 2:  # the clock stands anywhere, so that time runs out in long tasks too
            env.step_count = worlds.state[1, k.STEP] = int(rng.integers(spec.max_steps))
        worlds.look(worlds.all)
        assert env.max_steps == spec.max_steps and env.action_space.n == spec.actions
        _same(worlds, obs)
        compared["layouts"] += 1
        for action in islice(_play(expert, spec.actions, rng), steps):
            before = [tuple(map(int, o.cur_pos)) for o in getattr(env, "obstacles", ())]
            obs, reward, terminated, truncated, _ = env.step(action)
            moves = np.repeat(ball_moves(env, before), 3, axis=0) if before else None
            skip = np.array([True, False, True])
            worlds.step(np.full(3, action), skip, moves)
            compared["steps"] += 1
            found = (worlds.reward[1], worlds.terminated[1], worlds.truncated[1], worlds.success[1])
            assert found == (reward, terminated, truncated, reward > 0), (name, compared["layouts"], action)
            assert worlds.state[1, k.CARRY] & ~k.OPENED == (code(env.carrying) if env.carrying else 0)
            _same(worlds, obs)
            if terminated or truncated:
                compared["successes" if reward > 0 else "failures" if terminated else "truncations"] += 1
                break
    return compared


def _play(expert: Expert, actions: int, rng: np.random.Generator) -> Iterator[int]:
    """Actions for the middle world: at random, and in two layouts of three with runs of the expert in between."""
    bias = rng.dirichlet(np.ones(actions))  # some play walks, some lifts, some toggles
    starts, skilled = rng.choice([0.0, 0.02, 0.1]), False
    while True:
        skilled = rng.random() < (0.9 if skilled else starts)
        yield int(expert.actions()[1] if skilled else rng.choice(actions, p=bias if rng.random() < 0.7 else None))


def _same(worlds: Worlds, obs: Any) -> None:
    np.testing.assert_array_equal(worlds.image[1], obs["image"])
    assert worlds.direction[1] == obs["direction"]


@pytest.mark.parametrize("name", [name for name, spec in TASKS.items() if spec.source])
def test_observation_reward_ends_and_hands_equal_minigrids(name: str) -> None:
    assert drive(name, LAYOUTS, STEPS)["steps"] >= LAYOUTS
