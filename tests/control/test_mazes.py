"""Mazes: the shortest ways against a fine grid, draws, walls that hold, rewards and hooks along the expert's way."""

from __future__ import annotations

import doctest
from typing import Any

import gymnasium as gym
import hypothesis.strategies as st
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from reward_envs.control import walls as walls_module
from reward_envs.control.walls import LARGE, MEDIUM, U_MAZE, Walls
from tests import naive

POINTS = ["PointMaze-UMaze-v0", "PointMaze-Medium-v0", "PointMaze-Large-v0"]
ANTS = ["AntMaze-UMaze-v0", "AntMaze-Medium-v0"]
MAZES = [*POINTS, *ANTS]
PINCHED = ("11111", "10011", "10101", "10001", "11111")  # walls touch at a corner, and a free ring around one
MAPS = {"u": (U_MAZE, 1.0), "medium": (MEDIUM, 1.0), "large": (LARGE, 4.0), "pinched": (PINCHED, 1.0)}
WALLS = {name: Walls(*given) for name, given in MAPS.items()}
some = st.sampled_from(sorted(WALLS))
checked = settings(deadline=None, max_examples=60)


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"reward_envs/{name}", **kwargs).unwrapped


def drawn(walls: Walls, seed: int, n: int) -> Any:
    """Places anywhere in free cells, float64[n, 2]."""
    rng = np.random.default_rng(seed)
    return walls.free[rng.integers(len(walls.free), size=n)] + rng.uniform(-0.5, 0.5, (n, 2)) * walls.cell


# ways


@pytest.mark.parametrize("rows", [U_MAZE, MEDIUM, PINCHED], ids=["u", "medium", "pinched"])
def test_ways_are_those_of_a_fine_grid(rows: tuple[str, ...]) -> None:
    fine, walls = 6, Walls(rows, 1.0)
    free = np.array([[sign == "0" for sign in row] for row in rows])
    at = lambda points: walls.centre((np.array(points) + 0.5) / fine - 0.5)  # noqa: E731
    for cell in (np.argwhere(free)[0], np.argwhere(free)[-1]):
        start = (int(cell[0]) * fine + 1, int(cell[1]) * fine + 4)
        twin = naive.maze_ways(free, start, fine)
        assert len(twin) == free.sum() * fine**2
        exact = walls.distance(at(start), at(list(twin)))
        grid = np.array(list(twin.values()))
        assert (exact <= grid + 1e-9).all()
        assert (grid <= 1.014 * exact + 2 / fine).all()


def test_the_example_runs() -> None:
    assert doctest.testmod(walls_module) == doctest.TestResults(failed=0, attempted=3)


def test_a_way_that_a_person_can_redo() -> None:
    walls = Walls(U_MAZE, 1.0)
    a, b = walls.centre([1, 1]), walls.centre([3, 1])  # two cells apart, with the wall's end 1.5 cells to the right
    assert walls.distance(a, b) == pytest.approx(2 * np.hypot(1.5, 0.5) + 1.0)
    corner, bends = walls.toward(a, b)
    assert bends and corner.tolist() == [0.5, 0.5]
    assert walls.distance(a, [-0.5, 0.6]) == pytest.approx(np.hypot(0.5, 0.4))
    assert np.isinf(walls.distance(a, [0.0, 0.0])), "there is no way into a wall"


@checked
@given(some, st.integers(0, 2**32 - 1))
def test_ways_are_a_metric_that_straight_lines_bound(name: str, seed: int) -> None:
    walls = WALLS[name]
    a, b, c = (drawn(walls, seed + k, 8) for k in range(3))
    there, straight = walls.distance(a, b), np.linalg.norm(a - b, axis=1)
    np.testing.assert_allclose(there, walls.distance(b, a), rtol=1e-12)
    assert (there <= walls.distance(a, c) + walls.distance(c, b) + 1e-9).all()
    assert (there >= straight - 1e-12).all() and (there <= walls.longest).all()
    _, bends = walls.toward(a, b)
    np.testing.assert_allclose(there[~bends], straight[~bends], rtol=1e-12)
    corner, _ = walls.toward(a, b)
    np.testing.assert_allclose(there, np.linalg.norm(a - corner, axis=1) + walls.distance(corner, b), rtol=1e-9)
    assert (walls.distance(a, a) == 0).all()
    np.testing.assert_array_equal(walls.distance(a[:, None], b)[3], [walls.distance(a[3], x) for x in b])


def test_a_way_never_leads_between_walls_that_touch() -> None:
    walls = Walls(PINCHED, 1.0)
    pinch, off = walls.centre([1.5, 2.5]), np.array([0.1, -0.1])
    a, b = pinch - off, pinch + off
    assert walls.distance(a, b) > 3
    assert not make("PointMaze-UMaze-v0", maze_map=PINCHED).task.near(a, b)


@checked
@given(st.sampled_from(["u", "medium"]), st.integers(0, 2**32 - 1))
def test_ways_that_keep_clear_are_a_little_longer(name: str, seed: int) -> None:
    near, wide = WALLS[name], Walls(MAPS[name][0], 1.0, clearance=0.2)
    rng = np.random.default_rng(seed)
    a, b = (near.free[rng.integers(len(near.free), size=8)] + rng.uniform(-0.29, 0.29, (8, 2)) for _ in range(2))
    assert (near.distance(a, b) <= wide.distance(a, b) + 1e-9).all()
    assert (wide.distance(a, b) <= near.distance(a, b) + 0.4 * 8).all()
    corner, bends = wide.toward(a, b)
    np.testing.assert_allclose(clearance(near, corner[bends]), np.hypot(0.2, 0.2))
    assert np.isinf(wide.distance(near.centre([1, 0.6]), b)).all(), "0.1 m from the wall on the left"


def test_a_map_that_is_none_gets_its_reason() -> None:
    for wrong, said in (
        (["111", "1 1", "111"], "of 1 for wall and 0 for free"),
        (["1111", "101", "1111"], "rows of one length"),
        ([], "rows of one length"),
        (["", ""], "rows of one length"),
        (["1111", "1000", "1111"], "is not closed"),
        (["111", "101", "111"], "no goal can be reached"),
        (["11111", "10101", "11111"], r"cell \(1, 3\) cannot be reached from \(1, 1\)"),
        (["1111", "1011", "1101", "1111"], r"cell \(2, 2\) cannot be reached"),
    ):
        with pytest.raises(ValueError, match=said):
            make("PointMaze-UMaze-v0", maze_map=wrong)
    with pytest.raises(ValueError, match="far=1"):
        make("PointMaze-UMaze-v0", far=1)
    with pytest.raises(ValueError, match="the longest way in this maze is"):
        make("PointMaze-UMaze-v0", tolerance=9)
    with pytest.raises(ValueError, match="finite"):
        WALLS["u"].distance([np.nan, 0], [0, 0])


# tasks


@pytest.mark.parametrize("name", MAZES)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_checkers_accept_it(name: str) -> None:
    check_env(make(name), skip_render_check=True)
    check_env_sb3(make(name), skip_render_check=True)


@pytest.mark.parametrize("name", MAZES)
def test_draws_are_free_and_far(name: str) -> None:
    env = make(name, hooks=("progress", "milestones"))
    task, walls = env.task, env.task.walls
    for seed in range(60):
        obs, info = env.reset(seed=seed)
        place, goal = obs["achieved_goal"], obs["desired_goal"]
        for point in (place, goal):
            off = np.abs(walls.free - point).max(axis=1)
            assert off.min() <= 0.25 * walls.cell + 1e-9
        assert task.distance(place, goal) > 2 / 3 * walls.span
        assert not info["is_success"] and info["progress"] == 0 and not info["milestones"].any()
        assert env.observation_space.contains(obs)


@pytest.mark.parametrize("name", POINTS)
def test_random_play_fails_and_the_expert_succeeds(name: str) -> None:
    n = 100
    vector = gym.make_vec(f"reward_envs/{name}", n, autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=0)
    bodies, rng, won = vector.unwrapped.bodies, np.random.default_rng(0), np.zeros(n, bool)
    for _ in range(bodies.task.max_steps):
        bodies.step(rng.uniform(-1, 1, (n, 2)))
        won |= bodies.success
    assert won.mean() < 0.05 + 0.03  # of so few episodes
    env = make(name)
    for seed in range(30):
        env.reset(seed=seed)
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.expert())
            over = terminated or truncated
        assert terminated and reward == 1.0


@pytest.mark.parametrize("name", ANTS)
def test_an_ant_fails_at_random_and_its_expert_succeeds(name: str) -> None:
    n = 8
    vector = gym.make_vec(f"reward_envs/{name}", n, autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=0)
    bodies, won, fastest = vector.unwrapped.bodies, np.zeros(n, bool), 0.0
    rng = np.random.default_rng(0)
    for _ in range(60):
        bodies.step(rng.uniform(-1, 1, (n, 8)))
        assert not bodies.success.any()
    vector.reset(seed=0)
    for _ in range(bodies.task.max_steps):
        act = np.array([bodies.task.expert(bodies, i) for i in range(n)], np.float64)
        was = bodies.achieved
        bodies.step(act, won if won.any() else None)
        won |= bodies.success
        fastest = max(fastest, np.linalg.norm(bodies.achieved - was, axis=1).max())
        if won.all():
            break
    assert won.mean() >= 0.75 and fastest < bodies.task.step_length / 2


def test_an_ant_walks_where_it_looks_and_stands_on_its_feet() -> None:
    env = make("AntMaze-UMaze-v0")
    obs, _ = env.reset(seed=0)
    for _ in range(20):
        obs, *_ = env.step(np.zeros(8))
    assert obs["observation"].shape == (27,)
    height, _, a, b = obs["observation"][:4]
    assert 0.4 < height < 0.7 and 1 - 2 * (a * a + b * b) > 0.99
    targets = env.task.control(env.bodies, np.array([[1.0] * 8]))
    assert targets.tolist() == [[0.7] * 8]


@pytest.mark.parametrize("name", [*POINTS, "AntMaze-UMaze-v0"])
@pytest.mark.parametrize("mode", ["sparse", "dense"])
def test_rewards_and_hooks_along_the_way(name: str, mode: str) -> None:
    env = make(name, reward_mode=mode, hooks=("steps_to_go", "progress", "milestones", "caption"))
    task = env.task
    for seed in range(1 if name in ANTS else 5):
        obs, info = env.reset(seed=seed)
        before, rows, infos, paid, over = obs, [], [info], [], False
        while not over:
            obs, reward, terminated, truncated, info = env.step(env.expert())
            assert reward == env.compute_reward(obs["achieved_goal"], obs["desired_goal"], info)
            assert terminated == env.compute_terminated(obs["achieved_goal"], obs["desired_goal"], info)
            assert info["steps_to_go"] == -env.compute_potential(obs["achieved_goal"], obs["desired_goal"], info)
            over = terminated or truncated
            rows.append(obs), infos.append(info), paid.append(reward)
        bounds = np.array([i["steps_to_go"] for i in infos])
        assert (bounds <= np.arange(len(bounds))[::-1]).all(), "never more than the expert took"
        assert bounds.max() <= env.card.steps_to_go_max
        shares = np.array([i["progress"] for i in infos])
        assert (np.diff(shares) >= 0).all() and shares[0] == 0 and shares[-1] == 1
        reached = np.array([i["milestones"] for i in infos])
        assert (np.diff(reached, axis=0) >= 0).all() and not reached[0].any() and reached[-1].all()
        achieved, desired = (np.stack([o[k] for o in rows]) for k in ("achieved_goal", "desired_goal"))
        np.testing.assert_array_equal(paid, env.compute_reward(achieved, desired, infos[1:]))
        whole = task.distance(before["achieved_goal"], desired[0]) - task.distance(achieved[-1], desired[0])
        assert sum(paid) == pytest.approx(1 + (whole if mode == "dense" else 0))


def clearance(walls: Walls, places: Any) -> Any:
    """How far each place is from the walls, 0 within one."""
    low, high = walls.boxes[:, :2], walls.boxes[:, 2:]
    off = np.maximum(0, np.maximum(low - places[:, None], places[:, None] - high))
    return np.linalg.norm(off, axis=2).min(axis=1)


@pytest.mark.parametrize("name", POINTS)
def test_walls_hold_under_full_force(name: str) -> None:
    vector = gym.make_vec(f"reward_envs/{name}", 32, autoreset_mode=AutoresetMode.DISABLED, max_steps=100_000)
    vector.reset(seed=0)
    bodies, rng = vector.unwrapped.bodies, np.random.default_rng(1)
    task, fastest, nearest = bodies.task, 0.0, np.inf
    for _ in range(30):
        push = rng.choice([-1.0, 1.0], (32, 2))
        for _ in range(40):
            before = bodies.achieved
            bodies.step(push)
            fastest = max(fastest, np.linalg.norm(bodies.achieved - before, axis=1).max())
            nearest = min(nearest, clearance(task.walls, bodies.achieved).min())
    assert nearest > 0.03, "the ball's centre stays out of the walls, though contacts give way"
    assert fastest <= task.step_length and (np.abs(bodies.qvel) <= 5).all()


def test_a_map_of_ones_own_and_words() -> None:
    env = make("PointMaze-UMaze-v0", maze_map=["11111", "10001", "11111"], hooks=("caption",))
    obs, info = env.reset(seed=0)
    assert env.observation_space["desired_goal"].high.tolist() == [2.5, 1.5]
    column = [env.task.walls.where(obs[k])[1] for k in ("achieved_goal", "desired_goal")]
    left = env.task.distance(obs["achieved_goal"], obs["desired_goal"])
    here, there = (f"column {at}, row 1" for at in column)
    assert info["caption"] == f"The ball is in {here}. The goal is in {there}, {left:.1f} m of way from it."


@pytest.mark.parametrize("name", MAZES)
def test_a_picture_shows_walls_agent_and_goal(name: str) -> None:
    env = make(name, render_mode="rgb_array")
    env.reset(seed=0)
    try:
        picture = env.render().astype(int)
    except RuntimeError as reason:
        pytest.skip(str(reason))
    finally:
        env.close()
    assert picture.shape == (480, 480, 3)
    red, green, blue = np.moveaxis(picture, -1, 0)
    assert ((green > red + 60) & (green > blue + 40)).sum() > 30, "the goal"
    assert ((blue > red + 60) & (blue > green + 40)).sum() > 30, "the ball, or the legs"
    assert (picture.min(axis=-1) > 180).mean() > 0.15 and (picture.max(axis=-1) < 180).mean() > 0.15, "floor and walls"
