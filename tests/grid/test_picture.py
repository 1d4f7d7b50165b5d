"""Heat maps over a layout: their numbers, and what they hide and show."""

from __future__ import annotations

import importlib
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from matplotlib.figure import Figure

import reward_envs  # noqa: F401  (the ids)
from reward_envs.grid.distance import distances
from reward_envs.grid.picture import TILE, heat_map, heat_maps
from reward_envs.grid.tasks import TASKS
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k

pytest.importorskip("minigrid")


def maps(name: str, **kwargs: int) -> tuple[gym.Env, list]:
    """The environment after `heat_maps`, and its maps without their colour bars."""
    env = gym.make(f"reward_envs/{name}-v0").unwrapped
    figure = heat_maps(env, **kwargs)
    return env, [axes for axes in figure.axes if axes.get_title()]


def numbers(axes) -> np.ma.MaskedArray:
    return axes.images[0].get_array()


def test_the_first_map_is_the_hook_from_every_cell() -> None:
    env, (steps_to_go, _) = maps("LavaGapS6", seed=4, steps=1)
    shown = numbers(steps_to_go)
    env.request_hooks(("steps_to_go",))
    _, info = env.reset(seed=4)
    for y, x in np.argwhere(env.worlds.cells[0].reshape(6, 6) == k.EMPTY):
        values = []
        for heading in range(4):
            env.worlds.state[0, [k.X, k.Y, k.DIR]] = x, y, heading
            values.append(env._hooks.values(env.worlds.all)["steps_to_go"][0])
        assert shown[y, x] == min(values)
    blocked = np.isin(env.worlds.cells[0] & 15, (k.WALL_TYPE, k.LAVA)).reshape(6, 6)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), blocked)
    assert info["steps_to_go"] >= shown[1, 1]


def test_the_second_map_counts_every_step_over_the_same_layout() -> None:
    env, (_, visits) = maps("FourRooms", seed=2, steps=500)  # five episodes, each in the layout of the seed
    counted = numbers(visits)
    assert counted.sum() == 500
    before = env.worlds.cells.copy(), env.worlds.state.copy()
    env.reset(seed=2)
    np.testing.assert_array_equal(before[0], env.worlds.cells)
    np.testing.assert_array_equal(before[1], env.worlds.state)
    y, x = env.worlds.state[0, k.Y], env.worlds.state[0, k.X]
    assert counted[y, x] >= 5
    walls = env.worlds.cells[0].reshape(19, 19) == k.WALL
    assert np.ma.getmaskarray(counted)[walls].all()


def test_where_the_hook_is_a_bound_the_bar_says_so() -> None:
    for name, label in (("DoorKey-5x5", "success"), ("LockedRoom", "or less"), ("KeyCorridorS3R1", "success")):
        _, (axes, _) = maps(name, steps=1)
        assert axes.images[0].colorbar.ax.get_ylabel().endswith(label), name


def test_walls_things_and_the_agent_lie_above_the_colours() -> None:
    worlds = Worlds(TASKS["DoorKey-6x6-v0"], 1)
    worlds.begin(worlds.all)
    axes = Figure().subplots()
    heat_map(axes, worlds, 0, np.full((6, 6), 7.0), label="sevens")
    above = axes.images[1].get_array().reshape(6, TILE, 6, TILE, 4)
    clear = (above[..., 3] == 0).mean(axis=(1, 3))
    kinds = worlds.cells[0].reshape(6, 6) & 15
    assert (clear[(kinds == k.WALL_TYPE) | (kinds == k.GOAL)] == 0.0).all()
    empty = kinds == k.EMPTY
    empty[worlds.state[0, k.Y], worlds.state[0, k.X]] = False
    assert (clear[empty] > 0.7).all()
    for other in (kinds == k.KEY, kinds == k.DOOR):
        assert (clear[other] < 0.7).all()
    assert len(axes.texts) == 36 and axes.texts[0].get_text() == "7"
    assert axes.images[0].colorbar.ax.get_ylabel() == "sevens"


def test_a_map_with_nothing_in_it_can_be_drawn_and_another_shape_not() -> None:
    worlds = Worlds(TASKS["Empty-5x5-v0"], 1)
    worlds.begin(worlds.all)
    figure = Figure()
    heat_map(figure.subplots(), worlds, 0, np.zeros((5, 5)), log=True)
    figure.canvas.draw()
    with pytest.raises(ValueError, match=r"give \[H, W\]"):
        heat_map(figure.subplots(), worlds, 0, np.zeros((4, 5)))


def test_the_gallery_has_every_task_and_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "docs")
    gallery, generate = importlib.import_module("gallery"), importlib.import_module("generate")
    assert {p.stem for p in gallery.PICTURES.iterdir()} == set(TASKS), "make docs draws the missing; add or remove them"
    pages = dict(gallery.pages(generate.table, generate.defaults))
    sections = "".join(page for name, page in pages.items() if not name.endswith("index.md"))
    for name, spec in TASKS.items():
        assert f"(#{gallery.anchor(name)})" in pages["gridworlds/index.md"]
        assert sections.count(f"({gallery.anchor(name)})=") == 1 and spec.task in sections
        with Image.open(gallery.PICTURES / f"{name}.png") as drawn:
            assert drawn.width * spec.height == drawn.height * spec.width, name


def test_a_map_by_search_shows_the_hook_of_an_agent_put_there() -> None:
    worlds = Worlds(TASKS["KeyCorridorS3R1-v0"], 1)
    worlds.seed(worlds.all, [5])
    worlds.begin(worlds.all)
    plans = distances(worlds)
    steps = plans.poses(0)
    here = tuple(worlds.state[0, [k.Y, k.X, k.DIR]])
    assert steps[here] == plans.values(worlds.all)[0] and np.isfinite(steps).sum() == 12
    walls = (worlds.cells[0].reshape(steps.shape[:2]) & 15) == k.WALL_TYPE
    assert np.isinf(steps[walls]).all()
    for turn in (k.LEFT, k.RIGHT):  # three cells can be entered, in four directions each
        worlds.step(np.array([turn]))
        assert plans.values(worlds.all)[0] == steps[tuple(worlds.state[0, [k.Y, k.X, k.DIR]])]
