"""Tasks whose end is a goal to reach, by id: Empty, FourRooms, DoorKey, MultiRoom, crossings, LavaGap, DistShift."""

from __future__ import annotations

from reward_envs.grid.spec import COLOURS, GridSpec
from reward_envs.kernels import grid_fields as layouts

BY_NAME = sorted(COLOURS)
AVOID = "avoid the lava and get to the green goal square"
OPENING = "find the opening and get to the green goal square"


CROSSINGS = {"S9N1": (9, 1, 22.0), "S9N2": (9, 2, 34.0), "S9N3": (9, 3, 44.0), "S11N5": (11, 5, 64.0)}


def _empty(size: int, anywhere: bool) -> GridSpec:
    return GridSpec(
        task="Go to the green goal in the far corner of an empty room.",
        layout=layouts.empty,
        width=size,
        height=size,
        max_steps=4 * size**2,
        params=(int(anywhere),),
        missions=("get to the green goal square",),
        see_through=True,
        steps_to_go_max=2.0 * size - 2,
        source="minigrid.envs:EmptyEnv",
        kwargs={"size": size, **({"agent_start_pos": None} if anywhere else {})},
    )


def _door_key(size: int) -> GridSpec:
    return GridSpec(
        task="Take the key, open the locked door with it, and go to the green goal.",
        layout=layouts.door_key,
        width=size,
        height=size,
        max_steps=10 * size**2,
        missions=("use the key to open the door and then get to the goal",),
        milestone_names=("take the key", "open the locked door", "succeed"),
        steps_to_go_max={5: 16.0, 6: 20.0, 8: 30.0, 16: 70.0}[size],
        source="minigrid.envs:DoorKeyEnv",
        kwargs={"size": size},
    )


def _multi_room(rooms: int, size: int, farthest: float) -> GridSpec:
    return GridSpec(
        task="Open the doors from room to room and go to the green goal.",
        layout=layouts.multi_room,
        width=25,
        height=25,
        max_steps=20 * rooms,
        params=(rooms, rooms, size),
        missions=("traverse the rooms to get to the goal",),
        milestone_names=(*(f"open door {i + 1}" for i in range(rooms - 1)), "succeed"),
        steps_to_go_max=farthest,
        source="minigrid.envs:MultiRoomEnv",
        kwargs={"minNumRooms": rooms, "maxNumRooms": rooms, "maxRoomSize": size},
    )


def _crossing(size: int, crossings: int, lava: bool, farthest: float) -> GridSpec:
    what = "lava" if lava else "walls"
    return GridSpec(
        task=f"Go to the green goal through the gaps in the {what}."
        + (" Stepping into lava ends the episode." if lava else ""),
        layout=layouts.crossing,
        width=size,
        height=size,
        max_steps=4 * size**2,
        params=(crossings, int(lava)),
        missions=(AVOID if lava else OPENING,),
        failing_ends=lava,
        steps_to_go_max=farthest,
        source="minigrid.envs:CrossingEnv",
        kwargs={"size": size, "num_crossings": crossings, "obstacle_type": "lava" if lava else "wall"},
    )


def _lava_gap(size: int) -> GridSpec:
    return GridSpec(
        task="Go to the green goal through the gap in the lava. Stepping into lava ends the episode.",
        layout=layouts.lava_gap,
        width=size,
        height=size,
        max_steps=4 * size**2,
        missions=(AVOID,),
        failing_ends=True,
        steps_to_go_max=3.0 * size,
        source="minigrid.envs:LavaGapEnv",
        kwargs={"size": size},
    )


def _dist_shift(row: int) -> GridSpec:
    return GridSpec(
        task="Go past the lava to the green goal. Stepping into lava ends the episode.",
        layout=layouts.dist_shift,
        width=9,
        height=7,
        max_steps=4 * 9 * 7,
        params=(row,),
        missions=("get to the green goal square",),
        see_through=True,
        failing_ends=True,
        steps_to_go_max=18.0,
        source="minigrid.envs:DistShiftEnv",
        kwargs={"strip2_row": row},
    )


def _locked_room_mission(number: int) -> str:
    locked, home = BY_NAME[number // 6], BY_NAME[number % 6]
    return f"get the {locked} key from the {home} room, unlock the {locked} door and go to the goal"


FIELDS: dict[str, GridSpec] = {
    **{f"Empty-{s}x{s}-v0": _empty(s, False) for s in (5, 6, 8, 16)},
    **{f"Empty-Random-{s}x{s}-v0": _empty(s, True) for s in (5, 6)},
    "FourRooms-v0": GridSpec(
        task="Go to the green goal in one of four rooms.",
        layout=layouts.four_rooms,
        width=19,
        height=19,
        max_steps=100,
        missions=("reach the goal",),
        steps_to_go_max=60.0,
        source="minigrid.envs:FourRoomsEnv",
        kwargs={},
    ),
    **{f"DoorKey-{s}x{s}-v0": _door_key(s) for s in (5, 6, 8, 16)},
    "MultiRoom-N2-S4-v0": _multi_room(2, 4, 11.0),
    "MultiRoom-N4-S5-v0": _multi_room(4, 5, 40.0),
    "MultiRoom-N6-v0": _multi_room(6, 10, 120.0),
    **{
        f"{kind}Crossing{name}-v0": _crossing(*sizes[:2], kind == "Lava", sizes[2])
        for kind in ("Lava", "Simple")
        for name, sizes in CROSSINGS.items()
    },
    **{f"LavaGapS{s}-v0": _lava_gap(s) for s in (5, 6, 7)},
    "DistShift1-v0": _dist_shift(2),
    "DistShift2-v0": _dist_shift(5),
    "LockedRoom-v0": GridSpec(
        task="Fetch the key from the room that the mission names, open the locked room with it and go to the goal.",
        layout=layouts.locked_room,
        width=19,
        height=19,
        max_steps=190,
        missions=tuple(_locked_room_mission(i) for i in range(36)),
        milestone_names=("take the key", "open the locked door", "succeed"),
        steps_to_go_max=100.0,
        exact=False,
        source="minigrid.envs:LockedRoomEnv",
        kwargs={"size": 19},
    ),
}
