"""Tasks whose actions are calls of tools: how a call is read, checked against its JSON schema, and counted.

A call is one JSON object with a name and arguments, and nothing around it:

    {"name": "read_mail", "arguments": {"mail_id": "MAI-482913"}}
"""

from __future__ import annotations

import difflib
import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from reward_envs.text.task import Reply, TextTask

DIGITS = 30  # of an integer in a call
FORM = '{"name": "...", "arguments": {...}}'


class CallError(ValueError):
    """Raised by a tool that cannot do what was asked; its sentence is what the agent sees."""


@dataclass(frozen=True)
class Tool:
    """A tool as the agent is told of it.

    Parameters
    ----------
    name, description
        As models are given them.
    parameters
        The JSON schema of the arguments, an object with `properties`; no others are taken, and those in `required` must
        be given. Values are not coerced: "5" is no integer.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        return json.dumps({"name": self.name, "description": self.description, "parameters": self.parameters})


def tool_list(tools: Iterable[Tool]) -> str:
    """Tools as JSON, one a line, for instructions."""
    return "\n".join(map(str, tools))


class Call(NamedTuple):
    """A call that was read."""

    name: str
    arguments: dict[str, Any]


def read_call(text: str) -> Call:
    """The call that a text holds.

    Raises CallError where it is no JSON, has a key twice, a number that is not finite or an integer of more than 30
    digits, is nested too deep, or is no object of exactly `name`, a text, and `arguments`, an object.

    >>> read_call('{"name": "submit", "arguments": {"answer": 4}}')
    Call(name='submit', arguments={'answer': 4})
    """
    try:
        call = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_number, parse_int=_integer, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise CallError(f"this is no JSON ({error.msg} at character {error.pos}): write {FORM}.") from None
    except RecursionError:
        raise CallError("this JSON is nested too deep.") from None
    if not isinstance(call, dict) or call.keys() != {"name", "arguments"}:
        raise CallError(f"a call has the keys name and arguments and no others: write {FORM}.")
    if not isinstance(call["name"], str) or not isinstance(call["arguments"], dict):
        raise CallError(f"name is a text and arguments an object: write {FORM}.")
    return Call(call["name"], call["arguments"])


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise CallError(f"the key {key!r} stands twice in one object.")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise CallError(f"{name} is no number of JSON.")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise CallError(f"an integer of {len(digits)} digits: {DIGITS} are allowed.")
    return int(digits)


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise CallError(f"{digits[:DIGITS]} is too large a number.")
    return value


class Mismatch(NamedTuple):
    """How arguments differ from their schema: names that are missing or unknown, values of a wrong kind, in words."""

    names: int
    values: int
    told: str


def mismatch(tool: Tool, arguments: Mapping[str, Any]) -> Mismatch:
    """Compare arguments with a tool's schema."""
    schema = tool.parameters
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    unknown = [name for name in arguments if name not in schema["properties"]]
    told = [f"{name!r} is missing" for name in missing] + [f"there is no {name!r}" for name in unknown]
    wrong = 0
    for name, value in arguments.items():
        if name not in unknown and (error := _error(json.dumps(schema["properties"][name]), value)):
            wrong += 1
            told.append(f"{name!r}: {error}")
    return Mismatch(len(missing) + len(unknown), wrong, "; ".join(told))


def _error(schema: str, value: Any) -> str:
    for error in _validator(schema).iter_errors(value):
        return str(error.message)[:200]
    return ""


@functools.lru_cache(maxsize=1024)
def _validator(schema: str) -> Any:
    return json_schema().Draft202012Validator(json.loads(schema))


def json_schema() -> Any:
    """The package jsonschema.

    Raises ImportError where it is missing: `pip install "reward-envs[text]"`.
    """
    try:
        import jsonschema
    except ImportError as error:
        raise ImportError('tasks with tools need jsonschema: pip install "reward-envs[text]"') from error
    return jsonschema


class Counts(NamedTuple):
    """Columns of the hook `execution`: what happened to the calls of an episode, and whether its answer is right."""

    calls: int = 0
    unparsed: int = 0
    unknown: int = 0
    names: int = 0
    values: int = 0
    failed: int = 0
    answer: int = 0


class ToolTask(TextTask):
    """A task that is played by calls. A task writes `tools`, `call` and `grade`, and tells of `tools` in its
    instructions; `tool_list` writes them out."""

    tools: tuple[Tool, ...] = ()
    counts: Counts = Counts()

    def call(self, name: str, arguments: dict[str, Any]) -> Reply:
        """Run a tool with arguments that fit its schema.

        Raises CallError where that fails.
        """
        raise NotImplementedError(f"{type(self).__name__} writes no call(name, arguments).")

    def act(self, action: str) -> Reply:
        try:
            call = read_call(action)
        except CallError as error:
            return self._refused(str(error), unparsed=1)
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is None:
            near = difflib.get_close_matches(call.name, [tool.name for tool in self.tools], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            return self._refused(f"there is no tool {call.name[:60]!r}{hint}", unknown=1)
        found = mismatch(tool, call.arguments)
        if found.told:
            return self._refused(f"{tool.name}: {found.told}.", names=found.names, values=found.values)
        try:
            reply = self.call(call.name, call.arguments)
        except CallError as error:
            return self._refused(str(error))
        self._count(calls=1)
        return reply

    def refuse(self, why: str) -> Reply:
        return self._refused(why, unparsed=1)._replace(author="environment")

    def execution(self) -> NDArray[np.float64]:
        """float64[7]: `Counts`."""
        return np.array(self.counts, np.float64)

    def _refused(self, why: str, **counted: int) -> Reply:
        self._count(calls=1, failed=1, **counted)
        return Reply(json.dumps({"error": why}, ensure_ascii=False))

    def _count(self, **more: int) -> None:
        self.counts = self.counts._replace(**{name: getattr(self.counts, name) + n for name, n in more.items()})
