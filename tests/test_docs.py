"""Every block of code in the documentation runs, and prints what the page says that it prints.

The blocks of a page run in order, in one namespace, in an empty folder: `python` blocks, whose printed lines are
compared with the `output` block that follows where there is one, and `pycon` blocks as doctests. A comment in the line
before a fence says what else to do with it: `<!-- not run: why -->`, `<!-- file: name.py -->` to make it that file, or
`<!-- needs: module -->` to run it, and look at its output, only where that module or program is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import importlib.util
import io
import re
import shlex
import shutil
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from typer.testing import CliRunner

from reward_envs.cli import app
from reward_envs.registration import IDS, PREFIX
from reward_envs.wrappers import registry

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
FENCE = re.compile(r"^(?:<!-- (?P<told>.*?) -->\n)?```(?P<kind>python|pycon|output)\n(?P<code>.*?)^```$", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(?P<lines>.*?)^```$", re.M | re.S)
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


def there(name: str) -> bool:
    """Whether a module, or a program, is installed."""
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


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
    printed: str | None = ""
    for block in blocks(page):
        order, _, name = block.told.partition(": ")
        if order == "file":
            (tmp_path / name).write_text(block.code, encoding="utf-8")
        elif block.kind == "output":
            if printed is not None:
                assert printed.rstrip() == block.code.rstrip(), f"{page.name}, line {block.line}"
        elif order == "needs" and not there(name):
            printed = None
        elif order != "not run":
            printed = run(block, page, module.__dict__)


def commands(page: Path) -> Iterator[tuple[list[str], str]]:
    """Every command of the page's console blocks, as words, with the output that the page shows."""
    for found in CONSOLE.finditer(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", found["lines"].replace("\\\n", " "), flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield shlex.split(command, comments=True), output


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_exists(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for (program, *words), output in commands(page):
        if program == "make":
            assert words[0] in targets
        elif program == "reward-envs":
            name, *options = words
            typer.main.get_command(app).commands[name].make_context(name, options).close()  # refuses unknown options
            if output:
                got = CliRunner().invoke(app, words)
                assert got.exit_code == 0, got.output
                assert doctest.OutputChecker().check_output(output, got.stdout, doctest.ELLIPSIS), got.stdout


def test_few_blocks_are_left_out_and_each_says_why() -> None:
    run = ("file: ", "needs: ")
    told = [(p.name, b.told) for p in PAGES for b in blocks(p) if b.told and not b.told.startswith(run)]
    assert all(re.fullmatch(r"not run: .{10,}", why) for _, why in told), told
    assert len(told) <= LEFT_OUT, told


@pytest.mark.parametrize("page", PAGES[:2], ids=lambda p: p.name)  # Sphinx sees to the others
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_fence_of_code_is_found() -> None:
    for page in PAGES:
        fences = re.findall(r"^ *```(?:python|pycon|output)", page.read_text(encoding="utf-8"), re.M)
        assert len(fences) == len(list(blocks(page))), page.name


# What the registries write


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], types.ModuleType]:
    """Imports a module of the docs folder, which is no package."""
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module


def test_generated_pages_hold_every_method_and_environment(tools: Callable[[str], types.ModuleType]) -> None:
    pages = tools("generate").render()
    for entry in registry.methods().values():
        page = pages[f"methods/{entry.family}.md"]
        section = page.split(f"(method-{entry.name})=", 1)[1].split("\n(method-", 1)[0]
        assert f"[`{entry.name}`](#method-{entry.name})" in pages["methods/index.md"]
        assert all(f"`{claim}`" in section for claim in entry.claims)
        assert all(f"](#{key})" in section and f"({key})=" in pages["references.md"] for key in entry.source)
        assert all(f"[row {number} of the catalogue]" in section for number in entry.covers)
        assert section.count("```") % 2 == 0
        for field in dataclasses.fields(entry.cls):
            told = re.search(rf"^.*`{field.name}`: .*\n: \S", section, re.M)
            assert told or field.name == "name", (entry.name, field.name)
    assert all(f"`{PREFIX}{name}`" in pages["environments.md"] for name in IDS)
    covered = sum(bool(row["covered_by"]) for row in registry.catalogue())
    assert f" {covered} of " in pages["catalogue.md"]


def test_generated_pages_of_an_earlier_build_go(tools: Callable[[str], types.ModuleType], tmp_path: Path) -> None:
    generate = tools("generate")
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "gone.md").write_text("# Gone", encoding="utf-8")
    generate.write(tmp_path)
    written = {p.relative_to(tmp_path).as_posix(): p.stat().st_mtime_ns for p in tmp_path.rglob("*.md")}
    assert set(written) == set(generate.render())
    generate.write(tmp_path)  # what did not change is not touched, so that Sphinx does not read it again
    assert written == {p.relative_to(tmp_path).as_posix(): p.stat().st_mtime_ns for p in tmp_path.rglob("*.md")}


def test_docstrings_become_markdown(tools: Callable[[str], types.ModuleType]) -> None:
    docstrings = tools("docstrings")
    text = """One line.

    Parameters
    ----------
    a, b
        Two
        lines.
    c : int
        One.

    Raises ValueError where a is b.
    Misleads in the dark.

    >>> 1 + 1
    2
    """
    assert docstrings.markdown(docstrings.sections(text), {"a": "float = 1.0"}) == (
        "One line.\n\n`a`: `float = 1.0`, `b`\n: Two lines.\n\n`c`: int\n: One.\n\n"
        "**Raises** ValueError where a is b.\n\n**Misleads** in the dark.\n\n```pycon\n>>> 1 + 1\n2\n```"
    )


@pytest.mark.parametrize(
    ("entry", "label", "text"),
    [
        (
            r"""@article{a, author = {Grze{\'s}, Marek and {\"O}zg{\"u}r, A. B.}, title = {{TRPO}? Or \#not--so},
            journal = {Nature}, volume = {5}, number = {2}, pages = {1--9}, year = 2017}""",
            "Grześ and Özgür 2017",
            "Marek Grześ and A. B. Özgür. *TRPO? Or #not–so.* Nature, 5(2), 1–9, 2017.",
        ),
        (
            r"""@misc{a, author = {Ada Lovelace and others}, title = "Why?", year = {2020}, eprint = {2001.00001}}""",
            "Lovelace et al. 2020",
            "Ada Lovelace and others. *Why?* 2020. [arXiv:2001.00001](https://arxiv.org/abs/2001.00001).",
        ),
    ],
)
def test_bibliography_reads_latex(tools: Callable[[str], types.ModuleType], entry: str, label: str, text: str) -> None:
    found = tools("bibliography").read(entry)["a"]
    assert (found.label, found.text) == (label, text)


def test_the_grammar_is_that_of_the_registry() -> None:
    def rules(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines() if ":=" in line]

    assert rules((DOCS / "text.md").read_text(encoding="utf-8")) == rules(registry.__doc__ or "") != []
