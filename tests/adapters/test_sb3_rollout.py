"""sb3() on-policy: rollouts scored at once, before the advantages; bit by bit plain SB3 where the method is `task`."""

from __future__ import annotations

import copy
import itertools
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
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.callbacks import BaseCallback, StopTrainingOnMaxEpisodes
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor, VecNormalize

from reward_envs.wrappers import (
    Batch,
    NonFiniteError,
    Potential,
    Rewarder,
    RewardError,
    Schedule,
    Scope,
    ScopeError,
    Task,
    function,
    parse,
    relabel,
    sb3,
)
from reward_envs.wrappers.adapters.sb3_record import EpisodeSums, RowStore, Unscored
from reward_envs.wrappers.adapters.sb3_rollout import RewardDictRolloutBuffer, RewardRolloutBuffer
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
    rollout_by_hand,
    vector,
)
from tests.scripted import Scripted, walk

SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 2, "device": "cpu", "seed": 3}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = th.get_num_threads()
    th.set_num_threads(1)
    yield
    th.set_num_threads(threads)


class Seen(BaseCallback):
    """Keeps what SB3 saw of every rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[Any] = []
        self.rollouts: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        self.actions.append(np.array(self.locals["clipped_actions"]))
        return True

    def _on_rollout_end(self) -> None:
        buffer = self.model.rollout_buffer
        names = ("rewards", "advantages", "returns", "terms", "unscored")
        self.rollouts.append({name: copy.deepcopy(getattr(buffer, name, None)) for name in names})


def policy(venv: Any) -> str:
    return "MultiInputPolicy" if isinstance(venv.observation_space, gym.spaces.Dict) else "MlpPolicy"


def trained(cls: Any, venv: Any, steps: int = 96, **kwargs: Any) -> tuple[Any, Seen]:
    seen = Seen()
    given = SMALL if cls is PPO else {"n_steps": 16, "device": "cpu", "seed": 3}
    return cls(policy(venv), venv, **{**given, **kwargs}).learn(steps, callback=seen), seen


# `task` is plain SB3


@pytest.mark.parametrize("make", [cartpole, cartpole_dict, pendulum, minigrid, lake])
@pytest.mark.parametrize("cls", [PPO, A2C])
def test_task_alone_trains_as_plain_sb3_bit_by_bit(cls: Any, make: Maker) -> None:
    plain, rows = trained(cls, VecMonitor(vector(make)))
    venv, kwargs = sb3(vector(make), "task", cls)
    ours, ours_rows = trained(cls, venv, **kwargs)
    assert isinstance(ours.rollout_buffer, RewardDictRolloutBuffer if make is cartpole_dict else RewardRolloutBuffer)
    assert len(rows.rollouts) == 2
    for a, b in zip(rows.rollouts, ours_rows.rollouts, strict=True):
        for name in ("rewards", "advantages", "returns"):
            np.testing.assert_array_equal(a[name], b[name])
    assert_same_parameters(plain, ours)
    assert ours.ep_info_buffer[-1]["r"] == plain.ep_info_buffer[-1]["r"]


@pytest.mark.parametrize("make", [cartpole, cartpole_dict])
def test_task_alone_trains_as_plain_sb3_under_vecnormalize(make: Maker) -> None:
    keys = {"norm_obs_keys": ["x"]} if make is cartpole_dict else {}
    plain, _ = trained(PPO, VecNormalize(VecMonitor(vector(make)), norm_reward=False, **keys))
    venv, kwargs = sb3(vector(make), "task", "ppo")
    ours, _ = trained(PPO, VecNormalize(venv, norm_reward=False, **keys), **kwargs)
    assert_same_parameters(plain, ours)


def test_task_alone_trains_as_plain_sb3_on_subprocesses() -> None:
    plain, rows = trained(PPO, SubprocVecEnv([cartpole] * 2, start_method="fork"), 64)
    venv, kwargs = sb3(SubprocVecEnv([cartpole] * 2, start_method="fork"), "task", PPO)
    ours, ours_rows = trained(PPO, venv, 64, **kwargs)
    np.testing.assert_array_equal(rows.rollouts[-1]["rewards"], ours_rows.rollouts[-1]["rewards"])
    assert_same_parameters(plain, ours)
    plain.env.close()
    venv.close()


# Terms


def everything() -> Method:
    plain = parse("task + delay(name=late) + normalise(task, gamma=0.9, name=scaled)")
    height = Potential(
        lambda rows: rows.reshape(len(rows), -1).sum(1).astype(float), gamma=0.99, rowwise=False, name="phi"
    )
    return plain + 0.5 * Visits() + height + Spread()


@pytest.mark.parametrize("make", [cartpole, lake, minigrid])
def test_terms_equal_the_array_adapter(make: Maker) -> None:
    venv, kwargs = sb3(vector(make), everything(), PPO)
    model, seen = trained(PPO, venv, 144, **kwargs)
    rows, size = replayed(make, seen.actions, 3), 16 * 3
    assert model.rollout_buffer.unscored == 0.0
    runner = Rewarder(everything(), n=3)
    for k, rollout in enumerate(seen.rollouts):
        scored = runner.step(rows.rows(np.arange(k * size, k * size + size)))
        for name, values in scored.terms.items():
            np.testing.assert_array_equal(rollout["terms"][name].ravel(), values, err_msg=name)
        plain = ~rows.truncated[k * size : k * size + size]
        np.testing.assert_array_equal(rollout["rewards"].ravel()[plain], scored.values[plain].astype(np.float32))
    assert len(seen.rollouts) == 3


def test_counts_and_networks_equal_relabel() -> None:
    """The same seed, rows, cuts and schedule give the same terms, learning steps included."""
    text = "task + 0.1*count(bits=8) + 0.5*rnd(width=16, outputs=8, warmup=60)"
    venv, kwargs = sb3(vector(cartpole), text, PPO, gamma=0.99, seed=5)
    _, seen = trained(PPO, venv, 240, **kwargs)
    rows, schedule = replayed(cartpole, seen.actions, 3), Schedule(learn_every=48)
    scored = relabel(rows, text, spec=venv.place, seed=5, schedule=schedule, cut=48)
    for name, values in scored.terms.items():
        got = np.concatenate([r["terms"][name].ravel() for r in seen.rollouts])
        np.testing.assert_array_equal(got, values, err_msg=name)
    assert scored.terms["rnd"].any()


def test_method_with_a_memory_is_not_disturbed_by_the_cut_of_rollouts() -> None:
    """Delay over rollouts of 16 steps pays what it pays over the whole run."""
    venv, kwargs = sb3(vector(cartpole), "delay", A2C)
    _, seen = trained(A2C, venv, 192, **kwargs)
    whole = Rewarder("delay", n=3).step(replayed(cartpole, seen.actions, 3)).values
    np.testing.assert_array_equal(np.concatenate([r["terms"]["delay"].ravel() for r in seen.rollouts]), whole)


def test_hooks_reach_the_rollout() -> None:
    def make() -> Scripted:
        infos = [{"progress": p} for p in (0.25, 0.5, 1.0)]
        return Scripted([walk([0, 1, 2], infos=infos)])

    venv, kwargs = sb3(vector(make, 2), "task + progress", PPO)
    _, seen = trained(PPO, venv, 32, **kwargs)
    np.testing.assert_array_equal(seen.rollouts[0]["terms"]["progress"], np.tile([[0.25], [0.5]], (8, 2)))


def test_gradient_methods_learn_once_a_rollout_unless_told_otherwise() -> None:
    venv, kwargs = sb3(vector(cartpole), Trained(), PPO)
    model, seen = trained(PPO, venv, 144, **kwargs)
    assert venv.rewarder.schedule == Schedule(learn_every=48)
    assert venv.rewarder.states[0]["sizes"] == [48, 48, 48]
    assert [r["terms"]["trained"].max() for r in seen.rollouts] == [0.0, 1.0, 2.0]
    assert model.rollout_buffer.reward_log()["reward/trained/loss"] == 0.5
    venv, kwargs = sb3(vector(cartpole), Trained(), PPO, schedule=Schedule(learn_every=96, minibatch=64))
    trained(PPO, venv, 144, **kwargs)
    assert venv.rewarder.states[0]["sizes"] == [64, 32]


# Advantages


def test_bonus_enters_the_advantages() -> None:
    rollout: dict[str, Any] = {
        "r_ext": [0.0, 0.0, 1.0],
        "r_int": [1.0, 0.5, 0.0],
        "beta": 0.2,
        "values": [0.5, 0.5, 0.5],
        "final_value": 2.0,
    }
    ended = rollout_by_hand(**rollout, end="terminated", gamma=0.5, gae_lambda=1.0)
    np.testing.assert_allclose(ended.returns.ravel(), [0.5, 0.6, 1.0], rtol=1e-6)
    np.testing.assert_allclose(ended.advantages.ravel(), [0.0, 0.1, 0.5], rtol=1e-6, atol=1e-7)
    cut = rollout_by_hand(**rollout, end="truncated", gamma=0.5, gae_lambda=1.0)
    np.testing.assert_allclose(cut.returns.ravel(), [0.75, 1.1, 2.0], rtol=1e-6)
    np.testing.assert_allclose(cut.advantages.ravel(), [0.25, 0.6, 1.5], rtol=1e-6)
    np.testing.assert_array_equal(cut.terms["bonus"].ravel(), [0.2, 0.1, 0.0])


def test_potential_shaping_shifts_the_value_and_not_the_advantage() -> None:
    """With V := phi-shifted values (V' = V - phi), shaped GAE equals unshaped GAE, row by row, at every kind of end."""
    phi, gamma = np.array([3.0, -1.0, 2.0, 5.0]), 0.5
    for end in ("terminated", "truncated"):
        advantages = []
        for text, shift in (("task", 0.0 * phi), ("task + potential((3, -1, 2, 5))", phi)):
            env = Scripted([walk([0, 1, 2, 3], end)])
            venv, kwargs = sb3(DummyVecEnv([lambda env=env: env]), text, PPO)
            buffer = kwargs["rollout_buffer_class"](
                3, venv.observation_space, venv.action_space, "cpu", gamma=gamma, gae_lambda=0.7
            )
            obs, starts, dones = venv.reset(), np.ones(1, bool), np.zeros(1, bool)
            for t in range(3):
                next_obs, rewards, dones, infos = venv.step(np.zeros(1, int))
                if infos[0]["TimeLimit.truncated"]:
                    rewards[0] += gamma * (4.0 - shift[3])
                value = th.tensor([1.0 + t - shift[t]], dtype=th.float32)
                buffer.add(obs, np.zeros(1, int), rewards, starts, value, th.zeros(1))
                obs, starts = next_obs, dones
            buffer.compute_returns_and_advantage(th.tensor([99.0]), dones)
            advantages.append(buffer.advantages.ravel())
        np.testing.assert_allclose(advantages[1], advantages[0], rtol=1e-6)


# Episode methods


def test_episode_method_pays_when_the_episode_ends() -> None:
    """Episodes of 5 steps worth 5, rollouts of 8: rows 0-4 are paid, 5-7 wait; then 5-9 end and rows 8, 9 are paid."""

    def make() -> Scripted:
        return Scripted([walk(list(range(6)), "terminated", rewards=[0.0, 0.0, 0.0, 0.0, 5.0])])

    venv, kwargs = sb3(vector(make, 2), 2 * Share() + Visits() + Task(), PPO)
    model, seen = trained(PPO, venv, 48, n_steps=8, **kwargs)
    assert [r["unscored"] for r in seen.rollouts] == [3 / 8, 1 / 8, 4 / 8]
    paid = [r["terms"]["share"][:, 1].tolist() for r in seen.rollouts]
    assert paid == [[2.0] * 5 + [0.0] * 3, [2.0] * 7 + [0.0], [2.0] * 4 + [0.0] * 4]
    assert seen.rollouts[0]["rewards"][:, 0].tolist()[5:] == [0.0, 0.0, 0.0]
    np.testing.assert_array_equal(
        [r["terms"]["task"][:, 0] for r in seen.rollouts],
        [[0, 0, 0, 0, 5, 0, 0, 0], [0, 5, 0, 0, 0, 0, 5, 0], [0, 0, 0, 5, 0, 0, 0, 0]],
    )
    # Every row of a finished episode was learnt from once: 4 episodes of 2 environments through states 1-5.
    assert sum(venv.rewarder.states[2].values()) == 4 * 2 * 5
    assert model.rollout_buffer.reward_log()["reward/unscored_share"] == 0.5
    assert model.rollout_buffer.reward_log()["episode_reward/share"] == 10.0


def test_episode_method_equals_the_array_adapter_on_finished_episodes() -> None:
    venv, kwargs = sb3(vector(cartpole), parse("task + delay(name=late)") + Share(), PPO)
    _, seen = trained(PPO, venv, 144, **kwargs)
    rows = replayed(cartpole, seen.actions, 3)
    whole = Rewarder(parse("task + delay(name=late)") + Share(), n=3).step(rows)
    for name, values in whole.terms.items():
        got = np.concatenate([r["terms"][name].ravel() for r in seen.rollouts])
        rollout, end = np.arange(len(rows)) // 48, np.full(rows.episode.max() + 1, 99)
        end[rows.episode[rows.ended]] = rollout[rows.ended]  # in which the episode ends
        paid = end[rows.episode] == rollout
        np.testing.assert_array_equal(got[paid], values[paid], err_msg=name)
        assert not got[~paid].any()
    assert 0.0 < seen.rollouts[0]["unscored"] == 1 - paid[:48].mean()


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(1, 5), min_size=2, max_size=4), min_size=2, max_size=3),
    ends=st.lists(st.sampled_from(["terminated", "truncated", "both"]), min_size=4, max_size=4),
    n_steps=st.integers(6, 11),
)
def test_every_row_of_an_episode_is_scored_once_and_paid_if_its_rollout_sees_the_end(
    lengths: list[list[int]], ends: list[str], n_steps: int
) -> None:
    """Slow twin: row by row over the episodes as they were written."""
    space = gym.spaces.Discrete(6)
    walks = [[walk(list(range(k + 1)), e) for k, e in zip(of, ends, strict=False)] for of in lengths]
    envs = [Scripted(episodes, space) for episodes in walks]
    n, rollouts = len(envs), 3
    venv, kwargs = sb3(DummyVecEnv([lambda env=env: env for env in envs]), Share() + Visits(), A2C)
    seen = Seen()
    A2C("MlpPolicy", venv, n_steps=n_steps, device="cpu", **kwargs).learn(n * n_steps * rollouts, callback=seen)
    learnt = 0
    for i, of in enumerate(lengths):
        first, episode, paid = 0, 0, np.zeros(n_steps * rollouts)
        while first + of[episode % len(of)] <= len(paid):
            length = of[episode % len(of)]
            last = first + length - 1
            paid[max(first, last // n_steps * n_steps) : last + 1] = 1.0 / length
            first, episode, learnt = first + length, episode + 1, learnt + length
        np.testing.assert_array_equal(np.concatenate([r["terms"]["share"][:, i] for r in seen.rollouts]), paid)
    assert sum(venv.rewarder.states[1].values()) == learnt


def test_reset_between_rollouts_ends_the_episode_as_a_truncation() -> None:
    truncated: list[Any] = []

    def note(batch: Batch) -> Any:
        truncated.append(batch.truncated.tolist())
        return np.zeros(len(batch))

    def make() -> Scripted:
        return Scripted([walk(list(range(7)))])

    venv, kwargs = sb3(vector(make, 1), Share() + function(note, name="note"), PPO)
    model, _ = trained(PPO, venv, 8, n_steps=8, batch_size=8, **kwargs)
    truncated.clear()
    model.learn(8)  # resets in mid-episode: its two rows are a whole, truncated episode now
    assert truncated == [[False, True] + [False] * 6]
    assert (model.rollout_buffer.unscored, len(model.rollout_buffer._rows)) == (2 / 8, 2)
    model.learn(8, reset_num_timesteps=False)  # goes on
    assert truncated[-1] == [False] * 6


@pytest.mark.parametrize("cls", [PPO, A2C])
def test_episode_method_refuses_a_time_limit_beyond_the_rollout(cls: Any) -> None:
    kwargs: dict[str, Any]
    small = {"n_steps": 2, "batch_size": 6} if cls is PPO else {"n_steps": 2}
    venv, kwargs = sb3(vector(lake), "task + delay", cls)
    trained(cls, venv, 6, **small, **kwargs)  # a step method does not mind
    venv, kwargs = sb3(vector(lake), Task() + Share(), cls)
    with pytest.raises(
        RewardError, match="share is paid when an episode ends, episodes have up to 9 steps, .*n_steps=2"
    ):
        trained(cls, venv, 6, **small, **kwargs)


def test_episode_that_outgrows_the_rollout_is_an_error_where_no_time_limit_was_known() -> None:
    venv, kwargs = sb3(vector(lambda: Scripted([walk(list(range(20)))])), Share(), PPO)
    with pytest.raises(RewardError, match="an episode still runs after 16 steps"):
        trained(PPO, venv, **kwargs)


# Traps


def test_zeros_survive_copies_and_reveal_calculation() -> None:
    venv, _ = sb3(vector(lake), "task", PPO)
    venv.reset()
    rewards = venv.step(np.zeros(3, int))[1]
    for copied in (rewards.copy(), rewards.astype(np.float32), copy.deepcopy(rewards), rewards[:]):
        assert isinstance(copied, Unscored)
        assert copied.recorder is venv
    for changed in (
        0.1 * rewards,
        rewards / np.sqrt(2.0),
        np.clip(rewards, -1, 1),
        rewards + np.ones(3),
        np.array(rewards),
    ):
        assert type(changed) is np.ndarray
    assert pickle.loads(pickle.dumps(rewards)).recorder is None
    total = np.zeros(3, np.float32)
    total += rewards
    assert type(total) is np.ndarray


def test_vecnormalize_may_not_touch_the_reward() -> None:
    venv, kwargs = sb3(vector(cartpole), "task", PPO)
    with pytest.raises(RewardError, match=r"VecNormalize\(venv, norm_reward=False\)"):
        trained(PPO, VecNormalize(venv), **kwargs)


class Adds(VecMonitor):
    def step_wait(self) -> Any:
        obs, rewards, dones, infos = self.venv.step_wait()
        rewards += 1.0
        return obs, rewards, dones, infos


@pytest.mark.parametrize("wrap", [lambda venv: venv.venv, Adds])
def test_rewards_of_another_origin_are_refused(wrap: Any) -> None:
    venv, kwargs = sb3(vector(cartpole), "task", PPO)
    with pytest.raises(RewardError, match=r"not as the environment of sb3\(\) gave them"):
        trained(PPO, wrap(venv), **kwargs)


def test_rows_are_taken_once() -> None:
    venv, kwargs = sb3(vector(lake), "task", PPO)
    buffer = kwargs["rollout_buffer_class"](4, venv.observation_space, venv.action_space, "cpu", n_envs=3)
    step = (venv.reset(), np.zeros(3, int), venv.step(np.zeros(3, int))[1], np.ones(3), th.zeros(3), th.zeros(3))
    buffer.add(*step)
    with pytest.raises(RewardError, match="taken already"):
        buffer.add(*step)


def test_forgotten_buffer_is_warned_of() -> None:
    venv, _ = sb3(vector(cartpole), "task", PPO)
    with pytest.warns(UserWarning, match=r"no buffer asked for their rewards: make the model with the kwargs"):
        trained(PPO, venv, 3 * 256)


def test_vecnormalize_below_is_refused() -> None:
    with pytest.raises(RewardError, match="VecNormalize lies below the reward"):
        sb3(VecNormalize(vector(cartpole)), "task", PPO)


def test_statistics_above_a_reward_are_warned_of() -> None:
    from reward_envs.wrappers import RewardWrapper

    with pytest.warns(UserWarning, match="VecMonitor sits above a reward wrapper|lies below"):
        sb3(vector(lambda: RewardWrapper(lake(), "2*task")), "task", PPO)


def test_gamma_is_the_learners() -> None:
    venv, kwargs = sb3(vector(cartpole), NeedsGamma(), PPO)
    assert "gamma" not in kwargs
    _, seen = trained(PPO, venv, gamma=0.9, **kwargs)
    assert seen.rollouts[0]["terms"]["needsgamma"].max() == 0.9
    with pytest.raises(RewardError, match=r"learner discounts by gamma=0.8, the reward was made for gamma=0.9"):
        trained(PPO, venv, gamma=0.8, **kwargs)
    venv, kwargs = sb3(vector(cartpole), NeedsGamma(), PPO, gamma=0.7)
    model, seen = trained(PPO, venv, **kwargs)
    assert (model.gamma, seen.rollouts[0]["terms"]["needsgamma"].max()) == (0.7, 0.7)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'gamma'"):
        PPO("MlpPolicy", venv, gamma=0.7, **kwargs)
    venv, _ = sb3(vector(cartpole), NeedsGamma(), PPO)
    with pytest.raises(RewardError, match="needsgamma needs the learner's discount"):
        _ = venv.rewarder
    venv, kwargs = sb3(vector(cartpole), "task", PPO)
    trained(PPO, venv, gamma=0.9, **kwargs)


def test_what_sb3_does_not_serve_is_refused() -> None:
    class Groups(Visits):
        own_scope = Scope.GROUP

    with pytest.raises(ScopeError, match=r"looks at a whole group, sb3\(\) serves episode methods: use relabel"):
        sb3(vector(lake), Groups(), PPO)
    with pytest.raises(RewardError, match="knows no algorithm 'poo': did you mean"):
        sb3(vector(lake), "task", "poo")
    with pytest.raises(RewardError, match="it takes a class, or one of A2C, "):
        sb3(vector(lake), "task", 3)  # type: ignore[arg-type]
    contrib = pytest.importorskip("sb3_contrib")
    for cls in (contrib.RecurrentPPO, contrib.ARS):
        with pytest.raises(RewardError, match=rf"{cls.__name__} makes a buffer of its own.*VecReward.*VecFrameStack"):
            sb3(vector(lake), "task", cls)


def test_non_finite_reward_names_the_method() -> None:
    bad = function(lambda obs: np.full(len(obs), np.inf), name="bad")
    venv, kwargs = sb3(vector(cartpole), bad, PPO)
    with pytest.raises(NonFiniteError, match="bad gave inf in row 0"):
        trained(PPO, venv, **kwargs)


def test_unknown_reward_is_an_error() -> None:
    venv, kwargs = sb3(vector(lambda: Scripted([walk([0, 1, 2], rewards=[np.nan, 1.0])])), "task", PPO)
    with pytest.raises(RewardError, match="task has no value in row 0 .*fill_unknown"):
        trained(PPO, venv, **kwargs)


# Going on


def test_rollout_that_a_callback_broke_off_is_dropped() -> None:
    venv, kwargs = sb3(vector(cartpole), Task() + Visits(), PPO)
    model = PPO("MlpPolicy", venv, **SMALL, **kwargs)
    model.learn(96, callback=StopTrainingOnMaxEpisodes(1))
    assert venv.rewarder.states[1] == {}
    model.learn(48)
    assert sum(venv.rewarder.states[1].values()) == 48


def test_evaluation_on_the_training_environment_learns_nothing() -> None:
    from stable_baselines3.common.evaluation import evaluate_policy

    venv, kwargs = sb3(vector(cartpole), Task() + Visits(), PPO)
    model, _ = trained(PPO, venv, 48, **kwargs)
    saved = copy.deepcopy(venv.rewarder.states)
    mean, _ = evaluate_policy(model, venv, n_eval_episodes=3)
    assert mean > 7.0  # the task's own: its statistics lie below
    assert venv.rewarder.states == saved
    model.learn(48)


def test_save_load_and_go_on_is_to_go_on(tmp_path: Path) -> None:
    def start() -> tuple[Any, dict[str, Any]]:
        return sb3(vector(cartpole), Task() + 0.5 * Visits(), PPO, seed=1)

    venv, kwargs = start()
    model, _ = trained(PPO, venv, 48, **kwargs)
    model.save(tmp_path / "model")
    saved = venv.rewarder.state_dict()
    again, _ = start()
    again.rewarder.load_state_dict(saved)
    loaded = PPO.load(tmp_path / "model", env=again)
    assert isinstance(loaded.rollout_buffer, RewardRolloutBuffer)
    for m, v in ((model, venv), (loaded, again)):
        m.set_random_seed(11)
        v.rewarder.restart()
        m.learn(96)
    assert_same_parameters(model, loaded)
    assert venv.rewarder.states == again.rewarder.states
    with pytest.raises(AssertionError, match="number of environments to be set is different"):
        loaded.set_env(sb3(vector(cartpole, 2), "task", PPO)[0])


def test_environment_may_be_exchanged() -> None:
    def bare() -> Any:
        return vector(lambda: Scripted([walk(list(range(6)))]))

    def start() -> tuple[Any, dict[str, Any]]:
        return sb3(bare(), Task() + Share(), PPO)

    venv, kwargs = start()
    model, seen = trained(PPO, venv, 48, **kwargs)  # one row of each environment waits
    model.set_env(start()[0])
    model.learn(48)
    np.testing.assert_array_equal(model.rollout_buffer.terms["share"], seen.rollouts[0]["terms"]["share"])
    model.set_env(bare())
    with pytest.raises(RewardError, match="set_env"):
        model.learn(48)


def test_single_environment_is_taken() -> None:
    venv, kwargs = sb3(lake(), "task", PPO)
    trained(PPO, venv, 16, **kwargs)
    assert venv.num_envs == 1


# sb3_contrib


@pytest.mark.parametrize("name", ["TRPO", "MaskablePPO"])
def test_contrib_algorithms_train_as_plain(name: str) -> None:
    contrib = pytest.importorskip("sb3_contrib")

    class Masks(gym.Wrapper[Any, Any, Any, Any]):
        def action_masks(self) -> Any:
            return np.array([True, True])

    cls = getattr(contrib, name)
    for make in (lambda: Masks(cartpole()), lambda: Masks(cartpole_dict())):
        given = {"n_steps": 16, "batch_size": 16, "device": "cpu", "seed": 3}
        plain = VecMonitor(vector(make))
        a = cls(policy(plain), plain, **given).learn(96)
        venv, kwargs = sb3(vector(make), "task", name)
        b = cls(policy(venv), venv, **given, **kwargs).learn(96)
        assert_same_parameters(a, b)
        assert b.rollout_buffer.terms["task"].shape == (16, 3)


# Parts


def test_row_store_grows_keeps_and_cuts() -> None:
    def rows(*values: int) -> Batch:
        x = np.array(values)
        obs = {"x": x[:, None].astype(float)}
        return Batch.of(obs=obs, action=x, next_obs=obs, reward=x, info={"h": x}, next_info={"h": x})

    store = RowStore()
    for k in range(5):
        store.append(rows(2 * k, 2 * k + 1))
    assert store.batch.obs["x"].ravel().tolist() == list(range(10))
    store.keep(store.batch.action % 3 == 0)
    store.append(rows(7, 8))
    assert store.batch.info["h"].tolist() == [0, 3, 6, 9, 7, 8]
    store.cut(2)
    assert (len(store), store.batch.reward.tolist()) == (2, [0.0, 3.0])
    assert pickle.loads(pickle.dumps(store)).batch.reward.tolist() == [0.0, 3.0]


@given(
    ends=st.lists(st.booleans(), min_size=12, max_size=12),
    cuts=st.lists(st.integers(1, 11), max_size=3),
    streams=st.sampled_from([1, 2, 3, 4]),
)
def test_episode_sums_equal_sums_row_by_row(ends: list[bool], cuts: list[int], streams: int) -> None:
    columns = {"stream": np.arange(12) % streams, "truncated": ends}
    batch = Batch.of(obs=np.zeros(12), action=np.zeros(12), next_obs=np.zeros(12), reward=np.arange(12), **columns)
    sums, finished = EpisodeSums(), []
    for start, end in itertools.pairwise(sorted({0, 12, *cuts})):
        index = np.arange(start, end)
        sums.add(batch.rows(index), {"half": 0.5 * batch.reward[index]})
    running = [0.0] * streams
    for i, end in enumerate(ends):
        running[i % streams] += float(i)
        if end:
            finished.append(running[i % streams])
            running[i % streams] = 0.0
    mean = float(np.mean(finished)) if finished else 0.0
    expected = {"reward/task_return": mean, "episode_reward/half": mean / 2} if finished else {}
    assert sums.means() == pytest.approx(expected)


def test_episode_that_was_left_by_a_reset_is_not_summed() -> None:
    sums = EpisodeSums()
    for episode, end in ((0, False), (1, True)):
        rows = {"obs": [0], "action": [0], "next_obs": [0], "reward": [1.0], "terminated": [end], "episode": [episode]}
        sums.add(Batch.of(**rows), {"one": np.ones(1)})
    assert sums.means() == {"reward/task_return": 1.0, "episode_reward/one": 1.0}


def test_episode_sums_do_not_depend_on_cuts() -> None:
    columns = {"stream": [0, 1] * 4, "terminated": [0, 0, 1, 0, 0, 1, 0, 0]}
    batch = Batch.of(obs=np.zeros(8), action=np.zeros(8), next_obs=np.zeros(8), reward=np.arange(8), **columns)
    terms = {"double": 2.0 * batch.reward}
    for cuts in ([8], [3, 5], [1] * 8):
        sums, at = EpisodeSums(), 0
        for size in cuts:
            index = np.arange(at, at + size)
            sums.add(batch.rows(index), {"double": terms["double"][index]})
            at += size
        # Stream 0: 0 + 2; stream 1: 1 + 3 + 5; the rest still runs.
        assert sums.means() == {"reward/task_return": 5.5, "episode_reward/double": 11.0}
    assert EpisodeSums().means() == {}
