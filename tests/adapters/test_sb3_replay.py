"""sb3() off-policy: what is stored, what is scored when sampled, and episodes that wait for their end."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from hypothesis import given, settings
from hypothesis import strategies as st
from stable_baselines3 import DDPG, DQN, SAC, TD3
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from reward_envs.wrappers import Batch, Rewarder, RewardError, Schedule, Task, function, parse, sb3
from reward_envs.wrappers.adapters.sb3_replay import RewardDictReplayBuffer, RewardReplayBuffer
from reward_envs.wrappers.core import Method
from tests.adapters.sb3_tools import (
    Maker,
    NeedsGamma,
    Share,
    Spread,
    Trained,
    Visits,
    assert_same_parameters,
    cartpole,
    cartpole_dict,
    lake,
    minigrid,
    pendulum,
    replayed,
    vector,
)
from tests.scripted import Scripted, walk

FEW: dict[str, Any] = {"learning_starts": 15, "batch_size": 8, "buffer_size": 300, "device": "cpu", "seed": 3}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = th.get_num_threads()
    th.set_num_threads(1)
    yield
    th.set_num_threads(threads)


class Played(BaseCallback):
    def __init__(self) -> None:
        super().__init__()
        self.actions: list[Any] = []

    def _on_step(self) -> bool:
        self.actions.append(np.array(self.locals["actions"]))
        return True


def trained(cls: Any, venv: Any, steps: int = 60, **kwargs: Any) -> tuple[Any, list[Any]]:
    policy = "MultiInputPolicy" if isinstance(venv.observation_space, gym.spaces.Dict) else "MlpPolicy"
    played = Played()
    model = cls(policy, venv, **{**FEW, "policy_kwargs": {"net_arch": [8]}, **kwargs}).learn(steps, callback=played)
    return model, played.actions


def stored(model: Any) -> Any:
    """The stored rewards in the order of rows."""
    buffer = model.replay_buffer
    assert not buffer.full
    return buffer.rewards[: buffer.pos].ravel()


# `task` is plain SB3


@pytest.mark.parametrize(
    ("cls", "make"), [(DQN, cartpole), (DQN, cartpole_dict), (DQN, minigrid), (SAC, pendulum), (TD3, pendulum)]
)
def test_task_alone_trains_as_plain_sb3_bit_by_bit(cls: Any, make: Maker) -> None:
    plain, _ = trained(cls, VecMonitor(vector(make)))
    venv, kwargs = sb3(vector(make), "task", cls)
    ours, _ = trained(cls, venv, **kwargs)
    assert isinstance(ours.replay_buffer, RewardDictReplayBuffer if make is cartpole_dict else RewardReplayBuffer)
    np.testing.assert_array_equal(stored(plain), stored(ours))
    assert stored(ours).dtype == np.float32
    assert_same_parameters(plain, ours)


def test_task_alone_trains_as_plain_sb3_under_vecnormalize() -> None:
    plain, _ = trained(DQN, VecNormalize(VecMonitor(vector(cartpole)), norm_reward=False))
    venv, kwargs = sb3(vector(cartpole), "task", "dqn")
    ours, _ = trained(DQN, VecNormalize(venv, norm_reward=False), **kwargs)
    assert_same_parameters(plain, ours)


@pytest.mark.parametrize("name", ["QRDQN", "TQC", "CrossQ"])
def test_contrib_algorithms_are_served(name: str) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    make = lake if name == "QRDQN" else pendulum
    venv, kwargs = sb3(vector(make, 1), Task() + Visits(), name)
    model, _ = trained(getattr(contrib, name), venv, 20, **kwargs)
    assert isinstance(model.replay_buffer, RewardReplayBuffer)


# Terms


@pytest.mark.parametrize("make", [cartpole, lake, minigrid, cartpole_dict, pendulum])
def test_terms_that_cannot_age_are_stored_as_the_array_adapter_scores_them(make: Maker) -> None:
    method = parse("task + delay(name=late) + clip(task, 0, 0.5, name=clipped)")
    cls = DDPG if make is pendulum else DQN
    venv, kwargs = sb3(vector(make), method, cls)
    model, actions = trained(cls, venv, **kwargs)
    rows = replayed(make, actions, 3)
    expected = Rewarder(method, n=3).step(rows).values.astype(np.float32)
    np.testing.assert_array_equal(stored(model), expected)
    assert model.replay_buffer._anew == ()
    np.testing.assert_array_equal(model.replay_buffer.dones[:20].ravel(), rows.ended)
    np.testing.assert_array_equal(model.replay_buffer.timeouts[:20].ravel(), rows.truncated)


class Asked(RewardReplayBuffer):
    """Tells which rows a sample took."""

    taken: Any = None

    def _score_anew(self, at: Any, obs: Any, next_obs: Any) -> Any:
        self.taken = at
        return super()._score_anew(at, obs, next_obs)


class AskedDict(Asked, RewardDictReplayBuffer):
    pass


@pytest.mark.parametrize("make", [cartpole, lake, minigrid, cartpole_dict, pendulum])
def test_terms_that_age_are_scored_anew_as_the_array_adapter_scores_them(make: Maker) -> None:
    """The learned terms of a sample are those of a runner that has seen every row, whatever was paid at first."""
    aging = parse("normalise(task, gamma=0.9, name=scaled)") + 0.5 * Visits()
    method = parse("task + delay(name=late)") + aging
    cls = SAC if make is pendulum else DQN
    venv, kwargs = sb3(vector(make), method, cls)
    kwargs["replay_buffer_class"] = AskedDict if make is cartpole_dict else Asked
    model, actions = trained(cls, venv, **kwargs)
    rows, buffer = replayed(make, actions, 3), model.replay_buffer
    runner = Rewarder(method, n=3)
    first = [runner.step(rows.rows(np.arange(3 * k, 3 * k + 3))) for k in range(20)]
    kept = np.concatenate([s.terms["task"] + s.terms["late"] for s in first]).astype(np.float32)
    np.testing.assert_array_equal(stored(model), kept)
    assert buffer._anew == ("scaled", "visits")

    before = venv.rewarder.state_dict()
    sample = buffer.sample(40)
    index = buffer.taken[0] * 3 + buffer.taken[1]
    fresh = Rewarder(aging, n=3)
    for k in range(20):
        fresh.step(rows.rows(np.arange(3 * k, 3 * k + 3)))
    now = fresh.score(rows.rows(index)).values
    np.testing.assert_array_equal(sample.rewards.numpy().ravel(), (kept[index] + now).astype(np.float32))
    assert len(set(buffer.taken[1].tolist())) == 3
    np.testing.assert_equal(venv.rewarder.state_dict(), before)
    at_first = np.concatenate([s.terms["visits"] for s in first])[index]
    assert (fresh.score(rows.rows(index)).terms["visits"] < at_first).any()


def test_sampled_rows_are_those_that_were_played() -> None:
    """All columns of a row that is scored anew, images and actions among them."""
    seen: list[Batch] = []

    class Looks(Visits):
        def score(self, state: Any, carry: Any, batch: Batch) -> Any:
            seen.append(batch.copy())
            return np.zeros(len(batch)), None

    def hooks() -> gym.Env[Any, Any]:
        env = minigrid()

        class Tells(gym.Wrapper[Any, Any, Any, Any]):
            def reset(self, **kwargs: Any) -> Any:
                obs, _ = self.env.reset(**kwargs)
                return obs, {"h": float(obs.sum())}

            def step(self, action: Any) -> Any:
                obs, r, term, trunc, _ = self.env.step(action)
                return obs, r, term, trunc, {"h": float(obs.sum())}

        return Tells(env)

    class Hooked(Looks):
        needs = ("h",)

    cases: list[tuple[Maker, Any, Method, tuple[str, ...]]] = [
        (hooks, DQN, Hooked(), ("h",)),
        (pendulum, SAC, Looks(), ()),
        (lake, DQN, Looks(), ()),
    ]
    for make, cls, method, names in cases:
        venv, kwargs = sb3(vector(make), Task() + method, cls)
        model, actions = trained(cls, venv, **{**kwargs, "replay_buffer_class": Asked})
        rows, buffer = replayed(make, actions, 3, names), model.replay_buffer
        seen.clear()
        buffer.sample(30)
        mine, got = rows.rows(buffer.taken[0] * 3 + buffer.taken[1]).columns(), seen[0].columns()
        for name in ("obs", "next_obs", "action", "reward", "known", "terminated", "truncated", "stream", "t"):
            np.testing.assert_array_equal(got[name], mine[name], err_msg=name)
        for name in names:
            np.testing.assert_array_equal(got["info"][name], mine["info"][name])
            np.testing.assert_array_equal(got["next_info"][name], mine["next_info"][name])
        assert set(buffer._extra["info"]) == set(names)
        assert make is not lake or (mine["terminated"].any() and mine["truncated"].any())


def test_full_buffer_scores_the_rows_that_it_holds() -> None:
    venv, kwargs = sb3(vector(cartpole), Visits(), DQN)
    kwargs["replay_buffer_class"] = Asked
    model, actions = trained(DQN, venv, 75, **{**kwargs, "buffer_size": 30})
    buffer = model.replay_buffer
    sample = buffer.sample(40)
    step, env = buffer.taken
    step = np.where(step < buffer.pos, step + 20, step + 10)  # 25 steps were played, the buffer holds the last 10
    rows = replayed(cartpole, actions, 3).rows(step * 3 + env)
    np.testing.assert_array_equal(sample.observations.numpy(), rows.obs)
    now = venv.rewarder.score(rows).values.astype(np.float32)
    np.testing.assert_array_equal(sample.rewards.numpy().ravel(), now)


def test_learned_term_with_a_memory_is_stored() -> None:
    """Its score belongs to the row's place in the episode, which a sample does not show."""
    venv, kwargs = sb3(vector(cartpole), "normalise(delay(task), gamma=0.9) + normalise(task, gamma=0.9, name=n)", DQN)
    model, actions = trained(DQN, venv, **kwargs)
    assert model.replay_buffer._anew == ("n",)
    rows, runner = replayed(cartpole, actions, 3), Rewarder("normalise(delay(task), gamma=0.9)", n=3)
    expected = [runner.step(rows.rows(np.arange(3 * k, 3 * k + 3))).values for k in range(20)]
    np.testing.assert_array_equal(stored(model), np.concatenate(expected).astype(np.float32))


def test_batch_methods_look_at_the_sample() -> None:
    venv, kwargs = sb3(vector(cartpole, 1), Spread(), DQN)
    model, _ = trained(DQN, venv, **kwargs)
    assert not stored(model).any()
    sample = model.replay_buffer.sample(50)
    x = sample.next_observations.numpy()[:, 0].astype(float)
    np.testing.assert_allclose(sample.rewards.numpy().ravel(), x - x.mean(), atol=1e-6)


def test_vecnormalize_normalises_observations_and_no_reward() -> None:
    venv, kwargs = sb3(vector(cartpole), Task() + Visits(), DQN)
    normal = VecNormalize(venv, norm_reward=False)
    model, _ = trained(DQN, normal, **kwargs)
    buffer = model.replay_buffer
    np.testing.assert_array_equal(stored(model)[:3], np.float32([1.1, 1.1, 1.1]))
    sample = buffer.sample(30, env=normal)
    assert np.abs(sample.observations.numpy()).max() > np.abs(buffer.observations).max()
    assert (sample.rewards.numpy().ravel() > stored(model).min()).all()
    venv, kwargs = sb3(vector(cartpole), "task", DQN)
    with pytest.raises(RewardError, match=r"VecNormalize would normalise .*norm_reward=False"):
        trained(DQN, VecNormalize(venv), **kwargs)


def test_methods_learn_when_rows_are_added_under_the_schedule() -> None:
    venv, kwargs = sb3(vector(cartpole), Trained() + Visits(), DQN, schedule=Schedule(learn_every=30, minibatch=64))
    model, _ = trained(DQN, venv, **kwargs)
    assert venv.rewarder.states[0]["sizes"] == [30, 30]
    assert sum(venv.rewarder.states[1].values()) == 60
    assert model.replay_buffer.reward_log()["reward/trained/loss"] == 0.5


# Episode methods


def test_rows_of_an_episode_method_wait_and_come_in_order() -> None:
    """Environment 0 has episodes of 2 steps worth 2, environment 1 of 3 steps worth 3: a step is added once both rows
    are scored, so after steps 1, 2, 3, ... the buffer holds 0, 0, 2, 3, 3, 6 steps."""
    lengths = iter((2, 3))

    def make() -> Scripted:
        k = next(lengths)
        return Scripted([walk(list(range(k + 1)), rewards=[0.0] * (k - 1) + [float(k)])])

    venv, kwargs = sb3(vector(make, 2), Share() + Visits() + 0.5 * Task(), DQN)
    buffer = kwargs["replay_buffer_class"](40, venv.observation_space, venv.action_space, "cpu", n_envs=2)
    with pytest.raises(RewardError, match="buffer is empty.*learning_starts"):
        buffer.sample(4)
    obs, sizes = venv.reset(), []
    for k in range(6):
        action = np.array([k % 2, 0])
        next_obs, rewards, dones, infos = venv.step(action)
        true_next = np.where(dones, [i.get("terminal_observation", 0) for i in infos], next_obs)
        buffer.add(obs, true_next, action, rewards, dones, infos)
        obs[:], action[:] = -1, -1  # what waits is a copy
        obs = next_obs
        sizes.append(buffer.pos)
    assert sizes == [0, 0, 2, 3, 3, 6]
    assert buffer.observations[:6, :, 0].T.tolist() == [[0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 2]]
    assert buffer.next_observations[:6, :, 0].T.tolist() == [[1, 2, 1, 2, 1, 2], [1, 2, 3, 1, 2, 3]]
    assert buffer.actions[:6, 0, 0].tolist() == [0, 1] * 3
    assert buffer.dones[:6].T.tolist() == [[0, 1] * 3, [0, 0, 1] * 2]
    assert buffer.rewards[:6].T.tolist() == [[1.0, 2.0] * 3, [1.0, 1.0, 2.5] * 2]
    assert buffer._anew == ("visits",)
    np.testing.assert_array_equal(buffer._extra["t"][:6].T, [[0, 1] * 3, [0, 1, 2] * 2])
    assert sum(venv.rewarder.states[1].values()) == 12
    assert (len(buffer._rows), len(buffer._waiting)) == (0, 0)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(1, 5), min_size=2, max_size=4), min_size=1, max_size=3),
    ends=st.lists(st.sampled_from(["terminated", "truncated", "both"]), min_size=4, max_size=4),
    resets=st.sets(st.integers(1, 19), max_size=2),
)
def test_rows_come_in_order_whatever_the_episodes(lengths: list[list[int]], ends: list[str], resets: set[int]) -> None:
    """The buffer holds the longest run of steps of which every row's episode is over, each with its score."""
    space = gym.spaces.Discrete(6)
    walks = [[walk(list(range(k + 1)), e) for k, e in zip(of, ends, strict=False)] for of in lengths]
    envs = [Scripted(episodes, space) for episodes in walks]
    venv, kwargs = sb3(DummyVecEnv([lambda env=env: env for env in envs]), Share() + Task(), DQN)
    n = len(envs)
    buffer = kwargs["replay_buffer_class"](100 * n, venv.observation_space, venv.action_space, "cpu", n_envs=n)
    obs = venv.reset()
    runs: list[list[int]] = [[] for _ in envs]  # the rows of the running episodes
    paid = np.full((20, n), np.nan)

    def close(i: int, end: float) -> None:
        if runs[i]:
            paid[runs[i], i] = end / len(runs[i])
            paid[runs[i][-1], i] += end
            runs[i].clear()

    for k in range(20):
        if k in resets:
            obs = venv.reset()
            for i in range(n):
                close(i, 0.0)
        next_obs, rewards, dones, infos = venv.step(np.zeros(n, int))
        buffer.add(obs, next_obs, np.zeros(n, int), rewards, dones, infos)
        for i in range(n):
            runs[i].append(k)
            if dones[i]:
                close(i, 1.0)
        obs = next_obs
        done_rows = ~np.isnan(paid[: k + 1]).any(axis=1)
        size = k + 1 if done_rows.all() else int(np.argmin(done_rows))
        assert buffer.pos == size
    np.testing.assert_array_equal(buffer.rewards[: buffer.pos], paid[: buffer.pos].astype(np.float32))


def test_episode_method_equals_the_array_adapter() -> None:
    method = parse("task + delay(name=late)") + Share()
    venv, kwargs = sb3(vector(cartpole), method, DQN)
    model, actions = trained(DQN, venv, 90, **{**kwargs, "learning_starts": 24})
    expected = Rewarder(method, n=3).step(replayed(cartpole, actions, 3)).values
    paid = stored(model)
    assert 90 - 3 * 7 <= len(paid) < 90
    np.testing.assert_array_equal(paid, expected[: len(paid)].astype(np.float32))


def test_sampling_before_the_first_end_says_what_to_do() -> None:
    venv, kwargs = sb3(vector(lambda: Scripted([walk(list(range(30)))]), 1), Share(), DQN)
    with pytest.raises(RewardError, match="Set learning_starts above n_envs times the length of the longest episode"):
        trained(DQN, venv, **kwargs)


def test_reset_in_mid_episode_truncates_what_waits() -> None:
    def make() -> Scripted:
        return Scripted([walk(list(range(6)), rewards=[1.0, 2.0, 3.0, 4.0, 5.0])])

    venv, kwargs = sb3(vector(make, 1), Share(), DQN)
    model, _ = trained(DQN, venv, 8, **kwargs)  # one episode of 5, and 3 rows that wait
    assert stored(model).tolist() == [3.0] * 5
    model.learn(1)  # resets: the 3 rows are an episode of return 6
    assert stored(model).tolist() == [3.0] * 5 + [2.0] * 3
    assert model.replay_buffer.dones[:8].ravel().tolist() == [0, 0, 0, 0, 1, 0, 0, 0]  # SB3 bootstraps there


# Refusals, and going on


def test_what_the_buffer_cannot_serve_is_refused() -> None:
    venv, kwargs = sb3(vector(cartpole), Task() + Visits(), DQN)
    with pytest.raises(RewardError, match="n_steps=3"):
        trained(DQN, venv, **kwargs, replay_buffer_kwargs={"n_steps": 3, "gamma": 0.99})
    lean = {"optimize_memory_usage": True, "replay_buffer_kwargs": {"handle_timeout_termination": False}}
    with pytest.raises(RewardError, match="visits is scored when rows are sampled, and optimize_memory_usage"):
        trained(DQN, venv, **kwargs, **lean)
    with pytest.raises(RewardError, match="put wrappers that change observations"):
        trained(DQN, VecFrameStack(venv, 2), **kwargs)
    with pytest.raises(RewardError, match=r"not as the environment of sb3\(\) gave them"):
        trained(DQN, venv.venv, **kwargs)
    with pytest.raises(RewardError, match="needsgamma needs the learner's discount"):
        sb3(vector(cartpole), NeedsGamma(), DQN)
    venv, kwargs = sb3(vector(cartpole), NeedsGamma(), DQN, gamma=0.5)
    model, _ = trained(DQN, venv, **kwargs)
    assert (model.gamma, stored(model).max()) == (0.5, 0.5)


def test_lean_memory_serves_stored_terms_as_plain_sb3_does() -> None:
    lean = {"optimize_memory_usage": True, "replay_buffer_kwargs": {"handle_timeout_termination": False}}
    plain, _ = trained(DQN, VecMonitor(vector(cartpole)), **lean)
    venv, kwargs = sb3(vector(cartpole), "task", DQN)
    ours, _ = trained(DQN, venv, **kwargs, **lean)
    assert_same_parameters(plain, ours)


def test_frames_may_be_stacked_below() -> None:
    venv, kwargs = sb3(VecFrameStack(vector(cartpole), 2), Task() + Visits(), DQN)
    model, _ = trained(DQN, venv, **kwargs)
    assert model.replay_buffer.sample(5).observations.shape == (5, 8)


def test_unknown_reward_of_a_sample_is_an_error() -> None:
    class Forgets(Visits):
        def score(self, state: Any, carry: Any, batch: Batch) -> Any:
            from reward_envs.wrappers import Masked

            return Masked(np.zeros(len(batch)), np.full(len(batch), not state)), None

    venv, kwargs = sb3(vector(lake), Forgets(), DQN)
    with pytest.raises(RewardError, match="forgets has no value"):
        trained(DQN, venv, 3, learning_starts=0, **kwargs)


@pytest.mark.parametrize("share", [False, True])
def test_buffer_is_saved_and_loaded(tmp_path: Path, share: bool) -> None:
    method: Method = Task() + Visits() + (Share() if share else parse("delay"))

    def start() -> tuple[Any, dict[str, Any]]:
        return sb3(vector(cartpole), method, DQN)

    venv, kwargs = start()
    model, _ = trained(DQN, venv, 60, **{**kwargs, "learning_starts": 30})
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    again, _ = start()
    again.rewarder.load_state_dict(venv.rewarder.state_dict())
    loaded = DQN.load(tmp_path / "model", env=again)
    loaded.load_replay_buffer(tmp_path / "buffer")
    np.testing.assert_array_equal(stored(loaded), stored(model))
    with pytest.raises(RewardError, match="play one step of the environment"):
        loaded.replay_buffer.sample(4)
    size = loaded.replay_buffer.pos
    loaded.learn(60, reset_num_timesteps=False)
    assert size + 10 < loaded.replay_buffer.pos <= size + 20
    other, _ = sb3(vector(cartpole), "task", DQN)
    loaded.set_env(other)
    with pytest.raises(RewardError, match="holds rewards of task .*make a model with a buffer of its own"):
        loaded.learn(3, reset_num_timesteps=False)


def test_episode_method_starts_at_a_reset() -> None:
    venv, kwargs = sb3(vector(cartpole), Share(), DQN)
    buffer = kwargs["replay_buffer_class"](40, venv.observation_space, venv.action_space, "cpu", n_envs=3)
    obs = venv.reset()
    venv.step(np.zeros(3, int))
    next_obs, rewards, dones, infos = venv.step(np.zeros(3, int))
    with pytest.raises(RewardError, match="cannot start in mid-episode"):
        buffer.add(obs, next_obs, np.zeros(3, int), rewards, dones, infos)


def test_buffer_pickles_without_the_environment() -> None:
    venv, kwargs = sb3(vector(cartpole), Task() + function(lambda obs: obs[:, 0], name="x"), DQN)
    model, _ = trained(DQN, venv, **kwargs)
    again = pickle.loads(pickle.dumps(model.replay_buffer))
    np.testing.assert_array_equal(again.rewards, model.replay_buffer.rewards)
    assert again._recorder is None
    assert again.sample(4).rewards.shape == (4, 1)
