"""sb3(): the environment and the buffer that make an SB3 algorithm train on a reward method."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from reward_envs.wrappers.adapters.place import warn_of_statistics_above
from reward_envs.wrappers.adapters.rows import admit
from reward_envs.wrappers.adapters.sb3_record import VecRecorder
from reward_envs.wrappers.adapters.sb3_vec import with_vec_statistics
from reward_envs.wrappers.core import Method, Scope
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.runner import Schedule


def sb3(
    venv: VecEnv | gym.Env[Any, Any],
    method: Method | str,
    algo: type[BaseAlgorithm] | str,
    *,
    gamma: float | None = None,
    seed: int | None = None,
    schedule: Schedule | None = None,
    hindsight: Mapping[str, Any] | bool = False,
) -> tuple[VecRecorder, dict[str, Any]]:
    """Train an SB3 algorithm on a reward method: the environment and the keyword arguments to make the model with.

    The environment pays zeros and keeps the true rows; the buffer in the keyword arguments scores them. On-policy a
    rollout is scored at once before the advantages are made (`RewardRolloutBuffer`), off-policy a row when it is added
    or, where its score would age, whenever it is sampled (`RewardReplayBuffer`). With the method `task` the trained
    parameters are those of plain SB3, bit by bit. A VecMonitor goes below unless the environments have a Monitor, so
    `rollout/ep_rew_mean` is the task's own return; `RewardLogCallback` logs the terms. Wrappers go above
    (`VecNormalize(venv, norm_reward=False)`), but such as change what is seen (VecFrameStack) below.

    What was learned is in `venv.rewarder`; `venv.rewarder.state_dict()` goes with `model.save(...)`. To go on later,
    make the environment anew, load both, and hand it to `PPO.load(path, env=venv)`.

    Parameters
    ----------
    venv
        An SB3 vector environment, or a single environment to make one of.
    method
        A step, batch or episode method, or its text.
    algo
        The algorithm's class or name: PPO, A2C, DQN, SAC, TD3, DDPG; of sb3_contrib TQC, QRDQN, CrossQ, TRPO,
        MaskablePPO.
    gamma
        The learner's discount. Given, it is in the keyword arguments too, so that the two cannot differ (do not hand it
        to the algorithm again). None leaves it to the algorithm, from which an on-policy buffer takes it.
    seed
        Of the method's networks.
    schedule
        When methods with gradients learn; on-policy by default once a rollout.
    hindsight
        Of off-policy algorithms and goal environments: True, or the keyword arguments of `HindsightReplayBuffer`
        (n_sampled_goal, goal_selection_strategy, compute_terminated, seed), lets a share of the sampled rows have goals
        that were reached, before the method scores them (`RewardHindsightReplayBuffer`).

    Raises ScopeError for methods that no buffer serves, RewardError for algorithms with buffers of their own
    (RecurrentPPO), for a method that needs gamma where it is unknown, and for VecNormalize below. Warns where nobody
    uses the buffer. A notice says where the method holds no `task`.

    >>> from stable_baselines3 import PPO
    >>> from stable_baselines3.common.env_util import make_vec_env
    >>> from reward_envs.wrappers import sb3
    >>> venv, kwargs = sb3(make_vec_env("FrozenLake-v1", 2), "task + 0.1*count", PPO, gamma=0.99)
    >>> model = PPO("MlpPolicy", venv, n_steps=16, batch_size=32, n_epochs=1, device="cpu", **kwargs).learn(32)
    >>> sorted(model.rollout_buffer.terms)
    ['count', 'task']
    """
    cls = algorithm_class(algo)
    admitted = admit(method, "sb3()", Scope.EPISODE)
    if not isinstance(venv, gym.Env | VecEnv):
        raise RewardError(
            f"sb3() got {type(venv).__name__} {venv!r}; it takes an environment or a vector of SB3's: "
            f"make_vec_env(id, n), gym.make(id)."
        )
    vector = with_vec_statistics(DummyVecEnv([lambda: venv]) if isinstance(venv, gym.Env) else venv)
    warn_of_statistics_above(vector)
    recorder = VecRecorder(vector, admitted, gamma, seed, schedule)
    kwargs = _buffer(cls, isinstance(recorder.observation_space, gym.spaces.Dict))
    if hindsight:
        kwargs |= _hindsight(cls, {} if hindsight is True else dict(hindsight))
    if gamma is not None:
        kwargs["gamma"] = gamma
    if gamma is not None or "replay_buffer_class" in kwargs:
        _ = recorder.rewarder  # complains now of what it lacks; an on-policy buffer could still bring gamma
    return recorder, kwargs


def _hindsight(cls: type[BaseAlgorithm], options: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments that name the buffer with goals that were reached."""
    if not issubclass(cls, OffPolicyAlgorithm):
        raise RewardError(
            f"{cls.__name__} learns from what it has just played, and rows with other goals were played by nobody: "
            f"take DDPG, TD3, SAC, TQC, DQN or QR-DQN for hindsight."
        )
    from reward_envs.wrappers.adapters.sb3_hindsight_reward import RewardHindsightReplayBuffer

    return {"replay_buffer_class": RewardHindsightReplayBuffer, "replay_buffer_kwargs": options}


def _buffer(cls: type[BaseAlgorithm], of_dicts: bool) -> dict[str, Any]:
    """The keyword argument that names the buffer."""
    takes = inspect.signature(cls).parameters
    free = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in takes.values())
    if issubclass(cls, OffPolicyAlgorithm) and (free or "replay_buffer_class" in takes):
        from reward_envs.wrappers.adapters import sb3_replay as replay

        return {"replay_buffer_class": replay.RewardDictReplayBuffer if of_dicts else replay.RewardReplayBuffer}
    if issubclass(cls, OnPolicyAlgorithm) and (free or "rollout_buffer_class" in takes):
        if any(c.__name__ == "MaskablePPO" for c in cls.__mro__):
            from reward_envs.wrappers.adapters import sb3_masked as masked

            masks = masked.RewardMaskableDictRolloutBuffer if of_dicts else masked.RewardMaskableRolloutBuffer
            return {"rollout_buffer_class": masks}
        from reward_envs.wrappers.adapters import sb3_rollout as rollout

        return {"rollout_buffer_class": rollout.RewardDictRolloutBuffer if of_dicts else rollout.RewardRolloutBuffer}
    raise RewardError(
        f"{cls.__name__} makes a buffer of its own, or has none, and so cannot be given ours: train with "
        f"VecReward(venv, method), which serves step and batch methods, or use PPO with VecFrameStack below where "
        f"memory is needed."
    )


def algorithm_class(algo: type[BaseAlgorithm] | str) -> type[BaseAlgorithm]:
    if isinstance(algo, type) and issubclass(algo, BaseAlgorithm):
        return algo
    known: dict[str, type[BaseAlgorithm]] = {}
    for package in ("stable_baselines3", "sb3_contrib"):
        try:
            found = vars(importlib.import_module(package))
        except ModuleNotFoundError:
            continue
        known |= {k.lower(): v for k, v in found.items() if isinstance(v, type) and issubclass(v, BaseAlgorithm)}
    name = str(algo).lower()
    if name in known:
        return known[name]
    names = ", ".join(sorted(v.__name__ for v in known.values()))
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {known[near[0]].__name__}?" if near else f"it takes a class, or one of {names}."
    raise RewardError(f"sb3() knows no algorithm {algo!r}: {hint}")
