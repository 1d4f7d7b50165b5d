"""Layouts of the tasks about things, against those of the minigrid package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import gymnasium as gym
import minigrid
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, hypergeom

from reward_envs.grid.objects import OBJECTS
from reward_envs.grid.spec import COLOURS, KINDS, GridSpec
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as g
from tests.grid.minigrid_layouts import load
from tests.grid.minigrid_layouts import theirs as package

assert minigrid.__name__  # registers its ids

Int = NDArray[np.int64]
OURS, THEIRS = 4000, 1000
ALPHA = 5.7e-7  # five sigma, both sides


@dataclass
class Layouts:
    """Many beginnings of one task; registers as the kernels have them."""

    cells: Int  # [n, H, W]: type | colour << 4 | door state << 7, in MiniGrid's numbers
    agent: Int  # [n, 3]: x, y, direction
    registers: Int  # [n, REGISTERS]
    missions: list[str]

    @cached_property
    def kind(self) -> Int:
        return self.cells & 15


def begin(name: str, words: NDArray[np.uint64], rows: Int | None = None) -> tuple[Any, Any]:
    spec, n = OBJECTS[name], len(words)
    cells, state = np.zeros((n, spec.height * spec.width), np.uint16), np.full((n, g.COLUMNS), 77, np.int32)
    params = np.array((spec.width, spec.height, *spec.params))
    spec.layout(cells, state, words, np.arange(n) if rows is None else rows, params)
    return cells, state


def seeds(seed: int, n: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)


def taken(spec: GridSpec, cells: Any, state: Any, missions: list[str]) -> Layouts:
    codes = cells.reshape(len(cells), spec.height, spec.width).astype(np.int64) & ~g.OPAQUE
    numbers = state.astype(np.int64)
    return Layouts(codes, numbers[:, [g.X, g.Y, g.DIR]], numbers[:, g.R :], missions)


@cache
def ours(name: str) -> Layouts:
    spec = OBJECTS[name]
    cells, state = begin(name, seeds(5, OURS))
    return taken(spec, cells, state, [spec.missions[int(number)] for number in state[:, g.MISSION]])


@cache
def theirs(name: str) -> Layouts:
    spec = OBJECTS[name]
    env, worlds, missions = package(spec), Worlds(spec, THEIRS), []
    env.gen_obs = dict  # layouts alone
    for i in range(THEIRS):
        env.reset(seed=5 if i == 0 else None)
        load(worlds, i, env)
        missions.append(env.mission)
    return taken(spec, worlds.cells, worlds.state, missions)


# what a layout is, as one of few values


def _distances(side: Layouts) -> Int:
    """Chebyshev distances: from the agent to the nearest thing or door, and between the nearest two of those."""
    found = np.argwhere((side.kind >= g.DOOR) & (side.kind <= g.BOX))
    places = found[:, :0:-1].reshape(len(side.cells), -1, 2)  # x, y; every layout has as many
    left, right = np.triu_indices(places.shape[1], 1)
    agent = np.abs(places - side.agent[:, None, :2]).max(2).min(1)
    return np.stack([agent, np.abs(places[:, left] - places[:, right]).max(2).min(1)], 1)


def features(side: Layouts) -> Counter[Hashable]:
    """How many layouts have each value of each aspect of a layout."""
    codes = [code for code in np.unique(side.cells) if code & 15 >= g.DOOR]
    shown = np.stack([(side.cells == code).sum((1, 2)) for code in codes], 1)
    aspects = {
        "agent": side.agent,
        "direction": side.agent[:, 2:],
        "numbers of types": np.stack([(side.kind == k).sum((1, 2)) for k in range(10)], 1),
        "distances": _distances(side),
        "first two registers": side.registers[:, :2],
        **{f"register {k}": side.registers[:, k : k + 1] for k in range(g.REGISTERS)},
        **{f"number of {code}": shown[:, k : k + 1] for k, code in enumerate(codes)},
    }
    found: Counter[Hashable] = Counter((name, row) for name, a in aspects.items() for row in map(tuple, a.tolist()))
    found.update(("mission", mission) for mission in side.missions)
    for what, cells in (("cell", side.cells), ("type", side.kind)):
        for code in np.unique(cells):
            hits = (cells == code).sum(0)
            found.update({(what, int(code), int(x), int(y)): int(hits[y, x]) for y, x in np.argwhere(hits)})
    return found


@pytest.mark.parametrize("name", OBJECTS)
def test_layouts_are_distributed_as_minigrids(name: str) -> None:
    """Fisher's exact test of the frequency of every value of every aspect; a value that one side never has counts 0."""
    mine, other = features(ours(name)), features(theirs(name))
    values = [  # but for numbers of 0, which are not counted of what one side never has
        v for v in mine.keys() | other.keys() if not (v[0].startswith("number of ") and v[1] == (0,))
    ]
    counts = np.array([(mine[v], other[v]) for v in values])
    pairs, back = np.unique(counts, axis=0, return_inverse=True)
    law = hypergeom(OURS + THEIRS, pairs.sum(1), THEIRS)
    chance = 2 * np.minimum(law.cdf(pairs[:, 1]), law.sf(pairs[:, 1] - 1))[back.ravel()]
    worst = int(chance.argmin())
    assert chance[worst] > ALPHA, f"{values[worst]}: {counts[worst]} of {OURS} and of minigrid's {THEIRS}"


def test_put_near_moves_the_thing_placed_first_as_often_as_the_other() -> None:
    """Where the target lies is then half the first place's law and half the second's, which avoids the first."""
    _, state = begin("PutNear-6x6-N2-v0", seeds(9, 40_000))
    inside = np.stack(np.indices((4, 4)), 2).reshape(16, 2)
    apart = np.abs(inside[:, None] - inside[None]).max(2) > 1
    law = (1 / 16 + (apart / apart.sum(1, keepdims=True)).mean(0)) / 2
    counts = np.bincount((state[:, g.R + 2] - 1) * 4 + state[:, g.R + 1] - 1, minlength=16)
    assert chisquare(counts, law * 40_000).pvalue > ALPHA


@pytest.mark.parametrize("name", OBJECTS)
def test_the_row_says_what_minigrids_environment_is(name: str) -> None:
    spec = OBJECTS[name]
    registered = gym.spec(f"MiniGrid-{name}")
    assert spec.source == registered.entry_point
    own = package(spec)
    for env in (own, gym.make(registered, disable_env_checker=True).unwrapped):
        assert (env.width, env.height, env.max_steps) == (spec.width, spec.height, spec.max_steps)
        assert env.see_through_walls == spec.see_through
        assert env.action_space.n == spec.actions
        assert tuple(map(float, env.reward_range)) == spec.reward_range
    settings = ("size", "numObjs", "n_obstacles", "agent_start_pos", "random_length")
    for key in (s for s in settings if hasattr(own, s)):
        assert getattr(own, key) == getattr(env, key)
    assert spec.failing_ends and spec.steps_to_go_max is not None


@pytest.mark.parametrize("name", OBJECTS)
def test_missions_are_those_of_minigrids_space(name: str) -> None:
    spec = OBJECTS[name]
    words = list(spec.missions)
    space = gym.make(f"MiniGrid-{name}", disable_env_checker=True).unwrapped.observation_space["mission"]
    size = int(np.prod([len(choices) for choices in space.ordered_placeholders or []]))
    assert len(set(words)) == len(spec.missions) == size
    assert all(space.contains(mission) for mission in words)
    assert set(ours(name).missions) <= set(words)


# what the registers and the words say lies there


def _name(code: int) -> str:
    return f"{COLOURS[(code >> 4) & 7]} {KINDS[code & 15]}"


def _go_to(side: Layouts, i: int) -> None:
    x, y = side.registers[i, :2]
    assert side.missions[i] == f"go to the {_name(side.cells[i, y, x])}"


def _fetch(side: Layouts, i: int) -> None:
    wanted = side.registers[i, 0]
    assert wanted in side.cells[i]
    assert side.missions[i].endswith(f" a {_name(wanted)}")


def _put_near(side: Layouts, i: int) -> None:
    moved, x, y = side.registers[i, :3]
    target = side.cells[i, y, x]
    assert target != moved and moved in side.cells[i]
    assert side.missions[i] == f"put the {_name(moved)} near the {_name(target)}"


def _red_blue(side: Layouts, i: int) -> None:
    for at, colour in zip(side.registers[i], (g.RED, g.BLUE), strict=False):
        assert side.cells[i].flat[at] == g.DOOR | colour << 4 | g.CLOSED << 7


def _memory(side: Layouts, i: int) -> None:
    width = side.cells.shape[2]
    shown = side.cells[i, width // 2 - 1, 1]
    for at, same in zip(side.registers[i], (True, False), strict=False):
        assert side.cells[i].flat[at] == g.EMPTY
        beside = side.cells[i].flat[at - width if at // width < width // 2 else at + width]
        assert beside & 15 in (g.KEY, g.BALL) and (beside == shown) == same


def _dodge(side: Layouts, i: int) -> None:
    count, *balls = side.registers[i].tolist()
    assert set(balls[:count]) == set(np.flatnonzero(side.kind[i] == g.BALL)) and len(set(balls[:count])) == count
    assert not any(balls[count:])


AGREES = {
    g.GO_TO: _go_to,
    g.FETCH: _fetch,
    g.PUT_NEAR: _put_near,
    g.RED_BLUE: _red_blue,
    g.MEMORY: _memory,
    g.DODGE: _dodge,
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("layouts", [ours, theirs])
def test_registers_and_words_agree_with_what_lies_there(name: str, layouts: Callable[[str], Layouts]) -> None:
    side = layouts(name)
    for i in range(len(side.missions)):
        AGREES[OBJECTS[name].rule](side, i)
        x, y, _ = side.agent[i]
        assert side.kind[i, y, x] == g.EMPTY


@pytest.mark.parametrize("name", OBJECTS)
def test_the_engine_finds_what_it_counts_on(name: str) -> None:
    spec = OBJECTS[name]
    cells, state = begin(name, seeds(6, 500))
    kind, door = cells & 15, (cells >> 7) & 3
    opaque = (kind == g.WALL_TYPE) | ((kind == g.DOOR) & (door != g.OPEN))
    np.testing.assert_array_equal(cells & g.OPAQUE != 0, opaque)
    assert not (cells >> 10).any()  # empty boxes, doors that nobody opened
    whole = cells.reshape(-1, spec.height, spec.width)
    edges = np.concatenate([whole[:, 0], whole[:, -1], whole[:, :, 0], whole[:, :, -1]], axis=1)
    assert spec.see_through or (edges & g.OPAQUE).all()
    assert not state[:, [g.CARRY, g.STEP, g.MARKS, g.DOORS]].any()
    assert (state[:, g.MISSION] >= 0).all() and (state[:, g.MISSION] < len(spec.missions)).all()


@pytest.mark.parametrize("name", OBJECTS)
def test_a_layout_depends_on_its_worlds_word_alone(name: str) -> None:
    words = seeds(7, 8)
    words[7] = words[0]
    before = words.copy()
    rows = np.array([7, 2, 0])
    cells, state = begin(name, words, rows)
    for array in (cells, state, words):
        np.testing.assert_array_equal(array[0], array[7])
    assert (words[rows] != before[rows]).all()
    others = np.setdiff1d(np.arange(8), rows)
    np.testing.assert_array_equal(words[others], before[others])
    assert not cells[others].any() and (state[others] == 77).all()
    alone = before[2:3].copy()
    single = begin(name, alone)
    for array, one in zip((cells, state, words), (*single, alone), strict=True):
        np.testing.assert_array_equal(array[2], one[0])


def test_crowded_fields_end_too() -> None:
    layout = OBJECTS["PutNear-6x6-N2-v0"].layout
    cells, state = np.zeros((50, 25), np.uint16), np.zeros((50, g.COLUMNS), np.int32)
    layout(cells, state, seeds(8, 50), np.arange(50), np.array((5, 5, 8)))  # no room for eight that do not touch
    assert ((cells & 15 >= g.KEY).sum(1) == 8).all()
