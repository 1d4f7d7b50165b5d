"""VectorRewardWrapper: all three autoreset modes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from reward_envs.wrappers import (
    HookError,
    Potential,
    RewardError,
    RewardWrapper,
    ScopeError,
    VectorRewardWrapper,
    function,
    parse,
    with_reward,
)
from tests.adapters.recording import batch_of, record_vector
from tests.scripted import Scripted, walk

MODES = list(AutoresetMode)
TERMS = "task + 0.5*count + delay(name=late) + normalise(task, gamma=0.9, name=scaled)"


def height(obs: Any) -> float:
    return float(np.sum(obs["image"] if isinstance(obs, dict) else obs))


def scripted(hooks: bool = True) -> Scripted:
    def infos(k: int) -> list[dict[str, Any]]:
        return [{"progress": float(i) / k, "milestones": np.array([i > 0, i > 1], float)} for i in range(k + 1)]

    lengths = [(2, "terminated"), (3, "truncated"), (1, "both"), (4, "terminated")]
    return Scripted([walk(list(range(k + 1)), end, infos=infos(k) if hooks else None) for k, end in lengths])


def compare(envs: Any, text: str, steps: int, hooks: tuple[str, ...] = ()) -> None:
    """Every term, step by step, equals the array adapter's on the same rows; dead rows pay nothing."""
    method = parse(text) + Potential(height, gamma=0.9, name="height")
    envs = VectorRewardWrapper(envs, method)
    rows, infos, rewards, alive = record_vector(envs, steps, seed=5, hooks=hooks)
    flat = batch_of([r for step in rows for r in step], hooks)
    runner_terms: dict[str, list[float]] = {}
    from reward_envs.wrappers import Rewarder

    runner, done = Rewarder(method, n=envs.num_envs), 0
    for step in rows:
        scored = runner.step(flat.rows(np.arange(done, done + len(step))))
        done += len(step)
        for name, values in scored.terms.items():
            runner_terms.setdefault(name, []).extend(values)
    for name, expected in runner_terms.items():
        got = np.concatenate([info[f"reward/{name}"][a] for info, a in zip(infos, alive, strict=True)])
        np.testing.assert_array_equal(got, expected, err_msg=name)
    for info, paid, a in zip(infos, rewards, alive, strict=True):
        np.testing.assert_array_equal(sum(info[f"reward/{name}"] for name in runner_terms), paid)
        assert not paid[~a].any()
    envs.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "MiniGrid-DoorKey-5x5-v0"])
def test_terms_equal_the_array_adapter(env_id: str, mode: AutoresetMode) -> None:
    if env_id.startswith("MiniGrid"):
        pytest.importorskip("minigrid")

    def make() -> gym.Env[Any, Any]:
        env = gym.make(env_id)
        if env_id.startswith("MiniGrid"):
            from minigrid.wrappers import ImgObsWrapper

            env = gym.wrappers.TimeLimit(ImgObsWrapper(env), 20)
        return env

    compare(SyncVectorEnv([make] * 3, autoreset_mode=mode), TERMS, 80)


@pytest.mark.parametrize("mode", MODES)
def test_terms_with_hooks_and_memory_equal_the_array_adapter(mode: AutoresetMode) -> None:
    envs = SyncVectorEnv([scripted] * 2, autoreset_mode=mode)
    compare(envs, TERMS + " + progress + milestones((0.2, 0.3))", 40, hooks=("progress", "milestones"))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_worker_processes_give_the_same(mode: AutoresetMode) -> None:
    compare(AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2, autoreset_mode=mode), TERMS, 60)


@pytest.mark.parametrize("mode", MODES)
def test_a_vector_of_wrapped_equals_the_wrapped_vector(mode: AutoresetMode) -> None:
    text = "task + potential((0, 1, 2, 3, 4), gamma=0.9) + delay(name=late)"

    def run(envs: Any) -> list[list[float]]:
        envs.reset(seed=0)
        out = []
        for _ in range(30):
            _, rewards, terminated, truncated, _ = envs.step(np.zeros(2, np.int64))
            out.append(rewards.tolist())
            if mode is AutoresetMode.DISABLED and (terminated | truncated).any():
                envs.reset(options={"reset_mask": terminated | truncated})
        return out

    inside = SyncVectorEnv([lambda: RewardWrapper(scripted(), text)] * 2, autoreset_mode=mode)
    outside = VectorRewardWrapper(SyncVectorEnv([scripted] * 2, autoreset_mode=mode), text)
    assert run(inside) == run(outside)


def test_next_step_row_after_an_end_pays_nothing_and_is_not_learnt() -> None:
    episode = walk([0, 1, 2])
    envs = VectorRewardWrapper(
        SyncVectorEnv([lambda: Scripted([episode])]), "task + count + potential((5, 6, 7), gamma=1)"
    )
    envs.reset()
    paid = [envs.step(np.zeros(1, np.int64))[1].item() for _ in range(6)]
    # count of state 1 and 2: 1, 1, then after the dead row 1/sqrt(2) each
    again = 1 / np.sqrt(2)
    assert paid == pytest.approx([1 + 1, 1 + 1 - 6, 0.0, again + 1, 1 + again - 6, 0.0])


def test_same_step_uses_the_final_observation_and_starts_from_the_reset_one() -> None:
    phi = "task + potential((0.4, 1.0, 2.0, 3.0, 10.0), gamma=0.5)"
    one = Scripted([walk([0, 1, 4], "truncated", rewards=[0, 0]), walk([0, 1, 2], rewards=[0, 0])])
    two = Scripted([walk([3, 2, 1, 0], "", rewards=[0, 0, 0])], gym.spaces.Discrete(5))
    envs = VectorRewardWrapper(SyncVectorEnv([lambda: one, lambda: two], autoreset_mode=AutoresetMode.SAME_STEP), phi)
    envs.reset()
    got = [envs.step(np.zeros(2, np.int64))[1].tolist() for _ in range(3)]
    np.testing.assert_allclose(got, [[0.1, -2.0], [4.0, -1.5], [0.1, -0.8]])


def test_episode_sums_are_masked_to_the_rows_that_ended() -> None:
    envs = VectorRewardWrapper(SyncVectorEnv([scripted, scripted], autoreset_mode=AutoresetMode.SAME_STEP), "2*task")
    envs.reset()
    envs.step(np.zeros(2, np.int64))
    infos = envs.step(np.zeros(2, np.int64))[4]
    assert infos["_episode_task_return"].tolist() == [True, True]
    assert infos["episode_task_return"].tolist() == [1.0, 1.0]
    assert infos["episode_reward/task"].tolist() == [2.0, 2.0]


def test_an_unknown_autoreset_mode_is_an_error() -> None:
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")])
    envs.metadata = {"autoreset_mode": "sometimes"}
    with pytest.raises(RewardError, match="autoreset_mode='sometimes': set metadata"):
        VectorRewardWrapper(envs, "task")
    del envs.metadata["autoreset_mode"]
    with pytest.raises(RewardError, match="autoreset_mode=None"):
        VectorRewardWrapper(envs, "task")


def test_a_missing_hook_and_a_wide_scope_are_refused() -> None:
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")])
    with pytest.raises(HookError, match="needs the hook 'progress'"):
        VectorRewardWrapper(envs, "progress").reset()
    with pytest.raises(ScopeError, match="uniform looks at a whole episode, VectorRewardWrapper serves batch methods"):
        VectorRewardWrapper(envs, "uniform")


def test_with_reward_keeps_the_tasks_own_statistics() -> None:
    envs = with_reward(SyncVectorEnv([scripted] * 2, autoreset_mode=AutoresetMode.SAME_STEP), "10*task")
    envs.reset()
    envs.step(np.zeros(2, np.int64))
    _, rewards, _, _, infos = envs.step(np.zeros(2, np.int64))
    assert rewards.tolist() == [10.0, 10.0]
    assert infos["episode"]["r"].tolist() == [1.0, 1.0]


def test_hooks_are_asked_for_in_every_environment() -> None:
    envs = SyncVectorEnv([scripted] * 2)
    VectorRewardWrapper(envs, "progress")
    assert envs.get_attr("asked") == (("progress",), ("progress",))


def test_text_observations_reach_the_method() -> None:
    space = gym.spaces.Text(9)
    envs = SyncVectorEnv([lambda: Scripted([walk(["ab", "abc", "a"])], space)] * 2)
    envs = VectorRewardWrapper(envs, function(lambda next_obs: [len(s) for s in next_obs], name="length"))
    envs.reset()
    assert envs.step(np.zeros(2, np.int64))[1].tolist() == [3.0, 3.0]
