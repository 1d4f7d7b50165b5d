"""A workspace in a temporary folder with the system's own bash, for our own commands only."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from reward_envs.text.terminal.template import Instance, as_bytes


class Folder:
    """A workspace as `template.State` has it."""

    def __init__(self, root: Path, instance: Instance) -> None:
        self.root, self.instance = root, instance
        for path, content in instance.files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(as_bytes(content))
            file.chmod(0o755 if path in instance.scripts else 0o644)

    def read(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.is_file() else None

    def mode(self, path: str) -> int | None:
        file = self.root / path
        return stat.S_IMODE(file.stat().st_mode) if file.is_file() else None

    def files(self) -> list[str]:
        return sorted(str(f.relative_to(self.root)) for f in self.root.rglob("*") if f.is_file())

    def run(self, commands: Iterable[str]) -> None:
        lines = "\n".join(commands) + "\n"
        environ = {**os.environ, "LC_ALL": "C"}
        subprocess.run(["bash"], input=lines, text=True, cwd=self.root, env=environ, capture_output=True, check=False)

    @property
    def score(self) -> float:
        passed = self.instance.passed(self)
        return sum(check.weight for check, ok in zip(self.instance.checks, passed, strict=True) if ok)


def solution(instance: Instance) -> list[str]:
    """The reference commands, whatever is printed."""
    return list(instance.solve())
