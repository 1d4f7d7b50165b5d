"""Where the episodes of a vector run: in this process, or in worker processes that may crash or hang."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from reward_envs.text.episode import Episode, NoText, Plan, Turn, failed
from reward_envs.text.task import TaskError

Begun = tuple[str, dict[str, Any]]
Jobs = Sequence[tuple[int, Any]]  # (slot, seed or action)
READY_SECONDS = 120.0  # for a process to start and import


class Local:
    """N episodes in this process, one after another."""

    def __init__(self, plan: Plan, n: int) -> None:
        self._episodes = [Episode(plan) for _ in range(n)]

    def begin(self, jobs: Jobs, hooks: tuple[str, ...]) -> list[Begun]:
        """Begin episodes from (slot, seed)."""
        return [_begin(self._episodes[slot], seed, hooks) for slot, seed in jobs]

    def play(self, jobs: Jobs) -> list[Turn]:
        """Play (slot, action)."""
        return [self._episodes[slot].step(action) for slot, action in jobs]

    def close(self) -> None:
        """Let go of all tasks."""
        for episode in self._episodes:
            episode.close()


def _begin(episode: Episode, seed: int, hooks: tuple[str, ...]) -> Begun:
    episode.hooks = hooks
    return episode.begin(seed)


# worker processes


@dataclass
class _Played:
    """What made a running episode, enough to make it again."""

    seed: int
    hooks: tuple[str, ...]
    hooked: dict[str, Any]  # the hooks at its begin, for their shapes
    actions: list[Any] = field(default_factory=list)


class _Lost(Exception):
    """A worker has died or does not answer."""


def _serve(pipe: Connection, plan: Plan, slots: Sequence[int]) -> None:
    """A worker's life: (verb, jobs) comes in, one answer a job goes out."""
    episodes = {slot: Episode(plan) for slot in slots}
    pipe.send("ready")
    while (message := pipe.recv())[0] != "close":
        verb, jobs = message
        for slot, what in jobs:
            try:
                answer: Any = episodes[slot].step(what) if verb == "play" else _begin(episodes[slot], *what)
            except TaskError as error:
                answer = error
            pipe.send(answer)
    for episode in episodes.values():
        episode.close()


class _Worker:
    """One process and the slots that it plays. A process that is lost is replaced, and its episodes are played again
    up to where they were; the one that was being played is lost."""

    def __init__(self, plan: Plan, slots: Sequence[int], patience: float) -> None:
        self._plan, self.slots, self._patience = plan, slots, patience
        self._running: dict[int, _Played] = {}
        self._sent: list[tuple[int, Any]] = []
        self.start()

    def start(self) -> None:
        """Start the process, without waiting for it."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._plan, self.slots), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def send(self, verb: str, jobs: Iterable[tuple[int, Any]]) -> None:
        """Hand over jobs of this worker's slots; `begun` or `played` gives what became of them."""
        self._sent = list(jobs)
        if self._sent:
            self._post(verb, self._sent)

    def begun(self) -> Iterator[tuple[int, Begun | TaskError]]:
        """(slot, what it saw, or why it cannot begin) of the episodes that were to begin."""
        for k, (slot, (seed, hooks)) in enumerate(self._sent):
            self._running.pop(slot, None)
            try:
                answer = self._receive()
            except _Lost as lost:
                answer = TaskError(f"drawing a task {lost}")
                self._restart()
                self._post("begin", self._sent[k + 1 :])
            if not isinstance(answer, TaskError):
                self._running[slot] = _Played(seed, hooks, {name: answer[1][name] for name in hooks})
            yield slot, answer

    def played(self) -> Iterator[tuple[int, Turn]]:
        """(slot, turn) of the actions that were to be played."""
        for k, (slot, action) in enumerate(self._sent):
            try:
                turn = self._receive() if slot in self._running else failed("it was lost with its worker", {})
            except _Lost as lost:
                turn = failed(f"act {lost}", self._running.pop(slot).hooked)
                self._restart()
                self._post("play", self._sent[k + 1 :])
            if slot in self._running:
                self._running[slot].actions.append(action)
            yield slot, turn

    def close(self, patience: float = 5.0) -> None:
        """End the process; it has `patience` seconds to let go of its tasks."""
        if self._ready:
            self._post("close", [])
        self._process.join(patience)
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _post(self, verb: str, jobs: Sequence[tuple[int, Any]]) -> None:
        there = [job for job in jobs if verb == "begin" or job[0] in self._running]
        try:
            self._wait()
            self._pipe.send((verb, there))
        except OSError:
            return  # the process has ended, which the first missing answer tells

    def _receive(self) -> Any:
        try:
            if self._pipe.poll(self._patience):
                return self._pipe.recv()
        except (EOFError, OSError):
            raise _Lost("ended its process") from None
        raise _Lost(f"took longer than {self._patience:g} s")

    def _wait(self) -> None:
        if self._ready:
            return
        try:
            self._ready = self._pipe.poll(READY_SECONDS) and self._pipe.recv() == "ready"
        except EOFError:
            self._ready = False
        if not self._ready:
            raise TaskError(
                "a worker process did not start: a script that uses workers does so below if __name__ == '__main__', "
                "and its source must be importable."
            )

    def _restart(self) -> None:
        self.close(0.0)
        self.start()
        for slot, played in list(self._running.items()):
            jobs = [("begin", (played.seed, played.hooks)), *(("play", action) for action in played.actions)]
            try:
                for verb, what in jobs:
                    self._post(verb, [(slot, what)])
                    self._receive()
            except _Lost:
                self._running.pop(slot)
                return self._restart()


class Workers:
    """N episodes in `workers` processes, which start once.

    Parameters
    ----------
    plan
        What all play; it is pickled.
    n, workers
        Episodes and processes; episode i runs in process i modulo `workers`.
    patience
        Seconds that an answer may take; then the process is replaced and the slot's episode is over.
    """

    def __init__(self, plan: Plan, n: int, workers: int, patience: float) -> None:
        self._workers = [_Worker(plan, range(k, n, workers), patience) for k in range(min(workers, n))]

    def begin(self, jobs: Jobs, hooks: tuple[str, ...]) -> list[Begun]:
        """As of `Local`."""
        self._send("begin", [(slot, (seed, hooks)) for slot, seed in jobs])
        found = {slot: answer for worker in self._workers for slot, answer in worker.begun()}
        begun = []
        for slot, _ in jobs:
            answer = found[slot]
            if isinstance(answer, TaskError):
                raise answer
            begun.append(answer)
        return begun

    def play(self, jobs: Jobs) -> list[Turn]:
        """As of `Local`."""
        self._send("play", [(slot, action if isinstance(action, str) else NoText.of(action)) for slot, action in jobs])
        found = {slot: turn for worker in self._workers for slot, turn in worker.played()}
        return [found[slot] for slot, _ in jobs]

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.close()

    def _send(self, verb: str, jobs: Jobs) -> None:
        for worker in self._workers:
            worker.send(verb, [job for job in jobs if job[0] in worker.slots])
