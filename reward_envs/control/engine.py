"""N worlds of a control task, moved by one call of MuJoCo's rollout."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from reward_envs.control.task import Bool, ControlTask, Float
from reward_envs.vectors import check_worlds

Rows = NDArray[np.int64]
START = 1.0  # of an episode, s: not the 0 at which MuJoCo begins a broken world again
SLIP = 1e-6  # s
_log = logging.getLogger("reward_envs")


class Bodies:
    """The physics of N worlds, and what their task says of it. A single environment is a vector of one.

    A step is a function of the state alone (each begins without the solver's warm start), so that a world goes the same
    way in any company and with any number of threads. Where the physics breaks down in a step, the world stays as it
    was and its episode truncates.

    Attributes that tasks read: `qpos` float64[N, nq], `qvel` float64[N, nv], `goal` and `achieved`
    float64[N, goal_size], `was` (achieved before the step), `way`, `memory` float64[N, task.memory], `t` int64[N].

    Parameters
    ----------
    task
        The task.
    n
        Number of worlds, at least 1.
    threads
        Threads of a step.
    """

    def __init__(self, task: ControlTask, n: int, threads: int = 1) -> None:
        import mujoco

        n, threads = check_worlds(n, threads)
        self.task, self.n, self.threads = task, n, threads
        self.model = task.model()
        self.seconds = task.substeps * float(self.model.opt.timestep)
        nq, nv = int(self.model.nq), int(self.model.nv)
        size = mujoco.mj_stateSize(self.model, int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
        self.state = np.zeros((n, size))
        self._first, self._nothing = np.zeros(size), np.zeros(n)
        data = mujoco.MjData(self.model)
        mujoco.mj_getState(self.model, data, self._first, int(mujoco.mjtState.mjSTATE_FULLPHYSICS))
        self._first[0] = START
        self._places = slice(1, 1 + nq), slice(1 + nq, 1 + nq + nv)
        self.goal = np.zeros((n, task.goal_size))
        self.achieved, self.was, self.aside = self.goal.copy(), self.goal.copy(), np.zeros(n)
        self.memory = np.zeros((n, task.memory))
        self.t = np.zeros(n, np.int64)
        self.all = np.arange(n)
        self.reward = np.zeros(n)
        self.terminated, self.truncated = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        self.success, self.diverged = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        self.way, self.best = np.ones(n), np.zeros(n)
        self.reached = np.zeros((n, len(task.milestone_names)))
        self.asked: tuple[str, ...] = ()
        self.rngs = [np.random.default_rng(s) for s in np.random.SeedSequence().spawn(n)]
        self._mover: Any = None

    @property
    def qpos(self) -> Float:
        """Positions, a view."""
        return self.state[:, self._places[0]]

    @property
    def qvel(self) -> Float:
        """Velocities, a view."""
        return self.state[:, self._places[1]]

    def request(self, hooks: Iterable[str]) -> None:
        """Add hooks; raises ValueError for an unknown one."""
        wanted = {hooks} if isinstance(hooks, str) else set(hooks)
        if unknown := sorted(wanted - set(self.task.offers)):
            raise ValueError(f"no hook {unknown[0]!r}: this task gives {', '.join(self.task.offers)}.")
        self.asked = tuple(h for h in self.task.offers if h in wanted or h in self.asked)

    def seed(self, rows: Rows, seeds: Sequence[int]) -> None:
        """Begin the random streams of the worlds `rows`."""
        for i, seed in zip(rows.tolist(), seeds, strict=True):
            self.rngs[i] = seeding.np_random(seed)[0]

    def begin(self, rows: Rows) -> None:
        """Begin new episodes in the worlds `rows`."""
        self.state[rows] = self._first
        qpos, qvel = self.qpos, self.qvel
        for i in rows.tolist():
            qpos[i], qvel[i], self.goal[i] = self.task.draw(self.rngs[i])
        self.t[rows], self.memory[rows], self.reward[rows] = 0, 0.0, 0.0
        for flags in (self.terminated, self.truncated, self.success, self.diverged):
            flags[rows] = False
        self.achieved = self.task.achieved(self)
        self.was = self.achieved
        if self.asked:
            self.way[rows] = self.task.way(self)[rows]
            self.best[rows], self.reached[rows] = 0.0, 0.0
            self._look(rows)

    def step(self, actions: Float, skip: Bool | None = None) -> int:
        """Move every world that is not in `skip` by actions in [-1, 1], float64[N, action_size]; how many ended."""
        rows = self.all if skip is None else np.flatnonzero(~skip)
        task = self.task
        self.was, aside = self.achieved, self._aside()
        self._roll(task.control(self, actions), rows)
        self.t[rows] += 1
        self.achieved = task.achieved(self)
        task.remember(self, rows)
        self.success = task.success(self)
        self.aside = self._aside() - aside
        self.reward = task.pay(self.success, self.achieved, self.goal, self.was, self.aside)
        self.terminated = self.success & task.ends_on_success
        self.truncated = (self.t >= task.max_steps) | self.diverged
        if self.asked:
            self._look(rows)
        return int(np.count_nonzero((self.terminated | self.truncated)[rows]))

    def _aside(self) -> Float:
        return self.task.aside(self) if self.task.reward_mode == "dense" else self._nothing

    def _roll(self, control: Float, rows: Rows) -> None:
        n, steps = len(rows), self.task.substeps
        if not n:  # of which rollout dies
            return
        state = self.state if n == self.n else self.state[rows]
        held = np.repeat(control[rows, None, :], steps, axis=1)
        if self._mover is None:
            self._mover = _Mover(self.model, self.threads, steps)
        after = self._mover.roll(state, held)
        # MuJoCo stops a world that breaks down, or begins it again at time 0.
        slip = np.abs(after[:, 0] - state[:, 0] - self.seconds)
        if slip.max() < SLIP and np.isfinite(after.sum()):
            if n == self.n:
                self.state = after
            else:
                self.state[rows] = after
            return
        fine = (slip < SLIP) & np.isfinite(after).all(axis=1)
        lost = rows[~fine]
        self.state[rows[fine]] = after[fine]
        self.diverged[lost] = True
        _log.warning("the physics of world %d broke down; its episode is truncated.", int(lost[0]))

    def _look(self, rows: Rows) -> None:
        if "progress" in self.asked:
            self.best[rows] = np.maximum(self.best, self.task.share(self))[rows]
        if "milestones" in self.asked:
            self.reached[rows] = np.maximum(self.reached, self.task.milestones(self))[rows]

    # hooks

    def columns(self) -> dict[str, Any]:
        """The hooks asked for: float64[N], float64[N, K] for milestones, texts for captions."""
        return {name: getattr(self, f"_{name}")() for name in self.asked}

    def _steps_to_go(self) -> Float:
        return self.task.steps_to_go(self)

    def _progress(self) -> Float:
        return self.best.copy()

    def _milestones(self) -> Float:
        return self.reached.copy()

    def _caption(self) -> NDArray[np.object_]:
        return np.array([self.task.caption(self, i) for i in range(self.n)], object)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mover": None}


class _Mover:
    """MuJoCo's rollout with its threads and working memory."""

    def __init__(self, model: Any, threads: int, steps: int) -> None:
        import mujoco
        from mujoco import rollout

        self._model, self._steps = model, steps
        self._datas = [mujoco.MjData(model) for _ in range(threads)]
        self._rollout = rollout.Rollout(nthread=threads if threads > 1 else 0)
        self._control = int(mujoco.mjtState.mjSTATE_CTRL)
        self._models: list[Any] = []
        self._out = np.empty((0, steps, 0))

    def roll(self, state: Float, control: Float) -> Float:
        """The states after, float64[n, size], of control float64[n, steps, nu]."""
        n = len(state)
        if len(self._models) != n:
            self._models = [self._model] * n
            self._out = np.empty((n, self._steps, state.shape[1]))
        self._rollout.rollout(
            self._models,
            self._datas,
            state,
            control,
            control_spec=self._control,
            skip_checks=True,
            nstep=self._steps,
            state=self._out,
        )
        return self._out[:, -1].copy()
