"""MiniGrid's tasks about things: GoToDoor, GoToObject, Fetch, PutNear, RedBlueDoors, Memory, Dynamic-Obstacles.

`OBJECTS` holds them by their id in the MiniGrid package without its prefix. Every one of them can end without success:
at the wrong thing, the wrong door, the wrong end of a hallway, a ball.

>>> fetch_8x8 = OBJECTS["Fetch-8x8-N3-v0"]
>>> len(fetch_8x8.missions), fetch_8x8.missions[32]
(60, 'fetch a blue ball')
>>> OBJECTS["PutNear-6x6-N2-v0"].missions[18 * 12 + 4]
'put the red box near the yellow key'
"""

from __future__ import annotations

from typing import Final

from reward_envs.grid.spec import COLOURS, KINDS, GridSpec
from reward_envs.kernels.grid import DODGE, FETCH, FORWARD, GO_TO, KEY, MEMORY, PUT_NEAR, RED_BLUE
from reward_envs.kernels.grid_objects import (
    FETCHED,
    PHRASES,
    THINGS,
    dynamic_obstacles,
    fetch,
    go_to_door,
    go_to_object,
    memory,
    put_near,
    red_blue_doors,
)

_PHRASES: Final = ("get a", "go get a", "fetch a", "go fetch a", "you must fetch a")


def _thing(number: int) -> str:
    return f"{COLOURS[number % 6]} {KINDS[KEY + number // 6]}"


def _go_to_door_mission(number: int) -> str:
    return f"go to the {COLOURS[number]} door"


def _go_to_object_mission(number: int) -> str:
    return f"go to the {_thing(number)}"


def _fetch_mission(number: int) -> str:
    return f"{_PHRASES[number // FETCHED]} {_thing(number % FETCHED)}"


def _put_near_mission(number: int) -> str:
    return f"put the {_thing(number // THINGS)} near the {_thing(number % THINGS)}"


def _go_to_door(size: int) -> GridSpec:
    return GridSpec(
        task="Go to the door of the colour that the mission names, and say done beside it.",
        layout=go_to_door,
        width=size,
        height=size,
        max_steps=4 * size**2,
        rule=GO_TO,
        missions=tuple(map(_go_to_door_mission, range(6))),
        see_through=True,
        failing_ends=True,
        steps_to_go_max=3.0 * size,
        source="minigrid.envs:GoToDoorEnv",
        kwargs={"size": size},
    )


def _go_to_object(size: int, count: int) -> GridSpec:
    return GridSpec(
        task="Go to the thing that the mission names, and say done beside it.",
        layout=go_to_object,
        width=size,
        height=size,
        max_steps=5 * size**2,
        params=(count,),
        rule=GO_TO,
        missions=tuple(map(_go_to_object_mission, range(THINGS))),
        see_through=True,
        failing_ends=True,
        steps_to_go_max=2.0 * size,
        exact=False,  # another thing may stand in the way
        source="minigrid.envs:GoToObjectEnv",
        kwargs={"size": size, "numObjs": count},
    )


def _fetch(size: int, count: int) -> GridSpec:
    return GridSpec(
        task="Pick up the thing that the mission names; picking up another ends the episode.",
        layout=fetch,
        width=size,
        height=size,
        max_steps=5 * size**2,
        params=(count,),
        rule=FETCH,
        missions=tuple(map(_fetch_mission, range(PHRASES * FETCHED))),
        see_through=True,
        failing_ends=True,
        steps_to_go_max=2.0 * size + 2,
        source="minigrid.envs:FetchEnv",
        kwargs={"size": size, "numObjs": count},
    )


def _put_near(size: int, count: int) -> GridSpec:
    return GridSpec(
        task="Pick up the first thing that the mission names, and drop it in a cell that touches the second.",
        layout=put_near,
        width=size,
        height=size,
        max_steps=5 * size,
        params=(count,),
        rule=PUT_NEAR,
        missions=tuple(map(_put_near_mission, range(THINGS**2))),
        see_through=True,
        failing_ends=True,
        steps_to_go_max=4.0 * size,
        exact=False,  # a box may be opened on the way there and back
        source="minigrid.envs:PutNearEnv",
        kwargs={"size": size, "numObjs": count},
    )


def _red_blue_doors(size: int) -> GridSpec:
    return GridSpec(
        task="Open the red door, then the blue door; the other order ends the episode.",
        layout=red_blue_doors,
        width=2 * size,
        height=size,
        max_steps=20 * size**2,
        rule=RED_BLUE,
        missions=("open the red door then the blue door",),
        failing_ends=True,
        steps_to_go_max=6.0 * size,
        source="minigrid.envs:RedBlueDoorEnv",
        kwargs={"size": size},
    )


def _memory(size: int, random_length: bool) -> GridSpec:
    return GridSpec(
        task="Remember the thing in the first room, and go to its like at the fork of the hallway.",
        layout=memory,
        width=size,
        height=size,
        max_steps=5 * size**2,
        params=(int(random_length),),
        rule=MEMORY,
        missions=("go to the matching object at the end of the hallway",),
        failing_ends=True,
        steps_to_go_max=size + 4.0,
        source="minigrid.envs:MemoryEnv",
        kwargs={"size": size, "random_length": random_length},
    )


def _dynamic_obstacles(size: int, balls: int, anywhere: bool) -> GridSpec:
    return GridSpec(
        task="Go to the green goal past the moving balls; running into a ball or a wall ends the episode and costs 1.",
        layout=dynamic_obstacles,
        width=size,
        height=size,
        max_steps=4 * size**2,
        params=(balls, int(anywhere)),
        rule=DODGE,
        missions=("get to the green goal square",),
        see_through=True,
        actions=FORWARD + 1,
        failing_ends=True,
        steps_to_go_max=2.0 * size - 3,
        exact=False,  # balls may stand in the way
        reward_range=(-1.0, 1.0),
        source="minigrid.envs:DynamicObstaclesEnv",
        kwargs={"size": size, "n_obstacles": balls, **({"agent_start_pos": None} if anywhere else {})},
    )


OBJECTS: Final[dict[str, GridSpec]] = {
    **{f"GoToDoor-{size}x{size}-v0": _go_to_door(size) for size in (5, 6, 8)},
    **{f"GoToObject-{size}x{size}-N2-v0": _go_to_object(size, 2) for size in (6, 8)},
    **{f"Fetch-{size}x{size}-N{count}-v0": _fetch(size, count) for size, count in ((5, 2), (6, 2), (8, 3))},
    **{f"PutNear-{size}x{size}-N{count}-v0": _put_near(size, count) for size, count in ((6, 2), (8, 3))},
    **{f"RedBlueDoors-{size}x{size}-v0": _red_blue_doors(size) for size in (6, 8)},
    **{f"MemoryS{size}-v0": _memory(size, False) for size in (7, 9, 11, 13)},
    **{f"MemoryS{size}Random-v0": _memory(size, True) for size in (13, 17)},
    **{
        f"Dynamic-Obstacles-{size}x{size}-v0": _dynamic_obstacles(size, balls, False)
        for size, balls in ((5, 2), (6, 3), (8, 4), (16, 8))
    },
    **{
        f"Dynamic-Obstacles-Random-{size}x{size}-v0": _dynamic_obstacles(size, balls, True)
        for size, balls in ((5, 2), (6, 3))
    },
}
