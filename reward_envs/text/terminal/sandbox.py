"""A real bash inside bubblewrap: no network, own processes, a small disk in memory, limits on all that it uses."""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

HOME = "/box"
NOBODY = 65534  # whom a sandbox that root starts belongs to, since the kernel counts no processes of root's
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives")  # the last: what Debian's awk is a link to
_PATIENCE = 20.0  # seconds for a sandbox to begin
_DEEPEST = 40  # folders below one another that `files` looks into
# The outer bash begins the inner one again, where a command ends it; what it has to say of that is nobody's business.
_LOOP = """
ulimit -c 0 -n 256 -u {processes} -v {memory} -f {file}
exec {e}>&2 2> /dev/null
while :; do
  bash --norc --noprofile -c 'while IFS= read -r -d "" -u {c} line; do
    eval "$line" {c}<&- {s}>&- < /dev/null; echo "$?" >&{s}; done' 2>&{e} {e}>&-
  echo "$?" >&{s}
done
"""


class SandboxError(RuntimeError):
    """Raised where no sandbox can be made here."""


@dataclass(frozen=True)
class Confinement:
    """What a sandbox may use.

    Parameters
    ----------
    seconds
        Wall time of a command; then all that it started is killed.
    memory
        MiB of address space of a process.
    processes
        How many there may be.
    disk
        MiB of the workspace, which lies in memory; as much again is `/tmp`.
    output
        Bytes that a command may print; then it is killed.
    """

    seconds: float = 10.0
    memory: int = 512
    processes: int = 48
    disk: int = 32
    output: int = 200_000


class Ran(NamedTuple):
    """What a command printed, its exit code, and which limit stopped it ("" where none did)."""

    output: bytes
    code: int
    stopped: str


@functools.cache
def unavailable() -> str:
    """Why there can be no sandbox here, "" where there can: made once, and it ran a command."""
    if shutil.which("bwrap") is None:
        return (
            "bubblewrap is not installed: install the package bubblewrap of your system, or take the simulated shell."
        )
    try:
        with contextlib.closing(Sandbox({}, limits=Confinement())) as sandbox:
            ran = sandbox.run("echo here && ! (echo > /usr/there) 2> /dev/null")
    except (SandboxError, OSError) as error:
        return str(error)
    return "" if ran == (b"here\n", 0, "") else f"a sandbox answered {ran.output[:200]!r} with code {ran.code}."


class Sandbox:
    """A workspace and a bash that lives from command to command; a context manager.

    Nothing of the host can be written; `/usr` can be read. What is in the workspace is read from outside without
    following any link, also after the processes were ended.

    Parameters
    ----------
    files
        Contents by path.
    scripts
        Those of them that may be executed.
    limits
        See `Confinement`.

    Raises SandboxError where bubblewrap is missing or the system forbids it; `unavailable()` says why beforehand.
    """

    def __init__(
        self, files: Mapping[str, bytes], scripts: tuple[str, ...] = (), limits: Confinement | None = None
    ) -> None:
        self.limits = limits or Confinement()
        self._folder, self._first = -1, -1
        commands_out, self._commands = os.pipe()
        self._codes, codes_in = os.pipe()
        told, tell = os.pipe()
        theirs = (commands_out, codes_in, tell)
        try:
            self._process = self._start(*theirs)
        except OSError as error:
            for end in (self._commands, self._codes, told):
                os.close(end)
            raise SandboxError(f"bubblewrap does not start: {error}.") from error
        finally:
            for end in theirs:
                os.close(end)
        with os.fdopen(told, "rb") as about:
            said = _all_of(about.fileno(), _PATIENCE)
        try:
            pid = self._first = int(json.loads(said)["child-pid"])
            self._space = os.readlink(f"/proc/{pid}/ns/pid")
            self._place(files, scripts)  # only once bash answers is the sandbox's root its own
            self._folder = os.open(f"/proc/{pid}/root{HOME}", os.O_RDONLY | os.O_DIRECTORY)
            if os.fstat(self._folder).st_dev == os.stat("/").st_dev:
                raise OSError("its workspace is not its own")
        except (ValueError, KeyError, OSError, SandboxError) as error:
            why = (
                self._process.communicate(timeout=_PATIENCE)[0].decode(errors="replace").strip() if not said else error
            )
            self.close()
            raise SandboxError(f"bubblewrap made no sandbox: {why}.") from error

    def run(self, line: str) -> Ran:
        """Give bash a command, and wait until it is done or a limit stops it."""
        if "\0" in line:
            return Ran(b"bash: a command holds no NUL\n", 2, "")
        try:
            os.write(self._commands, line.encode(errors="replace") + b"\0")
        except OSError:
            return Ran(b"", 137, "ended")
        ran = self._wait()
        self._end_commands()
        return ran

    def read(self, path: str) -> bytes | None:
        """The bytes of a file of the workspace; None where there is none, or where it is no plain file."""
        with self._opened(path) as file:
            if file is None:
                return None
            parts = []
            while part := os.read(file, 2**20):
                parts.append(part)
            return b"".join(parts)

    def mode(self, path: str) -> int | None:
        """The permissions of a plain file, None where there is none."""
        with self._opened(path) as file:
            return None if file is None else stat.S_IMODE(os.fstat(file).st_mode)

    def files(self) -> list[str]:
        """All plain files of the workspace, sorted."""
        found, folders = [], [Path()]
        while folders:
            folder = folders.pop()
            with self._opened(str(folder), stat.S_ISDIR) as at:
                if at is None:
                    continue
                for entry in os.scandir(at):
                    if entry.is_file(follow_symlinks=False):
                        found.append(str(folder / entry.name))
                    elif entry.is_dir(follow_symlinks=False) and len(folder.parts) < _DEEPEST:
                        folders.append(folder / entry.name)
        return sorted(found)

    def stop(self) -> None:
        """End all processes; the workspace can still be read."""
        if self._process.poll() is None:
            if self._first > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._first, signal.SIGKILL)  # and with it all others in its space
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End all, and forget the workspace."""
        self.stop()
        if self._process.stdout is not None:
            self._process.stdout.close()
        for end in (self._commands, self._codes, self._folder):
            with contextlib.suppress(OSError):
                os.close(end)
        self._commands = self._codes = self._folder = -1

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.close()

    def _start(self, commands: int, codes: int, tell: int) -> subprocess.Popen[bytes]:
        limits = self.limits
        size = str(limits.disk * 2**20)
        system: list[str] = []
        for path in _SYSTEM:
            if os.path.islink(path):
                system += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                system += ["--ro-bind", path, path]
        loop = _LOOP.format(
            processes=limits.processes,
            memory=limits.memory * 1024,
            file=limits.disk * 1024,
            c=commands,
            s=codes,
            e=tell,
        )
        command = [
            shutil.which("bwrap") or "bwrap",
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        ]
        command += ["--ro-bind", "/usr", "/usr", *system, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        command += ["--size", size, "--tmpfs", HOME, "--size", size, "--tmpfs", "/tmp", "--remount-ro", "/"]
        command += ["--uid", "1000", "--gid", "1000", "--hostname", "box", "--chdir", HOME, "--info-fd", str(tell)]
        for name, value in {"PATH": "/usr/bin:/bin", "HOME": HOME, "LC_ALL": "C.UTF-8", "TERM": "dumb"}.items():
            command += ["--setenv", name, value]
        user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        return subprocess.Popen(
            [*command, "bash", "--norc", "--noprofile", "-c", loop],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(commands, codes, tell),
            cwd="/",
            env={},  # of bubblewrap itself, which the agent can read
            **user,
        )

    def _place(self, files: Mapping[str, bytes], scripts: tuple[str, ...]) -> None:
        """Write the files by a command: the workspace belongs to a user whom the system outside does not know."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, content in files.items():
                info = tarfile.TarInfo(path)
                info.size, info.mode = len(content), 0o755 if path in scripts else 0o644
                archive.addfile(info, io.BytesIO(content))
        ran = self.run(f"printf %s {base64.b64encode(packed.getvalue()).decode()} | base64 -d | tar -xf -")
        if ran != (b"", 0, ""):
            raise SandboxError(f"the files of the workspace could not be written: {ran}.")

    def _wait(self) -> Ran:
        output, pipe = bytearray(), self._process.stdout
        assert pipe is not None
        until, stopped, bash_too = time.monotonic() + self.limits.seconds, "", False
        while True:
            ready = select.select([pipe.fileno(), self._codes], [], [], max(0.0, until - time.monotonic()))[0]
            if pipe.fileno() in ready:
                if part := os.read(pipe.fileno(), 2**16):
                    output += part[: self.limits.output + 1 - len(output)]
                else:
                    return Ran(bytes(output), 137, stopped or "ended")
            elif self._codes in ready:  # all that it printed came before
                code = os.read(self._codes, 64).split(b"\n")[0]
                return Ran(bytes(output), int(code) if code.isdigit() else 1, stopped)
            elif stopped and not ready:
                if bash_too:
                    self.stop()
                    return Ran(bytes(output), 137, stopped)
                bash_too, until = True, time.monotonic() + 1.0
                self._end_commands(bash_too)  # it was bash itself that was busy
            if not stopped and (not ready or len(output) > self.limits.output):
                stopped = "output" if ready else "seconds"
                del output[self.limits.output :]
                self._end_commands()
                until = time.monotonic() + 1.0

    def _end_commands(self, bash_too: bool = False) -> None:
        """Kill what a command has left running, and the bash that ran it if need be."""
        for _ in range(20):
            for pid in (pids := self._inside(bash_too)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not pids:
                return

    def _inside(self, bash_too: bool) -> list[int]:
        """Processes of commands: all but bubblewrap's (1), the outer bash (2) and its child, the inner one."""
        found, outer = [], -1
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError, StopIteration):
                    if os.readlink(f"/proc/{entry}/ns/pid") == self._space:
                        number, parent = _numbers(entry)
                        outer = int(entry) if number == 2 else outer
                        found += [(int(entry), parent)] if number > 2 else []
        return [pid for pid, parent in found if bash_too or parent != outer]

    @contextlib.contextmanager
    def _opened(self, path: str, kind: Callable[[int], bool] = stat.S_ISREG) -> Iterator[int | None]:
        """What lies at a path, opened part by part, so that no link leads out of the workspace."""
        at: int | None = os.dup(self._folder)
        try:
            for part in Path(path).parts:
                if part in ("/", ".."):
                    raise OSError(f"{path} leads out of the workspace")
                inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
                os.close(at)  # type: ignore[arg-type]
                at = inner
            there = at is not None and kind(os.fstat(at).st_mode)
        except OSError:
            there = False
        try:
            yield at if there else None
        finally:
            os.close(at)  # type: ignore[arg-type]


def _numbers(pid: str) -> tuple[int, int]:
    """Its number inside the sandbox, and that of its parent outside."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    inside = next(line for line in lines if line.startswith("NSpid:"))
    parent = next(line for line in lines if line.startswith("PPid:"))
    return int(inside.split()[-1]), int(parent.split()[-1])


def _all_of(file: int, seconds: float) -> bytes:
    """What is written until the other side closes, or until there is a whole JSON object."""
    said, until = b"", time.monotonic() + seconds
    while select.select([file], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(file, 4096)
        said += part
        if not part or said.rstrip().endswith(b"}"):
            break
    return said
