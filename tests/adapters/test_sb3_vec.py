"""VecReward: SB3's conventions for successors, flags, hooks and reward arrays."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor, VecNormalize, is_vecenv_wrapped

from reward_envs.card import Card
from reward_envs.wrappers import (
    HookError,
    Potential,
    Rewarder,
    RewardError,
    ScopeError,
    Task,
    VecReward,
    function,
    parse,
    with_reward,
)
from reward_envs.wrappers.adapters.sb3_vec import horizon, spec_of, with_vec_statistics
from reward_envs.wrappers.core import Method
from tests.adapters.sb3_tools import (
    Maker,
    Share,
    Short,
    Spread,
    Visits,
    cartpole,
    cartpole_dict,
    lake,
    minigrid,
    pendulum,
    replayed,
    vector,
)
from tests.scripted import Scripted, walk


def height(obs: Any) -> float:
    return float(sum(np.sum(v) for v in obs.values()) if isinstance(obs, dict) else np.sum(obs))


def method() -> Method:
    plain = parse("task + delay(name=late) + normalise(task, gamma=0.9, name=scaled)")
    return plain + 0.5 * Visits() + Potential(height, gamma=0.9, name="height")


def play(venv: Any, steps: int, seed: int) -> tuple[list[Any], list[Any], list[Any]]:
    """(actions, rewards, infos) of random play."""
    venv.seed(seed)
    venv.reset()
    rng = np.random.default_rng(seed)
    space, played, paid, said = venv.action_space, [], [], []
    for _ in range(steps):
        if isinstance(space, gym.spaces.Box):
            action = rng.uniform(space.low, space.high, (venv.num_envs, *space.shape)).astype(np.float32)
        else:
            action = rng.integers(space.n, size=venv.num_envs)
        _, rewards, _, infos = venv.step(action)
        played.append(action)
        paid.append(rewards.copy())
        said.append([dict(info) for info in infos])
    return played, paid, said


def compare(venv: Any, make: Maker, steps: int, hooks: tuple[str, ...] = (), reward: Method | None = None) -> None:
    """Every term of every step equals the runner's on rows that single environments gave."""
    reward = reward or method()
    venv = VecReward(venv, reward)
    actions, paid, infos = play(venv, steps, seed=4)
    rows, n = replayed(make, actions, 4, hooks), venv.num_envs
    assert rows.ended.sum() > n
    runner = Rewarder(reward, n=n)
    for k in range(steps):
        scored = runner.step(rows.rows(np.arange(k * n, k * n + n)))
        for name, values in scored.terms.items():
            np.testing.assert_array_equal([i[f"reward/{name}"] for i in infos[k]], values, err_msg=f"{name} in {k}")
        np.testing.assert_array_equal(paid[k], scored.values.astype(np.float32))
        assert paid[k].dtype == np.float32
    venv.close()


@pytest.mark.parametrize("make", [cartpole, cartpole_dict, lake, minigrid, pendulum])
def test_terms_equal_the_array_adapter(make: Maker) -> None:
    compare(vector(make), make, 30)


def test_terms_equal_the_array_adapter_out_of_subprocesses() -> None:
    venv = SubprocVecEnv([lake] * 2, start_method="fork")
    assert horizon(venv) == 9
    compare(venv, lake, 30)


def scripted() -> Scripted:
    def infos(k: int) -> list[dict[str, Any]]:
        # The first value differs from the last one of the episode before, so a stale or lost reset info shows.
        return [{"progress": (i + 1) / (k + 2), "milestones": np.array([i > 0, i > 1], float)} for i in range(k + 1)]

    lengths = [(2, "terminated"), (3, "truncated"), (1, "both"), (4, "terminated")]
    return Scripted([walk(list(range(k + 1)), end, infos=infos(k)) for k, end in lengths])


@pytest.mark.parametrize("monitored", [False, True])
def test_hooks_at_the_start_come_from_the_innermost_reset_infos(monitored: bool) -> None:
    hooks = ("milestones", "progress")
    venv = VecMonitor(vector(scripted)) if monitored else vector(scripted)
    reward = method() + parse("progress + milestones((0.25, 0.5))") + Potential("progress", gamma=0.9, name="phi")
    compare(venv, scripted, 25, hooks, reward)


def test_successor_and_flags_decide_the_shaping_at_an_end() -> None:
    # States 0 1 2, phi = 10 20 30, gamma 0.5: 10 - 10 = 0, then 0 - 20 where terminated (also with the time limit),
    # 15 - 20 where truncated; never phi of the next episode's first state, which SB3 returns.
    venv = VecReward(
        DummyVecEnv([lambda end=end: Scripted([walk([0, 1, 2], end)]) for end in ("terminated", "truncated", "both")]),
        "potential((10, 20, 30), gamma=0.5)",
    )
    venv.reset()
    assert venv.step(np.zeros(3, int))[1].tolist() == [0.0, 0.0, 0.0]
    obs, rewards, dones, _ = venv.step(np.zeros(3, int))
    assert (obs.ravel().tolist(), dones.tolist()) == ([0, 0, 0], [True] * 3)
    assert rewards.tolist() == [-20.0, -5.0, -20.0]


def test_rewards_are_an_array_of_their_own() -> None:
    inner = vector(lake)
    venv = VecReward(inner, "task")
    venv.reset()
    rewards, infos = venv.step(np.zeros(3, int))[1::2]
    rewards += 7.0  # as SB3 adds gamma*V
    assert [i["reward/task"] for i in infos] == [i["task_reward"] for i in infos] == [0.0, 0.0, 0.0]
    assert venv.step(np.zeros(3, int))[1].tolist() == [0.0, 0.0, 0.0]


def test_episode_sums_are_told_at_the_end_only() -> None:
    venv = VecReward(vector(lambda: Scripted([walk([0, 1, 2], rewards=[1.0, 2.0])]), 2), parse("task + 2*task(name=b)"))
    venv.reset()
    assert "episode_task_return" not in venv.step(np.zeros(2, int))[3][0]
    for _ in range(2):
        info = venv.step(np.zeros(2, int))[3][1]
        told = {k: info[k] for k in ("episode_task_return", "episode_reward/task", "episode_reward/b")}
        assert told == {"episode_task_return": 3.0, "episode_reward/task": 3.0, "episode_reward/b": 6.0}
        venv.step(np.zeros(2, int))


def test_reset_in_mid_episode_starts_anew() -> None:
    venv = VecReward(vector(lambda: Scripted([walk([0, 1, 2, 3], rewards=[1.0, 1.0, 1.0])]), 1), "delay(task)")
    venv.reset()
    venv.step(np.zeros(1, int))
    venv.reset()
    paid = [venv.step(np.zeros(1, int)) for _ in range(3)]
    assert [r.item() for _, r, _, _ in paid] == [0.0, 0.0, 3.0]
    assert paid[-1][3][0]["episode_task_return"] == 3.0


def test_unknown_task_reward_needs_a_number() -> None:
    env = [walk([0, 1, 2], rewards=[np.nan, 1.0])]
    venv = VecReward(vector(lambda: Scripted(env), 1), "task")
    venv.reset()
    with pytest.raises(RewardError, match="task has no value in row 0 .*fill_unknown"):
        venv.step(np.zeros(1, int))
    venv = VecReward(vector(lambda: Scripted(env), 1), "fill_unknown(task, -1)")
    venv.reset()
    assert [venv.step(np.zeros(1, int))[1].item() for _ in range(2)] == [-1.0, 1.0]


def test_hooks_are_asked_for_and_missed_with_a_sentence() -> None:
    env = scripted()
    VecReward(DummyVecEnv([lambda: env]), "task + progress")
    assert env.asked == ("progress",)
    venv = VecReward(vector(lake), "task + progress")
    with pytest.raises(HookError, match="the hook 'progress'"):
        venv.reset()


def test_refusals() -> None:
    with pytest.raises(
        ScopeError, match=r"share looks at a whole episode, VecReward serves batch methods: use sb3\(\)"
    ):
        VecReward(vector(lake), Share())
    with pytest.raises(RewardError, match="VecNormalize lies below the reward"):
        VecReward(VecNormalize(vector(cartpole)), "task")
    assert VecReward(vector(cartpole), Spread()).rewarder.n == 3


def test_lost_successor_is_an_error() -> None:
    class Loses(DummyVecEnv):
        def step_wait(self) -> Any:
            obs, rewards, dones, infos = super().step_wait()
            for info in infos:
                info.pop("terminal_observation", None)
            return obs, rewards, dones, infos

    venv = VecReward(Loses([lambda: Scripted([walk([0, 1])])]), "task")
    venv.reset()
    with pytest.raises(RewardError, match="environment 0 ended an episode without"):
        venv.step(np.zeros(1, int))


def test_statistics_go_below_the_reward() -> None:
    venv = with_reward(vector(lambda: Scripted([walk([0, 1, 2])]), 1), 5 * Task())
    assert isinstance(venv, VecReward)
    assert is_vecenv_wrapped(venv, VecMonitor)
    venv.reset()
    venv.step(np.zeros(1, int))
    _, rewards, _, infos = venv.step(np.zeros(1, int))
    assert (rewards.item(), infos[0]["episode"]["r"]) == (5.0, 1.0)
    monitored = vector(lambda: Monitor(lake()))
    assert with_vec_statistics(monitored) is monitored


def test_place_is_told_to_the_method() -> None:
    assert [horizon(vector(make)) for make in (lake, cartpole, minigrid, scripted)] == [9, 7, 12, None]
    assert horizon(DummyVecEnv([lambda k=k: cartpole(k) for k in (5, 8)])) == 8
    assert horizon(vector(lambda: gym.wrappers.TimeLimit(cartpole(5), 8))) == 5
    env = Short(gym.make("CartPole-v1"), 4)
    env.card = Card("balance")
    spec = spec_of(DummyVecEnv([lambda: env]), 0.9)
    assert (spec.gamma, spec.max_steps, spec.card) == (0.9, 4, Card("balance"))
    assert spec.action_space == env.action_space


def test_state_is_reachable_and_frozen_evaluation_leaves_it() -> None:
    venv = VecReward(vector(lake), Visits())
    play(venv, 10, 0)
    saved = venv.rewarder.state_dict()
    other = VecReward(vector(lake), Visits())
    other.rewarder.load_state_dict(saved)
    assert other.rewarder.states == venv.rewarder.states


def test_function_sees_the_actions_that_were_played() -> None:
    venv = VecReward(vector(pendulum, 2), function(lambda action: action[:, 0], name="action"))
    venv.reset()
    assert venv.step(np.array([[0.5], [-1.5]], np.float32))[1].tolist() == [0.5, -1.5]
