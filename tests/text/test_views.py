"""Text for learners of numbers: vectors, choices, masks, and SB3 on top."""

from __future__ import annotations

import sys
import types
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_checker import check_env

from reward_envs.agents.plan import make
from reward_envs.registration import engine_of, sb3_vec
from reward_envs.text import TextEnv
from reward_envs.text.encode import MiniLM, NGrams, _loaded
from reward_envs.text.views import AdmissibleActions, TextToVector
from tests.text.tasks import Counting

TOOLS = "reward_envs/Tools-v0"


@given(st.lists(st.text(max_size=40), max_size=4))
def test_rows_have_length_one_and_do_not_depend_on_each_other(texts: list[str]) -> None:
    rows = NGrams(32)(texts)
    assert rows.shape == (len(texts), 32) and rows.dtype == np.float32
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_array_equal(NGrams(32)([text])[0], row)
        assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-5) or not row.any()


def test_a_wide_hash_is_near_the_cosine_of_counts() -> None:
    texts = ["read the mail of monday", "read the mails of tuesday", "pay the bill"]
    narrow, wide = NGrams(2048)(texts), NGrams(1 << 18)(texts)
    np.testing.assert_allclose(narrow @ narrow.T, wide @ wide.T, atol=0.1)
    assert (wide @ wide.T)[0, 1] > 0.4 > (wide @ wide.T)[0, 2]


def test_the_vector_is_that_of_the_text() -> None:
    plain, env = gym.make(TOOLS), TextToVector(gym.make(TOOLS), NGrams(16))
    np.testing.assert_array_equal(env.reset(seed=3)[0], NGrams(16)([plain.reset(seed=3)[0]])[0])
    np.testing.assert_array_equal(env.step("x")[0], NGrams(16)([plain.step("x")[0]])[0])
    assert env.observation_space.contains(env.step("x")[0])


def test_choices_are_the_admissible_texts_in_their_order() -> None:
    env = AdmissibleActions(TextEnv(Counting()), k=4, encoder=NGrams(8))
    observation, info = env.reset(seed=0)
    assert env.actions == info["admissible"] == ["add", "stop"]
    assert env.action_masks().tolist() == [True, True, False, False]
    rows = observation.reshape(5, 8)
    np.testing.assert_array_equal(rows[:3], NGrams(8)(["Count to " + str(_wanted(env)) + ".", "add", "stop"]))
    assert not rows[3:].any()
    for _ in range(3):
        _, _, _, _, info = env.step(0)
    assert info["admissible_cut"] == 1 and env.actions == info["admissible"][:4] and env.action_masks().all()
    assert env.step(1)[2]


def test_an_empty_place_is_the_empty_text() -> None:
    env = AdmissibleActions(TextEnv(Counting()), k=4)
    env.reset(seed=0)
    env.step(3)
    assert _wanted(env) and env.unwrapped.task.count == 0  # type: ignore[attr-defined]
    assert "admissible_cut" not in env.step(0)[4]
    with pytest.raises(ValueError, match="at least one place"):
        AdmissibleActions(TextEnv(Counting()), k=0)


def _wanted(env: gym.Env[Any, Any]) -> int:
    return int(env.unwrapped.task.wanted)  # type: ignore[attr-defined]


def test_sb3s_checker_passes_and_maskable_ppo_learns() -> None:
    check_env(AdmissibleActions(gym.make(TOOLS, depth=1), k=8))
    assert engine_of(TOOLS) == "text"
    venv = sb3_vec(TOOLS, 4, k=8, seed=0, depth=1)
    model = MaskablePPO(
        "MlpPolicy", venv, n_steps=32, batch_size=64, seed=0, device="cpu", policy_kwargs={"net_arch": [32]}
    )
    model.learn(500)
    assert model.num_timesteps >= 500
    agent = make(TOOLS)
    assert isinstance(agent, AdmissibleActions)
    agent.reset(seed=0)
    assert agent.step(0)[1] == 0.0


def test_sentence_embeddings_are_imported_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded.cache_clear()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"reward-envs\[embeddings\]"):
        MiniLM()(["a"])

    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

        def encode(self, texts: list[str], normalize_embeddings: bool) -> Any:
            assert normalize_embeddings
            return np.ones((len(texts), 384)) / 384**0.5

    stand_in = types.ModuleType("sentence_transformers")
    stand_in.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", stand_in)
    assert MiniLM()(["a", "b"]).shape == (2, 384)
    with pytest.raises(ValueError, match="rows of 384 numbers"):
        MiniLM(size=10)(["a"])
    _loaded.cache_clear()
