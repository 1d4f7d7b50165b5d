"""What is built can be imported, imports stay light and run one way, and files keep the limits of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

from reward_envs.kernels._jit import kernel

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "reward_envs"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DATA = sorted(p for pattern in ("py.typed", "*.jsonl", "*.bib") for p in PACKAGE.rglob(pattern))
ENVIRONMENTS = ("grid", "control", "text")
# What is imported where it is used, so that the package itself opens at once.
HEAVY = ("torch", "stable_baselines3", "sb3_contrib", "mujoco", "minigrid", "matplotlib", "pandas", "pyarrow", "typer")
OWN_GENERATORS = {
    "BitGenerator",
    "Generator",
    "MT19937",
    "PCG64",
    "PCG64DXSM",
    "Philox",
    "SFC64",
    "SeedSequence",
    "default_rng",
    "Random",
}
BROAD = {"Exception", "BaseException"}
Check = Callable[[ast.AST], Iterator[tuple[int, str]]]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment
    return subprocess.run(command, cwd=cwd, env=variables, text=True, capture_output=True, check=False, timeout=120)


def said(code: str, cwd: Path, **environment: str) -> str:
    done = python(code, cwd, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# What is built


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source package, and the wheel that was built from it, of a copy of the tree."""
    folder = tmp_path_factory.mktemp("build")
    tree = folder / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(PACKAGE, tree / "reward_envs", ignore=shutil.ignore_patterns("__pycache__"))
    for link in ("wrappers", "agents"):
        shutil.copy(ROOT / link, tree, follow_symlinks=False)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(tree)]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> set[str]:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        archive.extractall(site)
    return site


def test_wheel_holds_the_package_and_nothing_beside_it(wheel: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"reward_envs"}
    assert "reward_envs/py.typed" in wheel
    assert {name_of(p) for p in [*SOURCES, *DATA]} <= wheel
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel)


def test_source_package_holds_neither_link(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        assert not any(member.issym() or member.islnk() for member in archive.getmembers())
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"} <= names
    assert {name_of(p) for p in [*SOURCES, *DATA]} <= names
    assert not any(re.match(r"(wrappers|agents)(/|$)", name) for name in names)


def test_wheel_imports_from_elsewhere(unpacked: Path, tmp_path: Path) -> None:
    code = "import reward_envs, reward_envs.wrappers as w; print(reward_envs.__file__, w.__file__, sep='\\n')"
    files = [Path(line) for line in said(code, tmp_path, PYTHONPATH=str(unpacked)).splitlines()]
    assert files == [unpacked / "reward_envs/__init__.py", unpacked / "reward_envs/wrappers/__init__.py"]


def test_wheel_and_package_name_one_version(built: Path, unpacked: Path, tmp_path: Path) -> None:
    version = said("import reward_envs; print(reward_envs.__version__)", tmp_path, PYTHONPATH=str(unpacked))
    assert [p.name.split("-")[1] for p in built.glob("*.whl")] == [version]


def test_command_of_the_wheel_exists(unpacked: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.metadata as m\n"
        f"found = next(iter(m.distributions(name='reward-envs', path=[{str(unpacked)!r}])))\n"
        "(command,) = found.entry_points.select(group='console_scripts')\n"
        "print(command.name, callable(command.load()))"
    )
    assert said(code, tmp_path, PYTHONPATH=str(unpacked)) == "reward-envs True"


# The links


@pytest.mark.parametrize("link", ["wrappers", "agents"])
def test_link_shows_the_folder_and_refuses_to_be_imported(link: str) -> None:
    assert (ROOT / link).is_symlink()
    assert os.readlink(ROOT / link) == f"reward_envs/{link}"
    done = python(f"import {link}", ROOT)
    assert done.returncode != 0
    sentence = f"ImportError: import reward_envs.{link}, not {link}: the top-level link only shows the folder"
    assert done.stderr.strip().splitlines()[-1] == sentence


# Imports


@pytest.mark.parametrize("module", ["reward_envs", "reward_envs.wrappers", "reward_envs.agents"])
def test_import_is_light(module: str, tmp_path: Path) -> None:
    code = f"import sys, {module}; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    assert said(code, tmp_path, PYTHONPATH=str(ROOT)) == ""


def imports(code: str, package: tuple[str, ...] = ()) -> Iterator[tuple[int, str]]:
    """Line and full module name of every import in a file of `package`, within functions and by importlib included."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, node.module) if node.module else base)
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and dotted(node.func).endswith(("import_module", "__import__")):
            text = node.args[0]
            if isinstance(text, ast.JoinedStr) and text.values:
                text = text.values[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node.lineno, text.value


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    return imports(path.read_text(encoding="utf-8"), path.relative_to(ROOT).parts[:-1])


def dotted(node: ast.AST) -> str:
    """`a.b.c` of nested attributes, empty where it is no plain chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and f"{base}.{node.attr}"
    return ""


def within(module: str, *packages: str) -> bool:
    return any(f"{module}.".startswith(f"reward_envs.{package}.") for package in packages)


@pytest.mark.parametrize(
    ("importers", "refused"),
    [
        (("kernels",), ("wrappers", "agents", *ENVIRONMENTS)),
        (ENVIRONMENTS, ("wrappers", "agents")),
        (("wrappers",), ("agents",)),
    ],
    ids=["kernels", "environments", "wrappers"],
)
def test_imports_run_one_way(importers: tuple[str, ...], refused: tuple[str, ...]) -> None:
    files = [p for folder in importers for p in sorted((PACKAGE / folder).rglob("*.py"))]
    wrong = [
        f"{name_of(p)}:{line} {module}" for p in files for line, module in imports_of(p) if within(module, *refused)
    ]
    assert wrong == []


def test_kernels_hold_functions_and_lean_on_kernels_alone() -> None:
    wrong = []
    for path in sorted((PACKAGE / "kernels").glob("[!_]*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong += [f"{name_of(path)}:{n.lineno} class" for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
        ours = [(line, m) for line, m in imports_of(path) if m.split(".")[0] == "reward_envs"]
        wrong += [f"{name_of(path)}:{line} {m}" for line, m in ours if not within(m, "kernels")]
    assert wrong == []


def test_numba_stays_in_the_kernels_and_behind_one_decorator() -> None:
    wrong = []
    for path in SOURCES:
        kernel_file = path.parent == PACKAGE / "kernels"
        used = [(line, m) for line, m in imports_of(path) if m.split(".")[0] == "numba"]
        wrong += [f"{name_of(path)}:{line} {m}" for line, m in used if not kernel_file]
        if kernel_file and path.name != "_jit.py":
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            compilers = ("jit", "njit", "vectorize", "guvectorize", "cfunc", "stencil")
            named = [(n.lineno, dotted(n)) for n in nodes if isinstance(n, ast.Name | ast.Attribute)]
            wrong += [f"{name_of(path)}:{line} {n}" for line, n in named if n.split(".")[-1] in compilers]
    assert wrong == []


@kernel
def reciprocal(x: float) -> float:
    return 1.0 / x


@kernel(parallel=True)
def filled(n: int) -> np.ndarray:
    out = np.empty(n)
    for i in numba.prange(n):
        out[i] = i
    return out


def test_kernels_divide_as_numpy_does_and_may_run_in_parallel() -> None:
    assert reciprocal(0.0) == np.inf
    np.testing.assert_array_equal(filled(100), np.arange(100.0))
    for function, parallel in ((reciprocal, False), (filled, True)):
        options = function.targetoptions
        assert (options["nogil"], options["fastmath"], options["parallel"]) == (True, False, parallel)


# Habits


def test_files_keep_the_line_limit() -> None:
    long = {name_of(p): n for p in SOURCES if (n := len(p.read_text(encoding="utf-8").splitlines())) >= 500}
    assert long == {}


def is_broad(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind] if kind is not None else []
    return any(dotted(k).split(".")[-1] in BROAD for k in kinds)


def calls(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call | ast.Await | ast.Yield | ast.YieldFrom) for n in ast.walk(node))


def swallowed(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and fault of every handler that hides an error."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            idle = all(isinstance(s, ast.Pass | ast.Expr) and not calls(s) for s in node.body)
            if node.type is None:
                yield node.lineno, "except without a type"
            elif is_broad(node.type) and not any(isinstance(s, ast.Raise) for s in ast.walk(node)):
                yield node.lineno, "catches every exception and raises none"
            elif idle:
                yield node.lineno, "handler that does nothing"
        elif (
            isinstance(node, ast.Call)
            and dotted(node.func).split(".")[-1] == "suppress"
            and any(map(is_broad, node.args))
        ):
            yield node.lineno, "suppresses every exception"


def global_random(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every use of a generator that the whole process shares."""
    names = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            yield from ((node.lineno, f"{node.module}.{a.name}") for a in node.names if a.name not in OWN_GENERATORS)
        elif isinstance(node, ast.Attribute):
            base = dotted(node.value)
            shared = base in ("np.random", "numpy.random") or (base == "random" and "random" in names)
            if shared and node.attr not in OWN_GENERATORS:
                yield node.lineno, f"{base}.{node.attr}"


@pytest.mark.parametrize("check", [swallowed, global_random])
def test_no_file_of_the_package_does_it(check: Check) -> None:
    trees = ((p, ast.parse(p.read_text(encoding="utf-8"))) for p in SOURCES)
    assert [f"{name_of(p)}:{line} {fault}" for p, tree in trees for line, fault in check(tree)] == []


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (swallowed, "try: f()\nexcept: g()"),
        (swallowed, "try: f()\nexcept Exception as e: log(e)"),
        (swallowed, "try: f()\nexcept (KeyError, Exception): x = 1"),
        (swallowed, "try: f()\nexcept KeyError: pass"),
        (swallowed, "try: f()\nexcept KeyError: ..."),
        (swallowed, "with contextlib.suppress(Exception): f()"),
        (global_random, "np.random.rand(3)"),
        (global_random, "numpy.random.seed(0)"),
        (global_random, "import random\nrandom.random()"),
        (global_random, "from random import choice"),
    ],
)
def test_check_sees_it(check: Check, code: str) -> None:
    assert len(list(check(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (swallowed, "try: f()\nexcept Exception as e: raise ValueError(str(e)) from e"),
        (swallowed, "try: f()\nexcept KeyError: x = 1"),
        (swallowed, "for x in y:\n    try: f()\n    except KeyError: continue"),
        (swallowed, "with contextlib.suppress(KeyError): f()"),
        (global_random, "np.random.default_rng(3)"),
        (global_random, "x: np.random.Generator"),
        (global_random, "import random\nrandom.Random(3)"),
        (global_random, "random.normal()"),
    ],
)
def test_check_lets_it_be(check: Check, code: str) -> None:
    assert list(check(ast.parse(code))) == []


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("import reward_envs.agents.sb3", "reward_envs.agents.sb3"),
        ("from reward_envs import agents", "reward_envs.agents"),
        ("from reward_envs.agents import sb3", "reward_envs.agents.sb3"),
        ("from ..agents import sb3", "reward_envs.agents.sb3"),
        ("from .. import agents", "reward_envs.agents"),
        ("def f():\n    import reward_envs.agents", "reward_envs.agents"),
        ("importlib.import_module('reward_envs.agents')", "reward_envs.agents"),
        ("importlib.import_module(f'reward_envs.agents.{x}')", "reward_envs.agents."),
    ],
)
def test_import_reader_sees_each_form(code: str, module: str) -> None:
    assert [m for _, m in imports(code, ("reward_envs", "wrappers"))] == [module]
    assert within(module, "agents")


def test_import_reader_takes_whole_names() -> None:
    assert not within("reward_envs.agents_of_old", "agents")
    assert not within("agents.sb3", "agents")
