"""Tasks of MiniGrid with keys, doors and lava, with exact hooks: DoorKey, MultiRoom, KeyCorridor, LavaCrossing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from reward_envs.card import Card
from reward_envs.hooks import Hooked, check_reward_mode
from reward_envs.kernels.grid_plan import DOOR, FREE, GOAL, LAVA, TARGET, steps_to_success

_DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))
_FACING = ("east", "south", "west", "north")


class DoorTask(Hooked, gym.Env[dict[str, Any], int]):
    """A MiniGrid task with a key, doors, lava and one goal or target; same objects, observations and time limit.

    Reward: 1 - 0.9 t/max_steps at success, else 0 (`reward_mode="sparse"`). With `reward_mode="dense"` each step also
    pays `(d(s) - d(s')) / d_max`, d the exact number of steps to go and d_max its largest value: a step on a shortest
    way pays 1/d_max, and an episode's extra pay adds up to (d(s_0) - d(s_T)) / d_max.

    Hooks, each only where asked for through `request_hooks` or `hooks=`:

    - `steps_to_go`: the fewest actions to success, exact, also after objects were dropped elsewhere; 0 when done, inf
      in lava.
    - `milestones`: float64[K], 1 for each of `card.milestone_names` reached in the episode.
    - `progress`: their mean.
    - `caption`: the state in words.

    `info["is_success"]` stands on every step.

    Parameters
    ----------
    make
        Makes the minigrid environment, from a render mode.
    task
        A sentence for the card.
    steps_to_go_max
        A bound of the finite `steps_to_go`, the scale of potentials.
    reward_mode, hooks, render_mode
        As above, and as Gymnasium has it.
    """

    offers = ("steps_to_go", "progress", "milestones", "caption")
    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        make: Callable[[str | None], Any],
        task: str,
        steps_to_go_max: float,
        *,
        reward_mode: Literal["sparse", "dense"] = "sparse",
        hooks: tuple[str, ...] = (),
        render_mode: str | None = None,
    ) -> None:
        from reward_envs.grid.view import see_fast

        self.inner = make(render_mode)
        see_fast(self.inner)
        self.render_mode = render_mode
        self.reward_mode = check_reward_mode(reward_mode)
        self.observation_space, self.action_space = self.inner.observation_space, self.inner.action_space
        self.max_steps = int(self.inner.max_steps)  # where adapters look for the time limit
        self.inner.reset(seed=0)
        self.card = Card(
            task=task,
            hooks=self.offers,
            milestone_names=tuple(self._milestone_names()),
            steps_to_go_max=steps_to_go_max,
            failing_ends=any(t.type == "lava" for _, t in self._things()),
            reward_range=(0.0, 1.0),
        )
        self.request_hooks(hooks)

    # the Gymnasium side

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.inner.np_random = self.np_random  # one generator, also where nobody seeds
        obs, _ = self.inner.reset()
        self._plan: NDArray[np.float64] | None = None
        self._reached = np.zeros(len(self._milestone_names()))
        self._success = self._failed = False
        self._map()
        self._distance = self._steps_to_go() if self.reward_mode == "dense" else 0.0
        return obs, self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, _ = self.inner.step(action)
        self._success, self._failed = terminated and reward > 0, terminated and reward <= 0
        self._mark_milestones()
        if self.reward_mode == "dense":
            distance = min(self._steps_to_go(), self.card.steps_to_go_max or 1.0)
            reward += (self._distance - distance) / (self.card.steps_to_go_max or 1.0)
            self._distance = distance
        return obs, float(reward), bool(terminated), bool(truncated), self._info()

    def render(self) -> Any:
        return self.inner.render()

    def close(self) -> None:
        self.inner.close()

    # hooks

    def _info(self) -> dict[str, Any]:
        return {"is_success": bool(self._success), **self.hook_values()}

    def _steps_to_go(self) -> float:
        if self._success:
            return 0.0
        if self._failed:
            return np.inf
        if self._plan is None:
            has_key = self._key is not None
            self._plan = steps_to_success(self._ahead, self._kind, self._fits, has_key)
        return float(self._plan[self._code()])

    def _milestones(self) -> NDArray[np.float64]:
        return self._reached.copy()

    def _progress(self) -> float:
        return float(self._reached.mean())

    def _caption(self) -> str:
        inner = self.inner
        x, y = inner.agent_pos
        hands = f"carries the {inner.carrying.color} {inner.carrying.type}" if inner.carrying else "carries nothing"
        parts = [f"The agent is at column {x}, row {y}, faces {_FACING[inner.agent_dir]} and {hands}."]
        for (i, j), thing in self._things():
            state = ""
            if thing.type == "door":
                state = ", open" if thing.is_open else ", locked" if thing.is_locked else ", closed"
            name = thing.type if thing.type in ("goal", "lava") else f"{thing.color} {thing.type}"
            parts.append(f"The {name} is at column {i}, row {j}{state}.")
        return " ".join(parts)

    def _things(self) -> list[tuple[tuple[int, int], Any]]:
        grid = self.inner.grid
        cells = ((i, j) for j in range(grid.height) for i in range(grid.width))
        return [((i, j), t) for i, j in cells if (t := grid.get(i, j)) is not None and t.type != "wall"]

    def _milestone_names(self) -> list[str]:
        things = [t for _, t in self._things()]
        names = [f"take the {t.type}" for t in things if t.type == "key"]
        doors = sum(t.type == "door" for t in things)
        locked = any(t.type == "door" and t.is_locked for t in things)
        names += ["open the locked door"] if locked else [f"open door {k + 1}" for k in range(doors)]
        return [*names, "succeed"]

    def _mark_milestones(self) -> None:
        flags = []
        if self._key is not None:
            flags.append(self.inner.carrying is self._key)
        locked = [d for d, was in zip(self._doors, self._was_locked, strict=True) if was]
        flags += [locked[0].is_open] if locked else [d.is_open for d in self._doors]
        if not locked:  # doors are opened in any order: the k-th flag is "k doors were open at once or before"
            self._opened |= {i for i, d in enumerate(self._doors) if d.is_open}
            flags = [k < len(self._opened) for k in range(len(self._doors))]
        self._reached = np.maximum(self._reached, [*flags, self._success])

    # the layout and the state as the planner sees them

    def _map(self) -> None:
        grid, things = self.inner.grid, dict(self._things())
        walls = {(i, j) for j in range(grid.height) for i in range(grid.width) if _is_wall(grid.get(i, j))}
        cells = [(i, j) for j in range(grid.height) for i in range(grid.width) if (i, j) not in walls]
        self._cell = {at: k for k, at in enumerate(cells)}
        self._doors = [t for t in things.values() if t.type == "door"]
        self._was_locked = [d.is_locked for d in self._doors]
        self._opened: set[int] = set()
        self._key = next((t for t in things.values() if t.type == "key"), None)
        door_at = {at: k for k, (at, _) in enumerate((a, t) for a, t in things.items() if t.type == "door")}
        kinds = {"goal": GOAL, "lava": LAVA, "ball": TARGET, "box": TARGET}
        self._kind = np.array(
            [DOOR + door_at[c] if c in door_at else kinds.get(getattr(things.get(c), "type", ""), FREE) for c in cells]
        )
        self._ahead = np.array([[self._cell.get((i + a, j + b), -1) for a, b in _DIRECTIONS] for i, j in cells])
        color = self._key.color if self._key is not None else None
        self._fits = np.array([int(d.color == color) for d in self._doors], dtype=np.int64)

    def _code(self) -> int:
        inner, cells = self.inner, len(self._cell)
        key, places = 0, 1
        if self._key is not None:
            places = cells + 1
            carried = inner.carrying is self._key
            key = cells if carried else self._cell[int(self._key.cur_pos[0]), int(self._key.cur_pos[1])]
        doors = sum((0 if d.is_open else 2 if d.is_locked else 1) * 3**k for k, d in enumerate(self._doors))
        at = self._cell[int(inner.agent_pos[0]), int(inner.agent_pos[1])]
        return int(((at * 4 + int(inner.agent_dir)) * places + key) * 3 ** len(self._doors) + doors)


def _is_wall(thing: Any) -> bool:
    return thing is not None and thing.type == "wall"


def door_key(size: int, **kwargs: Any) -> DoorTask:
    """Take the key, open the locked door, go to the goal; a field of `size` x `size` with its walls."""
    from minigrid.envs.doorkey import DoorKeyEnv

    farthest = {5: 16.0, 6: 20.0, 8: 30.0}[size]
    task = "Take the key, open the locked door with it, and go to the green goal."
    return DoorTask(lambda mode: DoorKeyEnv(size=size, render_mode=mode), task, farthest, **kwargs)


def multi_room(rooms: int, size: int, **kwargs: Any) -> DoorTask:
    """Go through the doors of a row of `rooms` rooms of at most `size` cells across, to the goal in the last."""
    from minigrid.envs.multiroom import MultiRoomEnv

    def make(mode: str | None) -> Any:
        return MultiRoomEnv(minNumRooms=rooms, maxNumRooms=rooms, maxRoomSize=size, render_mode=mode)

    return DoorTask(make, "Open the doors from room to room and go to the green goal.", 11.0, **kwargs)


def key_corridor(size: int, rows: int, **kwargs: Any) -> DoorTask:
    """Fetch the key from a room of the corridor, open the locked room with it, and pick up the ball inside."""
    from minigrid.envs.keycorridor import KeyCorridorEnv

    def make(mode: str | None) -> Any:
        return KeyCorridorEnv(room_size=size, num_rows=rows, render_mode=mode)

    return DoorTask(make, "Find the key, open the locked room with it, drop it, and pick up the ball.", 18.0, **kwargs)


def lava_crossing(size: int, crossings: int, **kwargs: Any) -> DoorTask:
    """Cross `crossings` streams of lava, each with one gap, to the goal in the far corner; lava ends the episode."""
    from minigrid.envs.crossing import CrossingEnv

    farthest = {9: 22.0}[size]
    return DoorTask(
        lambda mode: CrossingEnv(size=size, num_crossings=crossings, render_mode=mode),
        "Go to the green goal through the gap in the lava. Stepping into lava ends the episode.",
        farthest,
        **kwargs,
    )
