"""The text form: what it reads, what it writes, and what it says of mistakes."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import pytest

from reward_envs.wrappers import Clip, Function, Task, TextError, parse
from reward_envs.wrappers.core import Method, Scale
from reward_envs.wrappers.registry import NO_TEXT, text, text_or_reason


@pytest.mark.parametrize(
    "written",
    [
        "task",
        "task + 0.5*task(name=b)",
        "task - 1.0*task(name=b)",
        "-2.0*task",
        "clip(task, low=-1, high=1)",
        "clip(task + 0.1*task(name=b), low=-1.5, high=inf)",
        "function('operator:neg')",
        "task + function('a.b:c.d', reads=(progress,), name=e)",
        "2.0*clip(0.5*task, low=-1, high=1, name=inner)",
    ],
)
def test_text_and_method_are_each_others_inverse(written: str) -> None:
    method = parse(written)
    assert text(method) == written
    assert parse(text(method)) == method


def test_text_reads_as_python_operators_do() -> None:
    assert parse("2*(task + task(name=b)) - task(name=c)") == 2 * (Task() + Task(name="b")) - Task(name="c")
    assert parse("-task") == -Task()
    assert parse("task*2*3") == Scale(Task(), 6.0)
    assert parse("2*3*task") == Scale(Task(), 6.0)
    assert parse("clip(task, -1, 1)") == parse("clip(of=task, low=-1, high=1)") == Clip(Task(), -1, 1)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("tsk", "unknown method 'tsk' in 'tsk': did you mean 'task'\\?"),
        ("zzzzzz", "unknown method 'zzzzzz' in 'zzzzzz': known: "),
        ("task + 1", "'1' in 'task \\+ 1' is a number, not a reward: a constant is shift\\(task, 1\\)"),
        ("task(", "cannot read 'task\\('"),
        ("task.reward", "'task.reward' in 'task.reward' is no reward"),
        ("__import__('os')", "unknown method '__import__'"),
        ("clip(task, lo=1, high=2)", "did you mean 'low'"),
        ("clip(task, -1, 1, 2)", "takes 3 values \\(of, low, high\\), got 4"),
        ("clip(task, -1, low=1, high=2)", "clip in .* takes no second or unknown 'low'"),
        ("clip(task, low=[1] + [2], high=3)", "is no number, word, text or tuple"),
        ("clip(1, -1, 1)", "'1' in .* is a number, not a reward"),
        ("function", "function in 'function' needs f"),
        ("task(version=2)", "formula version 2, this release computes version 1"),
        ("hindsight(future)", "makes rows, not rewards"),
        ("task if task else task", "is no reward"),
        ("task * task", "is no reward"),
        ("", "cannot read"),
    ],
)
def test_mistakes_get_a_sentence(written: str, sentence: str) -> None:
    with pytest.raises(TextError, match=sentence):
        parse(written)


def test_text_names_the_formula_version_where_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clip, "version", 2)
    clipped = Clip(Task(), -1, 1)
    assert text(clipped) == "clip(task, low=-1, high=1, version=2)"
    assert parse(text(clipped)) == clipped
    with pytest.raises(TextError, match="is formula version 1, this release computes version 2"):
        parse("clip(task, low=-1, high=1)")


def test_callables_have_no_text_and_say_what_to_write() -> None:
    with pytest.raises(TextError, match="holds the callable <lambda>|holds the callable .*<lambda>"):
        text(Function(lambda reward: reward, name="f"))
    with pytest.raises(TextError, match="write f='textwrap:dedent'"):
        text(Function(textwrap.dedent))
    recorded = text_or_reason(Function(lambda reward: reward, name="f"))
    assert recorded.startswith(NO_TEXT)
    with pytest.raises(TextError, match="was recorded without its reward, because f holds the callable"):
        parse(recorded)


def test_unregistered_methods_have_no_text() -> None:
    @dataclass(frozen=True, repr=False)
    class Own(Method):
        def score(self, state: Any, carry: Any, batch: Any) -> Any:
            return batch.reward, None

    with pytest.raises(TextError, match="Own is not registered"):
        text(Own())
    assert str(Own()) == "Own()"


def test_methods_are_values() -> None:
    assert parse("clip(task, -1, 1)") == parse("clip(task, -1, 1)")
    assert hash(parse("task + clip(task, -1, 1)")) == hash(parse("task + clip(task, -1, 1)"))
    with pytest.raises(AttributeError):
        parse("task").name = "other"  # type: ignore[misc]
