"""MiniGrid's tasks of rooms in a grid: Unlock, UnlockPickup, BlockedUnlockPickup, KeyCorridor, ObstructedMaze.

Where MiniGrid has an ObstructedMaze in two versions, ours is its -v1, in which no ball comes to lie on a key.

>>> ROOMS["KeyCorridorS3R1-v0"].missions[0]
'pick up the red ball'
>>> ROOMS["ObstructedMaze-Full-v0"].max_steps
3600
"""

from __future__ import annotations

from typing import Any

from reward_envs.grid.spec import COLOURS, GridSpec
from reward_envs.kernels import grid_rooms
from reward_envs.kernels.grid import TAKE, UNLOCK

_MILESTONES = ("take the key", "open the locked door", "succeed")


def _of_colour(thing: str) -> tuple[str, ...]:
    return tuple(f"pick up the {colour} {thing}" for colour in COLOURS)


def _unlock(task: str, source: str, max_steps: int, *, box: bool = False, blocked: bool = False) -> GridSpec:
    """To open the door, or to pick up the box behind it."""
    return GridSpec(
        task=task,
        layout=grid_rooms.unlock,
        width=11,
        height=6,
        max_steps=max_steps,
        params=(6, int(box), int(blocked)),
        rule=TAKE if box else UNLOCK,
        missions=_of_colour("box") if box else ("open the door",),
        milestone_names=_MILESTONES,
        steps_to_go_max=30.0 if box else 20.0,
        exact=not box,
        source=f"minigrid.envs:{source}",
        kwargs={},
    )


def _key_corridor(size: int, rows: int, steps_to_go_max: float) -> GridSpec:
    return GridSpec(
        task="Find the key, open the locked room with it, drop it, and pick up the ball.",
        layout=grid_rooms.key_corridor,
        width=3 * (size - 1) + 1,
        height=rows * (size - 1) + 1,
        max_steps=30 * size**2,
        params=(size,),
        rule=TAKE,
        missions=_of_colour("ball"),
        milestone_names=_MILESTONES,
        steps_to_go_max=steps_to_go_max,
        exact=rows == 1,  # a layout small enough to search whole
        source="minigrid.envs:KeyCorridorEnv",
        kwargs={"room_size": size, "num_rows": rows},
    )


def _maze(
    in_box: bool,
    blocked: bool,
    visited: int,
    *,
    quarters: int = 0,
    agent_room: tuple[int, int] = (0, 0),
    source: str = "ObstructedMaze_Full_V1",
) -> GridSpec:
    """3 x 3 rooms, or two where no quarter of them has doors; `visited` is MiniGrid's measure for the most steps."""
    about = "Find the blue ball behind a locked door and pick it up."
    about += " The keys lie in grey boxes." if in_box else ""
    about += " Green balls lie before the locked doors." if blocked else ""
    kwargs: dict[str, Any] = {"key_in_box": in_box, "blocked": blocked}
    if quarters:
        kwargs |= {"agent_room": agent_room, "num_quarters": quarters, "num_rooms_visited": visited}
    return GridSpec(
        task=about,
        layout=grid_rooms.maze if quarters else grid_rooms.maze_of_two,
        width=16 if quarters else 11,
        height=16 if quarters else 6,
        max_steps=4 * visited * 6**2,
        params=(6, int(in_box), int(blocked), quarters, *agent_room),
        rule=TAKE,
        missions=("pick up the blue ball",),
        milestone_names=_MILESTONES,
        steps_to_go_max=44.0 if quarters else 30.0,
        exact=False,
        source=f"minigrid.envs:{source if quarters else 'ObstructedMaze_1Dlhb'}",
        kwargs=kwargs,
    )


_PICK_UP = "open the locked door with it, drop it, and pick up the box."

ROOMS: dict[str, GridSpec] = {
    "Unlock-v0": _unlock("Take the key and open the locked door with it.", "UnlockEnv", 288),
    "UnlockPickup-v0": _unlock(f"Take the key, {_PICK_UP}", "UnlockPickupEnv", 288, box=True),
    "BlockedUnlockPickup-v0": _unlock(
        f"Move the ball away from the door, take the key, {_PICK_UP}",
        "BlockedUnlockPickupEnv",
        576,
        box=True,
        blocked=True,
    ),
    "KeyCorridorS3R1-v0": _key_corridor(3, 1, 18.0),
    "KeyCorridorS3R2-v0": _key_corridor(3, 2, 30.0),
    "KeyCorridorS3R3-v0": _key_corridor(3, 3, 44.0),
    "KeyCorridorS4R3-v0": _key_corridor(4, 3, 70.0),
    "KeyCorridorS5R3-v0": _key_corridor(5, 3, 100.0),
    "KeyCorridorS6R3-v0": _key_corridor(6, 3, 120.0),
    "ObstructedMaze-1Dl-v0": _maze(False, False, 2),
    "ObstructedMaze-1Dlh-v0": _maze(True, False, 2),
    "ObstructedMaze-1Dlhb-v0": _maze(True, True, 2),
    "ObstructedMaze-2Dl-v0": _maze(False, False, 4, quarters=1, agent_room=(2, 1), source="ObstructedMaze_Full"),
    "ObstructedMaze-2Dlh-v0": _maze(True, False, 4, quarters=1, agent_room=(2, 1), source="ObstructedMaze_Full"),
    "ObstructedMaze-2Dlhb-v0": _maze(True, True, 4, quarters=1, agent_room=(2, 1)),
    "ObstructedMaze-1Q-v0": _maze(True, True, 5, quarters=1, agent_room=(1, 1)),
    "ObstructedMaze-2Q-v0": _maze(True, True, 11, quarters=2, agent_room=(2, 1)),
    "ObstructedMaze-Full-v0": _maze(True, True, 25, quarters=4, agent_room=(1, 1)),
}
