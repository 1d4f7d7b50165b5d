"""How far many runs are: a bar on a terminal, now and then a line where there is none."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Bar:
    """Shows on stderr the steps and runs that are done, and the time left.

    Parameters
    ----------
    steps, runs
        The totals.
    shown
        False shows nothing.
    every
        Seconds between lines where stderr is no terminal.
    """

    def __init__(self, steps: int, runs: int, shown: bool = True, every: float = 10.0) -> None:
        self._steps, self._runs, self._every = steps, runs, every
        self._began = self._said = time.monotonic()
        self._plain = shown and not sys.stderr.isatty()
        self._bar = self._make() if shown and not self._plain else None
        self._task: Any = None

    def _make(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
        return Progress(*columns, TimeElapsedColumn(), TextColumn("{task.fields[left]}"), console=Console(stderr=True))

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self._text(0), total=self._steps, left="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, steps: int, runs: int, failed: int = 0) -> None:
        """So many steps are made, and so many runs are over, of which some failed."""
        now = time.monotonic()
        share = min(1.0, steps / self._steps)
        left = f"about {(now - self._began) * (1 - share) / share:.0f} s left" if 0 < share < 1 else ""
        if self._bar is not None:
            self._bar.update(self._task, completed=steps, description=self._text(runs, failed), left=left)
        elif self._plain and (now - self._said >= self._every or runs == self._runs):
            self._said = now
            parts = (self._text(runs, failed), f"{100 * share:.0f} % of the steps", f"{now - self._began:.0f} s", left)
            print(", ".join(p for p in parts if p), file=sys.stderr, flush=True)

    def _text(self, runs: int, failed: int = 0) -> str:
        return f"{runs} of {self._runs} runs" + (f", {failed} failed" if failed else "")
