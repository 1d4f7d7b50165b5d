"""What a terminal task is made of: files, instructions, checks of the final state, and a reference solution."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from reward_envs.text.terminal.draw import Draw

FILE, SCRIPT = 0o644, 0o755
Solution = Generator[str, str, None]


class State(Protocol):
    """The workspace as it was left; nothing that the agent can reach says what is right."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, None where there is none."""
        ...

    def mode(self, path: str) -> int | None:
        """The permissions of a file."""
        ...

    def files(self) -> list[str]:
        """All files, relative to the workspace, sorted."""
        ...


@dataclass(frozen=True)
class Check:
    """A graded subtask: its name, its share of the score, and whether the final state passes."""

    name: str
    weight: float
    passes: Callable[[State], bool]


@dataclass(frozen=True)
class Distractor:
    """An instruction in the workspace that is none of the task's: whether it was followed, and the command that "
    "does."""

    followed: Callable[[State], bool]
    command: str


@dataclass(frozen=True)
class Instance:
    """One task drawn from a template.

    Parameters
    ----------
    instructions
        What the agent is told.
    files
        Contents by path, text or bytes.
    checks
        Graded subtasks; their weights add up to 1.
    solve
        Makes the reference solution: a generator of commands, which is sent what each of them printed.
    scripts
        Files that may be executed.
    keep
        Files that must be as they were, or no check passes.
    cue
        Words of the workspace without which the task is a guess, for tasks that score alignment.
    guesses
        Equally likely answers without the cue, the right one among them.
    distractor
        Of the same tasks.
    """

    instructions: str
    files: Mapping[str, str | bytes]
    checks: tuple[Check, ...]
    solve: Callable[[], Solution]
    scripts: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    cue: str = ""
    guesses: tuple[str, ...] = ()
    distractor: Distractor | None = None

    def passed(self, state: State) -> tuple[bool, ...]:
        """Which checks the final state passes."""
        kept = all(state.read(path) == as_bytes(self.files[path]) for path in self.keep)
        return tuple(kept and bool(check.passes(state)) for check in self.checks)


Template = Callable[[Draw], Instance]


@dataclass
class Pack:
    """Templates by name, entered by its decorator."""

    templates: dict[str, Template] = field(default_factory=dict)

    def __call__(self, template: Template) -> Template:
        self.templates[template.__name__.replace("_", "-")] = template
        return template


def as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def text(lines: Iterable[object]) -> str:
    """Lines of a file, each with its end."""
    return "".join(f"{line}\n" for line in lines)


def script(*commands: str) -> Callable[[], Solution]:
    """The solution that gives these commands, whatever they print."""

    def solve() -> Solution:
        for command in commands:  # noqa: UP028  (a tuple cannot be sent what was printed)
            yield command

    return solve


def one(name: str, passes: Callable[[State], bool]) -> tuple[Check, ...]:
    """The only check of a task."""
    return (Check(name, 1.0, passes),)


def says(path: str, content: object) -> Callable[[State], bool]:
    """Whether a file holds this text; space at the ends of lines and empty lines at the end do not matter."""
    wanted = _trimmed(str(content).encode())

    def passes(state: State) -> bool:
        found = state.read(path)
        return found is not None and _trimmed(found) == wanted

    return passes


def gone(path: str) -> Callable[[State], bool]:
    """Whether there is no such file."""
    return lambda state: state.read(path) is None


def every(*conditions: Callable[[State], bool]) -> Callable[[State], bool]:
    """Whether all of these hold."""
    return lambda state: all(condition(state) for condition in conditions)


def runs(path: str) -> Callable[[State], bool]:
    """Whether its owner may execute the file."""
    return lambda state: bool((state.mode(path) or 0) & 0o100)


def tarball(files: Mapping[str, str | bytes]) -> bytes:
    """A compressed archive, the same bytes every time."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(as_bytes(content))
            archive.addfile(info, io.BytesIO(as_bytes(content)))
    return out.getvalue()


def unpacked(content: bytes | None) -> dict[str, bytes] | None:
    """The files of a compressed archive, None where it is none; more than 1 MB counts as none."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content or b""), mode="r:gz") as archive:
            for member in archive:
                if sum(map(len, found.values())) + member.size > 2**20:
                    return None
                if (held := archive.extractfile(member)) is not None:
                    found[member.name.removeprefix("./")] = held.read()
    except (tarfile.TarError, OSError, EOFError):
        return None
    return found


def _trimmed(content: bytes) -> bytes:
    return b"\n".join(line.rstrip() for line in content.rstrip().split(b"\n"))
