"""A verifier's verdict comes from the verifier, whatever the agent has written."""

from __future__ import annotations

from typing import Any

import pytest

from reward_envs.text import TaskError
from reward_envs.text.workspace import graded


def test_the_verifier_sees_the_files_and_cannot_change_them() -> None:
    files = {"answer.txt": "42", "reward.txt": "1.0"}

    def spoils(seen: Any, out: dict[str, str]) -> dict[str, bool]:
        assert seen == files and out == {}
        seen["answer.txt"] = "0"
        return {"right": True, "wrong": False}

    assert graded(files, spoils).score == graded(files, spoils).score == 0.5
    assert files["answer.txt"] == "42"


@pytest.mark.parametrize(
    ("verifier", "sentence"),
    [
        (lambda files, out: 1 / 0, "the verifier raised ZeroDivisionError"),
        (lambda files, out: {}, "at least one check"),
        (lambda files, out: out.update({"reward.txt": "good"}), "'good' as its verdict"),
        (lambda files, out: out.update({"reward.txt": "1e999"}), "the score is inf"),
    ],
)
def test_a_verifier_that_fails_is_an_error_and_no_score(verifier: Any, sentence: str) -> None:
    with pytest.raises(TaskError, match=sentence):
        graded({}, verifier)
