"""SB3 callbacks: evaluation on the task's own reward, and the log of the terms, to W&B too."""

from __future__ import annotations

import os
import warnings
from copy import deepcopy
from typing import Any, cast

import gymnasium as gym
import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.logger import (
    Figure,
    FormatUnsupportedError,
    HParam,
    Image,
    KVWriter,
    Video,
    filter_excluded_keys,
)
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecEnv,
    VecEnvWrapper,
    VecMonitor,
    is_vecenv_wrapped,
    unwrap_vec_normalize,
)
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from reward_envs.wrappers.adapters.env import RewardWrapper
from reward_envs.wrappers.adapters.log import RewardLog, wandb_sink
from reward_envs.wrappers.adapters.place import REWARDS, names_of, warn_of_statistics_above
from reward_envs.wrappers.adapters.sb3_record import VecRecorder
from reward_envs.wrappers.adapters.sb3_replay import RewardReplayBuffer
from reward_envs.wrappers.adapters.sb3_rollout import RewardRolloutBuffer
from reward_envs.wrappers.adapters.sb3_vec import VecReward
from reward_envs.wrappers.errors import RewardError


class TrueRewardEvalCallback(EvalCallback):
    """SB3's EvalCallback on the task's own reward, whatever reward the model trains on.

    `best_mean_reward`, `evaluations.npz`, the choice of `best_model` and the log's `eval/mean_reward` and
    `eval/success_rate` (of `info["is_success"]`) are the task's; the training reward's state never moves.

    Parameters
    ----------
    eval_env
        The bare environment, or a vector of them: one of its own, without a reward method. A reward wrapper on the
        outside is taken off, episode statistics are added where there are none. Where training uses VecNormalize this
        one does too (`training=False`); its statistics are copied from training's.
    n_eval_episodes, best_model_save_path, log_path, deterministic, verbose
        As of EvalCallback.
    eval_freq
        Steps of the vector between evaluations, hence `eval_freq * n_envs` rows.
    callback_on_new_best, callback_after_eval
        As of EvalCallback, such as StopTrainingOnRewardThreshold.

    Where the task hides rewards (`info["true_reward"]`), the whole counts.

    Raises RewardError where a reward method lies deeper in `eval_env`, and where VecNormalize has no statistics below.

    >>> import gymnasium as gym
    >>> from reward_envs.wrappers import TrueRewardEvalCallback
    >>> callback = TrueRewardEvalCallback(gym.make("CartPole-v1"), eval_freq=500, n_eval_episodes=5)
    """

    def __init__(
        self,
        eval_env: gym.Env[Any, Any] | VecEnv,
        *,
        n_eval_episodes: int = 10,
        eval_freq: int = 10_000,
        best_model_save_path: str | None = None,
        log_path: str | None = None,
        deterministic: bool = True,
        callback_on_new_best: BaseCallback | None = None,
        callback_after_eval: BaseCallback | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            _bare(eval_env),
            callback_on_new_best=callback_on_new_best,
            callback_after_eval=callback_after_eval,
            n_eval_episodes=n_eval_episodes,
            eval_freq=eval_freq,
            log_path=log_path,
            best_model_save_path=best_model_save_path,
            deterministic=deterministic,
            verbose=verbose,
        )

    def _init_callback(self) -> None:
        # SB3 warns here where both environments are not wrapped alike; ours never are.
        for folder in (self.best_model_save_path, self.log_path and os.path.dirname(self.log_path)):
            if folder:
                os.makedirs(folder, exist_ok=True)
        if self.callback_on_new_best is not None:
            self.callback_on_new_best.init_callback(self.model)

    @property
    def training_env(self) -> VecEnv:
        """The innermost training environment, so that SB3 does not look for pairs of wrappers; we copy statistics."""
        return super().training_env.unwrapped

    def _on_step(self) -> bool:
        if self.eval_freq > 0 and self.n_calls % self.eval_freq == 0:
            self._copy_statistics()
        return super()._on_step()

    def _copy_statistics(self) -> None:
        trained, evaluated = self.model.get_vec_normalize_env(), unwrap_vec_normalize(self.eval_env)
        if trained is None:
            return
        if evaluated is None:
            raise RewardError("training uses VecNormalize: evaluate on VecNormalize(eval_env, training=False) too.")
        if trained.norm_obs:
            evaluated.obs_rms = deepcopy(trained.obs_rms)
        evaluated.ret_rms = deepcopy(trained.ret_rms)


def _bare(env: gym.Env[Any, Any] | VecEnv) -> VecEnv:
    """The environment without our outermost wrappers, vectorised, with statistics of the task's own reward."""
    while isinstance(env, RewardWrapper | VecReward | VecRecorder):
        env = env.env if isinstance(env, RewardWrapper) else env.venv
    inside = isinstance(env, VecEnv) and any(env.env_is_wrapped(cast(Any, RewardWrapper)))
    if inside or any(name in REWARDS for name in names_of(env)):
        raise RewardError(
            "the evaluation environment pays a reward method: evaluate on the bare environment, made without "
            "reward=..., with_reward, VecReward or sb3()."
        )
    return _with_statistics(env)


def _with_statistics(env: gym.Env[Any, Any] | VecEnv) -> VecEnv:
    if not isinstance(env, VecEnv):
        single = env if "Monitor" in names_of(env) else Monitor(env)
        env = DummyVecEnv([lambda: single])
    env.reset()
    if any("true_reward" in info for info in env.reset_infos):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*already wrapped with a `Monitor`")  # which sees what is hidden
            return VecMonitor(_TrueReward(env))
    if is_vecenv_wrapped(env, VecMonitor) or all(env.env_is_wrapped(cast(Any, Monitor))):
        return env
    if unwrap_vec_normalize(env) is not None:
        raise RewardError(
            "the evaluation environment has VecNormalize and no episode statistics below it: wrap each environment in "
            "Monitor (make_vec_env does), or the vector in VecMonitor, before VecNormalize."
        )
    return VecMonitor(env)


class _TrueReward(VecEnvWrapper):
    """Pays the reward by which an agent is judged where the task hides some of it: `info["true_reward"]`."""

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        obs, _, dones, infos = self.venv.step_wait()
        return obs, np.array([info["true_reward"] for info in infos], np.float32), dones, infos


class RewardLogCallback(BaseCallback):
    """Writes the terms to SB3's log, and with it to TensorBoard and CSV, and to W&B by `WandbOutputFormat`.

    `episode_reward/<term>` and `reward/task_return` are means over the last 100 finished episodes,
    `reward/<term>/<name>` is what learning reported, `reward/unscored_share` the share of rows that an episode method
    left unpaid in the last rollout. Works with the model of `sb3()`, and with VecReward (which reports no learning).
    Warns where statistics sit above the reward.

    >>> from stable_baselines3 import PPO
    >>> from stable_baselines3.common.env_util import make_vec_env
    >>> from reward_envs.wrappers import RewardLogCallback, sb3
    >>> venv, kwargs = sb3(make_vec_env("CartPole-v1", 2), "task", PPO)
    >>> model = PPO("MlpPolicy", venv, n_steps=16, batch_size=32, n_epochs=1, device="cpu", **kwargs)
    >>> _ = model.learn(32, callback=RewardLogCallback())
    """

    def __init__(self, verbose: int = 0) -> None:
        super().__init__(verbose)
        self._log = RewardLog()

    def _on_training_start(self) -> None:
        warn_of_statistics_above(self.training_env)

    def _on_step(self) -> bool:
        self._log.add(self.locals.get("infos", ()))
        return True

    def _on_rollout_end(self) -> None:
        buffer: Any = getattr(self.model, "rollout_buffer", None) or getattr(self.model, "replay_buffer", None)
        scores = isinstance(buffer, RewardRolloutBuffer | RewardReplayBuffer)
        log = buffer.reward_log() if scores else self._log.means()
        for name, value in log.items():
            self.logger.record(name, value)


class WandbOutputFormat(KVWriter):
    """Sends every key of SB3's log, with its step, to a run of Weights & Biases; offline too.

    It stands beside SB3's own formats in a Logger. `logger.record(..., exclude="wandb")` leaves a key out.

    Parameters
    ----------
    run
        As of `wandb_sink`; closing the log leaves the run going.

    Raises what `wandb_sink` raises, and FormatUnsupportedError for SB3's videos, figures, images and hyperparameters.
    Misleads as `wandb_sink` does: a second `learn()` counts from 0 again, and W&B drops its rows until they are past
    the first; go on with `learn(..., reset_num_timesteps=False)`, or start a new run.

    >>> import wandb
    >>> from stable_baselines3.common.logger import Logger
    >>> from reward_envs.wrappers import WandbOutputFormat
    >>> run = wandb.init(mode="disabled")
    >>> logger = Logger(None, [WandbOutputFormat(run)])
    >>> logger.record("episode_reward/task", 1.0)
    >>> logger.dump(100)
    >>> run.finish()
    """

    def __init__(self, run: Any = None) -> None:
        self._sink = wandb_sink(run)

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        values = filter_excluded_keys(key_values, key_excluded, "wandb")
        for value in values.values():
            if isinstance(value, Video | Figure | Image | HParam):
                raise FormatUnsupportedError(["wandb"], type(value).__name__.lower())
        self._sink(step, values)

    def close(self) -> None:
        pass  # who started the run finishes it
