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
from reward_envs.wrappers import Method, RewardError, catalogue, register, with_reward
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
    covers = {45: "tests/a.py::b", 152: "tests/a.py::c", 87: "tests/a.py::d"}
    monkeypatch.setitem(registration.IDS, name, registration.Row(row.maker, row.kwargs, covers))
    rows = {r["id"]: r for r in catalogue()}
    assert len(rows) == 298
    assert rows[45]["covered_by"] == ["reward_envs/DoorKey-5x5-v0"]  # monitored_reward (env)
    assert rows[45]["property_test"] == "tests/a.py::b"
    assert rows[152]["covered_by"] == [] and rows[152]["property_test"] is None  # icm_forward_error (step)
    assert rows[87]["covered_by"] == ["gated_accumulation", "reward_envs/DoorKey-5x5-v0"]
    assert "test_gate" in rows[87]["property_test"]
