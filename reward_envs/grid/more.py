"""Tasks that MiniGrid lacks: mazes, ways that change, a screen of noise, rewards seen only under a monitor, drawings.

A Monitored task (Parisi et al. 2024) shows the reward of a step only where its `Monitor` does; elsewhere the step pays
NaN, which reward methods read as unknown. `info` holds two more columns on every step: `monitor_reward`, what the
monitor charged, which an agent may know, and `true_reward`, the task's reward plus the monitor's, by which an agent is
judged and which it may not use. `info["is_success"]` stands as always. Stable-Baselines3 takes no NaN: there the reward
is a method that knows what to do with the unknown, such as `fill_unknown(task)`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.drawing import TWO_ROOMS, drawn, layout_spec, read
from reward_envs.grid.spec import GridSpec
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.kernels import grid_more as kernels
from reward_envs.kernels.grid_fields import four_rooms

GET_TO_GOAL = ("get to the green goal square",)


# mazes


def maze_spec(size: int, braid: int = 0) -> GridSpec:
    """A maze of `size` by `size` cells, size odd; `braid` percent of its dead ends are opened."""
    places = ((size - 1) // 2) ** 2
    return GridSpec(
        task="Find the way through a maze, new in every episode, to the goal at its far end.",
        layout=kernels.maze,
        width=size,
        height=size,
        max_steps=4 * size**2,
        params=(braid,),
        missions=GET_TO_GOAL,
        steps_to_go_max=3.0 * places - 2,  # all places in one line, a turn in each
    )


# In an episode the digit of its phase is wall in the detour, open in the shortcut; other digits are the opposite.
DETOUR = """
#############
######G.....#
######.####.#
######.####.#
######2####.#
######.####.#
######.####.#
######.####.#
###....####.#
###.##.####.#
###.##1####.#
###.##.####.#
###.##.####.#
###.##.####.#
###.##.####.#
###.##.####.#
###.##.####.#
###.........#
######.######
######^######
#############
"""
SHORTCUT = """
#############
##.........##
##.#######.##
##.1....##.##
##.#######.##
##.#######.##
##.1....##.##
##.#######.##
##.#######.##
##.1......G##
##.##########
##^##########
#############
"""


def _phases(task: str, texts: list[str], phase: int | None, farthest: float) -> GridSpec:
    if phase is not None and phase not in range(len(texts)):
        raise ValueError(f"phase={phase!r}: it is one of 0 to {len(texts) - 1}, or None to draw one each episode.")
    drawings = [read(text) for text in texts]
    first = drawings[0]
    cells = [code for drawing in drawings for code in drawing.cells]
    return GridSpec(
        task=task,
        layout=kernels.phases,
        width=first.width,
        height=first.height,
        max_steps=10 * (first.width + first.height),
        params=(-1 if phase is None else phase, len(texts), first.x, first.y, first.heading, *cells),
        missions=GET_TO_GOAL,
        steps_to_go_max=farthest,
    )


def detour_spec(phase: int | None = None) -> GridSpec:
    """Three ways lead from the start to the goal, of 18, 28 and 31 actions; the first two share their last part.

    Parameters
    ----------
    phase
        0: all are open. 1: the first is blocked before the second joins it. 2: it is blocked behind that, so that only
        the third is left. None draws one of the three in each episode; train on 0 and test on 2 to ask, as the
        experiment did, whether an agent that meets the block tries the second way in vain.

    With the usual view of 7 cells no block is seen from the junction where the ways part.

    Raises ValueError for another phase.

    Source: Tolman and Honzik 1930, "Insight in rats", University of California Publications in Psychology 4, 215-232;
    what such detours say of maps: Tolman 1948, "Cognitive maps in rats and men", Psychological Review 55, 189-208.

    >>> import gymnasium as gym, reward_envs
    >>> steps = []
    >>> for phase in range(3):
    ...     env = gym.make("reward_envs/Maze-Detour-v0", phase=phase, hooks=("steps_to_go",))
    ...     steps.append(env.reset()[1]["steps_to_go"].item())
    >>> steps
    [18.0, 28.0, 31.0]
    """
    texts = [_drawing(DETOUR, walls) for walls in ("", "1", "2")]
    return _phases("Go to the goal by the shortest way that is not blocked today.", texts, phase, 43.0)


def shortcut_spec(phase: int | None = None) -> GridSpec:
    """A long way of 28 actions leads round to the goal; in some episodes three side ways are open, and one is short.

    Parameters
    ----------
    phase
        0: only the long way is there. 1: three side ways have opened; the one that points to the goal leads there, by
        11 actions, and the others are dead ends. None draws one of the two in each episode; train on 0 and test on 1
        to ask whether an agent takes the way that points to the goal.

    Raises ValueError for another phase.

    Source: Tolman, Ritchie and Kalish 1946, "Studies in spatial learning. I. Orientation and the short-cut", Journal of
    Experimental Psychology 36, 13-24; told in Tolman 1948, "Cognitive maps in rats and men", Psychological Review 55,
    189-208.

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make("reward_envs/Maze-Shortcut-v0", phase=1, hooks=("steps_to_go",))
    >>> env.reset()[1]["steps_to_go"].item()
    11.0
    """
    texts = [_drawing(SHORTCUT, walls) for walls in ("1", "")]
    return _phases("Go to the goal, by a shortcut where one is open today.", texts, phase, 30.0)


def _drawing(text: str, walls: str) -> str:
    for digit in "12":
        text = text.replace(digit, "#" if digit in walls else ".")
    return text


# monitors


@dataclass(frozen=True)
class Monitor:
    """Where an agent sees the reward that it gets: a step is shown if any of these three shows it.

    Parameters
    ----------
    area
        Left, top, width and height of the cells in which every reward is shown; None for nowhere.
    switch
        Column and row of a door: while it stands open, the monitor runs and every reward is shown.
    share
        The chance that any other step is shown, 0 to 1; drawn from the world's own word.
    cost
        Paid at every step, as part of the reward, while the switch is on.

    Raises ValueError where share lies outside 0 to 1, or cost is negative or not finite.
    """

    area: tuple[int, int, int, int] | None = None
    switch: tuple[int, int] | None = None
    share: float = 0.0
    cost: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share={self.share}: the chance that a step is shown lies in 0 to 1.")
        if not 0.0 <= self.cost < np.inf:
            raise ValueError(f"cost={self.cost}: what a monitor charges a step is 0 or more.")


class MonitoredWorlds(Worlds):
    """Worlds whose reward is NaN where the task's monitor does not show it.

    `true_reward` float64[N] is the task's reward plus `monitor_reward` float64[N], which is -cost while the switch is
    on; both 0 where no step was made.
    """

    columns = ("monitor_reward", "true_reward")
    spec: MonitoredSpec

    def __init__(self, spec: MonitoredSpec, n: int, **kwargs: Any) -> None:
        super().__init__(spec, n, **kwargs)
        self.monitor_reward, self.true_reward = np.zeros(n), np.zeros(n)
        self._shown, self._running = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        monitor = spec.monitor
        left, top, w, h = monitor.area or (0, 0, 0, 0)
        door = -1 if monitor.switch is None else monitor.switch[1] * spec.width + monitor.switch[0]
        chance = round(monitor.share * kernels.ALWAYS)
        self._watch = np.array((spec.width, left, top, left + w, top + h, door, chance), np.int64)

    def begin(self, rows: NDArray[np.int64]) -> None:
        super().begin(rows)
        self.monitor_reward[rows] = self.true_reward[rows] = 0.0

    def step(self, actions: NDArray[np.int64], skip: NDArray[np.bool_] | None = None, moves: Any = None) -> int:
        ended = super().step(actions, skip, moves)
        skip = self._none if skip is None else skip
        kernels.watch(self.cells, self.state, self.words, skip, self._watch, self._shown, self._running)
        np.multiply(self._running, -self.spec.monitor.cost, out=self.monitor_reward)
        self.true_reward[:] = np.where(skip, 0.0, self.reward + self.monitor_reward)
        self.reward[:] = np.where(self._shown, self.true_reward, np.nan)
        return ended

    def pay(self, rows: NDArray[np.int64], extra: NDArray[np.float64]) -> None:
        super().pay(rows, extra)
        self.true_reward[rows] += extra


@dataclass(frozen=True)
class MonitoredSpec(GridSpec):
    """A gridworld task under a monitor."""

    monitor: Monitor = field(default_factory=Monitor)
    engine: ClassVar[Callable[..., Worlds]] = MonitoredWorlds


def monitored(spec: GridSpec, monitor: Monitor) -> MonitoredSpec:
    """Any task, with its reward shown only where the monitor shows it.

    Raises ValueError where the monitor's switch or area lies outside the grid.

    >>> from reward_envs.grid.env import GridEnv
    >>> from reward_envs.grid.tasks import TASKS
    >>> env = GridEnv(monitored(TASKS["Empty-5x5-v0"], Monitor(area=(3, 3, 1, 1))))
    >>> _ = env.reset(seed=0)
    >>> for action in (2, 2, 1, 2, 2):
    ...     _, reward, _, _, info = env.step(action)
    ...     print(reward, info["true_reward"])
    nan 0.0
    nan 0.0
    nan 0.0
    nan 0.0
    0.955 0.955
    """
    x, y, w, h = monitor.area or (0, 0, 1, 1)
    column, row = monitor.switch or (0, 0)
    if min(x, y, column, row) < 0 or max(x + w, column + 1) > spec.width or max(y + h, row + 1) > spec.height:
        raise ValueError(f"{monitor} reaches beyond the grid of {spec.width} by {spec.height} cells.")
    known = {f.name: getattr(spec, f.name) for f in dataclasses.fields(GridSpec)}
    low, high = spec.reward_range
    known["reward_range"] = (low - monitor.cost * spec.max_steps, high)
    return MonitoredSpec(**known, monitor=monitor)


TWO_PATHS = """
#########
####D####
#G..A...#
#######.#
#,,,,,,,#
#,,,,,,,#
#G,,,,,,#
#########
"""


def two_paths_spec(cost: float = 0.05) -> MonitoredSpec:
    """Two goals: a near one where nothing is shown, and a far one on blue floor, where everything is shown for nothing.

    The door in front of the start is the switch of the monitor. While it stands open, every reward is shown, and each
    step costs `cost`. The best an agent can do is to go to the near goal and leave the switch alone, but only with the
    switch on can it ever see what the near goal pays. An agent that reads an unseen reward as 0 goes to the far goal,
    or pays for the monitor for ever.

    Parameters
    ----------
    cost
        Of the monitor a step, while it is on.

    Raises ValueError where cost is negative or not finite.

    Source: Parisi, Mohammedalamen, Kazemipour, Taylor and Bowling 2024, "Monitored Markov Decision Processes", AAMAS,
    arXiv:2402.06819 (the button monitor).

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make("reward_envs/Monitored-v0")
    >>> _ = env.reset(seed=0)
    >>> for action in (0, 0, 2, 2, 2):
    ...     _, reward, _, _, info = env.step(action)
    >>> reward, info["true_reward"].item(), info["is_success"]
    (nan, 0.8875, True)
    """
    task = (
        "Go to a goal. The reward is shown on blue floor, and elsewhere only while the door stands open, for a price."
    )
    return monitored(drawn(TWO_PATHS, 40, 10.0, task), Monitor((1, 4, 7, 3), (4, 1), cost=cost))


def _rooms(layout: Callable[..., None], task: str, params: tuple[int, ...] = ()) -> GridSpec:
    return GridSpec(
        task=task,
        layout=layout,
        width=19,
        height=19,
        max_steps=200,
        params=params,
        missions=GET_TO_GOAL,
        steps_to_go_max=60.0,
    )


def random_monitor_spec(share: float = 0.5) -> MonitoredSpec:
    """Four rooms, and each step's reward is shown with chance `share`; 1 shows all.

    Raises ValueError where share lies outside 0 to 1. Source: as `two_paths_spec` (the random monitor).
    """
    task = "Go to the goal in one of four rooms. The reward of a step is shown by chance."
    return monitored(_rooms(four_rooms, task), Monitor(share=share))


def area_monitor_spec() -> MonitoredSpec:
    """Four rooms, and the reward is shown on the blue floor of the left half only: goals that lie right of it pay all
    the same, which an agent can know only by what goals on the left paid.

    Source: as `two_paths_spec` (monitors that depend on the state).
    """
    task = "Go to the goal in one of four rooms. The reward is shown in the left half, on blue floor."
    return monitored(_rooms(kernels.area_rooms, task, (9,)), Monitor((0, 0, 9, 19)))


# all


MORE: dict[str, GridSpec] = {
    "Maze-v0": maze_spec(15),
    "Maze-Large-v0": maze_spec(31, braid=50),
    "Maze-Detour-v0": detour_spec(),
    "Maze-Shortcut-v0": shortcut_spec(),
    "NoisyTV-v0": GridSpec(
        task="Go to the goal in one of four rooms. A screen in the floor of another shows noise for ever.",
        layout=kernels.screen_rooms,
        width=13,
        height=13,
        max_steps=200,
        params=(3, 2),
        rule=k.SCREEN,
        missions=GET_TO_GOAL,
        steps_to_go_max=40.0,
    ),
    "Monitored-v0": two_paths_spec(),
    "Monitored-Random-v0": random_monitor_spec(),
    "Monitored-Area-v0": area_monitor_spec(),
    "Layout-v0": drawn(TWO_ROOMS, None, 30.0),
}
KEYWORDS: dict[str, Callable[..., GridSpec]] = {
    "Maze-Detour-v0": detour_spec,
    "Maze-Shortcut-v0": shortcut_spec,
    "Monitored-v0": two_paths_spec,
    "Monitored-Random-v0": random_monitor_spec,
    "Layout-v0": layout_spec,
}


def asked(tasks: dict[str, GridSpec], name: str, kwargs: dict[str, Any]) -> GridSpec:
    """The task of that name; keywords of its own, such as `layout`, are taken out of `kwargs` and make another."""
    maker = KEYWORDS.get(name)
    own = {} if maker is None else {w: kwargs.pop(w) for w in inspect.signature(maker).parameters if w in kwargs}
    return tasks[name] if maker is None or not own else maker(**own)
