"""with_reward: the adapter that fits an environment."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NoReturn, TypeVar

import gymnasium as gym
from gymnasium.vector import VectorEnv

from reward_envs.wrappers.core import Method
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import as_method
from reward_envs.wrappers.runner import Schedule
from reward_envs.wrappers.shaping.function import Task

_E = TypeVar("_E")
REWARDS = ("RewardWrapper", "VectorRewardWrapper", "VecReward", "VecRecorder")
_STATISTICS = ("Monitor", "RecordedMonitor", "VecMonitor", "RecordEpisodeStatistics")


def with_reward(
    env: Any,
    method: Method | str,
    *,
    gamma: float | None = None,
    seed: int | None = None,
    schedule: Schedule | None = None,
) -> Any:
    """The environment, paying `method`: a `gymnasium.Env`, a Gymnasium `VectorEnv` or an SB3 `VecEnv`.

    Episode statistics go below the reward, so that every log shows the task's own return: SB3's Monitor where SB3 is
    in use (it wraps an environment without one itself, above everything), else Gymnasium's RecordEpisodeStatistics.

    Raises RewardError for anything else, ScopeError where the place cannot serve the method. Warns where statistics sit
    above a reward that is already there.

    >>> import gymnasium as gym
    >>> from reward_envs.wrappers import with_reward
    >>> env = with_reward(gym.make("CartPole-v1"), "task - 0.1*count(bits=8)")
    """
    method = as_method(method)
    warn_of_statistics_above(env)
    options: dict[str, Any] = {"gamma": gamma, "seed": seed, "schedule": schedule}
    if isinstance(env, gym.Env):
        from reward_envs.wrappers.adapters.env import RewardWrapper

        return RewardWrapper(_with_statistics(env), method, **options)
    if isinstance(env, VectorEnv):
        from reward_envs.wrappers.adapters.vector import VectorRewardWrapper

        if "RecordEpisodeStatistics" not in names_of(env):
            env = gym.wrappers.vector.RecordEpisodeStatistics(env)
        return VectorRewardWrapper(env, method, **options)
    if "stable_baselines3" in sys.modules:
        from stable_baselines3.common.vec_env import VecEnv

        if isinstance(env, VecEnv):
            from reward_envs.wrappers.adapters.sb3_vec import VecReward, with_vec_statistics

            return VecReward(with_vec_statistics(env), method, **options)
    raise RewardError(
        f"with_reward got a {type(env).__name__}; it takes a gymnasium.Env, a gymnasium VectorEnv or an SB3 VecEnv. "
        f"For arrays use relabel(batch, method), for your own loop Rewarder(method, spec)."
    )


def _with_statistics(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    if any(name in _STATISTICS for name in names_of(env)):
        return env
    if "stable_baselines3" in sys.modules:
        from reward_envs.wrappers.adapters.sb3_monitor import RecordedMonitor

        return RecordedMonitor(env)
    return gym.wrappers.RecordEpisodeStatistics(env)


def names_of(env: Any) -> list[str]:
    """Class names of the wrapper chain, outermost first; of an SB3 VecEnv also those of its first environment."""
    names = [type(env).__name__]
    while (inner := getattr(env, "env", getattr(env, "venv", None))) is not None:
        env = inner
        names.append(type(env).__name__)
    if inside := getattr(env, "envs", None):
        names += names_of(inside[0])
    return names


def warn_of_statistics_above(env: Any) -> None:
    """Warn where episode statistics sit above a reward wrapper: they show the shaped return as the task's."""
    names = names_of(env)
    rewards = [i for i, name in enumerate(names) if name in REWARDS]
    above = [name for name in names[: rewards[-1]] if name in _STATISTICS] if rewards else []
    if above:
        warnings.warn(
            f"{above[0]} sits above a reward wrapper, so it reports the paid reward and not the task's return: put it "
            f"below (with_reward does), and read info['task_reward'].",
            stacklevel=3,
        )


def warn_of_reward_below(env: Any) -> None:
    """Warn where a reward of ours is paid already: what lies above takes it for the task's own."""
    if below := [name for name in names_of(env) if name in REWARDS]:
        warnings.warn(
            f"{below[0]} lies below this reward, so 'task' and info['task_reward'] are what it pays and not the "
            f"environment's own reward: put all terms into one reward.",
            stacklevel=3,
        )


def refuse_relabelling(*_: Any, **__: Any) -> NoReturn:
    """What `compute_reward` is under a reward method: it could not know the method's terms for another goal."""
    raise RewardError(
        "compute_reward(...) under a reward method: relabelled rows would get the task's bare reward and the played "
        "rows the method's. With SB3 hand the method to sb3(venv, method, algo, hindsight=True), which pays both; or "
        "use a hindsight buffer on the bare environment or under 'task' alone."
    )


def pays_the_task(method: Method) -> bool:
    """Whether the method is `task` alone, so that rows with other goals may be paid by the task's `compute_reward`."""
    return type(method) is Task
