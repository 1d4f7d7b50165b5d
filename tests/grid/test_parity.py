"""The engine beside the minigrid package: its layouts, driven by the same actions, step by step the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from reward_envs.grid.experts import Expert
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from tests.grid.minigrid_layouts import ball_moves, code, load, theirs

pytest.importorskip("minigrid")
LAYOUTS, STEPS = 12, 60  # a layout each; `benchmarks/grid_parity.py` plays more


class Played(NamedTuple):
    """What was compared: layouts, steps, and how many episodes ended in success and in failure."""

    layouts: int = 0
    steps: int = 0
    successes: int = 0
    failures: int = 0


def drive(name: str, layouts: int, steps: int, seed: int = 0, at_least: int = 0, experts: bool = False) -> Played:
    """Play both, and compare all that they give.

    At most `steps` steps on each layout, on at least so many `layouts` and until `at_least` steps have been compared;
    with `experts`, every fourth layout is played by the expert, after some random steps.
    """
    spec = TASKS[name]
    env, worlds = theirs(spec), Worlds(spec, 3)  # the middle one is theirs, its neighbours are our own
    rng, planner = np.random.default_rng(seed), Expert(worlds)
    done = Played()
    worlds.begin(worlds.all)
    while done.layouts < layouts or done.steps < at_least:
        obs, _ = env.reset(seed=seed + done.layouts)
        load(worlds, 1, env)
        worlds.look(worlds.all)
        assert env.max_steps == spec.max_steps and env.action_space.n == spec.actions
        _same(worlds, obs)
        bias = rng.dirichlet(np.ones(spec.actions))  # some play walks, some lifts, some toggles
        free = int(rng.integers(20)) if experts and done.layouts % 4 == 0 else steps  # random steps before the expert's
        for t in range(steps):
            action = int(rng.choice(spec.actions, p=bias if rng.random() < 0.7 else None))
            action = action if t < free else int(planner.actions()[1])
            before = [tuple(map(int, o.cur_pos)) for o in getattr(env, "obstacles", ())]
            obs, reward, terminated, truncated, _ = env.step(action)
            moves = np.repeat(ball_moves(env, before), 3, axis=0) if before else None
            worlds.step(np.full(3, action), np.array([True, False, True]), moves)
            found = (worlds.reward[1], worlds.terminated[1], worlds.truncated[1])
            assert found == (reward, terminated, truncated), (name, done, action)
            assert worlds.state[1, k.CARRY] & ~k.OPENED == (code(env.carrying) if env.carrying else 0)
            _same(worlds, obs)
            won = bool(terminated and reward > 0)
            ends = done.successes + won, done.failures + bool(terminated and not won)
            done = Played(done.layouts, done.steps + 1, *ends)
            if terminated or truncated:
                break
        done = done._replace(layouts=done.layouts + 1)
    return done


def _same(worlds: Worlds, obs: Any) -> None:
    np.testing.assert_array_equal(worlds.image[1], obs["image"])
    assert worlds.direction[1] == obs["direction"]


@pytest.mark.parametrize("name", [name for name, spec in TASKS.items() if spec.source])
def test_observation_reward_ends_and_hands_equal_minigrids(name: str) -> None:
    assert drive(name, LAYOUTS, STEPS).steps >= LAYOUTS
