"""Hindsight in SB3's replay: rows sampled with goals that were reached, reward and termination worked out for them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import torch as th
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim
from numpy.typing import NDArray
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.buffers import BaseBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper, VecNormalize
from stable_baselines3.her.goal_selection_strategy import GoalSelectionStrategy

from reward_envs.kernels import hindsight as k
from reward_envs.wrappers.adapters.place import refuse_relabelling
from reward_envs.wrappers.adapters.sb3_hindsight_rows import check, layout, parts, seen
from reward_envs.wrappers.adapters.sb3_record import Unscored
from reward_envs.wrappers.adapters.sb3_replay import as_played
from reward_envs.wrappers.adapters.sb3_vec import VecReward
from reward_envs.wrappers.batch import Bool, Float, Int
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.hindsight.goals import GoalFunction, one_number_a_row

RANDOM = -1
STRATEGIES = {"future": k.FUTURE, "final": k.FINAL, "episode": k.EPISODE, "random": RANDOM}
Strategy = str | GoalSelectionStrategy | Callable[[Int, Int, np.random.Generator], Int]
_SPARSE = 16  # rows for each of a finished episode from which on drawing until one is met takes too long
_BOTH = "HindsightReplayBuffer", "compute_goal"


class HindsightReplayBuffer(HerReplayBuffer):
    """SB3's replay buffer for goal environments: of each sample a share `k / (k + 1)` gets goals that were reached.

    A drop-in for `HerReplayBuffer` with DDPG, TD3, SAC and TQC and, where actions are discrete, DQN and QR-DQN:

        SAC("MultiInputPolicy", env, replay_buffer_class=HindsightReplayBuffer, replay_buffer_kwargs={...})

    Rows of finished episodes are drawn uniformly. A drawn row t of an episode of length T keeps its goal, or gets
    `g = achieved_goal(s_{i+1})`, the next achieved goal of a row i: of t, ..., T-1 (future), of T-1 (final), of 0, ...,
    T-1 (episode), of any finished episode (random). Then `r = compute_reward(achieved_goal(s_{t+1}), g, info)` and
    `terminated = compute_terminated(...)` of the row's own environment. A time limit stays one, beyond which the
    learner bootstraps; so does the last row of an episode that a reset breaks off.

    An environment says more by two attributes: `relabel_info`, a dict of the entries of `info` that its functions read
    and their shapes, which are stored then as float64 and handed over as a dict of columns [V, ...]; and
    `compute_goal(achieved, desired, info) -> (reward [V], terminated [V])`, both at once, for a compiled pass.
    Functions that do not answer many rows as one by one are called row by row. Where all worlds are one object
    (`vectors_sb3.RowsVecEnv`), or `venv.alike = True` says that all answer the same, one is asked about all rows.

    Parameters
    ----------
    buffer_size, observation_space, action_space, env, device, n_envs, handle_timeout_termination
        As of HerReplayBuffer; SB3 fills them in.
    n_sampled_goal
        k, 1 or more.
    goal_selection_strategy
        future, final, episode, random, SB3's enum, or a function of (step int64[V], length int64[V], generator): the
        place of a row in its episode and the episode's length; it answers the place whose next achieved goal is taken.
    compute_terminated
        Where the environment has none: the function, or None where no row of the task terminates.
    copy_info_dict
        False; entries of info are named by `relabel_info`.
    seed
        Of the draws; None takes it from torch, which the model's seed rules.

    Saving and loading goes on in mid-episode (`load_replay_buffer(path, truncate_last_traj=False)`). Goals may be of
    any shape and dtype that SB3 carries: vectors, images, codes; it carries no text.
    Raises RewardError for observations without goals, an environment without `compute_reward`, a terminated row where
    nothing says what another goal would do, an episode longer than the buffer, rewards that are not finite, and a
    sample before the first episode has ended.
    Misleads where what is reached is soon reached by chance and never what is asked for, and where the outcome is
    random, since only goals that luck gave are learnt from.

    Source: Andrychowicz et al. 2017, "Hindsight Experience Replay", arXiv:1707.01495, algorithm 1 and section 4.5.

    >>> import gymnasium as gym, reward_envs
    >>> from stable_baselines3 import SAC
    >>> from reward_envs.wrappers import HindsightReplayBuffer
    >>> model = SAC(
    ...     "MultiInputPolicy",
    ...     gym.make("reward_envs/PointReach-v0"),
    ...     replay_buffer_class=HindsightReplayBuffer,
    ...     replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
    ...     learning_starts=60,
    ...     device="cpu",
    ... ).learn(70)
    >>> model.replay_buffer.sample(5).observations["desired_goal"].shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Dict,
        action_space: spaces.Space[Any],
        env: VecEnv,
        device: th.device | str = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        handle_timeout_termination: bool = True,
        n_sampled_goal: int = 4,
        goal_selection_strategy: Strategy = "future",
        copy_info_dict: bool = False,
        compute_terminated: Callable[..., Any] | None = None,
        seed: int | None = None,
    ) -> None:
        check(observation_space, optimize_memory_usage, n_sampled_goal, copy_info_dict)
        BaseBuffer.__init__(self, max(buffer_size // n_envs, 1), observation_space, action_space, device, n_envs)
        self.env: VecEnv | None = env
        self.optimize_memory_usage = False
        self.handle_timeout_termination = handle_timeout_termination
        self.n_sampled_goal, self.her_ratio = n_sampled_goal, 1 - 1 / (n_sampled_goal + 1)
        self.strategy = _strategy(goal_selection_strategy)
        self.copy_info_dict = False
        self.compute_terminated = compute_terminated
        self.relabel_info = _columns_of(env)
        drawn = int(th.randint(2**62, (1,)).item()) if seed is None else seed
        self._word = np.array([np.random.SeedSequence(drawn).generate_state(1, np.uint64)[0]])
        self._rng = np.random.default_rng(drawn)  # of what is drawn by numpy
        self._table = np.zeros((self.buffer_size, n_envs), layout(self))
        self._valid = 0  # rows of finished episodes
        self._current_ep_start = np.zeros(n_envs, np.int64)  # where the running episodes begin; SB3 reads it
        self._steps = np.zeros(n_envs, np.int64)  # and how long they are
        self._ends = False  # whether a row has terminated
        self._open()

    def _open(self) -> None:
        """SB3's arrays, as views of the rows; what is not kept in a pickle."""
        rows = self._table
        self.observations = {key: rows[f"obs/{key}"] for key in self.observation_space.spaces}
        self.next_observations = {key: rows[f"next/{key}"] for key in self.observation_space.spaces}
        self.actions, self.rewards, self.dones, self.timeouts = (
            rows[n] for n in ("action", "reward", "done", "timeout")
        )
        self.ep_start, self.ep_length = rows["start"], rows["length"]
        self._info = {name: rows[f"info/{name}"] for name in self.relabel_info}
        both = self.observations, self.next_observations
        self._into = [[(key, array, array.shape[1:]) for key, array in part.items()] for part in both]
        self._parts = parts(rows.dtype)
        word = np.dtype(np.uint32 if all(n % 4 == 0 for part in self._parts.values() for n in part[:2]) else np.uint8)
        self._words = rows.view(word).reshape(rows.size, -1)
        self._seen = seen(self._parts, word.itemsize)
        self._starts, self._lengths = self.ep_start.reshape(-1), self.ep_length.reshape(-1)
        self._plans: dict[int, tuple[Any, int, list[Any]]] = {}
        self._functions: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        made = {"env", "observations", "next_observations", "actions", "rewards", "dones", "timeouts", "ep_start"}
        made |= {"ep_length", "_info", "_into", "_seen", "_words", "_starts", "_lengths", "_parts", "_plans"}
        made |= {"_functions"}
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, env=None)
        self._open()

    def set_env(self, env: VecEnv) -> None:
        """The environment after loading. Raises RewardError where rows of another shape are stored."""
        if env.num_envs != self.n_envs or env.observation_space != self.observation_space:
            raise RewardError(
                f"the buffer holds rows of {self.n_envs} environments that show {self.observation_space}; this has "
                f"{env.num_envs} and shows {env.observation_space}: load it with what it was filled from."
            )
        self.env, self._functions = env, []

    # rows come in

    def add(
        self,
        obs: Any,
        next_obs: Any,
        action: NDArray[Any],
        reward: NDArray[Any],
        done: NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        if isinstance(reward, Unscored):
            raise RewardError(
                "the environment of sb3() leaves the rewards to the buffer that sb3() names: make the model with the "
                "kwargs that it returned, or take the bare environment."
            )
        pos, books = self.pos, (self.ep_start, self.ep_length, self._current_ep_start, self._steps)
        for key, array, shape in self._into[0]:
            array[pos] = obs[key].reshape(shape)
        self._valid += k.begin_step(self._words, self._seen, *books, pos)
        for key, array, shape in self._into[1]:
            array[pos] = next_obs[key].reshape(shape)
        self.actions[pos] = action.reshape(self.n_envs, self.action_dim)
        self.rewards[pos], self.dones[pos] = reward, done
        self.timeouts[pos] = [info.get("TimeLimit.truncated", False) for info in infos]
        for name, column in self._info.items():
            column[pos] = [_entry(info, name) for info in infos]
        gained, ends = k.end_step(self.rewards, self.dones, self.timeouts, *books, pos)
        if gained == k.NOT_FINITE:
            raise RewardError(f"the rewards {reward} are not finite: a replay buffer holds numbers.")
        if gained == k.TOO_LONG:
            raise RewardError(
                f"an episode of more than {self.buffer_size} steps does not fit into the buffer of {self.buffer_size} "
                f"steps of {self.n_envs} environments: give a larger buffer_size, or a shorter time limit."
            )
        self._valid += gained
        self._ends = self._ends or ends
        self.pos = (pos + 1) % self.buffer_size
        self.full = self.full or self.pos == 0

    def _compute_episode_length(self, env_idx: int) -> None:
        """The running episode of an environment has ended (SB3 also says so of one that is cut when loading)."""
        steps = int(self._steps[env_idx])
        k.close_episode(self.ep_start, self.ep_length, env_idx, int(self._current_ep_start[env_idx]), steps)
        self._valid += steps
        self._current_ep_start[env_idx], self._steps[env_idx] = self.pos, 0

    # samples go out

    def sample(self, batch_size: int, env: VecNormalize | None = None) -> Any:
        """`batch_size` rows as tensors: first those that keep their goal, then those with another.

        Raises RewardError before the first episode has ended.
        """
        index, goal = self._draw(batch_size)
        parts, size, _ = self._plan(batch_size)
        out: NDArray[Any] = np.empty(size, self._words.dtype)
        k.gather(self._words, index, goal, parts, out)
        sample = self._read(out, batch_size)
        real, done, late = batch_size - len(goal), sample["done"], sample["timeout"]
        if self.handle_timeout_termination:
            done *= 1 - late
        if len(goal):
            reward, terminated = self._relabelled(sample, index[real:])
            sample["reward"][real:] = reward
            done[real:] = terminated if self.handle_timeout_termination else np.maximum(terminated, late[real:])
            sample["terminated"] = terminated
        self._score_sample(sample, index, real)
        return self._tensors(sample, env)

    def _score_sample(self, sample: dict[str, NDArray[Any]], index: Int, real: int) -> None:
        """Change the rewards of a sample, whose rows from `real` on have other goals; nothing where the task pays."""

    def _draw(self, batch_size: int) -> tuple[Int, Int]:
        """The rows int64[B], and int64[V] those whose goals the last V of them get."""
        if self._valid == 0:
            raise RewardError(
                "no episode has ended yet, so there is nothing to sample: set learning_starts above n_envs times the "
                "length of the longest episode."
            )
        index = self._any(batch_size)
        relabelled = index[batch_size - int(self.her_ratio * batch_size) :]
        if self.n_envs > 1:  # side by side, so that each environment is asked about a slice
            relabelled[:] = relabelled[np.argsort(relabelled % self.n_envs, kind="stable")]
        if callable(self.strategy):
            return index, self._chosen(relabelled, self.strategy)
        if self.strategy == RANDOM:
            return index, self._any(len(relabelled))
        goal = np.empty_like(relabelled)
        k.draw_goals(self._starts, self._lengths, self.n_envs, self.strategy, self._word, relabelled, goal)
        return index, goal

    def _any(self, n: int) -> Int:
        """n rows of finished episodes, each as likely as any."""
        filled = self.buffer_size * self.n_envs if self.full else self.pos * self.n_envs
        if self._valid * _SPARSE < filled:
            there = np.flatnonzero(self._lengths)
            return there[self._rng.integers(len(there), size=n)]
        index = np.empty(n, np.int64)
        k.draw_rows(self._lengths, filled, self._word, index)
        return index

    def _chosen(self, index: Int, strategy: Callable[[Int, Int, np.random.Generator], Int]) -> Int:
        """What a function of the user's answers, as rows."""
        start, length = self._starts[index].astype(np.int64), self._lengths[index].astype(np.int64)
        step = (index // self.n_envs - start) % self.buffer_size
        chosen = np.asarray(strategy(step, length, self._rng))
        if chosen.shape != step.shape or chosen.dtype.kind not in "iu" or ((chosen < 0) | (chosen >= length)).any():
            raise RewardError(
                f"the goal strategy answered {chosen.dtype} of shape {chosen.shape} for {len(step)} rows: it answers "
                f"the place in each row's episode, integers from 0 to its length - 1."
            )
        found: Int = (start + chosen) % self.buffer_size * self.n_envs + index % self.n_envs
        return found

    def _plan(self, batch_size: int) -> tuple[Int, int, list[Any]]:
        """Where the blocks of a sample of this size lie, and how long it is, in words; and which arrays they are."""
        if batch_size not in self._plans:
            table, arrays, at = [], [], 0
            for name, (lies, size, achieved) in self._parts.items():
                table.append((lies, size, at, achieved))
                field = self._table.dtype[name]
                arrays.append((name, (batch_size, *field.shape), field.base, at))
                at += -(-size * batch_size // k.CACHE_LINE) * k.CACHE_LINE
            word = self._words.itemsize
            self._plans[batch_size] = np.array(table, np.int64) // word, at // word, arrays
        return self._plans[batch_size]

    def _read(self, out: NDArray[Any], n: int) -> dict[str, NDArray[Any]]:
        """The blocks as the arrays that they are."""
        return {name: np.ndarray(shape, dtype, out, at) for name, shape, dtype, at in self._plans[n][2]}

    def _relabelled(self, sample: Mapping[str, NDArray[Any]], index: Int) -> tuple[Float, Bool]:
        """Reward and termination of the last rows of a sample, which have other goals."""
        n = len(index)
        achieved, desired = (sample[name][-n:] for name in ("next/achieved_goal", "next/desired_goal"))
        info = {name: sample[f"info/{name}"][-n:] for name in self.relabel_info}
        asked: list[_Asked] = self._ask
        if len(asked) == 1:
            return asked[0](achieved, desired, info, n)
        reward, terminated = np.empty(n), np.empty(n, np.bool_)
        for env, at in self._by_env(index % self.n_envs):
            own = {name: column[at] for name, column in info.items()}
            reward[at], terminated[at] = asked[env](achieved[at], desired[at], own, len(reward[at]))
        return reward, terminated

    def _by_env(self, envs: Int) -> list[tuple[int, slice]]:
        """Whom to ask, and about which of the rows, whose environments are in order: each about its own, or one about
        all."""
        if len(self._ask) == 1:
            return [(0, slice(None))]
        ends = np.searchsorted(envs, np.arange(self.n_envs + 1)).tolist()
        return [(env, slice(*ends[env : env + 2])) for env in range(self.n_envs) if ends[env] < ends[env + 1]]

    @property
    def _ask(self) -> list[_Asked]:
        """What says what other goals pay: one of all environments, or one of each."""
        if not self._functions:
            inner = self._inner
            goals = cast(Any, inner.observation_space)["achieved_goal"]
            shown = self.observation_space["achieved_goal"]
            if flatdim(goals) != flatdim(shown):
                raise RewardError(
                    f"the environment's goals are {goals} and the learner's {shown}, so it cannot be asked about them: "
                    f"leave out the wrapper that changes goals (VecFrameStack)."
                )
            asked = range(1 if getattr(inner, "alike", False) else self.n_envs)
            self._functions = [_Asked(inner, env, goals, self.compute_terminated) for env in asked]
        if self._ends and not all(f.knows_ends for f in self._functions):
            raise RewardError(
                "a row has terminated, which may not hold for another goal, and the environment has no "
                "compute_terminated(achieved_goal, desired_goal, info): give it one, or hand "
                "replay_buffer_kwargs={'compute_terminated': ...}."
            )
        return self._functions

    @property
    def _inner(self) -> VecEnv:
        """The environments below all wrappers of SB3 and ours."""
        if self.env is None:
            raise RewardError("this buffer was loaded and has no environment: model.load_replay_buffer sets it.")
        return _innermost(self.env)

    def _tensors(self, sample: Mapping[str, NDArray[Any]], env: VecNormalize | None) -> DictReplayBufferSamples:
        keys = self.observation_space.spaces
        seen, then = ({key: sample[f"{when}/{key}"] for key in keys} for when in ("obs", "next"))
        reward = sample["reward"].reshape(-1, 1)
        if env is not None:
            seen, then = (cast(Any, self._normalize_obs(part, env)) for part in (seen, then))
            reward = self._normalize_reward(reward, env).astype(np.float32)
        here = self.device.type == "cpu"
        tensor: Callable[..., th.Tensor] = th.from_numpy if here else lambda a: th.from_numpy(a).to(self.device)
        return DictReplayBufferSamples(
            observations={key: tensor(a) for key, a in seen.items()},
            actions=tensor(sample["action"]),
            next_observations={key: tensor(a) for key, a in then.items()},
            dones=tensor(sample["done"].reshape(-1, 1)),
            rewards=tensor(reward),
        )


class _Asked:
    """Reward and termination of other goals, of one environment."""

    def __init__(
        self,
        venv: VecEnv,
        env: int,
        goals: spaces.Space[Any],
        compute_terminated: Callable[..., Any] | None,
    ) -> None:
        self._venv, self._env, self._goals = venv, env, goals
        self._both = self._method("compute_goal") if venv.has_attr("compute_goal") else None
        if self._both is None and not venv.has_attr("compute_reward"):
            raise RewardError(
                "the environment has no compute_reward(achieved_goal, desired_goal, info), so it cannot say what "
                "another goal would have paid: hindsight needs a goal environment."
            )
        self._reward = GoalFunction(self._method("compute_reward"), "HindsightReplayBuffer")
        own = self._method("compute_terminated") if venv.has_attr("compute_terminated") else None
        asked = compute_terminated or own
        self.knows_ends = self._both is not None or asked is not None
        self._terminated = GoalFunction(asked, "HindsightReplayBuffer") if asked else None
        self._potential = GoalFunction(self._method("compute_potential"), "HindsightReplayBuffer")

    def _method(self, name: str) -> Callable[..., Any]:
        venv, env = self._venv, self._env

        def call(*given: Any) -> Any:
            if isinstance(venv, DummyVecEnv):  # without SB3's search for the environment, which costs as much again
                return venv.envs[env].get_wrapper_attr(name)(*given)
            return venv.env_method(name, *given, indices=[env])[0]

        call.__name__ = name
        return call

    def __call__(self, achieved: Any, desired: Any, info: Any, n: int) -> tuple[Float, Bool]:
        achieved, desired = (as_played(a, self._goals) for a in (achieved, desired))
        if self._both is not None:
            answers = self._both(achieved, desired, info)
            return one_number_a_row(answers[0], n, *_BOTH), one_number_a_row(answers[1], n, *_BOTH).astype(np.bool_)
        reward = self._reward(achieved, desired, info, n)
        if self._terminated is None:
            return reward, np.zeros(n, np.bool_)
        return reward, self._terminated(achieved, desired, info, n).astype(np.bool_)

    def potential(self, achieved: Any, desired: Any) -> Float:
        """`compute_potential` of goals as they were played, float64[n]."""
        return self._potential(achieved, desired, {}, len(desired)).astype(np.float64)


def _innermost(env: VecEnv) -> VecEnv:
    while isinstance(env, VecEnvWrapper):
        if isinstance(env, VecReward) and not env.pays_the_task:
            refuse_relabelling()
        env = env.venv
    return env


def _entry(info: Mapping[str, Any], name: str) -> Any:
    try:
        return info[name]
    except KeyError:
        raise RewardError(
            f"the environment says in relabel_info that its reward reads info[{name!r}], and this step has none; it "
            f"has {', '.join(info) or 'nothing'}."
        ) from None


def _columns_of(env: VecEnv) -> dict[str, tuple[int, ...]]:
    """The entries of info that the environments' functions read, and their shapes."""
    inner = _innermost(env)
    return dict(inner.get_attr("relabel_info", indices=[0])[0]) if inner.has_attr("relabel_info") else {}


def _strategy(given: Strategy) -> int | Callable[[Int, Int, np.random.Generator], Int]:
    if isinstance(given, GoalSelectionStrategy):
        given = given.name
    if callable(given):
        return given
    name = str(given).lower()
    if name not in STRATEGIES:
        near = difflib.get_close_matches(name, STRATEGIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"write one of {', '.join(STRATEGIES)}, or give a function."
        raise RewardError(f"HindsightReplayBuffer: no goal strategy {given!r}: {hint}")
    return STRATEGIES[name]
