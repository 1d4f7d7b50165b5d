"""Many text tasks: the same as one by one, in every autoreset mode, in this process and in workers that break."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from reward_envs.text import TaskError, TextEnv
from reward_envs.text.vector import TextVector
from reward_envs.wrappers import VectorRewardWrapper
from tests.text.tasks import Counting, same

HOOKS = ("progress", "milestones", "admissible", "caption")
MODES = list(AutoresetMode)
ACTIONS = ("add", "add", "stop", "odd", "raise", "unknown")


def vector(n: int = 3, **kwargs: Any) -> TextVector:
    return TextVector(Counting(0.0), n, **kwargs)


def equal(infos: dict[str, Any], i: int, info: dict[str, Any]) -> None:
    told = {name for name in infos if not name.startswith(("_", "final_")) and infos[f"_{name}"][i]}
    assert told == set(info)
    for name, value in info.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(infos[name][i], value)
        else:
            assert same(infos[name][i], value), (name, infos[name][i], value)


def compare(envs: TextVector, steps: int, seed: int) -> None:
    """Play slots and single environments side by side."""
    n, mode = envs.num_envs, envs.autoreset_mode
    singles = [TextEnv(Counting(0.0), hooks=HOOKS) for _ in range(n)]
    seen, infos = envs.reset(seed=seed)
    for i, env in enumerate(singles):
        obs, info = env.reset(seed=seed + i)
        assert obs == seen[i]
        equal(infos, i, info)
    rng, over = np.random.default_rng(seed), np.zeros(n, bool)
    for _ in range(steps):
        actions = tuple(rng.choice(ACTIONS, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1]) for _ in range(n))
        actions = tuple(map(str, actions))
        if mode is AutoresetMode.DISABLED and over.any():
            seen, infos = envs.reset(options={"reset_mask": over})
            for i in np.flatnonzero(over):
                obs, info = singles[i].reset()
                assert obs == seen[i]
                equal(infos, i, info)
            over[:] = False
        seen, rewards, terminated, truncated, infos = envs.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                assert seen[i] == env.reset()[0]
                assert not terminated[i] and not truncated[i] and rewards[i] == 0.0
                continue
            obs, reward, term, trunc, info = env.step(actions[i])
            assert same(float(rewards[i]), reward) and (terminated[i], truncated[i]) == (term, trunc)
            if mode is AutoresetMode.SAME_STEP and (term or trunc):
                assert infos["final_obs"][i] == obs
                equal(infos["final_info"], i, info)
                obs, info = env.reset()
            assert seen[i] == obs
            equal(infos, i, info)
        over = (terminated | truncated) if mode is not AutoresetMode.SAME_STEP else over


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_slots_equal_single_environments(mode: AutoresetMode, seed: int) -> None:
    compare(vector(autoreset_mode=mode, hooks=HOOKS), 25, seed)


def test_workers_equal_single_environments() -> None:
    envs = vector(5, workers=2, autoreset_mode="SameStep", hooks=HOOKS)
    for seed in (0, 10):
        compare(envs, 15, seed)
    envs.close()


@pytest.mark.parametrize(("action", "told"), [("crash", "ended its process"), ("hang", "took longer than 1 s")])
def test_a_task_that_breaks_its_worker_costs_its_own_episode(action: str, told: str) -> None:
    envs = TextVector(Counting(30.0), 3, workers=1, patience=1.0, hooks=("progress",))
    twin = TextVector(Counting(30.0), 3, hooks=("progress",))
    started = [envs.reset(seed=7)[0], twin.reset(seed=7)[0]]
    assert started[0] == started[1]
    for e in (envs, twin):
        e.step(("add", "add", "add"))
    seen, rewards, terminated, truncated, infos = envs.step(("add", action, "add"))
    assert truncated.tolist() == [False, True, False] and not terminated.any()
    assert np.isnan(rewards).tolist() == [False, True, False] and np.isnan(infos["progress"][1])
    assert told in infos["error"][1] and infos["_error"].tolist() == [False, True, False]
    expected = twin.step(("add", "raise", "add"))
    assert seen == expected[0]
    for _ in range(4):  # the others go on where they were, the broken slot begins anew as its twin does
        a, b = (e.step(("add", "add", "add")) for e in (envs, twin))
        assert a[0] == b[0] and a[1].tolist() == b[1].tolist() and a[3].tolist() == b[3].tolist()
    envs.close()


def test_a_reward_on_a_vector_pays_what_it_pays_on_one() -> None:
    envs = VectorRewardWrapper(vector(2), "task + 0.5*progress")
    env = gym.wrappers.TransformReward(TextEnv(Counting(0.0), hooks=("progress",)), lambda r: r)
    envs.reset(seed=3)
    before = env.reset(seed=3)[1]["progress"]
    for _ in range(2):
        paid = envs.step(("add", "add"))[1][0]
        _, reward, _, _, info = env.step("add")
        assert paid == pytest.approx(reward + 0.5 * (info["progress"] - before))
        before = info["progress"]


def test_wrong_use_gets_a_sentence() -> None:
    envs = vector()
    with pytest.raises(gym.error.ResetNeeded):
        envs.step(("add",) * 3)
    envs.reset(seed=0)
    for wrong in ("add", ("add",)):
        with pytest.raises(ValueError, match="3 slots take"):
            envs.step(wrong)
    with pytest.raises(ValueError, match="workers=-1"):
        vector(workers=-1)
    with pytest.raises(TaskError, match="no file"):
        TextVector(Broken(), 1).reset(seed=0)


def test_workers_tell_what_is_no_text_and_what_cannot_be_drawn() -> None:
    envs = TextVector(Sometimes(0.0), 4, workers=2)
    for _ in range(3):  # answers that nobody waited for do not come up later
        with pytest.raises(TaskError, match="no file"):
            envs.reset(seed=1)
    seen, _ = envs.reset(seed=[2, 2, 2, 2])
    assert len(set(seen)) == 1
    seen = envs.step(("add", lambda: 0, None, "add"))[0]
    assert [text.startswith("An action is a text") for text in seen] == [False, True, True, False]
    envs.close()


class Sometimes(Counting):
    def draw(self, rng: Any, split: str) -> Any:
        task = super().draw(rng, split)
        if task.wanted == 3:  # type: ignore[attr-defined]
            raise ValueError("no file")
        return task


class Broken(Counting):
    def draw(self, rng: Any, split: str) -> Any:
        raise ValueError("no file")
