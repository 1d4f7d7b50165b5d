"""Training by Stable-Baselines3: one reward on one seed, evaluated on the task's own reward."""

from __future__ import annotations

import copy
import inspect
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
import torch as th
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from reward_envs.agents.plan import DEFAULTS, Plan, make
from reward_envs.registration import engine_of, sb3_vec
from reward_envs.wrappers.adapters.sb3_record import VecRecorder
from reward_envs.wrappers.adapters.sb3_train import algorithm_class, sb3
from reward_envs.wrappers.core import Method
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import as_method, text_or_reason

BY_FLAG = "success is info['is_success']"
BY_RETURN = "success is a task return above 0 (no info['is_success'])"
NO_SUCCESS = "no success rate: no info['is_success'], and the task pays before its end"
SMALLEST_IMAGE = 36  # pixels a side that SB3's convolutions need
Progress: TypeAlias = Callable[[int], None]
Float: TypeAlias = NDArray[np.float64]


class Row(NamedTuple):
    """A measurement after `steps` environment steps of training."""

    steps: int
    metric: str
    value: float


@dataclass(frozen=True)
class Run:
    """What a training leaves: its measurements, what they call success, and the seconds it took."""

    rows: list[Row]
    success_rule: str
    seconds: float


class Evaluation(NamedTuple):
    """Episodes on the task's own reward, float64[E] each; `flag` is info["is_success"] at the end, NaN where missing.
    `paid_early` says that a reward other than 0 came before an end."""

    task_return: Float
    length: Float
    flag: Float
    paid_early: bool


def train(
    plan: Plan | str,
    reward: Method | str,
    *,
    seed: int = 0,
    device: str = "cpu",
    threads: int = 1,
    progress: Progress | None = None,
    out: str | Path | None = None,
) -> Run:
    """Train an SB3 algorithm on a reward, and evaluate it on the task's own.

    Metrics of the rows:

    - `eval/task_return`, `eval/success_rate`, `eval/length`: means over the episodes of an evaluation. It runs on bare
      environments without the reward method, whose state it never sees, and draws from generators of its own, so that
      it does not change the training. Evaluations of one seed play the same episodes under every reward.
    - `train/task_return`, `train/episode_reward/<term>`: after a rollout, means over the last 100 episodes finished in
      training; the terms hold their weight, and their plain sum is what was paid. `train/<term>/<name>` is what the
      term's learning reported, `train/unscored_share` the share of rows without a score.

    Success is `info["is_success"]` at an episode's end where the environment gives it; else, where it paid at nothing
    but the end of episodes, a task return above 0; else there is no success rate. `Run.success_rule` says which.

    Parameters
    ----------
    plan
        The settings, or an environment id for the default ones.
    reward
        A method or its text.
    seed
        Of everything: networks, training environments, reward method and evaluation get a generator each from it.
    device
        Of the algorithm's networks.
    threads
        Of torch. One is the fastest for small networks.
    progress
        Called with the number of steps made.
    out
        A folder, made where missing, for the agent (`model.zip`), what the reward learned (`reward.pt`) and what they
        were trained on (`agent.json`), which `load` reads.

    >>> small = {"n_steps": 32, "batch_size": 32}
    >>> run = train(Plan("FrozenLake-v1", steps=64, n_envs=2, eval_episodes=2, hyperparameters=small), "task")
    >>> [row.metric for row in run.rows if row.steps == 0]
    ['eval/length', 'eval/success_rate', 'eval/task_return']
    """
    plan = Plan(plan) if isinstance(plan, str) else plan
    began = time.perf_counter()
    th.set_num_threads(threads)
    model_seed, reward_seed, eval_seed = (int(s) >> 1 for s in np.random.SeedSequence(seed).generate_state(3))
    method = as_method(reward)
    model, venv = _build(plan, method, model_seed, reward_seed, device)
    watch = _Watch(plan, eval_seed, progress)
    try:
        model.learn(plan.steps, callback=watch)
        if out is not None:
            _save(Path(out), model, venv, {"plan": plan.asdict(), "reward": text_or_reason(method), "seed": seed})
    finally:
        venv.close()
        for env in watch.bare:
            env.close()
    return watch.run(time.perf_counter() - began)


def _build(
    plan: Plan, method: Method, model_seed: int | None, reward_seed: int | None, device: str
) -> tuple[BaseAlgorithm, VecRecorder]:
    """The algorithm before its first step, in environments that pay the method."""
    cls = algorithm_class(plan.algo)
    how = {"n_sampled_goal": plan.hindsight} if plan.hindsight else False
    venv, kwargs = sb3(_vector(plan.env, plan.n_envs), method, cls, gamma=plan.gamma, seed=reward_seed, hindsight=how)
    settings = {**copy.deepcopy(dict(plan.hyperparameters)), **kwargs}  # SB3 writes into the dicts it is given
    if (spread := DEFAULTS[plan.algo.lower()].noise) and "action_noise" not in settings:
        shape = venv.action_space.shape or ()
        settings["action_noise"] = NormalActionNoise(np.zeros(shape), np.full(shape, spread))
    if _masked(cls) and not venv.has_attr("action_masks"):
        raise RewardError(f"{cls.__name__} asks the environment for action_masks(), which {plan.env} lacks: take ppo.")
    try:
        model = cls(_policy(venv), venv, seed=model_seed, device=device, **settings)
    except (AssertionError, TypeError, ValueError) as error:  # as SB3 says that settings or spaces do not fit
        venv.close()
        said = str(error).replace(f"{cls.__name__}.__init__() ", "")
        raise RewardError(f"{cls.__name__} cannot train on {plan.env} with these settings: {said}") from error
    model.set_logger(Logger(None, []))  # SB3's own leaves a folder for each model
    return model, venv


def rehearse(plan: Plan, rewards: Sequence[Method | str], *, device: str = "cpu") -> None:
    """Make all that a training begins with, once for each reward, so that what cannot be is said at once.

    Raises what `train` would raise before its first step: RewardError for settings and spaces that do not fit the
    algorithm, HookError for a hook that the environment lacks. torch's generator does not move.

    >>> rehearse(Plan("FrozenLake-v1"), ["task", "task + 0.1*count"])
    """
    with th.random.fork_rng(devices=[]):
        for reward in rewards:
            _build(plan, as_method(reward), None, None, device)[1].close()


def act(model: BaseAlgorithm, obs: Any, envs: Sequence[gym.Env[Any, Any]], deterministic: bool) -> Any:
    """The model's actions for a stack of observations, among those that the environments admit where it asks."""
    masks: dict[str, Any] = {}
    if _masked(type(model)):
        masks = {"action_masks": np.stack([env.get_wrapper_attr("action_masks")() for env in envs])}
    return model.predict(obs, deterministic=deterministic, **masks)[0]


def _masked(cls: type[BaseAlgorithm]) -> bool:
    return "action_masks" in inspect.signature(cls.predict).parameters


def evaluate(model: BaseAlgorithm, envs: Sequence[gym.Env[Any, Any]], deterministic: bool, seed: int) -> Evaluation:
    """Play one episode in each of the bare environments; neither the model nor torch's generator moves."""
    n = len(envs)
    obs = [env.reset(seed=seed + i)[0] for i, env in enumerate(envs)]
    task_return, length, flag = np.zeros(n), np.zeros(n), np.full(n, np.nan)
    paid_early, running = False, list(range(n))
    with th.random.fork_rng(devices=[]):
        th.manual_seed(seed)
        while running:
            actions = act(model, _stack([obs[i] for i in running]), [envs[i] for i in running], deterministic)
            for i, action in zip(tuple(running), actions, strict=True):
                obs[i], reward, terminated, truncated, info = envs[i].step(action)
                reward = info.get("true_reward", reward)  # where a monitor may hide it from the agent
                task_return[i] += float(reward)
                length[i] += 1
                if terminated or truncated:
                    flag[i] = info.get("is_success", np.nan)
                    running.remove(i)
                else:
                    paid_early |= bool(reward)
    return Evaluation(task_return, length, flag, paid_early)


def _stack(obs: list[Any]) -> Any:
    return {k: np.stack([o[k] for o in obs]) for k in obs[0]} if isinstance(obs[0], dict) else np.stack(obs)


def _success(evaluations: list[Evaluation]) -> tuple[str, list[Float]]:
    """The rule that all evaluations of a run allow, and success by it of each of their episodes."""
    if any(np.isfinite(e.flag).any() for e in evaluations):
        return BY_FLAG, [np.nan_to_num(e.flag) for e in evaluations]
    if any(e.paid_early for e in evaluations):
        return NO_SUCCESS, []
    return BY_RETURN, [(e.task_return > 0).astype(float) for e in evaluations]


class _Watch(BaseCallback):
    """Evaluates on schedule, and notes the terms of what was paid."""

    def __init__(self, plan: Plan, seed: int, progress: Progress | None) -> None:
        super().__init__()
        self.plan = plan
        self.bare = [make(plan.env) for _ in range(plan.eval_episodes)]
        self.rows: list[Row] = []
        self._evaluations: dict[int, Evaluation] = {}
        self._seeds = np.random.SeedSequence(seed)
        self._progress = progress or (lambda steps: None)
        self._logged = 0

    def _on_training_start(self) -> None:
        self._evaluate()

    def _on_step(self) -> bool:
        if self.num_timesteps >= len(self._evaluations) * self.plan.eval_every and self.num_timesteps < self.plan.steps:
            self._evaluate()  # the last one is at the end of training, which may lie beyond `steps`
        return True

    def _on_rollout_end(self) -> None:
        self._progress(self.num_timesteps)
        if self.num_timesteps - self._logged >= self.plan.steps / 100:
            self._log()

    def _on_training_end(self) -> None:
        if self._logged < self.num_timesteps:
            self._log()
        if self.num_timesteps not in self._evaluations:
            self._evaluate()

    def _evaluate(self) -> None:
        (seed,) = self._seeds.spawn(1)
        at = int(seed.generate_state(1)[0]) >> 1
        done = evaluate(self.model, self.bare, bool(self.plan.deterministic), at)
        self._evaluations[self.num_timesteps] = done

    def _log(self) -> None:
        self._logged = self.num_timesteps
        buffer: Any = getattr(self.model, "rollout_buffer", None) or getattr(self.model, "replay_buffer", None)
        for name, value in buffer.reward_log().items():
            self.rows.append(Row(self.num_timesteps, f"train/{name.removeprefix('reward/')}", value))

    def run(self, seconds: float) -> Run:
        """The rows of the whole training, by step."""
        rule, success = _success(list(self._evaluations.values()))
        rows = list(self.rows)
        for i, (steps, e) in enumerate(self._evaluations.items()):
            columns = {"task_return": e.task_return, "length": e.length}
            columns |= {"success_rate": success[i]} if success else {}
            rows += [Row(steps, f"eval/{name}", float(np.mean(column))) for name, column in columns.items()]
        return Run(sorted(rows), rule, seconds)


def _vector(env_id: str, n: int) -> VecEnv:
    if engine_of(env_id):
        venv: VecEnv = sb3_vec(env_id, n)
        return venv
    return DummyVecEnv([lambda: Monitor(make(env_id))] * n)


def _policy(venv: VecEnv) -> str:
    space = venv.observation_space
    if isinstance(space, spaces.Dict):
        return "MultiInputPolicy"
    shape = space.shape or ()
    return "CnnPolicy" if is_image_space(space) and sorted(shape)[1] >= SMALLEST_IMAGE else "MlpPolicy"


def load(folder: str | Path, reward: Method | str | None = None, *, device: str = "cpu") -> BaseAlgorithm:
    """The agent that `train(..., out=folder)` left, in new environments and with what its reward learned.

    `model.learn(...)` goes on with both; `model.predict(obs)` acts; `model.get_env()` is the environment of `sb3()`.

    Parameters
    ----------
    folder
        As given to `train`.
    reward
        The method that was trained on, for one that has no text.
    device
        Of the networks.

    Nothing in `reward.pt` is executed (`weights_only=True`); `model.zip` is read by SB3, which unpickles: load only
    agents that you trust. Raises TextError where the reward had no text and is not given, RewardError where another is.
    """
    folder = Path(folder)
    if not (folder / "agent.json").is_file():
        raise RewardError(f"{folder} holds no agent.json: name the folder that train(..., out=folder) left.")
    said = json.loads((folder / "agent.json").read_text(encoding="utf-8"))
    plan = Plan(**said["plan"])
    cls = algorithm_class(plan.algo)
    method = as_method(said["reward"] if reward is None else reward)
    venv, _ = sb3(_vector(plan.env, plan.n_envs), method, cls, gamma=plan.gamma)
    venv.rewarder.load_state_dict(_to_arrays(th.load(folder / "reward.pt", weights_only=True)))
    return cls.load(folder / "model.zip", env=venv, device=device)


def _save(folder: Path, model: BaseAlgorithm, venv: VecRecorder, said: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model.zip")
    th.save(_to_tensors(venv.rewarder.state_dict()), folder / "reward.pt")
    (folder / "agent.json").write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


# torch reads its own tensors without executing anything, but no arrays: these travel as marked tensors.
_ARRAY = "numpy array"


def _to_tensors(tree: Any) -> Any:
    if isinstance(tree, np.ndarray):
        return {_ARRAY: th.from_numpy(tree.copy()) if tree.dtype.kind in "biuf" else tree.tolist()}
    if isinstance(tree, dict):
        return {k: _to_tensors(v) for k, v in tree.items()}
    return type(tree)(_to_tensors(v) for v in tree) if type(tree) in (list, tuple) else tree


def _to_arrays(tree: Any) -> Any:
    if isinstance(tree, dict):
        if set(tree) == {_ARRAY}:
            return tree[_ARRAY].numpy() if isinstance(tree[_ARRAY], th.Tensor) else np.array(tree[_ARRAY])
        return {k: _to_arrays(v) for k, v in tree.items()}
    return type(tree)(_to_arrays(v) for v in tree) if type(tree) in (list, tuple) else tree
