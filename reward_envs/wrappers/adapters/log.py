"""The log of one's own loop: means over the last finished episodes, and the places that they are written to."""

from __future__ import annotations

import csv
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reward_envs.wrappers.errors import RewardError

if TYPE_CHECKING:
    from reward_envs.wrappers.batch import Batch, Float
    from reward_envs.wrappers.runner import Scored

Sink = Callable[[int, Mapping[str, Any]], object]

WINDOW = 100  # finished episodes that a mean is taken over
_RETURN = "episode_task_return"
_TERM = "episode_reward/"


class EpisodeSums:
    """Sums over episodes of the task's reward and of every term; keeps those of the last finished ones."""

    def __init__(self, window: int = WINDOW) -> None:
        self._running: dict[int, tuple[int, dict[str, float]]] = {}  # stream -> (episode, sums so far)
        self._finished: deque[dict[str, float]] = deque(maxlen=window)

    def add(self, batch: Batch, terms: Mapping[str, Float]) -> None:
        """Rows in the order of time, each once."""
        numbers, index = np.unique(batch.episode, return_inverse=True)
        columns = {"reward/task_return": batch.reward, **{f"episode_reward/{k}": v for k, v in terms.items()}}
        sums = {k: np.bincount(index, v, len(numbers)) for k, v in columns.items()}
        last = np.zeros(len(numbers), np.intp)
        last[index] = np.arange(len(batch))
        for i, row in enumerate(last):
            stream, episode = int(batch.stream[row]), int(batch.episode[row])
            number, before = self._running.pop(stream, (episode, dict.fromkeys(sums, 0.0)))
            total = {k: s[i].item() + (before[k] if number == episode else 0.0) for k, s in sums.items()}
            if batch.ended[row]:
                self.finish(total)
            else:
                self._running[stream] = (episode, total)

    def finish(self, sums: dict[str, float]) -> None:
        """Take an episode that has ended."""
        self._finished.append(sums)

    def means(self) -> dict[str, float]:
        """Means over the finished episodes, under the names of the log; empty before the first."""
        if not self._finished:
            return {}
        return {k: float(np.mean([sums[k] for sums in self._finished])) for k in self._finished[0]}


class RewardLog:
    """The terms and the task's own return of one's own loop, written to CSV, TensorBoard and W&B.

    `episode_reward/<term>` and `reward/task_return` are means over the last 100 finished episodes, as of
    `RewardLogCallback`; `reward/<term>/<metric>` is what learning last reported (`add_scored` alone sees it).

    Parameters
    ----------
    sinks
        Where `write` hands its rows: any callables `(steps, {name: value})`, such as `csv_sink(path)`,
        `tensorboard_sink(folder)`, `wandb_sink(run)`, or `print`.

    Feed it by `add` or by `add_scored`, not by both. Raises RewardError where a row is written and no info came from an
    environment that pays a reward method.
    Misleads where an episode is reset before its end: it is not among the finished ones. Where the task's reward was
    not observed, its row counts 0 in the task's return.

    >>> import gymnasium as gym
    >>> from reward_envs.wrappers import RewardLog, with_reward
    >>> env = with_reward(gym.make("FrozenLake-v1", is_slippery=False), "task + 0.1*count")
    >>> log = RewardLog(print)
    >>> _ = env.reset(seed=0)
    >>> for action in (2, 2, 1, 1, 1, 2):
    ...     log.add(env.step(action)[4])
    >>> sorted(log.write(6))
    6 {'reward/task_return': 1.0, 'episode_reward/task': 1.0, 'episode_reward/count': 0.6}
    ['episode_reward/count', 'episode_reward/task', 'reward/task_return']
    """

    def __init__(self, *sinks: Sink) -> None:
        self.sinks = sinks
        self._sums = EpisodeSums()
        self._metrics: dict[str, float] = {}
        self._paying: bool | None = None  # whether any info came from a reward method; None before the first

    def add(self, info: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Take what a step gave as `info`: of an environment, of a Gymnasium vector in any autoreset mode (the reward
        around it or inside each environment), or the list of an SB3 vector."""
        if not isinstance(info, Mapping):
            for one in info:
                self.add(one)
            return
        # SAME_STEP puts what an inner environment said at its end under final_info; our vector wrapper does not.
        said = info if _RETURN in info else info.get("final_info", {})
        self._paying = self._paying or "task_reward" in info or "task_reward" in said
        if _RETURN not in said:
            return
        keys = [key for key in said if key == _RETURN or key.startswith(_TERM)]
        names = ["reward/task_return" if key == _RETURN else key for key in keys]
        for sums in zip(*(_of_ended(said, key, said[key]) for key in keys), strict=True):
            self._sums.finish(dict(zip(names, sums, strict=True)))

    def add_scored(self, scored: Scored, batch: Batch) -> None:
        """Take what `Rewarder.step(batch)` gave: any number of rows in the order of time, each once.

        An episode may run over many calls where `batch.episode` goes on; its number must not come again while it runs.
        A term that leaves a row of an episode unknown (NaN) makes the mean NaN.
        """
        self._sums.add(batch, scored.terms)
        self._metrics.update({f"reward/{name}": value for name, value in scored.metrics.items()})

    def means(self) -> dict[str, float]:
        """What `write` writes; empty before the first episode ends, but for what learning reported."""
        return self._sums.means() | self._metrics

    def write(self, steps: int) -> dict[str, float]:
        """Hand the means to every sink as the row of `steps`, and return them; no row while there is nothing."""
        if self._paying is False:
            raise RewardError(
                "no info so far holds 'task_reward', so the environment pays no reward method and there is nothing to "
                "log: wrap it, with_reward(env, method), and add the info of every step."
            )
        means = self.means()
        if means:
            for sink in self.sinks:
                sink(steps, means)
        return means


def _of_ended(said: Mapping[str, Any], key: str, value: Any) -> list[float]:
    """The values of the episodes that ended in this step: one, or those of a vector under the key's mask."""
    if np.ndim(value) == 0:
        return [float(value)]
    if f"_{key}" not in said:
        raise RewardError(
            f"info[{key!r}] is an array and info['_{key}'] is missing, so nothing says which episodes ended: hand over "
            f"the infos as the vector environment gave them."
        )
    ended: list[float] = np.asarray(value, np.float64)[np.asarray(said[f"_{key}"], np.bool_)].tolist()
    return ended


def csv_sink(path: str | os.PathLike[str]) -> Sink:
    """A sink that writes a row into a CSV file: the column `steps`, then one column a name.

    A name that appears later gets a column at the end, and the file is written anew: earlier rows are empty there, as a
    row is in columns that it has no value for. Numbers read back exactly. Rows that are in the file already stay, so a
    run that goes on continues its file; folders are made.

    Parameters
    ----------
    path
        The file.

    Raises RewardError where the file is there and is no such table.
    Misleads where another run wrote the same file before: both are in it, the steps fall where the later one begins.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from reward_envs.wrappers import csv_sink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sink = csv_sink(Path(folder) / "log.csv")
    ...     sink(10, {"a": 0.5})
    ...     sink(20, {"a": 1.5, "b": 2.0})
    ...     print((Path(folder) / "log.csv").read_text())
    steps,a,b
    10,0.5,
    20,1.5,2.0
    <BLANKLINE>
    """
    file = Path(path)

    def write(steps: int, values: Mapping[str, Any]) -> None:
        row = {"steps": steps, **values}
        columns = _columns(file)
        new = [name for name in row if name not in columns]
        if new:
            _widen(file, [*columns, *new])
        with file.open("a", newline="", encoding="utf-8") as opened:
            csv.DictWriter(opened, columns + new, lineterminator="\n").writerow(row)

    return write


def _columns(file: Path) -> list[str]:
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as opened:
        columns = next(csv.reader(opened), [])
    if columns and columns[0] != "steps":
        raise RewardError(f"{file} begins with {columns[0]!r} and not with the column steps: name another file.")
    return columns


def _widen(file: Path, columns: list[str]) -> None:
    """The same rows under more columns; a run that is broken off here keeps the old file."""
    rows: list[dict[str, str]] = []
    if file.exists():
        with file.open(newline="", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened))
    file.parent.mkdir(parents=True, exist_ok=True)
    wider = file.with_name(f"{file.name}.new")
    with wider.open("w", newline="", encoding="utf-8") as opened:
        table = csv.DictWriter(opened, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    wider.replace(file)


def tensorboard_sink(to: Any) -> Sink:
    """A sink that writes scalars for TensorBoard, which stores them as float32.

    Parameters
    ----------
    to
        A folder, or a `torch.utils.tensorboard.SummaryWriter` that the loop has already. Every row is flushed, so there
        is nothing to close; a writer that was handed over stays the loop's own.

    Raises ImportError without TensorBoard: `pip install "reward-envs[tensorboard]"`.

    >>> import os, tempfile
    >>> from reward_envs.wrappers import tensorboard_sink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tensorboard_sink(folder)(10, {"a": 0.5})
    ...     [name.split(".")[0] for name in os.listdir(folder)]
    ['events']
    """
    writer = to if hasattr(to, "add_scalar") else _summary_writer(to)

    def write(steps: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, steps)
        writer.flush()

    return write


def _summary_writer(folder: str | os.PathLike[str]) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError('this needs TensorBoard: pip install "reward-envs[tensorboard]"') from error
    return SummaryWriter(os.fspath(folder))


def wandb_sink(run: Any = None) -> Sink:
    """A sink that logs to a run of Weights & Biases; offline too, `wandb.init(mode="offline")`.

    Parameters
    ----------
    run
        What `wandb.init` gave; without it the run that is going. Who started the run finishes it.

    Raises ImportError without W&B: `pip install "reward-envs[wandb]"`. Raises RewardError where no run is going.
    Misleads where steps fall: W&B drops a row below the run's last step, and only prints a warning. Calls of `run.log`
    without a step count that step on by one.

    >>> import wandb
    >>> from reward_envs.wrappers import wandb_sink
    >>> run = wandb.init(mode="disabled")
    >>> wandb_sink(run)(10, {"a": 0.5})
    >>> run.finish()
    """
    if run is None:
        run = _current_run()

    def write(steps: int, values: Mapping[str, Any]) -> None:
        run.log(dict(values), step=steps)

    return write


def _current_run() -> Any:
    try:
        import wandb
    except ImportError as error:
        raise ImportError('this needs W&B: pip install "reward-envs[wandb]"') from error
    if wandb.run is None:
        raise RewardError('no W&B run is going: call wandb.init(mode="offline") first, or hand over what it gave.')
    return wandb.run
