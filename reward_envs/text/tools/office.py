"""A simulated office: records that name each other, and tasks that follow them by a known number of calls."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from reward_envs.card import Card
from reward_envs.text.calls import CallError, Tool, ToolTask, json_schema, tool_list
from reward_envs.text.task import Grade, Reply, Source, TextTask, check_split
from reward_envs.text.tools.components import execution_value
from reward_envs.text.tools.words import ACCOUNT, NOTES, ORDER, WORDS, Desk, Words

T = TypeVar("T")
DECOYS = 3  # records of every desk that lead nowhere
ANSWER_WEIGHT = 0.5


class Need(NamedTuple):
    """A call that every way to the answer holds: which tool reads, and its arguments."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Office:
    """What is there: the fields of records by (desk, key), the pair of order and account that belongs together, and its
    slip."""

    records: dict[tuple[int, Any], dict[str, Any]]
    pair: tuple[Any, Any]
    slip: int


@dataclass(frozen=True)
class Errand:
    """What is asked: the words of it, the records that they name, as (desk, key), the calls that every way to the
    answer holds, in an order that works, and the answer."""

    words: str
    given: tuple[tuple[int, Any], ...]
    needs: tuple[Need, ...]
    answer: Any


@functools.cache
def tools_of(split: str) -> tuple[Tool, ...]:
    """The tools of a split."""
    words, made = WORDS[split], []
    for desk in words.desks:
        schema = _schema({desk.key: words.key_schema})
        made.append(Tool(desk.read, f"Shows one {desk.thing}.", schema))
        made.append(Tool(desk.find, f"Lists what is kept as the {desk.thing} of that key.", schema))
    order, account = words.desks[ORDER], words.desks[ACCOUNT]
    both = _schema({order.key: words.key_schema, account.key: words.key_schema})
    made.append(Tool(words.join, f"Gives the {words.slip} of {_a(order.thing)} and its {account.thing}.", both))
    answer = _schema({"answer": {"type": ["string", "integer"]}})
    made.append(Tool(words.submit, "Gives the answer as it was shown, and ends the task.", answer))
    return tuple(made)


def _schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class OfficeTask(ToolTask):
    """An errand in an office. Each call of a read tool shows a record; the first answer ends the task."""

    def __init__(self, split: str, office: Office, errand: Errand) -> None:
        words, self.tools = WORDS[split], tools_of(split)
        self.instructions = f"{_briefing(split)}{errand.words}\n"
        self._words, self._office, self._errand = words, office, errand
        self._desk_of = {name: i for i, d in enumerate(words.desks) for name in (d.read, d.find)}
        self._made: list[bool] = [False] * len(errand.needs)
        self._seen = list(errand.given)
        self._facts: list[Any] = []
        self._answered = False

    def call(self, name: str, arguments: dict[str, Any]) -> Reply:
        if name == self._words.submit:
            return self._submit(arguments["answer"])
        if name == self._words.join:
            order, account = (arguments[self._words.desks[i].key] for i in (ORDER, ACCOUNT))
            if (order, account) != self._office.pair:
                raise CallError("these two do not belong together.")
            self._mark(Need(name, arguments))
            self._learn_fact(self._office.slip)
            return Reply(json.dumps({self._words.slip: self._office.slip}))
        i = self._desk_of[name]
        desk, key = self._words.desks[i], arguments[self._words.desks[i].key]
        record = self._office.records.get((i, key))
        if record is None:
            raise CallError(f"no {desk.thing} has the {desk.key} {key!r}.")
        self._mark(Need(desk.read, arguments))
        self._look(desk, record)
        return Reply(json.dumps(record if name == desk.read else {"found": [record]}))

    def grade(self) -> Grade:
        right = bool(self.counts.answer)
        each = (1.0 - ANSWER_WEIGHT) / len(self._made)
        calls = tuple((f"call {i + 1}", each, made) for i, made in enumerate(self._made))
        return Grade((*calls, ("answer", ANSWER_WEIGHT, right)))

    def value(self) -> float:
        return float(execution_value(self.execution()))

    def steps_to_go(self) -> float:
        """Calls that are still needed, the answer included; inf after a wrong answer, 0 after a right one."""
        if self._answered:
            return 0.0 if self.grade().success else math.inf
        return float(self._made.count(False) + 1)

    def admissible(self) -> list[str]:
        words, desks = self._words, self._words.desks
        calls = [Need(desks[i].read, {desks[i].key: key}) for i, key in self._seen]
        orders, accounts = ([key for i, key in self._seen if i == at] for at in (ORDER, ACCOUNT))
        calls += [
            Need(words.join, {desks[ORDER].key: order, desks[ACCOUNT].key: account})
            for order in orders
            for account in accounts
        ]
        calls += [Need(words.submit, {"answer": fact}) for fact in self._facts]
        return [_call(need) for need in calls]

    def caption(self) -> str:
        made = sum(self._made)
        return f"{made} of the {len(self._made)} calls that the answer needs were made. {self._errand.words}"

    def expert(self) -> str:
        for need, made in zip(self._errand.needs, self._made, strict=True):
            if not made:
                return _call(need)
        return _call(Need(self._words.submit, {"answer": self._errand.answer}))

    def _submit(self, answer: Any) -> Reply:
        self._answered = True
        wanted = self._errand.answer
        right = type(answer) is type(wanted) and answer == wanted
        self._count(answer=int(right))
        return Reply(json.dumps({"received": True}), done=True)

    def _mark(self, need: Need) -> None:
        for i, wanted in enumerate(self._errand.needs):
            self._made[i] |= wanted == need

    def _look(self, desk: Desk, record: dict[str, Any]) -> None:
        for field in (self._words.leads, self._words.astray):
            link = record[field]
            at = next(i for i, d in enumerate(self._words.desks) if d.thing == link["kind"])
            if (at, link["key"]) not in self._seen:
                self._seen.append((at, link["key"]))
        self._learn_fact(record[desk.fact])

    def _learn_fact(self, fact: Any) -> None:
        if fact not in self._facts:
            self._facts.append(fact)


def _a(thing: str) -> str:
    return f"an {thing}" if thing[0] in "aeiou" else f"a {thing}"


def _call(need: Need) -> str:
    return json.dumps({"name": need.name, "arguments": need.arguments})


@functools.cache
def _briefing(split: str) -> str:
    return (
        "You work in an office. Its records are reached by tools. Write one call at a time, as JSON and nothing else:\n"
        f'{{"name": "<tool>", "arguments": {{...}}}}\n\nTools:\n{tool_list(tools_of(split))}\n\nTask:\n'
    )


# how errands are made


class Maker:
    """Draws an office and an errand of a depth; every number in it is drawn without repetition."""

    def __init__(self, rng: np.random.Generator, words: Words) -> None:
        self._rng, self._words = rng, words
        self._records: dict[tuple[int, Any], dict[str, Any]] = {}
        self._numbers: Iterator[int] = iter((rng.choice(900_000, 200, replace=False) + 100_000).tolist())
        self._picks: Iterator[float] = iter(rng.random(200).tolist())  # at once, which costs less than one by one
        # Decoys lead to one another only. No record names the order and the account that belong together but the ends
        # of the two chains that lead there.
        decoys = [(i, self._key(i)) for i in range(len(words.desks)) for _ in range(DECOYS)]
        self._pair = [next(d for d in decoys if d[0] == at) for at in (ORDER, ACCOUNT)]
        self._open = [d for d in decoys if d not in self._pair]
        for i, key in decoys:
            self._keep(i, key, self._decoy())

    def make(self, depth: int) -> tuple[Office, Errand]:
        """An office and an errand whose answer takes `depth` calls."""
        (_, order), (_, account) = self._pair
        slip = self._number()
        if depth >= 3 and self._rng.random() < 0.5:
            errand = self._joined(depth, (order, account), slip)
        else:
            errand = self._line(depth)
        return Office(self._records, (order, account), slip), errand

    def _line(self, depth: int) -> Errand:
        at = self._rng.permutation(len(self._words.desks))[:depth].tolist()
        keys = self._chain(at, end=None)
        last = self._words.desks[at[-1]]
        answer = self._records[at[-1], keys[-1]][last.fact]
        words = f'{self._way(at, keys[0])} Submit its "{last.fact}".'
        return Errand(words, ((at[0], keys[0]),), self._needs(at, keys), answer)

    def _joined(self, depth: int, pair: tuple[Any, Any], slip: int) -> Errand:
        left = int(self._rng.integers(max(1, depth - 5), min(4, depth - 2) + 1))
        told, given = [], []
        needs: list[Need] = []
        for length, end, key in ((left, ORDER, pair[0]), (depth - 1 - left, ACCOUNT, pair[1])):
            at = self._rng.permutation(ORDER)[:length].tolist()
            keys = self._chain(at, end=(end, key))
            told.append(self._way([*at, end], keys[0]))
            given.append((at[0], keys[0]))
            needs += self._needs(at, keys)
        desks, words = self._words.desks, self._words
        needs.append(Need(words.join, {desks[ORDER].key: pair[0], desks[ACCOUNT].key: pair[1]}))
        told.append(f'Submit the "{words.slip}" that {words.join} gives for the two.')
        return Errand(" ".join(told), tuple(given), tuple(needs), slip)

    def _way(self, at: list[int], first: Any) -> str:
        things = [self._words.desks[i].thing for i in at]
        start = f"Begin with the {things[0]} {json.dumps(first)}."
        if len(things) == 1:
            return start
        return f'{start} Its "{self._words.leads}" leads to {", then ".join(map(_a, things[1:]))}.'

    def _needs(self, at: list[int], keys: list[Any]) -> tuple[Need, ...]:
        desks = [self._words.desks[i] for i in at]
        return tuple(Need(desk.read, {desk.key: key}) for desk, key in zip(desks, keys, strict=True))

    def _chain(self, at: list[int], end: tuple[int, Any] | None) -> list[Any]:
        """Records at these desks, each leading to the next, the last one to `end` or to a decoy."""
        keys = [self._key(i) for i in at]
        following = [*zip(at[1:], keys[1:], strict=True), end or self._decoy()]
        for i, key, then in zip(at, keys, following, strict=True):
            self._keep(i, key, then)
        return keys

    def _decoy(self) -> tuple[int, Any]:
        return self._pick(self._open)

    def _keep(self, i: int, key: Any, then: tuple[int, Any]) -> None:
        desk, words = self._words.desks[i], self._words
        self._records[i, key] = {
            desk.key: key,
            desk.fact: desk.show(self._number()),
            words.leads: self._link(then),
            words.astray: self._link(self._decoy()),
            words.note: self._pick(NOTES).format(self._number()),
        }

    def _link(self, record: tuple[int, Any]) -> dict[str, Any]:
        return {"kind": self._words.desks[record[0]].thing, "key": record[1]}

    def _key(self, i: int) -> Any:
        return self._words.write(self._words.desks[i].thing, self._number())

    def _pick(self, things: Sequence[T]) -> T:
        return things[int(next(self._picks) * len(things))]

    def _number(self) -> int:
        return next(self._numbers)


class OfficeSource(Source):
    """Errands of a depth: the number of calls that the answer takes, `submit` not counted.

    Raises ValueError where depth is not 1 to 6.
    """

    def __init__(self, depth: int = 2) -> None:
        if depth not in range(1, 7):
            raise ValueError(f"depth={depth!r}: it is one of 1 to 6.")
        json_schema()  # what is missing is said now, and not by every call
        self.depth = int(depth)
        self.max_steps = 4 * self.depth + 4
        self.card = Card(
            task=f"Find an answer in the records of an office, by {depth} calls of tools or more, and submit it.",
            hooks=("steps_to_go", "progress", "milestones", "admissible", "caption", "execution"),
            milestone_names=(*(f"call {i + 1}" for i in range(self.depth)), "answer"),
            steps_to_go_max=self.depth + 1.0,
            failing_ends=True,
            reward_range=(0.0, 1.0),
        )

    def draw(self, rng: np.random.Generator, split: str) -> TextTask:
        return OfficeTask(check_split(split), *Maker(rng, WORDS[split]).make(self.depth))
