"""Layouts drawn in text, one letter a cell, and the task that a drawing is.

    #  wall              A  agent, facing east        K  key             D  closed door
    .  empty             < > ^ v  agent, facing so    L  locked door     O  open door
    G  goal              ~  lava                      ,  blue floor

Keys and doors are yellow.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass

import numpy as np

from reward_envs.grid.distance import Distances
from reward_envs.grid.spec import GridSpec
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.kernels.grid_distance import FAR
from reward_envs.kernels.grid_fields import GOAL_CELL, LAVA_CELL, fixed
from reward_envs.kernels.grid_more import BLUE_FLOOR

_DOOR = k.DOOR | k.YELLOW << 4
CELLS = {
    "#": k.WALL,
    ".": k.EMPTY,
    "G": GOAL_CELL,
    "~": LAVA_CELL,
    ",": BLUE_FLOOR,
    "K": k.KEY | k.YELLOW << 4,
    "L": _DOOR | k.LOCKED << 7 | k.OPAQUE,
    "D": _DOOR | k.CLOSED << 7 | k.OPAQUE,
    "O": _DOOR,
}
AGENTS = {"A": 0, ">": 0, "v": 1, "<": 2, "^": 3}
TWO_ROOMS = """
#########
#A..#...#
#...#...#
#.K.L...#
#...#..G#
#########
"""


@dataclass(frozen=True)
class Drawing:
    """A drawing that was read: its size, the cells row by row, and where the agent begins."""

    width: int
    height: int
    cells: tuple[int, ...]
    x: int
    y: int
    heading: int


def read(text: str) -> Drawing:
    """The layout that a text draws; indentation and empty lines around it do not count.

    Raises ValueError where it is no rectangle, holds another letter, is not closed by walls, or has no agent or two.

    >>> drawing = read("#####\\n#A.G#\\n#####")
    >>> drawing.width, drawing.height, drawing.x, drawing.y
    (5, 3, 1, 1)
    """
    if not isinstance(text, str):
        raise TypeError(f"a layout of type {type(text).__name__}: it is a text with one letter a cell.")
    lines = inspect.cleandoc(text).splitlines()
    width = len(lines[0]) if lines else 0
    if width < 3 or len(lines) < 3:
        raise ValueError(f"a layout of {len(lines)} rows of {width} cells: it has walls around it, so at least 3 by 3.")
    for y, line in enumerate(lines):
        if len(line) != width:
            raise ValueError(f"row {y} of the layout has {len(line)} cells and row 0 has {width}: draw a rectangle.")
        for x, letter in enumerate(line):
            if letter not in CELLS and letter not in AGENTS:
                raise ValueError(f"{letter!r} in column {x}, row {y}: a layout has {' '.join([*CELLS, *AGENTS])}.")
            if letter != "#" and (x in (0, width - 1) or y in (0, len(lines) - 1)):
                raise ValueError(f"{letter!r} in column {x}, row {y}, at the border: walls (#) close a layout.")
    letters = "".join(lines)
    agents = [at for at, letter in enumerate(letters) if letter in AGENTS]
    if len(agents) != 1:
        raise ValueError(f"the layout has {len(agents)} agents: draw one, as A or as one of < > ^ v.")
    cells = tuple(CELLS.get(letter, k.EMPTY) for letter in letters)
    return Drawing(width, len(lines), cells, agents[0] % width, agents[0] // width, AGENTS[letters[agents[0]]])


def drawn(text: str, max_steps: int | None, farthest: float, task: str = "") -> GridSpec:
    """The task of a drawing whose largest `steps_to_go` is known; see `layout_spec`."""
    drawing = read(text)
    doors = [c & ~k.OPAQUE for c in drawing.cells if c & 15 == k.DOOR]
    lock, closed = _DOOR | k.LOCKED << 7 in doors, _DOOR | k.CLOSED << 7 in doors
    lava = LAVA_CELL in drawing.cells
    mission = "avoid the lava and get to the green goal square" if lava else "get to the green goal square"
    if lock:
        mission = "use the key to open the door and then get to the goal"
    return GridSpec(
        task=task or "Go to the goal of a layout that was drawn in text.",
        layout=fixed,
        width=drawing.width,
        height=drawing.height,
        max_steps=4 * drawing.width * drawing.height if max_steps is None else max_steps,
        params=(drawing.x, drawing.y, drawing.heading, *drawing.cells),
        missions=(mission,),
        failing_ends=lava,
        milestone_names=("take the key", "open the locked door", "succeed") if lock else ("succeed",),
        steps_to_go_max=farthest,
        exact=not lock or (not closed and drawing.cells.count(CELLS["K"]) == 1),
    )


def layout_spec(layout: str = TWO_ROOMS, max_steps: int | None = None) -> GridSpec:
    """The task of going to a goal of your own layout, sparse as all gridworlds.

    Parameters
    ----------
    layout
        The drawing, in the letters of this page: at least one goal, one agent, walls all around.
    max_steps
        After which an episode is truncated; by default four times the number of cells.

    `steps_to_go` is exact, but for layouts with several keys, or with locked and closed doors: there it is a lower
    bound and `card.exact` is False. Raises ValueError where the drawing cannot be read (see `read`), has no goal, or
    where no way leads to one, and for max_steps below 1.

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make("reward_envs/Layout-v0", hooks=("steps_to_go",), max_steps=50, layout='''
    ...     #######
    ...     #A.#..#
    ...     #..D.G#
    ...     #######
    ... ''')
    >>> _, info = env.reset(seed=0)
    >>> info["steps_to_go"].item(), env.unwrapped.max_steps
    (8.0, 50)
    """
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps={max_steps}: an episode has at least one step.")
    spec = drawn(layout, max_steps, 1.0)
    if GOAL_CELL not in spec.params[3:]:
        raise ValueError("the layout has no goal: draw one as G.")
    start, farthest = distances(spec)
    if start == np.inf:
        raise ValueError(
            "no way leads from the agent to a goal: walls, lava, or a locked door without a key before it lie between. "
            "Open a way."
        )
    return dataclasses.replace(spec, steps_to_go_max=farthest)


def distances(spec: GridSpec) -> tuple[float, float]:
    """`steps_to_go` at the start of a task with one layout, and a bound of it in an episode."""
    worlds = Worlds(spec, 1)
    worlds.begin(worlds.all)
    fields = Distances(worlds)
    start = float(fields.values(worlds.all)[0])
    bound = farthest(fields)
    if any(code & 15 == k.KEY for code in spec.params[3:]):
        worlds.state[0, k.CARRY] = CELLS["K"]
        bound += farthest(fields)  # to the key, wherever it was dropped, and on from there
    return start, bound + sum(code == CELLS["O"] for code in spec.params[3:])  # which the agent may close


def farthest(fields: Distances) -> float:
    """The largest finite distance of world 0, with what the agent holds."""
    poses = fields.poses(0)
    return float(poses[poses < FAR].max(initial=1.0))
