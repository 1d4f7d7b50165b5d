"""Layouts drawn in text."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from reward_envs.grid.distance import Distances
from reward_envs.grid.drawing import AGENTS, CELLS, TWO_ROOMS, distances, layout_spec
from reward_envs.grid.more import MORE
from reward_envs.kernels import grid as k
from tests.grid.tools import begun

LOCKED = """
    ########
    #>.~...#
    #.K#.D.#
    #..L.#G#
    ########
"""


def test_a_drawing_is_what_the_engine_plays() -> None:
    env = gym.make("reward_envs/Layout-v0", layout=LOCKED, max_steps=77, hooks=("steps_to_go", "caption"))
    _, info = env.reset(seed=0)
    worlds = env.unwrapped.worlds
    letters = {code: letter for letter, code in CELLS.items()}
    rows = worlds.cells.reshape(5, 8).tolist()
    drawn = ["".join(letters[c] for c in row) for row in rows]
    assert drawn == [line.strip().replace(">", ".") for line in LOCKED.strip().splitlines()]
    assert worlds.state[0, [k.X, k.Y, k.DIR]].tolist() == [1, 1, 0]
    assert env.unwrapped.max_steps == 77 and env.unwrapped.card.failing_ends
    assert env.unwrapped.card.exact is False  # the same closed door may be passed twice
    for action in (1, 2, 0, 3, 1, 2, 0, 2, 5, 2, 2, 0, 2, 1, 5, 2, 2, 1, 2):
        before = info["steps_to_go"]
        _, reward, terminated, _, info = env.step(action)
        assert info["steps_to_go"] >= before - 1
    assert terminated and info["is_success"] and reward == pytest.approx(1 - 0.9 * 19 / 77)


@pytest.mark.parametrize("letter", AGENTS)
def test_the_letter_of_an_agent_is_its_direction(letter: str) -> None:
    worlds = begun(layout_spec(f"#####\n#...#\n#.{letter}G#\n#####"), 1)
    assert worlds.state[0, [k.X, k.Y, k.DIR]].tolist() == [2, 2, AGENTS[letter]]
    assert Distances(worlds).values(worlds.all) == [{0: 1, 1: 2, 2: 3, 3: 2}[AGENTS[letter]]]


WRONG = [
    ("#####\n#A.G#\n####", "row 2 of the layout has 4 cells and row 0 has 5: draw a rectangle"),
    ("#####\n#A?G#\n#####", r"'\?' in column 2, row 1: a layout has # \. G"),
    ("#####\n#..G#\n#####", "the layout has 0 agents: draw one"),
    ("#####\n#AvG#\n#####", "the layout has 2 agents: draw one"),
    ("#####\n#A.G.\n#####", r"'\.' in column 4, row 1, at the border: walls \(#\) close a layout"),
    ("##D##\n#A.G#\n#####", "'D' in column 2, row 0, at the border"),
    ("#####\n#A..#\n#####", "the layout has no goal: draw one as G"),
    ("#####\n#A#G#\n#####", "no way leads from the agent to a goal"),
    ("#####\n#A~G#\n#####", "no way leads from the agent to a goal"),
    ("#####\n#ALG#\n#####", "no way leads from the agent to a goal: .* a locked door without a key"),
    ("######\n#ALKG#\n######", "no way leads from the agent to a goal"),
    ("", "a layout of 0 rows of 0 cells"),
    ("##\n##", "a layout of 2 rows of 2 cells: it has walls around it, so at least 3 by 3"),
]


@pytest.mark.parametrize(("layout", "says"), WRONG)
def test_refused_layouts_say_why(layout: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        gym.make("reward_envs/Layout-v0", layout=layout)


def test_refused_steps_and_types() -> None:
    with pytest.raises(ValueError, match="max_steps=0: an episode has at least one step"):
        layout_spec(max_steps=0)
    with pytest.raises(TypeError, match="a layout of type list: it is a text"):
        layout_spec(["#"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Layout-v0", "Monitored-v0"])
def test_distances_that_are_stated_are_those_of_the_drawing(name: str) -> None:
    start, farthest = distances(MORE[name])
    assert MORE[name].steps_to_go_max == farthest
    assert start == {"Layout-v0": 14.0, "Monitored-v0": 5.0}[name]


def test_the_default_layout() -> None:
    assert layout_spec() == MORE["Layout-v0"] == layout_spec(TWO_ROOMS, 4 * 9 * 6)
    assert MORE["Layout-v0"].exact and not layout_spec(TWO_ROOMS.replace("A.", "AK")).exact


@pytest.mark.parametrize("layout", [TWO_ROOMS, LOCKED, "######\n#A.OG#\n#KD..#\n######"])
def test_steps_to_go_stay_below_their_bound(layout: str) -> None:
    worlds = begun(layout_spec(layout), 200)
    fields, rng = Distances(worlds), np.random.default_rng(0)
    for _ in range(60):
        worlds.step(rng.choice(7, 200, p=[0.15, 0.15, 0.4, 0.1, 0.1, 0.1, 0.0]))
        left = fields.values(worlds.all)
        assert left[np.isfinite(left)].max() <= worlds.spec.steps_to_go_max
        over = np.flatnonzero(worlds.terminated | worlds.truncated)
        worlds.begin(over)
        fields.forget(over)
