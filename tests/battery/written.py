"""What every entry must say of itself: docstring, example, source, claims, text and repr."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re
from importlib import resources
from pathlib import Path
from typing import Any

from reward_envs.wrappers import parse
from reward_envs.wrappers.registry import Entry, as_relabel, text
from tests.battery import claims
from tests.battery.tools import is_relabeller, rebuild

BIBLIOGRAPHY = set(
    re.findall(r"^@\w+\{([^,\s]+),", resources.files("reward_envs").joinpath("references.bib").read_text("utf-8"), re.M)
)


def own_fields(cls: type[Any]) -> list[str]:
    """Fields that the class itself declares."""
    return [f.name for f in dataclasses.fields(cls) if f.name in inspect.get_annotations(cls)]


def documented(cls: type[Any]) -> list[str]:
    """Names in the docstring's Parameters section, "a, b" and "a : type" included."""
    found = re.search(r"^( *)Parameters\n\1-+\n(.*?)(?=\n\n\1\S|\Z)", cls.__doc__ or "", re.M | re.S)
    if not found:
        return []
    indent, body = found.groups()
    heads = [line for line in body.splitlines() if re.match(rf"{indent}\S", line)]
    return [name.strip() for head in heads for name in head.split(" : ")[0].split(",")]


def parameters_are_the_fields(entry: Entry) -> None:
    assert documented(entry.cls) == own_fields(entry.cls)


def is_a_frozen_dataclass(entry: Entry) -> None:
    assert dataclasses.is_dataclass(entry.cls)
    assert entry.cls.__dataclass_params__.frozen, "a method is a value: @dataclass(frozen=True)"


def sources_are_in_the_bibliography(entry: Entry) -> None:
    assert set(entry.source) <= BIBLIOGRAPHY


def says_what_it_is(entry: Entry) -> None:
    assert entry.claims, "an entry claims at least one property"
    assert entry.summary.rstrip().endswith("."), "the docstring opens with a sentence"
    assert entry.example
    assert entry.role in ("add", "replace", "rows")
    assert (entry.role == "rows") == is_relabeller(entry)
    if entry.source:
        assert "Source:" in (entry.cls.__doc__ or "")


def claims_are_known(entry: Entry) -> None:
    for claim in entry.claims:
        claims.read(claim)


def covers_name_tests(entry: Entry) -> None:
    for where in entry.covers.values():
        path, _, name = where.partition("::")
        assert f"def {name}(" in (Path(__file__).parents[2] / path).read_text("utf-8"), where


def examples_run(entry: Entry) -> None:
    """Every doctest of the class, one at least."""
    module = importlib.import_module(entry.cls.__module__)
    tests = doctest.DocTestFinder().find(entry.cls, entry.name, module, dict(vars(module)))
    results = [doctest.DocTestRunner(verbose=False).run(t) for t in tests]
    assert sum(r.attempted for r in results) > 0, "the docstring holds an example"
    assert sum(r.failed for r in results) == 0


def text_and_repr_rebuild(entry: Entry) -> None:
    read = as_relabel if is_relabeller(entry) else parse
    method = read(entry.example)
    assert isinstance(method, entry.cls)
    assert read(text(method)) == method
    assert rebuild(repr(method)) == method


WRITTEN = {
    f.__name__: f
    for f in (
        parameters_are_the_fields,
        is_a_frozen_dataclass,
        sources_are_in_the_bibliography,
        says_what_it_is,
        claims_are_known,
        covers_name_tests,
        examples_run,
        text_and_repr_rebuild,
    )
}
