"""What an environment says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """Facts about a task that reward methods and reports may rely on; an environment shows it as `env.unwrapped.card`.

    Parameters
    ----------
    task
        The task in a sentence.
    hooks
        Names that the environment can give in `info` when asked through `request_hooks`.
    milestone_names
        Names of the columns of the `milestones` hook, in order.
    steps_to_go_max
        The largest finite value of the `steps_to_go` hook.
    failing_ends
        True where an episode can terminate without success.
    reward_range
        Smallest and largest return of an episode.
    exact
        False where `steps_to_go` is only a lower bound.
    """

    task: str
    hooks: tuple[str, ...] = ()
    milestone_names: tuple[str, ...] = ()
    steps_to_go_max: float | None = None
    failing_ends: bool | None = None
    reward_range: tuple[float, float] | None = None
    exact: bool = True
