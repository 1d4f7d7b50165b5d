"""SB3's vector environments: VecReward, and the reading of transitions that it shares with the recorder of sb3()."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor, is_vecenv_wrapped, unwrap_vec_normalize
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from reward_envs.card import Card
from reward_envs.wrappers.adapters.place import pays_the_task, refuse_relabelling, warn_of_reward_below
from reward_envs.wrappers.adapters.rows import Plugged, Rows, hook_column, request_hooks
from reward_envs.wrappers.batch import Batch, Bool, Tree, map_tree
from reward_envs.wrappers.core import Method, Scope, Spec
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import as_method
from reward_envs.wrappers.runner import Rewarder, Schedule

Infos = Sequence[dict[str, Any]]


class Transitions(VecEnvWrapper):
    """Abstract: reads every step into the rows of a batch, and leaves to `pay` what the learner gets for them.

    SB3 hands over one `done` flag, the first observation of the next episode in place of the successor, and the hooks
    of a new episode apart: here the successor is `infos[i]["terminal_observation"]`, a done row was truncated where
    `infos[i]["TimeLimit.truncated"]` is set and terminated otherwise (SB3 sets it only where the environment did not
    terminate too), and hooks at s_0 come from the `reset_infos` of the innermost environment, the only ones that SB3
    fills in.
    """

    pays_the_task = False  # whether the learner gets the task's reward, whatever the goal

    def __init__(self, venv: VecEnv, rows: Rows, method: Method) -> None:
        super().__init__(venv)
        warn_of_reward_below(venv)
        if unwrap_vec_normalize(venv) is not None:
            raise RewardError(
                "VecNormalize lies below the reward, which would read normalised rows and lose the task's own return: "
                "put it above, VecNormalize(venv, norm_reward=False), and normalise in the reward's text."
            )
        self._rows = rows
        self._actions: Tree = None
        self._new: tuple[VecEnvObs, dict[str, NDArray[Any]], Bool] | None = None
        request_hooks(method, venv.has_attr, venv.env_method)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        asks_for_rewards = method_name in ("compute_reward", "compute_goal")  # as hindsight buffers do
        if asks_for_rewards and not self.pays_the_task:
            refuse_relabelling()
        return self.venv.env_method(method_name, *method_args, indices=indices, **method_kwargs)

    @abstractmethod
    def pay(self, batch: Batch, rewards: NDArray[Any], infos: Infos) -> NDArray[Any]:
        """The rewards [n] of the step's rows; `rewards` are the environments' own."""

    def reset(self) -> VecEnvObs:
        obs = self.venv.reset()
        self._rows.begin(obs, self._reset_hooks())
        self._new = None
        return obs

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        self._move_on()
        obs, rewards, dones, infos = self.venv.step_wait()
        timeouts = dones.copy()
        if dones.any():
            timeouts &= np.array([bool(info.get("TimeLimit.truncated", False)) for info in infos])
        successors, hooks = _successors(obs, dones, infos), self._hooks(infos)
        batch = self._rows.transition(self._actions, successors, rewards, dones & ~timeouts, timeouts, hooks)
        self._new = (obs, self._reset_hooks() if dones.any() else {}, dones)
        return obs, self.pay(batch, rewards, infos), dones, infos

    # The rows of a step stay readable until the next one: a buffer asks for them after the step.
    def _move_on(self) -> None:
        if self._new is not None:
            obs, hooks, dones = self._new
            self._rows.advance()
            if dones.any():
                self._rows.begin(obs, hooks, dones)

    def _hooks(self, infos: Infos) -> dict[str, NDArray[Any]]:
        return {name: hook_column(name, [info.get(name) for info in infos]) for name in self._rows.hooks}

    def _reset_hooks(self) -> dict[str, NDArray[Any]]:
        return self._hooks(self.venv.unwrapped.reset_infos)


class VecReward(Transitions):
    """Pay a reward method instead of the reward of an SB3 vector environment.

    Adds to `infos[i]` what `RewardWrapper` adds to `info`: `task_reward`, `reward/<term>`, and at an episode's end
    `episode_reward/<term>` and `episode_task_return`. The rewards are float32[n], as SB3's own are, in a new array, for
    SB3 adds to it in place. A reset in mid-episode ends the episode as a truncation.

    Parameters
    ----------
    venv
        The vector environment, without VecNormalize (which goes above). A NaN reward means that the task's reward was
        not observed.
    method
        A step or batch method, or its text.
    gamma
        The learner's discount, for methods that need it.
    seed, schedule
        Of the runner: see `Rewarder`.

    Every step is scored as it is made, on n rows: for training `sb3()` scores a rollout at once, which networks thank.
    Raises ScopeError for methods that need whole episodes, HookError where the environment lacks a hook, RewardError
    where a row has no value.

    >>> from stable_baselines3.common.env_util import make_vec_env
    >>> from reward_envs.wrappers import VecReward
    >>> venv = VecReward(make_vec_env("CartPole-v1", 2, seed=0), "task - 0.5*count(bits=8)")
    >>> _ = venv.reset()
    >>> rewards, infos = venv.step(venv.action_space.sample().repeat(2))[1::2]
    >>> rewards.dtype.name, infos[0]["task_reward"]
    ('float32', 1.0)
    """

    def __init__(
        self,
        venv: VecEnv,
        method: Method | str,
        *,
        gamma: float | None = None,
        seed: int | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        method = as_method(method)
        self._plugged = Plugged("VecReward", Scope.BATCH, method, spec_of(venv, gamma), venv.num_envs, seed, schedule)
        super().__init__(venv, self._plugged.rows, method)
        self.pays_the_task = pays_the_task(method)

    @property
    def rewarder(self) -> Rewarder:
        """The runner, for saving, loading and freezing."""
        return self._plugged.rewarder

    def reset(self) -> VecEnvObs:
        self._plugged.clear()
        return super().reset()

    def pay(self, batch: Batch, rewards: NDArray[Any], infos: Infos) -> NDArray[np.float32]:
        plugged = self._plugged
        scored = plugged.score(batch)
        plugged.add(scored, batch)
        columns = {"task_reward": rewards, **{f"reward/{name}": values for name, values in scored.terms.items()}}
        for key, column in columns.items():
            for info, value in zip(infos, column.tolist(), strict=True):
                info[key] = value
        ended = batch.ended
        if ended.any():
            for i in np.flatnonzero(ended).tolist():
                infos[i].update({plugged.episode_key(name): total[i].item() for name, total in plugged.totals.items()})
            plugged.clear(ended)
        return scored.values.astype(np.float32)


def _successors(obs: Tree, dones: Bool, infos: Infos) -> Tree:
    """The batched observations at s': those of done rows are in their infos."""
    ended: list[int] = np.flatnonzero(dones).tolist()
    if not ended:
        return obs
    if lost := [i for i in ended if infos[i].get("terminal_observation") is None]:
        raise RewardError(
            f"environment {lost[0]} ended an episode without infos[{lost[0]}]['terminal_observation'], so the "
            f"successor is lost: use a vector environment that keeps SB3's convention."
        )

    def put(column: NDArray[Any], *final: Any) -> NDArray[Any]:
        column = column.copy()
        column[ended] = np.stack(final)
        return column

    return map_tree(put, obs, *(infos[i]["terminal_observation"] for i in ended))


def spec_of(venv: VecEnv, gamma: float | None) -> Spec:
    """What a method is told of a vector environment."""
    card = venv.get_attr("card", 0)[0] if venv.has_attr("card") else None
    known = card if isinstance(card, Card) else None
    return Spec(venv.observation_space, venv.action_space, gamma, horizon(venv), known)


def horizon(venv: VecEnv) -> int | None:
    """Steps of the longest possible episode, by TimeLimit or by the environments' own `max_steps`; None if unknown.

    Plain numbers are asked for: a whole `env.spec` may not survive the way out of a subprocess.
    """
    limits = [venv.get_attr(name) for name in ("_max_episode_steps", "max_steps") if venv.has_attr(name)]
    known = [[v for v in each if isinstance(v, int | np.integer)] for each in zip(*limits, strict=True)]
    return max(int(min(each)) for each in known) if known and all(known) else None


def with_vec_statistics(venv: VecEnv) -> VecEnv:
    """The vector environment with episode statistics: its own, else a VecMonitor around it."""
    if is_vecenv_wrapped(venv, VecMonitor) or all(venv.env_is_wrapped(cast(Any, Monitor))):
        return venv
    return VecMonitor(venv)
