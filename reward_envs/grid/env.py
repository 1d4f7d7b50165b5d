"""Gridworld tasks as a Gymnasium environment and as a vector of them, on one engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from reward_envs.card import Card
from reward_envs.grid.hooks import GridHooks
from reward_envs.grid.spec import GridSpec
from reward_envs.grid.worlds import Worlds, as_action, as_actions
from reward_envs.hooks import check_render_mode, check_reward_mode
from reward_envs.vectors import RESET_FIRST, Moved, RowsVector

LETTERS = "abcdefghijklmnopqrstuvwxyz ,"
Mode = Literal["sparse", "dense"]


class _Task(Moved):
    """What the single environment and the vectors share: spaces, card, hooks, dense pay, and how worlds move."""

    _distance: NDArray[np.float64]
    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": 10}  # noqa: RUF012

    def _open(
        self,
        spec: GridSpec,
        n: int,
        view_size: int,
        full_view: bool,
        reward_mode: Mode,
        hooks: Iterable[str],
        threads: int = 1,
    ) -> None:
        self.task = spec
        self.worlds: Worlds = (spec.engine or Worlds)(
            spec, n, view_size=view_size, full_view=full_view, threads=threads
        )
        self.max_steps = spec.max_steps  # where adapters look for the time limit
        self._hooks = GridHooks(self.worlds)
        self.reward_mode = check_reward_mode(reward_mode)
        self._dense = reward_mode == "dense"
        if self._dense and spec.steps_to_go_max is None:
            raise ValueError("reward_mode='dense' needs the hook steps_to_go, which this task does not give.")
        self.card = Card(
            task=spec.task,
            hooks=self._hooks.offers,
            milestone_names=spec.milestone_names,
            steps_to_go_max=spec.steps_to_go_max,
            failing_ends=spec.failing_ends,
            reward_range=spec.reward_range,
            exact=spec.exact,
        )
        self.request_hooks(hooks)

    def request_hooks(self, hooks: Iterable[str]) -> None:
        """Give these hooks in `info` from the next reset on; they add to those asked for before."""
        self._hooks.request(hooks)

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks asked for."""
        return self._hooks.asked

    def _spaces(self) -> tuple[spaces.Dict, spaces.Discrete]:
        observation = spaces.Dict(
            {
                "direction": spaces.Discrete(4),
                "image": spaces.Box(0, 255, self.worlds.image.shape[1:], np.uint8),
                "mission": spaces.Text(max(1, *map(len, self.task.missions)), min_length=0, charset=LETTERS),
            }
        )
        return observation, spaces.Discrete(self.task.actions)

    @property
    def engine(self) -> Worlds:
        """The worlds, as vectors call them."""
        return self.worlds

    def _seed_rows(self, rows: NDArray[np.int64], seeds: Sequence[int]) -> None:
        self.worlds.seed(rows, seeds)

    def _start(self, rows: NDArray[np.int64]) -> None:
        self.worlds.begin(rows)
        self._hooks.begin(rows)
        if self._dense:
            if len(rows) == self.worlds.n:
                self._distance = self._near(rows)
            else:
                self._distance[rows] = self._near(rows)

    def _move(self, actions: Any, skip: NDArray[np.bool_] | None = None) -> int:
        ended = self.worlds.step(as_actions(actions, self.worlds.n), skip)
        if self._dense:
            self._pay_dense(self.worlds.all if skip is None else np.flatnonzero(~skip))
        return ended

    def _columns(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        return self._hooks.values(rows)

    def _pay_dense(self, rows: NDArray[np.int64]) -> None:
        """Add (d(s) - d(s')) / d_max to the rewards of the rows, in which lava and dead ends count as the farthest."""
        before, now = self._distance[rows], self._near(rows)
        self.worlds.pay(rows, (before - now) / (self.task.steps_to_go_max or 1.0))
        self._distance[rows] = now

    def _near(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.minimum(self._hooks.steps_to_go(rows), self.task.steps_to_go_max or 1.0)


class GridEnv(_Task, gym.Env[dict[str, Any], int]):
    """A MiniGrid task on our engine: its observations, actions, reward and time limit, some twenty times as fast.

    Observation: `image` uint8[7, 7, 3] (type, colour, door state of each cell that the agent sees, 0 where it sees
    nothing), `direction`, `mission`. Reward: 1 - 0.9 t/max_steps at success, else 0. With `reward_mode="dense"` each
    step also pays `(d(s) - d(s')) / d_max`, d the hook `steps_to_go` and d_max its largest value, which also counts
    for lava and dead ends: an episode's extra pay adds up to (d(s_0) - d(s_T)) / d_max. `info["is_success"]` stands on
    every step.

    Hooks, each only where asked for through `request_hooks` or `hooks=`: see `grid.hooks`.

    Parameters
    ----------
    spec
        The task.
    view_size, full_view
        As of `Worlds`: how many cells across the agent sees, or the whole grid with itself in it as type 10.
    reward_mode, hooks, render_mode
        As above, and as Gymnasium has it.

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make("reward_envs/DoorKey-8x8-v0", hooks=("steps_to_go",))
    >>> obs, info = env.reset(seed=1)
    >>> obs["image"].shape, obs["mission"], info["is_success"]
    ((7, 7, 3), 'use the key to open the door and then get to the goal', False)
    """

    def __init__(
        self,
        spec: GridSpec,
        *,
        view_size: int = 7,
        full_view: bool = False,
        reward_mode: Mode = "sparse",
        hooks: Iterable[str] = (),
        render_mode: str | None = None,
    ) -> None:
        self._open(spec, 1, view_size, full_view, reward_mode, hooks)
        self.observation_space, self.action_space = self._spaces()  # type: ignore[assignment]
        self.render_mode = check_render_mode(render_mode, self.metadata)
        self._action = np.zeros(1, np.int64)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        worlds = self.worlds
        if seed is not None:
            worlds.seed(worlds.all, [seed])
        self._start(worlds.all)
        self._mission = worlds.mission(0)
        self._begun = True
        if self.render_mode == "human":
            self.render()
        return self._seen(), self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        worlds = self.worlds
        if not self._begun:
            raise gym.error.ResetNeeded(RESET_FIRST)
        self._action[0] = as_action(action)
        worlds.step(self._action)
        if self._dense:
            self._pay_dense(worlds.all)
        if self.render_mode == "human":
            self.render()
        return (
            self._seen(),
            worlds.reward.item(),
            worlds.terminated.item(),
            worlds.truncated.item(),
            self._info(),
        )

    def _seen(self) -> dict[str, Any]:
        return {
            "image": self.worlds.image[0].copy(),
            "direction": self.worlds.direction.item(),
            "mission": self._mission,
        }

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"is_success": self.worlds.success.item()}
        if self._hooks.asked or self.worlds.columns:
            info.update({name: column[0] for name, column in self._hooks.values(self.worlds.all).items()})
        return info

    def render(self) -> Any:
        from reward_envs.grid.picture import picture, show

        if self.render_mode is None:
            return None
        frame = picture(self.worlds, 0)
        if self.render_mode == "human":
            show(self, frame)
            return None
        return frame


class FlatView(gym.ObservationWrapper[NDArray[np.uint8], int, dict[str, Any]]):
    """Shows of a `GridEnv` the image alone, flattened: uint8[size * size * 3], as SB3's `sb3_vec` does."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        image: Any = env.observation_space["image"]  # type: ignore[index]
        self.observation_space = spaces.Box(0, 255, (int(np.prod(image.shape)),), np.uint8)

    def observation(self, observation: dict[str, Any]) -> NDArray[np.uint8]:
        flat: NDArray[np.uint8] = observation["image"].reshape(-1)
        return flat


class GridVector(_Task, RowsVector):
    """N worlds of a task as a Gymnasium vector environment, moved by one kernel call a step.

    World i goes through the same states as a `GridEnv` with its seed: seed s gives the worlds s, s + 1, ...

    Parameters
    ----------
    spec
        The task.
    num_envs
        N.
    autoreset_mode
        `NEXT_STEP`: the step after an end begins a new episode; `SAME_STEP`: the end itself does, and the last
        observation is in `infos["final_obs"]`; `DISABLED`: `reset(options={"reset_mask": mask})` does.
    copy
        Whether observations are copies; else they are overwritten by the next step.
    threads
        Threads of a step; more than one is worth it from a thousand worlds on. Where worker processes are forked after
        a threaded step, GNU OpenMP ends them: spawn them, or set NUMBA_THREADING_LAYER=workqueue.
    view_size, full_view, reward_mode, hooks
        As of `GridEnv`.
    """

    def __init__(
        self,
        spec: GridSpec,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        threads: int = 1,
        view_size: int = 7,
        full_view: bool = False,
        reward_mode: Mode = "sparse",
        hooks: Iterable[str] = (),
        render_mode: str | None = None,
    ) -> None:
        self._open(spec, num_envs, view_size, full_view, reward_mode, hooks, threads)
        self._set_up(*self._spaces(), autoreset_mode, render_mode)
        self.copy = copy
        self._missions: list[str] = [""] * num_envs

    def _start(self, rows: NDArray[np.int64]) -> None:
        super()._start(rows)
        if len(self.task.missions) > 1 or not self._missions[0]:
            for i in rows.tolist():
                self._missions[i] = self.worlds.mission(i)

    def _seen(self) -> dict[str, Any]:
        image, direction = self.worlds.image, self.worlds.direction
        return {
            "direction": direction.copy() if self.copy else direction,
            "image": image.copy() if self.copy else image,
            "mission": tuple(self._missions),
        }

    def _seen_of(self, i: int) -> dict[str, Any]:
        worlds = self.worlds
        return {
            "direction": worlds.direction[i].item(),
            "image": worlds.image[i].copy(),
            "mission": self._missions[i],
        }

    def render(self) -> tuple[Any, ...]:
        from reward_envs.grid.picture import picture

        return tuple(picture(self.worlds, i) for i in range(self.num_envs))
