"""Layouts of rooms in a grid against those of the minigrid package."""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import gymnasium as gym
import minigrid
import numpy as np
import pytest

from reward_envs.grid.rooms import ROOMS
from reward_envs.grid.spec import COLOURS
from reward_envs.kernels import grid as k
from tests.grid.tools import assert_same_frequencies

assert minigrid.__name__  # registers its ids

OURS, THEIRS = 2500, 300
NAMES = tuple(ROOMS)
LOCKED_DOORS = {"2Dl": 2, "2Dlh": 2, "2Dlhb": 2, "1Q": 2, "2Q": 4, "Full": 8}  # of a maze; other tasks have one


@functools.cache
def ours(name: str) -> tuple[Any, Any]:
    """`OURS` layouts: cells uint16[n, H, W] and states."""
    spec = ROOMS[name]
    cells = np.zeros((OURS, spec.height * spec.width), np.uint16)
    state = np.full((OURS, k.COLUMNS), 77, np.int32)
    words = np.random.default_rng(3).integers(0, 2**64, OURS, np.uint64)
    spec.layout(cells, state, words, np.arange(OURS), np.array((spec.width, spec.height, *spec.params)))
    return cells.reshape(OURS, spec.height, spec.width), state


def make(name: str) -> Any:
    """The environment that the row names as its source."""
    module, _, maker = ROOMS[name].source.partition(":")
    return getattr(importlib.import_module(module), maker)(**(ROOMS[name].kwargs or {}))


def code(thing: Any) -> int:
    """An object of minigrid as a cell of ours."""
    if thing is None:
        return k.EMPTY
    kind, colour, door = thing.encode()
    key = getattr(thing, "contains", None)
    return int(k.pack(kind, colour, door)) | (1 + key.encode()[1] << 10 if key is not None else 0)


@functools.cache
def theirs(name: str) -> tuple[Any, Any, set[str]]:
    """`THEIRS` layouts of minigrid: cells, states with the columns that a layout fills, and missions."""
    env = make(name)
    env.reset(seed=11)
    cells = np.empty((THEIRS, env.height, env.width), np.uint16)
    state = np.zeros((THEIRS, k.COLUMNS), np.int32)
    missions = set()
    for n in range(THEIRS):
        env._gen_grid(env.width, env.height)
        cells[n].reshape(-1)[:] = [code(thing) for thing in env.grid.grid]
        state[n, [k.X, k.Y, k.DIR]] = (*env.agent_pos, env.agent_dir)
        state[n, k.R] = code(env.obj) if hasattr(env, "obj") else env.door.cur_pos[1] * env.width + env.door.cur_pos[0]
        words = env.mission.split()
        state[n, k.MISSION] = COLOURS.index(words[-2]) if len(ROOMS[name].missions) > 1 else 0
        missions.add(env.mission)
    return cells, state, missions


def kinds(cells: Any) -> Any:
    return cells & 15


def features(cells: Any, state: Any, step: int) -> dict[str, Counter[Hashable]]:
    """Histograms that describe the layouts."""
    found: dict[str, Counter[Hashable]] = {}
    for kind in (k.DOOR, k.KEY, k.BALL, k.BOX):
        n, y, x = np.nonzero(kinds(cells) == kind)
        what = cells[n, y, x].tolist()
        if not what:
            continue
        label = str(kind)
        found[label + " what"] = Counter(what)
        found[label + " where"] = Counter(zip(x.tolist(), y.tolist(), strict=True))
        found[label + " what and x"] = Counter(zip(what, x.tolist(), strict=True))
        found[label + " what and y"] = Counter(zip(what, y.tolist(), strict=True))
        found[label + " count"] = Counter(np.bincount(n, minlength=len(cells)).tolist())
        for a in (x, y):  # of one of the things, given the agent
            first = np.unique(n, return_index=True)[1]
            agent = state[n[first]][:, k.X if a is x else k.Y]
            found[f"{label} beside the agent {'x' if a is x else 'y'}"] = Counter((a[first] - agent).tolist())
    found["agent"] = Counter(map(tuple, state[:, [k.X, k.Y]].tolist()))
    found["heading"] = Counter(state[:, k.DIR].tolist())
    found["agent and heading"] = Counter(map(tuple, state[:, [k.X, k.Y, k.DIR]].tolist()))
    found["mission"] = Counter(state[:, k.MISSION].tolist())
    found["target"] = Counter(state[:, k.R].tolist())
    found["ways"] = Counter(ways(cells, step))
    found["locked room and key"] = Counter(map(tuple, locked_and_key(cells)))
    found["faced"] = Counter(kinds(faced(cells, state)).tolist())
    return found


def ways(cells: Any, step: int) -> list[bytes]:
    """Which walls between rooms, each `step` long, have doors."""
    n, height, width = cells.shape
    door = kinds(cells) == k.DOOR
    upright = door[:, 1:, ::step].reshape(n, height // step, step, -1).any(axis=2)
    level = door[:, ::step, 1:].reshape(n, -1, width // step, step).any(axis=3)
    return [a.tobytes() + b.tobytes() for a, b in zip(upright, level, strict=True)]


def locked_and_key(cells: Any) -> Iterable[list[int]]:
    """Rows of the first locked door and of the first key or box, in the reading order of the grid."""
    locked = (kinds(cells) == k.DOOR) & ((cells >> 7) & 3 == k.LOCKED)
    key = (kinds(cells) == k.KEY) | (kinds(cells) == k.BOX)
    return np.stack([locked.any(axis=2).argmax(axis=1), key.any(axis=2).argmax(axis=1)], axis=1).tolist()


def faced(cells: Any, state: Any) -> Any:
    """The cell in front of each agent."""
    heading = state[:, k.DIR]
    x = state[:, k.X] + np.array([1, 0, -1, 0])[heading]
    y = state[:, k.Y] + np.array([0, 1, 0, -1])[heading]
    return cells[np.arange(len(cells)), y, x]


@pytest.mark.parametrize("name", NAMES)
def test_same_distribution_as_minigrid(name: str) -> None:
    cells, state = ours(name)
    step = ROOMS[name].params[0] - 1
    mine, other = features(cells, state, step), features(*theirs(name)[:2], step)
    assert set(mine) == set(other)
    for about, counts in mine.items():
        assert_same_frequencies(counts, other[about], f"{name}: {about}")


@pytest.mark.parametrize("name", NAMES)
def test_counts_of_things(name: str) -> None:
    cells, _ = ours(name)
    their_cells = theirs(name)[0]
    for kind in (k.KEY, k.BALL, k.BOX, k.DOOR):
        mine = (kinds(cells) == kind).sum(axis=(1, 2))
        other = (kinds(their_cells) == kind).sum(axis=(1, 2))
        assert set(mine) == set(other)
        assert len(set(mine)) == 1 or (kind == k.DOOR and "Corridor" in name)
    locked = (kinds(cells) == k.DOOR) & ((cells >> 7) & 3 == k.LOCKED)
    assert set(locked.sum(axis=(1, 2))) == {LOCKED_DOORS.get(name.split("-")[1], 1)}


@pytest.mark.parametrize("name", NAMES)
def test_each_lock_has_its_key(name: str) -> None:
    """Also the keys in boxes; and codes carry no other bits than `pack` and a content."""
    cells, _ = ours(name)
    boxed = "h" in name.split("-")[1] or name.split("-")[1] in ("1Q", "2Q", "Full")
    assert not (cells >> 13).any()
    assert ((cells >> 10 == 0) | ((kinds(cells) == k.BOX) & boxed)).all()
    for layout in cells.reshape(OURS, -1).tolist():
        locks = sorted(c >> 4 & 7 for c in layout if c & 15 == k.DOOR and c >> 7 & 3 == k.LOCKED)
        free = [c >> 4 & 7 for c in layout if c & 15 == k.KEY]
        inside = [(c >> 10) - 1 for c in layout if c & 15 == k.BOX and c >> 10]
        assert sorted(free + inside) == locks
        assert not (free and inside) and bool(inside) == boxed


@pytest.mark.parametrize("name", [name for name in NAMES if "Maze" in name])
def test_which_doors_of_a_maze_share_a_colour(name: str) -> None:
    """The same in all layouts, and as minigrid has it."""
    step, patterns = ROOMS[name].params[0] - 1, []
    for cells in (ours(name)[0], theirs(name)[0]):
        n, y, x = np.nonzero(kinds(cells) == k.DOOR)
        wall = np.where(x % step == 0, y // step * 4 + x // step, 50 + y // step * 4 + x // step)
        colours = (cells[n, y, x] >> 4 & 7)[np.lexsort((wall, n))].reshape(len(cells), -1)
        patterns.append(np.unique(colours[:, :, None] == colours[:, None, :], axis=0))
        assert len(patterns[-1]) == 1
    np.testing.assert_array_equal(*patterns)


@pytest.mark.parametrize("name", NAMES)
def test_agent_faces_nothing_or_a_wall(name: str) -> None:
    """Or a door of a corridor, which comes after the agent; never a locked one."""
    front = faced(*ours(name))
    closed = (kinds(front) == k.DOOR) & ((front >> 7) & 3 == k.CLOSED) & ("Corridor" in name)
    assert ((front == k.EMPTY) | (front == k.WALL) | closed).all()


def reached(cells: Any, state: Any, closed: Any) -> Any:
    """Cells, bool[n, H, W], to which a way leads from the agent that passes no wall and no cell of `closed`."""
    free = (kinds(cells) != k.WALL_TYPE) & ~closed
    seen = np.zeros_like(free)
    seen[np.arange(len(cells)), state[:, k.Y], state[:, k.X]] = True
    count = 0
    while count != (count := int(seen.sum())):
        seen[:, 1:] |= seen[:, :-1]
        seen[:, :-1] |= seen[:, 1:]
        seen[:, :, 1:] |= seen[:, :, :-1]
        seen[:, :, :-1] |= seen[:, :, 1:]
        seen &= free
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_ways_lead_everywhere(name: str) -> None:
    """To every key without passing a locked door; to all cells of the rooms that have doors through them."""
    cells, state = ours(name)
    locked = (kinds(cells) == k.DOOR) & ((cells >> 7) & 3 == k.LOCKED)
    at_first = reached(cells, state, locked)
    key = (kinds(cells) == k.KEY) | (cells >> 10 > 0)
    assert at_first[key].all()
    target = np.zeros_like(key) if ROOMS[name].rule == k.UNLOCK else cells & k.KIND == state[:, k.R, None, None]
    assert not at_first[target].any()

    at_last = reached(cells, state, np.zeros_like(locked))
    assert at_last[(kinds(cells) >= k.DOOR) | target].all()
    their_cells, their_state, _ = theirs(name)
    everywhere = reached(their_cells, their_state, np.zeros(their_cells.shape, bool))
    assert set(at_last.sum(axis=(1, 2))) == set(everywhere.sum(axis=(1, 2)))
    if "Maze-2D" not in name and "Maze-1Q" not in name and "Maze-2Q" not in name:  # these have rooms without doors
        assert (at_last == (kinds(cells) != k.WALL_TYPE)).all()


@pytest.mark.parametrize("name", NAMES)
def test_target_and_mission(name: str) -> None:
    cells, state = ours(name)
    spec, (_, _, missions) = ROOMS[name], theirs(name)
    target = state[:, k.R]
    if spec.rule == k.UNLOCK:
        door = cells.reshape(OURS, -1)[np.arange(OURS), target]
        assert (kinds(door) == k.DOOR).all()
    else:
        assert ((cells & k.KIND == target[:, None, None]).sum(axis=(1, 2)) == 1).all()
        if len(spec.missions) > 1:
            assert (state[:, k.MISSION] == target >> 4).all()
    assert set(spec.missions) == missions
    assert set(state[:, k.MISSION]) == set(range(len(spec.missions)))
    rest = [k.CARRY, k.STEP, k.MARKS, k.DOORS, *range(k.R + 1, k.COLUMNS)]
    assert not state[:, rest].any()
    assert ((0 <= state[:, k.DIR]) & (state[:, k.DIR] < 4)).all()


@pytest.mark.parametrize("name", NAMES)
def test_row_is_the_registered_task(name: str) -> None:
    current = name.removesuffix("0") + "1" if f"MiniGrid-{name.removesuffix('0')}1" in gym.registry else name
    spec, registered, env = ROOMS[name], gym.spec(f"MiniGrid-{current}"), make(name)
    assert spec.source == registered.entry_point
    assert spec.kwargs is not None and registered.kwargs.items() <= spec.kwargs.items()
    theirs = registered.make().unwrapped  # type: ignore[attr-defined]
    for of in (env, theirs):
        assert (of.width, of.height, of.max_steps) == (spec.width, spec.height, spec.max_steps)
        assert of.see_through_walls == spec.see_through and of.room_size == spec.params[0]
    for setting in ("agent_room", "key_in_box", "blocked", "num_quarters", "num_rows", "num_cols"):
        assert getattr(env, setting, None) == getattr(theirs, setting, None)
    assert not spec.failing_ends and spec.milestone_names[-1] == "succeed" and spec.task.endswith(".")
    assert spec.exact == (name in ("Unlock-v0", "KeyCorridorS3R1-v0"))


@pytest.mark.parametrize("name", NAMES)
def test_a_layout_depends_on_its_word_alone(name: str) -> None:
    spec = ROOMS[name]
    params = np.array((spec.width, spec.height, *spec.params))
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 2**16, (8, spec.height * spec.width), np.uint16)
    state = rng.integers(0, 99, (8, k.COLUMNS), np.int32)
    words = rng.integers(0, 2**64, 8, np.uint64)
    words[7] = words[0]
    before = cells.copy(), state.copy(), words.copy()
    spec.layout(cells, state, words, np.array([0, 7]), params)
    for after, was in zip((cells, state, words), before, strict=True):
        np.testing.assert_array_equal(after[0], after[7])
        np.testing.assert_array_equal(after[1:7], was[1:7])
    assert words[0] != before[2][0]
    lone = cells[:1].copy(), state[:1].copy(), before[2][:1].copy()
    spec.layout(*lone, np.array([0]), params)
    for after, alone in zip((cells, state, words), lone, strict=True):
        np.testing.assert_array_equal(after[0], alone[0])
