"""Experts: policies that solve the gridworld tasks, with the whole grid in view.

They show what a task can pay, fill buffers with good episodes, and say what would have been right where a learner went
wrong: they go on from any state. Success, return and length beside random play: `benchmarks/grid_experts.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k
from reward_envs.kernels.grid_expert import FOUND, NO_WAY, dodge, fingerprint, next_actions, plan

# tidy, weight, room of `plan`, one after the other until one of them finds a way
SEARCHES: Final = ((False, 1, 8_000), (True, 1, 30_000), (False, 4, 60_000))


class Expert:
    """A policy that solves the task of some worlds.

    It plans an episode at once, on the engine's own rules, keeps to the plan as long as the world does, and plans anew
    where it does not: after a reset, or after another's action. All is deterministic. Plans are the shortest there are,
    but in the ObstructedMazes of many rooms with blocked doors, where about one in six is 1 to 7 steps longer; there a
    plan takes some 0.1 s, elsewhere 0.02 s at most on average. Among the moving balls of Dynamic-Obstacles it goes the
    shortest way, and not forward while a ball lies ahead; so it never hits one.

    It succeeded in every task on each of the first 200 seeds. Some layouts cannot be solved: in 12 of the first 40,000
    of Fetch-8x8-N3 the things not to be fetched wall in the target or the agent. Where no way to success is left, or
    none was found, it says done, and so where the episode is over. In a monitored task it heeds the task's own reward
    alone, not what the monitor charges. It sees through walls and boxes: what it reaches may be more than any agent
    can that has only the view, as in Memory.

    Parameters
    ----------
    worlds
        Of any task: `env.unwrapped.worlds`.

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make_vec("reward_envs/ObstructedMaze-Full-v0", 4)
    >>> _ = env.reset(seed=0)
    >>> expert, steps = Expert(env.unwrapped.worlds), 0
    >>> ended = [False]
    >>> while not any(ended):
    ...     _, _, ended, _, info = env.step(expert.actions())
    ...     steps += 1
    >>> steps, info["is_success"][ended].all().item()
    (26, True)
    """

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._plans = np.full((worlds.n, 1), -1)
        self._marks = np.zeros((worlds.n, 1), np.uint64)
        self._at = np.zeros(worlds.n, np.int64)

    def actions(self) -> NDArray[np.int64]:
        """int64[N]: the next action of each world."""
        worlds = self._worlds
        actions = np.empty(worlds.n, np.int64)
        if worlds.spec.rule == k.DODGE:
            dodge(worlds.cells, worlds.state, worlds.shape, actions)
            return actions
        next_actions(worlds.cells, worlds.state, self._plans, self._marks, self._at, actions)
        for i in np.flatnonzero(actions < 0).tolist():
            steps, marks = _planned(worlds, i)
            self._widen(len(steps))
            self._plans[i] = -1
            self._plans[i, : len(steps)], self._marks[i, : len(steps)] = steps, marks
            self._at[i] = 0
            actions[i] = steps[0]
        return actions

    def _widen(self, length: int) -> None:
        """Make room for plans of this length."""
        missing = length - self._plans.shape[1]
        if missing > 0:
            self._plans = np.pad(self._plans, ((0, 0), (0, missing)), constant_values=-1)
            self._marks = np.pad(self._marks, ((0, 0), (0, missing)))


def expert(env: Any) -> Callable[[], Any]:
    """The expert of an environment, as a callable that gives the next action.

    Parameters
    ----------
    env
        A gridworld environment or a vector of them, wrapped or not.

    Returns
    -------
    Of a single environment a callable of an int, of a vector one of int64[N].

    Raises TypeError where the environment is none of our gridworlds. Everything else: `Expert`.

    >>> import gymnasium as gym, reward_envs
    >>> env = gym.make("reward_envs/DoorKey-8x8-v0", hooks=("steps_to_go",))
    >>> _, info = env.reset(seed=1)
    >>> act, fewest, steps, ended = expert(env), info["steps_to_go"], 0, False
    >>> while not ended:
    ...     _, reward, ended, _, info = env.step(act())
    ...     steps += 1
    >>> steps == int(fewest), info["is_success"]
    (True, True)
    """
    inner = getattr(env, "unwrapped", env)
    worlds = getattr(inner, "worlds", None)
    if not isinstance(worlds, Worlds):
        raise TypeError(f"{inner!r} has no gridworlds: an expert needs one of the environments of reward_envs.grid.")
    policy = Expert(worlds)
    if hasattr(inner, "num_envs"):
        return policy.actions
    return lambda: int(policy.actions()[0])


def _planned(worlds: Worlds, i: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The actions from world i's present state to success, and the fingerprints before them; to say done, without."""
    cells, state = worlds.cells[i], worlds.state[i]
    for tidy, weight, room in SEARCHES:
        ended, steps, marks = plan(cells, state, worlds.shape, tidy, weight, room)
        if ended == FOUND:
            return steps, marks
        if ended == NO_WAY and not tidy:
            break
    return np.array([k.DONE]), np.array([fingerprint(cells, state)], np.uint64)
