# no `from __future__ import annotations` here, on purpose: fields are checked with real types too
"""What a user of the package meets: names, notebooks, recorded environments, the catalogue."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from reward_envs import registration
from reward_envs.wrappers import Method, RewardError, RewardWrapper, catalogue, register, with_reward
from reward_envs.wrappers.registry import _entries


@dataclass(frozen=True, repr=False)
class Plain(Method):
    of: Method
    weight: float = 1.0
    count: int | None = None


def test_fields_are_checked_without_postponed_annotations() -> None:
    from reward_envs.wrappers import Task

    Plain(Task(), 2, None)
    with pytest.raises(RewardError, match="weight='abc', but weight takes a float"):
        Plain(Task(), "abc")  # type: ignore[arg-type]
    with pytest.raises(RewardError, match="of=3, but of takes a reward method"):
        Plain(3)  # type: ignore[arg-type]


def test_a_class_may_be_defined_again_as_notebooks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_entries, "again", None)  # type: ignore[arg-type]
    del _entries["again"]

    def define() -> Any:
        @register("again", example="again")
        @dataclass(frozen=True, repr=False)
        class Again(Method):
            """Nothing."""

        return Again

    define()
    latest = define()
    assert _entries["again"].cls is latest
    with pytest.raises(RewardError, match="a method called 'again' is registered already"):

        @register("again", example="again")
        @dataclass(frozen=True, repr=False)
        class Other(Method):
            """Nothing."""

    del _entries["again"]


def test_a_star_import_brings_the_public_names() -> None:
    code = "from reward_envs.wrappers import *; print(Task, Potential, with_reward, Rewarder)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_recorded_environment_comes_back_with_sb3_in_use() -> None:
    env = with_reward(gym.make("CartPole-v1"), "task + task(name=again)")
    assert isinstance(env.env, Monitor)
    assert env.spec is not None
    again = gym.make(env.spec)
    again.reset(seed=0)
    assert again.step(0)[1] == 2.0
    assert DummyVecEnv([lambda: again]).env_is_wrapped(Monitor) == [True]


def test_an_environment_alone_covers_only_rows_that_are_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "DoorKey-5x5-v0"
    row = registration.IDS[name]
    covers = {28: "tests/a.py::b", 152: "tests/a.py::c", 87: "tests/a.py::d"}
    monkeypatch.setitem(registration.IDS, name, registration.Row(row.maker, row.kwargs, covers=covers))
    rows = {r["id"]: r for r in catalogue()}
    assert len(rows) == 298
    assert rows[28]["covered_by"] == ["reward_envs/DoorKey-5x5-v0"]  # chain_traversal (env)
    assert rows[28]["property_test"] == "tests/a.py::b"
    assert rows[152]["covered_by"] == [] and rows[152]["property_test"] is None  # icm_forward_error (step)
    assert rows[87]["covered_by"] == ["gated_accumulation", "reward_envs/DoorKey-5x5-v0"]
    assert "test_gate" in rows[87]["property_test"]


def test_another_gamma_in_the_text_is_refused_everywhere() -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    from reward_envs.wrappers import sb3

    text = f"task + potential({tuple(range(16))}, gamma=0.5)"
    with pytest.raises(RewardError, match="written with gamma=0.5, and the learner discounts by gamma=0.9"):
        with_reward(gym.make("FrozenLake-v1"), text, gamma=0.9)

    def train() -> None:
        venv, kwargs = sb3(make_vec_env("FrozenLake-v1", 1), text, PPO, gamma=0.9)
        PPO("MlpPolicy", venv, n_steps=8, batch_size=8, device="cpu", **kwargs).learn(8)

    with pytest.raises(RewardError, match="leave gamma out of the text"):
        train()


def test_a_function_cannot_write_into_what_other_terms_read() -> None:
    import numpy as np

    from reward_envs.wrappers import Batch, Potential, Task, function, relabel

    def spoils(reward: Any) -> Any:
        reward *= 0
        return reward + 5.0

    rows = {"obs": np.zeros((2, 1)), "action": [0, 0], "next_obs": np.zeros((2, 1))}
    batch = Batch.of(reward=[1, 2], **rows)
    with pytest.raises(RewardError, match="spoils writes into a column"):
        relabel(batch, Task() + function(spoils))

    def shifts(row: Any) -> float:
        row += 1
        return 0.0

    with pytest.raises(ValueError, match="read-only"):
        relabel(batch, Potential(shifts, gamma=0.9))
    assert batch.reward.tolist() == [1.0, 2.0]


def test_a_tuple_of_rows_is_rows_or_an_error() -> None:
    import numpy as np

    from reward_envs.wrappers import Batch

    def made(obs: Any) -> Any:
        return Batch.of(obs=obs, action=[0, 0], next_obs=obs, reward=[0, 0]).obs

    assert made((3, 4)).tolist() == [3, 4]
    assert made((np.zeros(3), np.ones(3))).tolist() == [[0, 0, 0], [1, 1, 1]]
    with pytest.raises(RewardError, match="a tuple of 2 arrays of 2 rows may mean"):
        made((np.zeros(2), np.ones(2)))
    parts = made((np.zeros(2), np.ones(2), np.ones((2, 4))))
    assert [p.shape for p in parts] == [(2,), (2,), (2, 4)]


def test_an_infinite_reward_is_no_unseen_one() -> None:
    from reward_envs.wrappers import Batch

    with pytest.raises(RewardError, match="reward of row 0 is inf"):
        Batch.of(obs=[0], action=[0], next_obs=[1], reward=[float("inf")])


def test_a_reward_on_a_reward_warns() -> None:
    inner = with_reward(gym.make("CartPole-v1"), "10*task")
    with pytest.warns(UserWarning, match="RewardWrapper lies below this reward"):
        with_reward(inner, "task")
    with pytest.warns(UserWarning, match="RewardWrapper lies below this reward"):
        RewardWrapper(inner, "task")


def test_odd_texts_and_states_get_a_sentence() -> None:
    from reward_envs.wrappers import Rewarder, TextError, parse

    for odd in (5, None, b"task"):
        with pytest.raises(TextError, match="parse reads a text"):
            parse(odd)  # type: ignore[arg-type]
    for deep in ("-" * 20000 + "task", " + ".join(["task"] * 20000)):
        with pytest.raises(TextError, match="nested so deep|two terms"):
            parse(deep)
    assert parse("task\n + count") == parse("task + count")
    with pytest.raises(RewardError, match="no state of a Rewarder"):
        Rewarder("task").load_state_dict({"a": 1})
    with pytest.raises(RewardError, match="at least one stream"):
        Rewarder("task", n=0)
