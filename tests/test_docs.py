"""Every block of code in the documentation runs, and prints what the page says that it prints.

The blocks of a page run in order, in one namespace, in an empty folder: `python` blocks, whose printed lines are
compared with the `output` block that follows where there is one, and `pycon` blocks as doctests. A comment in the line
before a fence says what else to do with it: `<!-- not run: why -->`, or `<!-- file: name.py -->` to make it that file.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reward_envs.wrappers import registry

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
FENCE = re.compile(r"^(?:<!-- (?P<told>.*?) -->\n)?```(?P<kind>python|pycon|output)\n(?P<code>.*?)^```$", re.M | re.S)
LEFT_OUT = 3  # blocks that are not run, of all pages together


class Block(NamedTuple):
    """A block of code or output, the line before it, and what its comment says."""

    kind: str
    code: str
    line: int
    told: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        yield Block(found["kind"], found["code"], text.count("\n", 0, found.start("code")), found["told"] or "")


def run(block: Block, page: Path, namespace: dict[str, object]) -> str:
    """What a block of code printed; a doctest that fails raises its own report."""
    if block.kind == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, page.name, "exec"), namespace)
        return printed.getvalue()
    test = doctest.DocTestParser().get_doctest(block.code, namespace, page.name, page.name, block.line)
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
    namespace.update(test.globs)
    assert not said, "".join(said)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("__main__")  # a page is a script
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "_entries", dict(registry.methods()))  # a page may register a method
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    printed = ""
    for block in blocks(page):
        order, _, name = block.told.partition(": ")
        if order == "file":
            (tmp_path / name).write_text(block.code, encoding="utf-8")
        elif block.kind == "output":
            assert printed.rstrip() == block.code.rstrip(), f"{page.name}, line {block.line}"
        elif order != "not run":
            printed = run(block, page, module.__dict__)


def test_few_blocks_are_left_out_and_each_says_why() -> None:
    told = [(p.name, b.told) for p in PAGES for b in blocks(p) if b.told and not b.told.startswith("file: ")]
    assert all(re.fullmatch(r"not run: .{10,}", why) for _, why in told), told
    assert len(told) <= LEFT_OUT, told


def test_every_fence_of_code_is_found() -> None:
    for page in PAGES:
        fences = re.findall(r"^ *```(?:python|pycon|output)", page.read_text(encoding="utf-8"), re.M)
        assert len(fences) == len(list(blocks(page))), page.name
