"""Layouts whose end is a goal against those of the minigrid package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import gymnasium as gym
import minigrid
import numpy as np
import pytest
from scipy.ndimage import label
from scipy.stats import chisquare, hypergeom

from reward_envs.grid.distance import distances
from reward_envs.grid.fields import FIELDS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from tests.grid.minigrid_layouts import load
from tests.grid.minigrid_layouts import theirs as package
from tests.grid.tools import FIVE_SIGMA, assert_same_frequencies, begun

assert minigrid.__name__  # registers its ids

OURS, OURS_OF_ROOMS, THEIRS = 10_000, 6000, 1000
ROOMS = [name for name in FIELDS if name.startswith("MultiRoom")]

# Tasks with few layouts: how many there are, and whether all are equally likely. Agent's poses, times places of the
# key, times those of the door, for each wall of DoorKey; gaps, for each choice of streams.
SUPPORTS = {
    **{f"Empty-{s}x{s}-v0": (1, True) for s in (5, 6, 8, 16)},
    **{f"Empty-Random-{s}x{s}-v0": (((s - 2) ** 2 - 1) * 4, True) for s in (5, 6)},
    "DoorKey-5x5-v0": (3 * 4 * 2 * 2, True),
    "DoorKey-6x6-v0": (4 * 4 * 3 * 3 + 8 * 4 * 7 * 3, False),
    **{f"{kind}CrossingS9N1-v0": (6 * 7, True) for kind in ("Lava", "Simple")},
    # two streams alike, 7 gaps each; or else the way crosses either first, (1 + 3 + 5)(5 + 3 + 1) over places of both
    **{f"{kind}CrossingS9N2-v0": (6 * 7 * 7 + 2 * 9 * 9, False) for kind in ("Lava", "Simple")},
    **{f"LavaGapS{s}-v0": ((s - 4) * (s - 2), True) for s in (5, 6, 7)},
    **{f"DistShift{i}-v0": (1, True) for i in (1, 2)},
}


@cache
def ours(name: str) -> Worlds:
    return begun(FIELDS[name], OURS_OF_ROOMS if name in ROOMS else OURS)


@cache
def theirs(name: str) -> Worlds:
    spec = FIELDS[name]
    env, worlds = package(spec), Worlds(spec, THEIRS)
    env.gen_obs = dict  # layouts alone
    for i in range(THEIRS):
        env.reset(seed=5 if i == 0 else None)
        load(worlds, i, env)
        worlds.state[i, k.MISSION] = spec.missions.index(env.mission)
    return worlds


def grids(worlds: Worlds) -> Any:
    """The cells, uint16[N, H, W]."""
    return worlds.cells.reshape(worlds.n, worlds.spec.height, worlds.spec.width)


def poses(worlds: Worlds) -> Any:
    return worlds.state[:, [k.X, k.Y, k.DIR]]


def places(cells: Any, kind: int) -> Any:
    """Where the only thing of a kind lies in each layout: int[N, 2], x and y."""
    found = np.argwhere(cells & 15 == kind)
    assert (found[:, 0] == np.arange(len(cells))).all()
    return found[:, :0:-1]


def rows(*columns: Any) -> Counter[Hashable]:
    """How many layouts have each combination of these integers, a row a layout."""
    values, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, values.tolist()), counts.tolist(), strict=True)))


def layouts(worlds: Worlds) -> Counter[Hashable]:
    """How often each layout was drawn, agent included."""
    return Counter(row.tobytes() for row in np.column_stack([worlds.cells, poses(worlds).astype(np.uint16)]))


# what a layout is, as few values


def features(worlds: Worlds) -> dict[str, Counter[Hashable]]:
    """Histograms of one value a layout."""
    name = next(name for name, spec in FIELDS.items() if spec is worlds.spec)
    cells, pose = grids(worlds), poses(worlds)
    goal = places(cells, k.GOAL)
    found = {
        "direction": rows(pose[:, 2]),
        "direction and x": rows(pose[:, [0, 2]]),
        "direction and y": rows(pose[:, [1, 2]]),
        "goal from the agent, x": rows(goal[:, 0] - pose[:, 0]),
        "goal from the agent, y": rows(goal[:, 1] - pose[:, 1]),
        "mission": rows(worlds.state[:, k.MISSION]),
    }
    if name.startswith("FourRooms"):
        wall = cells & 15 == k.WALL_TYPE
        found |= gaps([wall[:, 1:9, 9], wall[:, 10:18, 9], wall[:, 9, 1:9], wall[:, 9, 10:18]])
    if "Crossing" in name:
        solid = cells & 15 == (k.WALL_TYPE if name.startswith("Simple") else k.LAVA)
        at = range(2, worlds.spec.width - 2, 2)
        found |= gaps([*(solid[:, 1:-1, x] for x in at), *(solid[:, y, 1:-1] for y in at)])
    if name.startswith("DoorKey"):
        found |= door_and_key(cells, pose)
    if name.startswith("LockedRoom"):
        found |= locked_room(cells, pose, goal)
    if name in ROOMS:
        return found | chains(cells, pose, goal)
    return found | {"agent": rows(pose[:, :2]), "goal": rows(goal)}


def gaps(lines: list[Any]) -> dict[str, Counter[Hashable]]:
    """Where these lines, bool[N, L], have their only gap, -1 without one: alone, and every two of them by halves."""
    at = [np.where((~line).sum(1) == 1, (~line).argmax(1), -1) for line in lines]
    found = {f"gap {n}": rows(gap) for n, gap in enumerate(at)}
    for (n, one), (m, other) in combinations(enumerate(at), 2):
        found[f"gaps {n} and {m}"] = rows(one // 2, other // 2)
    return found | {"lines with gaps": rows(*[gap >= 0 for gap in at])}


def door_and_key(cells: Any, pose: Any) -> dict[str, Counter[Hashable]]:
    door, key = places(cells, k.DOOR), places(cells, k.KEY)
    split = door[:, 0]
    return {
        "door": rows(door),
        "key": rows(key),
        "key and wall": rows(split, key[:, 0]),
        "agent and wall": rows(split, pose[:, 0]),
        "key and agent, x": rows(key[:, 0], pose[:, 0]),
        "key and agent, y": rows(key[:, 1], pose[:, 1]),
        "key and door, y": rows(key[:, 1], door[:, 1]),
    }


def locked_room(cells: Any, pose: Any, goal: Any) -> dict[str, Counter[Hashable]]:
    doors = np.stack([cells[:, y, x] for y in (3, 9, 15) for x in (7, 11)], 1)
    assert (doors & 15 == k.DOOR).all()
    key = places(cells, k.KEY)
    locked, home = (doors >> 7 & 3 == k.LOCKED).argmax(1), key[:, 1] // 6 * 2 + (key[:, 0] > 9)
    found = {
        "key": rows(key),
        "key's room and the locked one": rows(home, locked),
        "key's room and its place": rows(key[:, 0] % 11, key[:, 1] % 6),
        "key's colour": rows(cells[np.arange(len(cells)), key[:, 1], key[:, 0]] >> 4 & 7),
        "goal in the locked room": rows(locked, goal[:, 0] % 11, goal[:, 1] % 6),
        "locked room and the agent": rows(locked, pose[:, 1] // 6),
        "locked room and its colour": rows(locked, doors[np.arange(len(doors)), locked] >> 4 & 7),
    }
    for one, other in combinations(range(6), 2):
        found[f"colours of doors {one} and {other}"] = rows(doors[:, one] >> 4 & 7, doors[:, other] >> 4 & 7)
    return found


def chains(cells: Any, pose: Any, goal: Any) -> dict[str, Counter[Hashable]]:
    """Rooms and doors along the way from the agent's room to the goal's."""
    found: dict[str, Counter[Hashable]] = {}

    def note(about: str, *value: int) -> None:
        found.setdefault(about, Counter())[value] += 1

    for grid, (x, y, _), (goal_x, goal_y) in zip(cells, pose, goal, strict=True):
        chain, previous = list(_chain(grid, x, y)), -1
        (left, top, w, h), _ = chain[0]
        note("rooms", len(chain))
        note("first corner, x", left)
        note("first corner, y", top)
        note("agent in its room, x", x - left, w)
        note("agent in its room, y", y - top, h)
        for n, ((left, top, w, h), door) in enumerate(chain):
            note(f"size of room {n}", w, h)
            if not door:
                continue
            door_x, door_y, colour = door
            side = (left + w == door_x, top + h == door_y, left - 1 == door_x, top - 1 == door_y).index(True)
            note(f"door {n} and its colour", side, colour)
            note(f"door {n} along the wall", side, *((door_y - top, h) if side % 2 == 0 else (door_x - left, w)))
            (next_left, next_top, next_w, next_h), _ = chain[n + 1]
            entry = (door_y - next_top, next_h) if side % 2 == 0 else (door_x - next_left, next_w)
            note(f"door {n} along the next wall", side, *entry)
            if n:
                note(f"colours of doors {n - 1} and {n}", previous, colour)
            previous = colour
        assert left <= goal_x < left + w and top <= goal_y < top + h
        note("goal in its room, x", goal_x - left, w)
        note("goal in its room, y", goal_y - top, h)
    return found


def _chain(grid: Any, x: int, y: int) -> Iterator[tuple[tuple[int, int, int, int], tuple[int, int, int] | None]]:
    """Room after room from (x, y): left, top, width and height within its walls; x, y and colour of its exit."""
    room_of, _ = label((grid & 15 != k.WALL_TYPE) & (grid & 15 != k.DOOR))
    doors = {(int(a), int(b)) for b, a in np.argwhere(grid & 15 == k.DOOR)}
    assert all(grid[b, a] >> 7 & 3 == k.CLOSED for a, b in doors)
    while True:
        ys, xs = np.nonzero(room_of == room_of[y, x])
        left, top, w, h = int(xs.min()), int(ys.min()), int(np.ptp(xs)) + 1, int(np.ptp(ys)) + 1
        assert w * h == len(xs)
        exits = [(a, b) for a, b in doors if left - 1 <= a <= left + w and top - 1 <= b <= top + h]
        if not exits:
            assert not doors
            yield (left, top, w, h), None
            return
        ((a, b),) = exits
        doors.remove((a, b))
        yield (left, top, w, h), (a, b, int(grid[b, a]) >> 4 & 7)
        x, y = 2 * a - min(max(a, left), left + w - 1), 2 * b - min(max(b, top), top + h - 1)


@pytest.mark.parametrize("name", FIELDS)
def test_layouts_are_distributed_as_minigrids(name: str) -> None:
    mine, other = features(ours(name)), features(theirs(name))
    assert set(mine) == set(other)
    for about, counts in mine.items():
        assert_same_frequencies(counts, other[about], f"{name}: {about}")


@pytest.mark.parametrize("name", FIELDS)
def test_each_cell_holds_what_minigrids_does_as_often(name: str) -> None:
    """Fisher's exact test of each code in each cell."""
    mine, other = ours(name).cells, theirs(name).cells
    codes = np.union1d(mine, other)
    counts = np.stack([[(cells == code).sum(0) for code in codes] for cells in (mine, other)], -1).reshape(-1, 2)
    pairs, back = np.unique(counts, axis=0, return_inverse=True)
    law = hypergeom(len(mine) + THEIRS, pairs.sum(1), THEIRS)
    chance = 2 * np.minimum(law.cdf(pairs[:, 1]), law.sf(pairs[:, 1] - 1))[back.ravel()]
    worst = int(chance.argmin())
    code, at = divmod(worst, mine.shape[1])
    assert chance[worst] > FIVE_SIGMA, f"{codes[code]} in cell {at}: {counts[worst]} of {len(mine)} and {THEIRS}"


@pytest.mark.parametrize("name", SUPPORTS)
def test_few_layouts_are_all_there_and_as_likely_as_by_hand(name: str) -> None:
    size, even = SUPPORTS[name]
    mine, other = layouts(begun(FIELDS[name], 40_000)), layouts(theirs(name))
    assert len(mine) == size
    assert_same_frequencies(mine, other, name)
    if even:
        assert len(other) == size
        assert size == 1 or chisquare(list(mine.values())).pvalue > FIVE_SIGMA


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("side", [ours, theirs])
def test_every_layout_can_be_solved(name: str, side: Callable[[str], Worlds]) -> None:
    worlds, farthest = side(name), FIELDS[name].steps_to_go_max
    steps = distances(worlds).values(worlds.all)
    assert (steps > 0).all() and farthest is not None and (steps <= farthest).all()


@pytest.mark.parametrize("name", FIELDS)
def test_the_row_says_what_minigrids_environment_is(name: str) -> None:
    current = name.removesuffix("0") + "1" if f"MiniGrid-{name.removesuffix('0')}1" in gym.registry else name
    spec, registered = FIELDS[name], gym.spec(f"MiniGrid-{current}")
    assert spec.source == registered.entry_point
    for env in (package(spec), gym.make(registered, disable_env_checker=True).unwrapped):
        assert (env.width, env.height, env.max_steps) == (spec.width, spec.height, spec.max_steps)
        assert env.see_through_walls == spec.see_through and env.action_space.n == spec.actions
        assert all(env.observation_space["mission"].contains(mission) for mission in spec.missions)
        settings = vars(env)
        for key in ("num_crossings", "obstacle_type", "strip2_row", "minNumRooms", "maxNumRooms", "maxRoomSize"):
            assert settings.get(key) == vars(package(spec)).get(key)
    lava = (grids(ours(name)) & 15 == k.LAVA).any()
    assert spec.failing_ends == lava and spec.milestone_names[-1] == "succeed"


@pytest.mark.parametrize("name", FIELDS)
def test_the_engine_finds_what_it_counts_on(name: str) -> None:
    worlds, spec = ours(name), FIELDS[name]
    cells, kind, door = worlds.cells, worlds.cells & 15, worlds.cells >> 7 & 3
    opaque = (kind == k.WALL_TYPE) | ((kind == k.DOOR) & (door != k.OPEN))
    np.testing.assert_array_equal(cells & k.OPAQUE != 0, opaque)
    assert not (cells >> 10).any()  # no boxes, doors that nobody opened
    width = spec.width
    assert (kind[worlds.all, worlds.state[:, k.Y] * width + worlds.state[:, k.X]] == k.EMPTY).all()
    rest = [k.CARRY, k.STEP, k.MARKS, k.DOORS, k.TOGGLES, k.LIFTS, *range(k.R, k.COLUMNS)]
    assert not worlds.state[:, rest].any()
    assert set(worlds.state[:, k.MISSION].tolist()) <= set(range(len(spec.missions)))


@pytest.mark.parametrize("name", FIELDS)
def test_a_layout_depends_on_its_worlds_word_alone(name: str) -> None:
    spec = FIELDS[name]
    many = begun(spec, 8, seed=20)
    some = Worlds(spec, 8)
    before = some.cells.copy(), some.state.copy(), some.words.copy()
    picked, others = np.array([6, 1, 3]), np.array([0, 2, 4, 5, 7])
    some.seed(picked, [26, 21, 23])
    some.begin(picked)
    after, whole = (some.cells, some.state, some.words), (many.cells, many.state, many.words)
    for array, was, expected in zip(after, before, whole, strict=True):
        np.testing.assert_array_equal(array[picked], expected[picked])
        np.testing.assert_array_equal(array[others], was[others])
