"""Experts against the tasks, against the hook `steps_to_go`, and against a search over all states of the engine."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

import reward_envs
from reward_envs.grid import sb3_vec
from reward_envs.grid.drawing import drawn
from reward_envs.grid.experts import SEARCHES, Expert, expert
from reward_envs.grid.hooks import GridHooks
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.kernels.grid_expert import FOUND, NO_ROOM, NO_WAY, plan
from tests.grid.tools import begun

assert reward_envs.__version__  # its import registers the ids
SEEDS = 30
BLOCKED = 812  # a Fetch-8x8-N3 whose target lies in a corner, walled in by the other two


def play(worlds: Worlds, policy: Any = None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Whether each world's episode succeeds, and its length."""
    policy = policy or Expert(worlds).actions
    over, won, length = np.zeros(worlds.n, np.bool_), np.zeros(worlds.n, np.bool_), np.zeros(worlds.n, np.int64)
    while not over.all():
        worlds.step(policy(), over)
        length += ~over
        won |= worlds.success
        over |= worlds.terminated | worlds.truncated
    return won, length


def scattered(name: str, n: int, steps: int) -> Worlds:
    """Worlds after random play, of which none has ended."""
    worlds, rng = begun(TASKS[name], n), np.random.default_rng(3)
    for _ in range(steps):
        worlds.step(rng.integers(0, k.DONE, n))
    assert not (worlds.state[:, k.MARKS] & (k.SUCCEEDED | k.FAILED)).any()
    return worlds


def fewest(worlds: Worlds) -> int:
    """Actions to the first success from the only world's state, by breadth first search over the engine's states."""
    spec, actions = worlds.spec, worlds.spec.actions
    cells, state = worlds.cells.copy(), worlds.state.copy()
    seen: set[bytes] = set()
    for depth in range(1, 100):
        many = Worlds(spec, len(cells) * actions)
        many.cells[:], many.state[:] = np.repeat(cells, actions, 0), np.repeat(state, actions, 0)
        many.step(np.tile(np.arange(actions), len(cells)))
        if many.success.any():
            return depth
        new = []
        for i in np.flatnonzero(~many.terminated).tolist():
            mark = many.cells[i].tobytes() + many.state[i, : k.CARRY + 1].tobytes()
            if mark not in seen:
                seen.add(mark)
                new.append(i)
        cells, state = many.cells[new], many.state[new]
    raise AssertionError("no way to success")


@pytest.mark.parametrize("name", TASKS)
def test_the_expert_always_succeeds_and_where_the_hook_is_exact_takes_as_many_steps(name: str) -> None:
    worlds = begun(TASKS[name], SEEDS)
    steps_to_go = GridHooks(worlds).steps_to_go(worlds.all)
    won, length = play(worlds)
    assert won.all()
    if TASKS[name].exact:
        np.testing.assert_array_equal(length, steps_to_go)
    else:
        assert (length >= steps_to_go).all()


@pytest.mark.parametrize(
    "name",
    ["GoToObject-6x6-N2-v0", "PutNear-6x6-N2-v0", "UnlockPickup-v0", "ObstructedMaze-1Dl-v0", "RedBlueDoors-6x6-v0"],
)
def test_no_way_is_shorter(name: str) -> None:
    for seed in range(3):
        worlds = begun(TASKS[name], 1, seed)
        found = fewest(worlds)
        assert play(worlds)[1] == found


@pytest.mark.parametrize(
    "name",
    ["DoorKey-16x16-v0", "MultiRoom-N6-v0", "LockedRoom-v0", "KeyCorridorS5R3-v0", "ObstructedMaze-2Dlhb-v0"],
)
def test_it_goes_on_from_any_state(name: str) -> None:
    worlds = scattered(name, 10, 60)
    worlds.state[:, k.STEP] = 0
    assert play(worlds)[0].all()


def test_it_plans_anew_where_others_act() -> None:
    worlds, rng = begun(TASKS["KeyCorridorS4R3-v0"], SEEDS), np.random.default_rng(0)
    policy = Expert(worlds)

    def meddled() -> NDArray[np.int64]:
        actions = policy.actions()
        return np.where(rng.random(SEEDS) < 0.2, rng.integers(0, k.PICKUP, SEEDS), actions)

    won, length = play(worlds, meddled)
    assert won.all() and (length > play(begun(TASKS["KeyCorridorS4R3-v0"], SEEDS))[1]).mean() > 0.5


def test_equal_worlds_get_equal_actions_alone_and_in_a_vector() -> None:
    name = "BlockedUnlockPickup-v0"
    worlds, alone = begun(TASKS[name], 4), begun(TASKS[name], 1, 2)
    many, one = Expert(worlds), Expert(alone)
    while not alone.terminated.any():
        action = one.actions()
        assert many.actions()[2] == action == one.actions()  # asking twice changes nothing
        worlds.step(many.actions(), worlds.terminated.copy())
        alone.step(action)


def test_the_screen_of_noise_does_not_break_a_plan() -> None:
    worlds = begun(TASKS["NoisyTV-v0"], 8)
    policy = Expert(worlds)
    policy.actions()
    plans = policy._plans.copy()
    play(worlds, policy.actions)
    np.testing.assert_array_equal(policy._plans, plans)


def test_without_a_way_it_says_done() -> None:
    walled = begun(drawn("#####\n#A#G#\n#####", None, 1.0), 2)
    assert (Expert(walled).actions() == k.DONE).all()
    blocked = begun(TASKS["Fetch-8x8-N3-v0"], 1, BLOCKED)
    assert np.isinf(GridHooks(blocked).steps_to_go(blocked.all)).all()
    won, length = play(blocked)
    assert not won.any() and length == blocked.spec.max_steps


def test_after_the_end_it_says_done() -> None:
    worlds = begun(TASKS["Empty-5x5-v0"], 2)
    policy = Expert(worlds)
    play(worlds, policy.actions)
    assert (policy.actions() == k.DONE).all()


@pytest.mark.parametrize("search", SEARCHES[1:])
def test_the_other_searches_find_ways_not_much_longer(search: tuple[bool, int, int]) -> None:
    worlds = begun(TASKS["ObstructedMaze-1Dlhb-v0"], 10)
    for cells, state in zip(worlds.cells, worlds.state, strict=True):
        ended, best, _ = plan(cells, state, worlds.shape, *SEARCHES[0])
        assert ended == FOUND
        ended, actions, marks = plan(cells, state, worlds.shape, *search)
        assert ended == FOUND and len(marks) == len(actions)
        assert len(best) <= len(actions) <= (len(best) + 6 if search[0] else search[1] * len(best))


def test_a_search_says_how_it_ended() -> None:
    worlds = begun(TASKS["ObstructedMaze-1Dlhb-v0"], 1)
    assert plan(worlds.cells[0], worlds.state[0], worlds.shape, False, 1, 5)[0] == NO_ROOM
    walled = begun(drawn("######\n#A~.G#\n######", None, 1.0), 1)
    assert plan(walled.cells[0], walled.state[0], walled.shape, False, 1, 100)[0] == NO_WAY


def test_environments() -> None:
    env = gym.make("reward_envs/MultiRoom-N4-S5-v0")
    env.reset(seed=0)
    act, ended, won = expert(env), False, False
    while not ended:
        _, _, ended, cut, info = env.step(act())
        won = info["is_success"]
        assert not cut
    assert won
    vector = gym.make_vec("reward_envs/DoorKey-5x5-v0", 5)
    vector.reset(seed=0)
    act, wins, ends = expert(vector), 0, 0
    for _ in range(60):
        _, _, terminated, truncated, infos = vector.step(act())
        wins, ends = wins + infos["is_success"].sum(), ends + (terminated | truncated).sum()
    assert wins == ends > 10
    venv = sb3_vec("reward_envs/DoorKey-5x5-v0", 3, seed=0)
    venv.reset()
    assert expert(venv)().shape == (3,)
    with pytest.raises(TypeError, match="has no gridworlds"):
        expert(gym.make("CartPole-v1"))
