"""The registry of methods, and the text form that names the same things.

    reward  := term (("+" | "-") term)*
    term    := [number "*"] method | "-" term | "(" reward ")"
    method  := name | name "(" [argument ("," argument)*] ")"
    argument := [field "="] value
    value   := number | "text" | bare_word | True | False | None | inf | (value, ...) | reward

The text is read with `ast`; nothing in it is evaluated. A bare word is a method where the field takes a method, else
text.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import importlib
import json
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeVar

from reward_envs.wrappers.core import Method, Relabel, Scale, Sum
from reward_envs.wrappers.errors import RewardError, TextError

_TOO_DEEP = "cannot read a text of {} characters that is nested so deep."
NO_TEXT = "no text: "  # what a spec records for a method that cannot be written


@dataclass(frozen=True)
class Entry:
    """One row of the registry: a method's name, class, family, source, claims, example, and what it covers."""

    name: str
    cls: type[Any]
    family: str
    source: tuple[str, ...]
    claims: tuple[str, ...]
    example: str
    role: str
    covers: Mapping[int, str]

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (self.cls.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")


_entries: dict[str, Entry] = {}
_T = TypeVar("_T", bound=type[Any])


def register(
    name: str,
    *,
    example: str,
    source: str | tuple[str, ...] = (),
    claims: tuple[str, ...] = (),
    role: str = "add",
    covers: Mapping[int, str] | None = None,
    family: str = "",
) -> Callable[[_T], _T]:
    """Class decorator: enter a method.

    Parameters
    ----------
    name
        Name in the text form.
    example
        A text that runs on the battery's test environment.
    source
        Keys in `references.bib`.
    claims
        Names of property tests that hold, such as "telescopes" or "bounded(0, 1)".
    role
        "add" where the term is meant beside `task`, "replace" where it stands for it, "rows" for a relabeller.
    covers
        Catalogue id to the test of that row's property, "tests/....py::name".
    """

    def enter(cls: _T) -> _T:
        before = _entries[name].cls if name in _entries else cls
        if (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
            raise RewardError(f"a method called {name!r} is registered already: {before}.")
        cls.text_name = name
        sources = (source,) if isinstance(source, str) else source
        _entries[name] = Entry(
            name, cls, family or cls.__module__.split(".")[-2], sources, claims, example, role, dict(covers or {})
        )
        return cls

    return enter


@functools.cache
def _load() -> None:
    """Import every theme of every family; the only list of methods is the registry itself."""
    package = importlib.import_module("reward_envs.wrappers")
    for family in pkgutil.iter_modules(package.__path__):
        if family.ispkg and family.name not in ("adapters", "nets"):
            folder = importlib.import_module(f"{package.__name__}.{family.name}")
            for theme in pkgutil.iter_modules(folder.__path__):
                importlib.import_module(f"{folder.__name__}.{theme.name}")


def methods() -> dict[str, Entry]:
    """Every registered method by name."""
    _load()
    return dict(sorted(_entries.items()))


def catalogue() -> list[dict[str, Any]]:
    """The catalogue's rows with what covers each, and the test of the row's property.

    Methods and environments can cover a row; an environment alone covers only rows that are environments.
    """
    from reward_envs.registration import IDS, PREFIX

    lines = resources.files("reward_envs").joinpath("catalogue.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    by_method = [(e.name, e.covers) for e in methods().values()]
    by_environment = [(PREFIX + name, row.covers) for name, row in IDS.items()]
    for row in rows:
        found = [(name, covers[row["id"]]) for name, covers in by_method if row["id"] in covers]
        if found or row["kind"] == "env":
            found += [(name, covers[row["id"]]) for name, covers in by_environment if row["id"] in covers]
        row["covered_by"] = [name for name, _ in found]
        row["property_test"] = found[0][1] if found else None
    return rows


# reading


def as_method(method: Method | str) -> Method:
    """The method itself, or the one that the text names."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str):
        return parse(method)
    raise RewardError(f"got a {type(method).__name__}; a reward is a method such as Task() or a text such as 'task'.")


def parse(text: str) -> Method:
    """The method that a reward text names.

    >>> parse("task + 0.5*clip(task, -1, 1)")
    Sum(parts=(Task(), Scale(of=Clip(of=Task(), low=-1, high=1), by=0.5)))

    Raises TextError with the nearest known name, or with the place that cannot be read.
    """
    if not isinstance(text, str):
        raise TextError(f"parse reads a text, got {text!r}.")
    if text.startswith(NO_TEXT):
        raise TextError(f"the environment was recorded without its reward, because {text.removeprefix(NO_TEXT)}")
    try:
        return _reward(_tree(text), text)
    except RecursionError:
        raise TextError(_TOO_DEEP.format(len(text))) from None


def as_relabel(how: Relabel | str) -> Relabel:
    """The relabeller itself, or the one that a text such as "hindsight(future, k=4, ...)" names."""
    if isinstance(how, Relabel):
        return how
    if not isinstance(how, str):
        raise RewardError(f"got {how!r}; this takes a relabeller such as Hindsight(...) or its text.")
    node = _tree(how)
    call = ast.Call(node, [], []) if isinstance(node, ast.Name) else node
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise TextError(f"{how!r} names no relabeller: write 'hindsight(...)'.")
    entry = _entry(call.func.id, how)
    if not issubclass(entry.cls, Relabel):
        raise TextError(f"{entry.name} in {how!r} pays rewards and makes no rows: hand it to relabel.")
    made: Relabel = _make(entry, call.args, call.keywords, how)
    return made


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip().replace("\n", " "), mode="eval").body
    except (RecursionError, MemoryError):
        raise TextError(_TOO_DEEP.format(len(text))) from None
    except SyntaxError as error:
        at = f"at character {error.offset}" if error.offset else "at its end"
        raise TextError(f"cannot read {text!r}: {error.msg} {at}.") from None


def _reward(node: ast.expr, text: str) -> Method:
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _reward(left, text) + _reward(right, text)
        case ast.BinOp(left, ast.Sub(), right):
            return _reward(left, text) - _reward(right, text)
        case ast.BinOp(left, ast.Mult(), right):
            for weight, other in ((left, right), (right, left)):
                if (number := _number(weight)) is not None:
                    return _reward(other, text) * number
        case ast.UnaryOp(ast.USub(), operand):
            return -_reward(operand, text)
        case ast.Name(name):
            return _build(_entry(name, text), [], [], text)
        case ast.Call(ast.Name(name), args, keywords):
            return _build(_entry(name, text), args, keywords, text)
    part = ast.unparse(node)
    if _number(node) is not None:
        raise TextError(f"{part!r} in {text!r} is a number, not a reward: a constant is shift(task, {part}).")
    raise TextError(
        f"{part!r} in {text!r} is no reward: write names, calls with fields, sums and number*method, "
        f"such as 'task + 0.1*count'."
    )


def _entry(name: str, text: str) -> Entry:
    known = methods()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
    raise TextError(f"unknown method {name!r} in {text!r}: {hint}")


def _build(entry: Entry, args: list[ast.expr], keywords: list[ast.keyword], text: str) -> Method:
    if issubclass(entry.cls, Relabel):
        raise TextError(
            f"{entry.name} in {text!r} makes rows, not rewards: hand it to relabel_rows or a replay buffer."
        )
    method: Method = _make(entry, args, keywords, text)
    return method


def _make(entry: Entry, args: list[ast.expr], keywords: list[ast.keyword], text: str) -> Any:
    fields = {f.name: f for f in dataclasses.fields(entry.cls)}
    order = [f.name for f in fields.values() if f.init and not f.kw_only]
    if len(args) > len(order):
        raise TextError(f"{entry.name} in {text!r} takes {len(order)} values ({', '.join(order)}), got {len(args)}.")
    given: dict[str, Any] = dict(zip(order, args, strict=False))
    version = 1
    for keyword in keywords:
        if keyword.arg == "version":
            version = _literal(keyword.value, entry, "version", text)
        elif keyword.arg is None or keyword.arg not in fields or keyword.arg in given:
            _refuse_field(entry, keyword.arg, fields, text)
        else:
            given[keyword.arg] = keyword.value
    if version != entry.cls.version:
        raise TextError(
            f"{entry.name} in {text!r} is formula version {version}, this release computes version "
            f"{entry.cls.version}: see CHANGELOG.md, then write {entry.name}(..., version={entry.cls.version})."
        )
    for f in fields.values():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and f.name not in given:
            raise TextError(f"{entry.name} in {text!r} needs {f.name}: for example {entry.example!r}.")
    values = {
        k: _reward(v, text) if "Method" in str(fields[k].type) else _literal(v, entry, k, text)
        for k, v in given.items()
    }
    return entry.cls(**values)


def _refuse_field(entry: Entry, name: str | None, fields: Mapping[str, Any], text: str) -> None:
    near = difflib.get_close_matches(name or "", fields, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(fields)}."
    raise TextError(f"{entry.name} in {text!r} takes no second or unknown {name!r}: {hint}")


def _number(node: ast.expr) -> float | None:
    match node:
        case ast.Constant(bool()):
            return None
        case ast.Constant(int() | float() as value):
            return value
        case ast.Name("inf"):
            return math.inf
        case ast.UnaryOp(ast.USub(), operand) if (inner := _number(operand)) is not None:
            return -inner
        case ast.BinOp(left, ast.Mult(), right):
            a, b = _number(left), _number(right)
            return None if a is None or b is None else a * b
    return None


def _literal(node: ast.expr, entry: Entry, field: str, text: str) -> Any:
    if (number := _number(node)) is not None:
        return number
    match node:
        case ast.Constant(str() | bool() | None as value):
            return value
        case ast.Name(word):
            return word
        case ast.Tuple(items) | ast.List(items):
            return tuple(_literal(i, entry, field, text) for i in items)
    raise TextError(
        f"{entry.name} in {text!r}: {field}={ast.unparse(node)} is no number, word, text or tuple of these."
    )


# writing


def text(method: Method | Relabel) -> str:
    """The text of a method or a relabeller; `parse(text(m)) == m`. Raises TextError where a field holds a callable."""
    if isinstance(method, Sum):
        first, *rest = (text(p) for p in method.parts)
        return first + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in rest)
    if isinstance(method, Scale) and method.name is None:
        return f"{method.by!r}*{text(method.of)}"
    if not method.text_name:
        raise TextError(f"{type(method).__name__} is not registered, so it has no text: see CONTRIBUTING.md.")
    parts: list[str] = []
    named = False
    for f in (f for f in dataclasses.fields(method) if f.name != "name"):
        value = getattr(method, f.name)
        if f.default is not dataclasses.MISSING and value == f.default and type(value) is type(f.default):
            named = True
        else:
            keyword = f"{f.name}=" if named or (parts and not isinstance(value, Method)) else ""
            named = named or bool(keyword)
            parts.append(keyword + _write(value, method, f.name))
    parts += [f"version={method.version}"] if method.version != 1 else []
    parts += [f"name={_write(method.name, method, 'name')}"] if method.name is not None else []
    return f"{method.text_name}({', '.join(parts)})" if parts else method.text_name


def _write(value: Any, method: Method | Relabel, field: str) -> str:
    if isinstance(value, Method):
        return text(value)
    if isinstance(value, str):
        bare = value.isidentifier() and value not in ("inf", "True", "False", "None")
        return value if bare else repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(_write(v, method, field) for v in value)}{',' if len(value) == 1 else ''})"
    if callable(value):
        raise TextError(_why_no_text(value, method, field))
    return repr(value)


def _why_no_text(value: Any, method: Method | Relabel, field: str) -> str:
    module, name = getattr(value, "__module__", "__main__"), getattr(value, "__qualname__", "?")
    importable = module not in ("__main__", None) and "<" not in name
    instead = (
        f"write {field}={module + ':' + name!r}" if importable else "put it in a module and name it 'module:function'"
    )
    return f"{method.label} holds the callable {name}, which has no text: {instead}."


def text_or_reason(method: Method) -> str:
    """The method's text, or a marker that `parse` refuses with the reason."""
    try:
        return text(method)
    except TextError as error:
        return NO_TEXT + str(error)
