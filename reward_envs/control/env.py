"""Control tasks as a Gymnasium environment and as a vector of them, on one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from reward_envs.control.engine import Bodies
from reward_envs.control.picture import Pictures
from reward_envs.control.task import ControlTask, Float
from reward_envs.hooks import check_render_mode
from reward_envs.vectors import RESET_FIRST, Moved, RowsVector


class _OfGoals:
    """A method that only tasks with goals have: SB3 takes whatever has `compute_reward` for a goal environment."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, env: Any, kind: type) -> Any:
        if env is None:
            return self
        if not env.task.goal_size:
            raise AttributeError(f"no {self._function.__name__}: this task has no goals.")
        return self._function.__get__(env)


class _Goals(Moved):
    """What the single environment and the vectors share: spaces, card, hooks, and the goal contract.

    The contract's functions take one row or many, `info` as a dict of columns or a sequence of dicts.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def _open(self, task: ControlTask, n: int, hooks: Iterable[str], threads: int = 1) -> None:
        self.task, self.bodies, self.card = task, Bodies(task, n, threads), task.card()
        self.max_steps, self.reward_mode = task.max_steps, task.reward_mode  # where adapters look
        self._dense = task.reward_mode == "dense"
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1 / self.bodies.seconds))}
        self._pictures = Pictures(task, self.bodies.model)
        self.request_hooks(hooks)

    @property
    def engine(self) -> Bodies:
        """The bodies, as vectors call them."""
        return self.bodies

    @property
    def hooks(self) -> tuple[str, ...]:
        """The hooks asked for."""
        return self.bodies.asked

    @property
    def relabel_info(self) -> dict[str, tuple[int, ...]]:
        """Columns of info that `compute_reward` reads, and their shapes: what had been reached, and the gain aside."""
        return {"was": (self.task.goal_size,), "aside": ()} if self._dense and self.task.goal_size else {}

    def request_hooks(self, hooks: Iterable[str]) -> None:
        """Give these hooks in `info` from the next reset on; they add to those asked for before."""
        self.bodies.request(hooks)

    @_OfGoals
    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """float64[...]: the reward of reaching `achieved_goal` where `desired_goal` was asked."""
        return self.compute_goal(achieved_goal, desired_goal, info)[0]

    @_OfGoals
    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """bool[...]: whether reaching `achieved_goal` ends the episode."""
        return self.compute_goal(achieved_goal, desired_goal, info)[1]

    @_OfGoals
    def compute_goal(self, achieved_goal: Any, desired_goal: Any, info: Any) -> tuple[Any, Any]:
        """Both at once: (reward float64[...], terminated bool[...])."""
        success = self.task.near(achieved_goal, desired_goal)
        was, aside = (_column(info, name) for name in ("was", "aside")) if self._dense else (None, None)
        paid = self.task.pay(success, achieved_goal, desired_goal, was, aside)
        return paid, success & self.task.ends_on_success

    @_OfGoals
    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """bool[...]: no goal truncates; the step counter does."""
        return np.zeros(np.shape(achieved_goal)[:-1], dtype=np.bool_)

    @_OfGoals
    def compute_potential(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """float64[...]: minus the hook `steps_to_go` where `achieved_goal` has been reached."""
        return -self.task.steps(achieved_goal, desired_goal)

    def _spaces(self) -> tuple[spaces.Space[Any], spaces.Box]:
        task = self.task
        seen = spaces.Box(-np.inf, np.inf, (task.observation_size,), np.float64)
        action = spaces.Box(-1.0, 1.0, (task.action_size,), np.float32)
        if not task.goal_size:
            return seen, action
        goal = spaces.Box(task.goal_low, task.goal_high, (task.goal_size,), np.float64)
        return spaces.Dict({"achieved_goal": goal, "desired_goal": goal, "observation": seen}), action

    def _seed_rows(self, rows: NDArray[np.int64], seeds: Sequence[int]) -> None:
        self.bodies.seed(rows, seeds)

    def _start(self, rows: NDArray[np.int64]) -> None:
        self.bodies.begin(rows)

    def _move(self, actions: Any, skip: NDArray[np.bool_] | None = None) -> int:
        return self.bodies.step(self._clipped(actions, self.bodies.n), skip)

    def _clipped(self, actions: Any, n: int) -> Float:
        array = np.asarray(actions, np.float64)
        if array.shape != (n, self.task.action_size):
            raise ValueError(f"actions of shape {array.shape}: {n} worlds take [{n}, {self.task.action_size}].")
        if not np.isfinite(array.sum()):
            at = int(np.argmin(np.isfinite(array).all(axis=1)))
            raise ValueError(f"action {array[at]} of world {at} is not finite: an action lies in [-1, 1].")
        return np.clip(array, -1.0, 1.0)

    def _columns(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        columns = self.bodies.columns() if self.bodies.asked else {}
        if self._dense and self.task.goal_size:
            columns |= {"was": self.bodies.was, "aside": self.bodies.aside}
        return {name: column[rows] for name, column in columns.items()}

    def _seen(self) -> Any:
        seen = self.task.observation(self.bodies)
        if not self.task.goal_size:
            return seen
        return {
            "achieved_goal": self.bodies.achieved.copy(),
            "desired_goal": self.bodies.goal.copy(),
            "observation": seen,
        }

    def close(self, **kwargs: Any) -> None:
        """Let go of the drawing."""
        self._pictures.close()


def _column(info: Any, name: str) -> Any:
    try:
        return info[name] if isinstance(info, dict) else np.stack([i[name] for i in info])
    except KeyError:
        raise KeyError(
            f"the dense reward needs info[{name!r}] of the step: keep the columns that relabel_info names."
        ) from None


class ControlEnv(_Goals, gym.Env[Any, Any]):
    """A control task on MuJoCo, sparse unless asked otherwise.

    Observation: `observation`, `achieved_goal`, `desired_goal` float64 (or the first alone where a task has no goals).
    Action: float32 in [-1, 1]; what is beyond is clipped. `info["is_success"]` stands on every step.

    Parameters
    ----------
    task
        The task.
    hooks, render_mode
        Hooks that `info` gives, as `card.hooks` names them; and "rgb_array" or None.

    Raises ValueError for actions that are not finite or of another shape.
    """

    def __init__(self, task: ControlTask, *, hooks: Iterable[str] = (), render_mode: str | None = None) -> None:
        self._open(task, 1, hooks)
        self.observation_space, self.action_space = self._spaces()
        self.render_mode = check_render_mode(render_mode, self.metadata)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._begun = True
        if seed is not None:
            self.bodies.seed(self.bodies.all, [seed])
        self._start(self.bodies.all)
        return self._one(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self._begun:
            raise gym.error.ResetNeeded(RESET_FIRST)
        self._move(np.asarray(action, np.float64)[None])
        b = self.bodies
        return self._one(), b.reward.item(), b.terminated.item(), b.truncated.item(), self._info()

    def expert(self) -> NDArray[np.float32]:
        """A good action at the present state."""
        return self.task.expert(self.bodies, 0)

    def render(self) -> NDArray[np.uint8] | None:
        return self._pictures.draw(self.bodies, 0) if self.render_mode == "rgb_array" else None

    def _one(self) -> Any:
        seen = self._seen()
        return {name: rows[0] for name, rows in seen.items()} if isinstance(seen, dict) else seen[0]

    def _info(self) -> dict[str, Any]:
        return {
            "is_success": self.bodies.success.item(),
            **{k: c[0] for k, c in self._columns(self.bodies.all).items()},
        }


class ControlVector(_Goals, RowsVector):
    """N worlds of a task as a Gymnasium vector environment, moved by one call of MuJoCo's rollout.

    World i goes through the same states as a `ControlEnv` with its seed: seed s gives the worlds s, s + 1, ...

    Parameters
    ----------
    task
        The task.
    num_envs
        N.
    autoreset_mode
        `NEXT_STEP`: the step after an end begins a new episode; `SAME_STEP`: the end itself does, and the last
        observation is in `infos["final_obs"]`; `DISABLED`: `reset(options={"reset_mask": mask})` does.
    threads
        Threads of a step; worth it where the physics is the cost (an arm, an ant), from a few worlds a thread on.
    hooks, render_mode
        As of `ControlEnv`.
    """

    def __init__(
        self,
        task: ControlTask,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        hooks: Iterable[str] = (),
        render_mode: str | None = None,
    ) -> None:
        self._open(task, num_envs, hooks, threads)
        self._set_up(*self._spaces(), autoreset_mode, render_mode)

    def _seen_of(self, i: int) -> Any:
        seen = self._seen()
        return {name: rows[i].copy() for name, rows in seen.items()} if isinstance(seen, dict) else seen[i].copy()

    def render(self) -> tuple[Any, ...]:
        return tuple(self._pictures.draw(self.bodies, i) for i in range(self.num_envs))
