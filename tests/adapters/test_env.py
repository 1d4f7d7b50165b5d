"""RewardWrapper: a single environment."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from reward_envs.wrappers import (
    Batch,
    HookError,
    Method,
    NonFiniteError,
    Potential,
    RewardError,
    RewardWrapper,
    Scope,
    ScopeError,
    Task,
    TextError,
    function,
    parse,
    relabel,
    with_reward,
)
from tests.adapters.recording import batch_of, record_single
from tests.scripted import Scripted, walk

TERMS = "task + 0.5*count + delay(name=late) + normalise(task, gamma=0.9, name=scaled)"


def height(obs: Any) -> float:
    return float(np.sum(obs["image"] if isinstance(obs, dict) else obs))


def compare(env: gym.Env[Any, Any], text: str, steps: int = 300, **kwargs: Any) -> None:
    """Every term through the wrapper equals the array adapter's."""
    method = parse(text) + Potential(height, gamma=0.9, name="height")
    rows, infos = record_single(RewardWrapper(env, method), steps, seed=3, **kwargs)
    expected = relabel(batch_of(rows), method, cut=1)
    for name, values in expected.terms.items():
        got = np.array([info[f"reward/{name}"] for info in infos])
        np.testing.assert_array_equal(got, values, err_msg=name)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "MountainCarContinuous-v0", "Taxi-v4"])
def test_terms_equal_the_array_adapter_on_gymnasium(env_id: str) -> None:
    if env_id == "Taxi-v4" and env_id not in gym.registry:
        env_id = "Taxi-v3"
    compare(gym.make(env_id), TERMS)


@pytest.mark.parametrize("env_id", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-LavaGapS5-v0", "BabyAI-GoToRedBallGrey-v0"])
def test_terms_equal_the_array_adapter_on_minigrid(env_id: str) -> None:
    pytest.importorskip("minigrid")
    compare(gym.make(env_id), TERMS, steps=150)


def test_terms_equal_the_array_adapter_across_mid_episode_resets() -> None:
    compare(gym.make("CartPole-v1"), TERMS, abort_every=7)


@pytest.mark.parametrize(("end", "last"), [("terminated", -2.0), ("truncated", 2.5), ("both", -2.0), ("", 2.5)])
def test_potential_is_zero_after_a_termination_only(end: str, last: float) -> None:
    env = RewardWrapper(Scripted([walk([0, 1, 2], end)]), "potential((1, 2, 5), gamma=0.9)")
    env.reset()
    assert env.step(0)[1] == pytest.approx(0.8)
    assert env.step(0)[1] == pytest.approx(last)


def test_info_holds_the_task_every_term_and_the_episode() -> None:
    env = RewardWrapper(
        Scripted([walk([0, 1, 2], rewards=[200.0, -50.0])]), "0.01*task + potential((0, 1, 2), gamma=1)"
    )
    env.reset()
    _, reward, _, _, info = env.step(0)
    assert info == {"task_reward": 200.0, "reward/task": 2.0, "reward/potential": 1.0}
    assert reward == sum(v for k, v in info.items() if k.startswith("reward/"))
    info = env.step(0)[4]
    assert info["episode_task_return"] == 150.0
    assert info["episode_reward/task"] == pytest.approx(1.5)
    assert info["episode_reward/potential"] == 0.0
    env.reset()
    env.step(0)
    assert env.step(0)[4]["episode_task_return"] == 150.0


def test_a_reset_in_mid_episode_starts_the_memory_anew() -> None:
    env = RewardWrapper(Scripted([walk([0, 1, 2, 3], rewards=[5.0, 0.0, 1.0])]), "delay")
    env.reset()
    env.step(0)
    env.reset()
    assert [env.step(0)[1] for _ in range(3)] == [0.0, 0.0, 6.0]


def test_spec_rebuilds_the_reward_and_survives_json() -> None:
    env = RewardWrapper(gym.make("CartPole-v1"), "task + 0.5*task(name=again)", gamma=0.9)
    assert env.spec is not None
    recorded = env.spec.additional_wrappers[-1]
    assert recorded.entry_point == "reward_envs.wrappers:RewardWrapper"
    assert recorded.kwargs == {"method": "task + 0.5*task(name=again)", "gamma": 0.9}
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    for again in (gym.make(env.spec), gym.make(spec)):
        again.reset(seed=0)
        assert again.step(0)[1] == 1.5
    assert json.loads(env.spec.to_json())["additional_wrappers"]


def test_a_callable_without_text_is_refused_by_the_spec() -> None:
    env = RewardWrapper(gym.make("CartPole-v1"), function(lambda reward: reward, name="own"))
    env.reset(seed=0)
    assert env.step(0)[1] == 1.0
    with pytest.raises(TextError, match="recorded without its reward, because own holds the callable"):
        gym.make(env.spec)


def test_it_pickles_and_goes_on() -> None:
    env = RewardWrapper(gym.make("FrozenLake-v1"), "task + count")
    env.reset(seed=0)
    env.step(0)
    again = pickle.loads(pickle.dumps(env))
    for action in (1, 2, 0):
        assert env.step(action)[1:4] == again.step(action)[1:4]


@pytest.mark.filterwarnings("ignore:.*WARN.*:UserWarning")  # advice of the checker on CartPole itself
def test_gymnasium_accepts_the_wrapped_environment() -> None:
    check_env(
        RewardWrapper(gym.make("CartPole-v1").unwrapped, "task + count(bits=8, episodic=True)"), skip_render_check=True
    )


def test_episode_and_group_methods_are_refused_in_a_sentence() -> None:
    env = gym.make("CartPole-v1")
    with pytest.raises(
        ScopeError, match=r"uniform looks at a whole episode, RewardWrapper serves step methods: use sb3\(\)"
    ):
        RewardWrapper(env, "uniform")
    with pytest.raises(ScopeError, match="group_normalise gives advantages, which only a group trainer takes"):
        RewardWrapper(env, "group_normalise")

    @dataclass(frozen=True, repr=False)
    class Novel(Method):
        own_scope: ClassVar[Scope] = Scope.BATCH

    with pytest.raises(ScopeError, match="novel looks at a whole batch, RewardWrapper serves step methods"):
        RewardWrapper(env, Task() + Novel())


def test_nan_from_a_users_function_names_function_row_and_step() -> None:
    env = RewardWrapper(gym.make("CartPole-v1"), function(lambda t: np.where(t == 1, np.nan, 0.0), name="mine"))
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(NonFiniteError, match=r"mine gave nan in row 0 \(stream 0, step 1\)"):
        env.step(0)


def test_an_unseen_reward_is_not_zero() -> None:
    episode = walk([0, 1, 2], rewards=[np.nan, 1.0])
    env = RewardWrapper(Scripted([episode]), "task")
    env.reset()
    with pytest.raises(RewardError, match=r"task has no value in row 0 .* fill_unknown\(task, 0.0\)"):
        env.step(0)
    env = RewardWrapper(Scripted([episode]), "fill_unknown(task, -0.5)")
    env.reset()
    assert [env.step(0)[1] for _ in range(2)] == [-0.5, 1.0]


def test_hooks_are_asked_for_and_read_at_both_states() -> None:
    infos = [{"steps_to_go": 2}, {"steps_to_go": 1}, {"steps_to_go": 0}]
    inner = Scripted([walk([0, 1, 2], infos=infos)])
    env = RewardWrapper(inner, "potential(steps_to_go, gamma=1.0, d_max=2.0, offset=0.0)")
    assert inner.asked == ("steps_to_go",)
    env.reset()
    assert [env.step(0)[1] for _ in range(2)] == [0.5, 0.5]
    env = RewardWrapper(Scripted([walk([0, 1])]), "progress")
    with pytest.raises(HookError, match="needs the hook 'progress', and the environment's info does not hold it"):
        env.reset()


def test_text_observations_reach_the_method_as_text() -> None:
    space = gym.spaces.Text(20)
    env = RewardWrapper(
        Scripted([walk(["a door", "a key"])], space),
        function(lambda next_obs: [len(s) for s in next_obs], name="length"),
    )
    env.reset()
    assert env.step(0)[1] == 5.0


def test_a_changed_observation_shape_is_an_error() -> None:
    space = gym.spaces.Box(-1, 1, (2,), np.float64)
    env = RewardWrapper(Scripted([walk([np.zeros(2), np.zeros(2)]), walk([np.zeros(3), np.zeros(3)])], space), "task")
    env.reset()
    with pytest.raises(RewardError, match="changed its shape"):
        env.reset()


def test_methods_get_copies_that_later_steps_do_not_reach() -> None:
    kept: list[Batch] = []

    def keep(batch: Batch) -> Any:
        kept.append(batch.copy())
        return batch.reward

    env = RewardWrapper(Scripted([walk([0, 1, 2, 3])]), function(keep))
    env.reset()
    for _ in range(3):
        env.step(0)
    assert [(b.obs[0], b.next_obs[0], b.t[0]) for b in kept] == [(0, 1, 0), (1, 2, 1), (2, 3, 2)]


def test_with_reward_puts_statistics_below_and_warns_of_those_above() -> None:
    env = with_reward(Scripted([walk([0, 1, 2], rewards=[1.0, 2.0])]), "10*task")
    env.reset()
    env.step(0)
    _, reward, _, _, info = env.step(0)
    assert reward == 20.0
    assert float(info["episode"]["r"]) == 3.0
    above = gym.wrappers.RecordEpisodeStatistics(RewardWrapper(gym.make("CartPole-v1"), "task"))
    with pytest.warns(UserWarning, match="RecordEpisodeStatistics sits above a reward wrapper|lies below"):
        with_reward(above, "task")
    with pytest.raises(RewardError, match="with_reward got a dict"):
        with_reward({}, "task")
