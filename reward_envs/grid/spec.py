"""What a gridworld task is: its layouts, its rule, its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from reward_envs.kernels.grid import DONE, PLAIN


@dataclass(frozen=True)
class GridSpec:
    """A gridworld task.

    Parameters
    ----------
    task
        The task in a sentence.
    layout
        A kernel `(cells, state, words, rows, params)` that begins a new episode in the worlds `rows`.
    width, height
        Of the grid in cells, walls included.
    max_steps
        After which an episode is truncated.
    params
        Further integers that the layout takes; it is called with `(width, height, *params)`.
    rule
        What ends an episode besides the goal and lava; see `kernels.grid`.
    missions
        The words that the agent reads, by the state's MISSION number.
    see_through
        Whether walls hide nothing.
    actions
        Number of actions.
    failing_ends
        Whether an episode can terminate without success.
    reward_range
        Smallest and largest return.
    milestone_names
        See `grid.hooks`.
    steps_to_go_max
        Bound of the finite `steps_to_go`; None where the task does not give that hook.
    exact
        Whether `steps_to_go` is the number itself, or only never above it.
    source
        Of the task: the class of the minigrid package that it equals.
    kwargs
        Of that class.
    """

    task: str
    layout: Callable[..., None]
    width: int
    height: int
    max_steps: int
    params: tuple[int, ...] = ()
    rule: int = PLAIN
    missions: tuple[str, ...] = ("",)
    see_through: bool = False
    actions: int = DONE + 1
    failing_ends: bool = False
    reward_range: tuple[float, float] = (0.0, 1.0)
    milestone_names: tuple[str, ...] = ("succeed",)
    steps_to_go_max: float | None = None
    exact: bool = True
    source: str = ""
    kwargs: dict[str, Any] | None = None
    engine: ClassVar[Callable[..., Any] | None] = None  # what makes its worlds, where not `Worlds`


COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")  # by MiniGrid's numbers
KINDS = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava")
DOOR_STATES = ("open", "closed", "locked")
