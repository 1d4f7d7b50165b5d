"""Mazes, ways that change, the screen of noise; and all of these tasks from keywords, specs, pickles and copies."""

from __future__ import annotations

import copy
import pickle
from collections import Counter, deque
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from scipy.stats import chisquare

from reward_envs.grid import sb3_vec
from reward_envs.grid.distance import Distances
from reward_envs.grid.drawing import distances
from reward_envs.grid.more import KEYWORDS, MORE, detour_spec, maze_spec, shortcut_spec
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.wrappers import Batch, Rewarder
from tests.grid.tools import begun

CHANCE = 1e-6
DX, DY = np.array([1, 0, -1, 0]), np.array([0, 1, 0, -1])

# mazes


def steps_from(open_: Any, x: int, y: int) -> Any:
    """int[H, W]: cells from (x, y) by the shortest way, -1 where there is none."""
    found = np.full(open_.shape, -1)
    found[y, x] = 0
    queue = deque([(x, y)])
    while queue:
        x, y = queue.popleft()
        for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if open_[b, a] and found[b, a] < 0:
                found[b, a] = found[y, x] + 1
                queue.append((a, b))
    return found


def dead_ends(open_: Any) -> int:
    around = np.roll(open_, 1, 0) * 1 + np.roll(open_, -1, 0) + np.roll(open_, 1, 1) + np.roll(open_, -1, 1)
    return int((open_ & (around == 1)).sum())


@pytest.mark.parametrize("braid", [0, 30, 100])
def test_a_maze_joins_all_places_and_its_goal_is_farthest(braid: int) -> None:
    worlds, ends = begun(maze_spec(11, braid), 100), 0
    for cells, state in zip(worlds.cells.reshape(-1, 11, 11), worlds.state, strict=True):
        open_ = (cells & 15) != k.WALL_TYPE
        places = np.zeros_like(open_)
        places[1::2, 1::2] = True
        assert open_[1::2, 1::2].all() and not open_[::2, ::2].any()
        far = steps_from(open_, state[k.X], state[k.Y])
        assert (far[open_] >= 0).all()
        assert far[(cells & 15) == k.GOAL].tolist() == [far[places].max()]
        ends += dead_ends(open_)
        if braid == 0:
            assert open_.sum() == 2 * 25 - 1  # a tree
    expected = {0: range(380, 500), 30: range(250, 340), 100: range(1)}
    assert ends in expected[braid]


def test_mazes_are_drawn_anew_and_begin_anywhere() -> None:
    worlds = begun(maze_spec(7), 2000)
    places = Counter(zip(worlds.state[:, k.X].tolist(), worlds.state[:, k.Y].tolist(), strict=True))
    assert len(places) == 9 and chisquare(list(places.values())).pvalue > CHANCE
    assert len(np.unique(begun(MORE["Maze-v0"], 100).cells, axis=0)) == 100


@pytest.mark.parametrize(("name", "n"), [("Maze-v0", 200), ("Maze-Large-v0", 100)])
def test_steps_to_go_lead_to_the_goal_of_every_maze(name: str, n: int) -> None:
    worlds = begun(MORE[name], n)
    fields = Distances(worlds)
    left = fields.values(worlds.all)
    poses = np.stack([fields.poses(i) for i in range(n)])
    assert left.max() <= MORE[name].steps_to_go_max and left.max() < MORE[name].max_steps
    all_, over = worlds.all, np.zeros(n, bool)
    for t in range(int(left.max())):
        x, y, heading = worlds.state[:, k.X], worlds.state[:, k.Y], worlds.state[:, k.DIR]
        after = np.stack(
            [
                poses[all_, y, x, (heading + 3) % 4],
                poses[all_, y, x, (heading + 1) % 4],
                poses[all_, y + DY[heading], x + DX[heading], heading],
            ]
        )
        worlds.step(after.argmin(axis=0), over)
        over |= worlds.terminated
        np.testing.assert_array_equal(over, left <= t + 1)
    assert worlds.success.all()


@pytest.mark.parametrize(
    ("maker", "lengths", "farthest"),
    [(detour_spec, [18.0, 28.0, 31.0], [23.0, 33.0, 43.0]), (shortcut_spec, [28.0, 11.0], [30.0, 23.0])],
)
def test_ways_of_a_changed_maze(maker: Any, lengths: list[float], farthest: list[float]) -> None:
    assert [distances(maker(phase))[0] for phase in range(len(lengths))] == lengths
    assert maker().steps_to_go_max == max(distances(maker(phase))[1] for phase in range(len(lengths)))
    worlds = begun(maker(), 3000)
    drawn = Counter(worlds.state[:, k.R].tolist())
    assert sorted(drawn) == list(range(len(lengths))) and chisquare(list(drawn.values())).pvalue > CHANCE
    np.testing.assert_array_equal(Distances(worlds).values(worlds.all), np.array(lengths)[worlds.state[:, k.R]])
    with pytest.raises(ValueError, match=rf"phase=7: it is one of 0 to {len(lengths) - 1}, or None"):
        maker(7)


def test_the_block_of_the_detour_is_not_seen_where_the_ways_part() -> None:
    seen = []
    for phase in range(3):
        worlds = begun(detour_spec(phase), 6)
        worlds.state[:, k.X], worlds.state[:, k.Y] = 6, [17, 17, 17, 17, 18, 19]
        worlds.state[:, k.DIR] = [0, 1, 2, 3, 3, 3]
        worlds.look(worlds.all)
        seen.append(worlds.image.copy())
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])


# the screen


def screens(worlds: Worlds) -> Any:
    """bool[N, H * W]."""
    return (worlds.cells & 15) == k.FLOOR


def test_only_the_screen_differs_between_two_words() -> None:
    n = 60
    one, two = begun(MORE["NoisyTV-v0"], n), begun(MORE["NoisyTV-v0"], n)
    two.words[:] += np.uint64(12345)
    rng, differed = np.random.default_rng(0), 0
    over = np.zeros(n, bool)
    for _ in range(150):
        actions = rng.choice(7, n, p=[0.2, 0.2, 0.5, 0.025, 0.025, 0.025, 0.025])
        for worlds in (one, two):
            worlds.step(actions, over)
        floor = one.image[..., 0] == k.FLOOR
        np.testing.assert_array_equal(one.image[~floor], two.image[~floor])
        np.testing.assert_array_equal(one.image[..., [0, 2]], two.image[..., [0, 2]])
        differed += int((one.image != two.image).any(axis=(1, 2, 3)).sum())
        np.testing.assert_array_equal(one.state, two.state)
        np.testing.assert_array_equal(one.cells[~screens(one)], two.cells[~screens(one)])
        for a, b in ((one.reward, two.reward), (one.terminated, two.terminated), (one.truncated, two.truncated)):
            np.testing.assert_array_equal(a, b)
        over |= one.terminated
    assert differed > 200 and over.any()


def test_colours_of_the_screen_are_uniform_in_every_cell() -> None:
    worlds = begun(MORE["NoisyTV-v0"], 500)
    counts = np.zeros((6, 6), int)  # cells of the screen, colours
    pairs = np.zeros((6, 6), int)
    before = None
    for _ in range(60):
        colours = (worlds.cells[screens(worlds)] >> 4 & 7).reshape(500, 6)
        np.add.at(counts, (np.arange(6), colours), 1)
        if before is not None:
            np.add.at(pairs, (before, colours), 1)
        before = colours
        worlds.step(np.full(500, k.LEFT))
    assert (chisquare(counts, axis=1).pvalue > CHANCE).all()
    assert chisquare(pairs.ravel()).pvalue > CHANCE  # nor does a colour tell of the next
    share = counts.sum(axis=0) / counts.sum()
    assert -(share * np.log2(share)).sum() == pytest.approx(np.log2(6), abs=1e-4)


def test_the_screen_bars_no_way() -> None:
    worlds = begun(MORE["NoisyTV-v0"], 300)
    left = Distances(worlds).values(worlds.all)
    assert (screens(worlds).sum(axis=1) == 6).all()
    room = worlds.spec.width // 2
    where = np.argwhere(screens(worlds).reshape(300, 13, 13))
    assert (where[:, 1:] % room != 0).all()  # never in a wall or a gap
    for _, y, x in where[:: 6 * 20]:
        assert 0 < x < 12 and 0 < y < 12
    worlds.cells[screens(worlds)] = k.EMPTY
    np.testing.assert_array_equal(Distances(worlds).values(worlds.all), left)
    assert np.isfinite(left).all() and left.max() <= MORE["NoisyTV-v0"].steps_to_go_max


def test_a_count_of_observations_never_fades_before_the_screen() -> None:
    """The agent stands on its edge and looks; a count of where it stands fades as anywhere."""
    paid: dict[str, float] = {}
    for name in ("NoisyTV-v0", "FourRooms-v0"):
        worlds = begun(TASKS[name], 1)
        if name == "NoisyTV-v0":
            worlds.state[0, [k.X, k.Y, k.DIR]] = [*worlds.state[0, [k.R, k.R + 1]], 0]
        seen, place = [], []
        for _ in range(801):
            seen.append(worlds.image[0].reshape(-1).copy())
            place.append(worlds.state[0, [k.X, k.Y, k.DIR]].astype(np.int64))
            worlds.state[0, k.STEP] = 0
            worlds.step(np.array([k.DONE]))
        for what, column in (("seen", np.array(seen)), ("place", np.array(place))):
            batch = Batch.of(obs=column[:-1], action=np.zeros(800, int), next_obs=column[1:], reward=np.zeros(800))
            paid[f"{name} {what}"] = Rewarder("count").step(batch).values[-200:].mean()
    assert paid["NoisyTV-v0 seen"] > 0.9
    assert max(v for key, v in paid.items() if key != "NoisyTV-v0 seen") < 0.1


# every place takes the keywords, and everything comes back

ASKED: dict[str, dict[str, Any]] = {
    "Maze-Detour-v0": {"phase": 2},
    "Maze-Shortcut-v0": {"phase": 1},
    "Monitored-v0": {"cost": 0.25},
    "Monitored-Random-v0": {"share": 0.75},
    "Layout-v0": {"layout": "######\n#^.DG#\n######", "max_steps": 60},
}


def roll(env: Any) -> Any:
    env.reset(seed=1)
    return [(o["image"], r, a, b, i) for o, r, a, b, i in map(env.step, [1, 2, 5, 2, 0, 2, 3, 2])]


def test_every_task_with_keywords_is_asked() -> None:
    assert set(ASKED) == set(KEYWORDS)


@pytest.mark.parametrize("name", MORE)
def test_environments_come_back_from_spec_pickle_and_copy(name: str) -> None:
    env = gym.make(f"reward_envs/{name}", **ASKED.get(name, {}))
    expected = roll(env)
    written = EnvSpec.from_json(env.spec.to_json())
    for other in (gym.make(env.spec), gym.make(written), pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert repr(roll(other)) == repr(expected)
    if name in ASKED:
        assert env.unwrapped.task != MORE[name] and gym.make(f"reward_envs/{name}").unwrapped.task == MORE[name]


@pytest.mark.parametrize("name", ASKED)
def test_vectors_and_sb3_take_the_same_keywords(name: str) -> None:
    full, own = f"reward_envs/{name}", ASKED[name]
    single = gym.make(full, **own).unwrapped
    envs = gym.make_vec(full, num_envs=2, **own)
    venv: Any = sb3_vec(full, 2, seed=4, **own)
    assert single.task == envs.unwrapped.task == venv.task
    seen = single.reset(seed=4)[0]["image"]
    np.testing.assert_array_equal(envs.reset(seed=4)[0]["image"][0], seen)
    np.testing.assert_array_equal(venv.reset()[0], seen.reshape(-1))


@pytest.mark.parametrize("name", [name for name in MORE if "Monitored" not in name])  # NaN is no equal of itself
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_accepts_the_environment(name: str) -> None:
    check_env(gym.make(f"reward_envs/{name}").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", MORE)
def test_pictures(name: str) -> None:
    pytest.importorskip("minigrid")
    env = gym.make(f"reward_envs/{name}", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (32 * MORE[name].height, 32 * MORE[name].width, 3)
