"""The main job: every reward on every seed, in processes of its own, into one folder that says what came out."""

from __future__ import annotations

import errno
import fcntl
import importlib.metadata
import json
import multiprocessing
import multiprocessing.connection
import os
import platform
import re
import shlex
import shutil
import threading
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_envs import __version__
from reward_envs.agents.plan import DEFAULTS, Plan, make
from reward_envs.agents.progress import Bar
from reward_envs.wrappers.core import Method
from reward_envs.wrappers.errors import RewardError
from reward_envs.wrappers.registry import as_method, text

if TYPE_CHECKING:
    import pandas as pd

PACKAGES = ("gymnasium", "stable-baselines3", "torch", "numpy", "minigrid", "mujoco")


class FolderError(OSError):
    """Raised when the folder of a comparison cannot be written."""


@dataclass(frozen=True)
class Job:
    """One reward on one seed, and the folder that its run goes to."""

    plan: Plan
    reward: str
    seed: int
    folder: Path
    device: str = "cpu"

    @property
    def done(self) -> bool:
        """Whether its run lies there. A run's folder appears whole or not at all."""
        return self.folder.is_dir()

    def __str__(self) -> str:
        return f"{self.reward!r} on seed {self.seed}"


@dataclass(frozen=True)
class Comparison:
    """What a comparison left.

    Attributes
    ----------
    folder
        Holds `results.parquet`, `report.png`, `spec.json`, and under `runs/` each run's rows and its trained agent
        with its reward's state (see `reward_envs.agents.sb3.load`).
    table
        The rows of `results.parquet`: `reward` (the text), `seed`, `steps` (int64, environment steps of training),
        `metric` (as of `train`, and `run/seconds`), `value` (float64).
    answer
        What came out, in a sentence.
    failures
        A sentence for each run that failed. The others are in the table.
    """

    folder: Path
    table: pd.DataFrame
    answer: str
    failures: tuple[str, ...]


def compare(
    env_id: str,
    rewards: Sequence[Method | str],
    *,
    seeds: int | Sequence[int] = 5,
    out: str | Path,
    jobs: int | None = None,
    device: str = "cpu",
    progress: bool = True,
    **settings: Any,
) -> Comparison:
    """Train an agent on each reward with each seed, and compare them on the task's own reward.

    A run that is finished is kept: after an interruption the same call goes on with the others, and after a failure it
    tries that run again. From a script, call it under `if __name__ == "__main__":`, for runs are processes that import
    the script.

    Parameters
    ----------
    env_id
        A Gymnasium id.
    rewards
        Methods or texts, each with a text.
    seeds
        Number of seeds, counted from 0, or the seeds. Seed s trains and evaluates every reward with the same numbers.
    out
        The folder, see `Comparison`; made where missing.
    jobs
        Runs at a time, by default one a core. Each uses one core.
    device
        Of the algorithm's networks; the runs share it. It is not part of what is compared.
    progress
        Whether to show how far it is on stderr.
    settings
        Of `Plan`: algo, steps, n_envs, eval_every, eval_episodes, deterministic, hyperparameters.

    Raises RewardError for a reward, an environment or settings that cannot be, and for a folder of another comparison;
    FolderError for a folder that cannot be written. A run that fails raises nothing: see `Comparison.failures`.
    """
    plan = Plan(env_id, **settings)
    texts = [text(as_method(r)) for r in rewards]
    numbers = list(range(seeds)) if isinstance(seeds, int) else [int(s) for s in seeds]
    if not texts or len(set(texts)) < len(texts) or not numbers or len(set(numbers)) < len(numbers):
        raise RewardError(f"comparing {texts} on seeds {numbers}: give at least one of each, and none of them twice.")
    make(plan.env).close()
    folder = Path(out)
    if not (folder / "spec.json").exists():
        _rehearse(plan, texts, device)
    spec = _spec(plan, texts, numbers, out)
    with _alone(folder):
        with _writing(folder):
            found = _claim(folder, spec)
        todo = [
            Job(plan, reward, seed, folder / "runs" / f"{k}-{_slug(reward)}-seed{seed}", device)
            for seed in numbers
            for k, reward in enumerate(texts)
        ]
        if not all(job.done for job in todo):
            _same_versions(folder, found["versions"], spec["versions"])
        failures = _run(todo, jobs, progress)
        with _writing(folder):
            table, answer = _conclude(folder, found, todo)
    return Comparison(folder, table, answer, tuple(failures))


def _rehearse(plan: Plan, texts: list[str], device: str) -> None:
    from reward_envs.agents.sb3 import rehearse

    rehearse(plan, texts, device=device)


# The folder


def _spec(plan: Plan, rewards: list[str], seeds: list[int], out: str | Path) -> dict[str, Any]:
    default = DEFAULTS[plan.algo].hyperparameters
    changed = {k: v for k, v in plan.hyperparameters.items() if k not in default or default[k] != v}
    options = [("reward", r) for r in rewards] + [
        ("agent", plan.algo),
        ("seeds", str(len(seeds)) if seeds == list(range(len(seeds))) else ",".join(map(str, seeds)) + ","),
        ("steps", str(plan.steps)),
        ("envs", str(plan.n_envs)),
        ("eval-every", str(plan.eval_every)),
        ("eval-episodes", str(plan.eval_episodes)),
    ]
    try:
        options += [("set", f"{k}={json.dumps(v)}") for k, v in changed.items()]
    except TypeError as error:
        raise RewardError(f"hyperparameters {changed}: {error}; write numbers, texts, lists and dicts.") from error
    command = ["reward-envs", "compare", plan.env, *(w for k, v in options for w in (f"--{k}", v))]
    if plan.deterministic != DEFAULTS[plan.algo].deterministic:
        command.append("--deterministic" if plan.deterministic else "--stochastic")
    spec = {
        "rewards": rewards,
        "seeds": seeds,
        "plan": plan.asdict(),
        "versions": {"reward-envs": __version__, "python": platform.python_version(), **_versions()},
        "command": shlex.join([*command, "--out", str(out)]),
    }
    return json.loads(json.dumps(spec))  # type: ignore[no-any-return]  # as it will be read back


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, which the system lets go of when the process dies."""
    path = folder / ".lock"
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RewardError(f"another compare works in {folder}: wait, or name another folder with --out.") from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _claim(folder: Path, spec: dict[str, Any]) -> dict[str, Any]:
    """Make the folder and write its spec, or find the same comparison in it; returns the spec that lies there."""
    path = folder / "spec.json"
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        _same(folder, found, spec)
        spec = found
    elif any(p.name != ".lock" for p in folder.iterdir()):
        raise RewardError(f"{folder} holds other files: name a new folder with --out.")
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    for left in (folder / "runs").glob(".*"):
        shutil.rmtree(left)
    if not path.exists():
        _write(path, json.dumps(spec, indent=2) + "\n")
    return spec


def _same_versions(folder: Path, was: dict[str, str], now: dict[str, str]) -> None:
    """Runs of one comparison are made by the same code."""
    for name in was.keys() | now.keys():
        if was.get(name) != now.get(name):
            raise RewardError(
                f"{folder} was begun with {name} {was.get(name, 'missing')}, here is {now.get(name, 'none')}: finish "
                f"it with the former, or name a new folder with --out."
            )


def _same(folder: Path, found: dict[str, Any], spec: dict[str, Any]) -> None:
    for key in ("plan", "rewards", "seeds"):
        was, now = found.get(key), spec[key]
        if was != now:
            if isinstance(was, dict):
                key = next(k for k in now if was.get(k) != now[k])
                was, now = was.get(key), now[key]
            raise RewardError(
                f"{folder} holds a comparison with {key} {was}, this one has {now}: name a new folder with --out, or "
                f"delete that one."
            )


def _write(path: Path, content: str) -> None:
    """The whole file or none of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(content, encoding="utf-8")
    os.replace(part, path)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turns what a file system says into a sentence."""
    try:
        yield
    except FolderError:
        raise
    except OSError as error:
        raise FolderError(_cannot_write(error, folder)) from error


def _cannot_write(error: OSError, folder: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk of {folder} is full: free some space and run the same command again; finished runs are kept."
    return f"cannot write to {folder} ({error.strerror or error}): name another folder with --out."


def _slug(reward: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", reward.lower()).strip("-")[:40]


# The runs


def _run(jobs: list[Job], at_once: int | None, progress: bool) -> list[str]:
    """Run what is not done yet, as many at once as asked; returns a sentence for each that failed."""
    todo = [job for job in jobs if not job.done]
    if not todo:
        return []
    context = multiprocessing.get_context("spawn")
    counts = context.Array("q", len(todo), lock=False)
    workers = max(1, min(at_once or _cores(), len(todo)))
    pool = ProcessPoolExecutor(workers, context, _start, (counts,))
    before = set(multiprocessing.active_children())
    failures: dict[int, str] = {}
    try:
        futures = {pool.submit(_work, job, i): i for i, job in enumerate(todo)}
        pending: set[Future[None]] = set(futures)
        with Bar(sum(job.plan.steps for job in todo), len(todo), progress) as bar:
            while pending:
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    i = futures[future]
                    if (error := future.exception()) is not None:
                        failures[i] = _failed(todo[i], error)
                bar.show(sum(counts), len(todo) - len(pending), len(failures))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        raise
    pool.shutdown()
    return [failures[i] for i in sorted(failures)]


def _cores() -> int:
    """Those that this process may use, where the system says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_steps: Any = None  # of a worker: the steps made by every job, shared with the process that waits


def _start(counts: Any) -> None:
    """Begin a worker: it ends with the process that started it, also when that one is killed."""
    global _steps
    _steps = counts
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _work(job: Job, index: int) -> None:
    """A run: its folder is filled under a hidden name, and shown when it is whole."""
    from reward_envs.agents.sb3 import train

    def note(steps: int) -> None:
        _steps[index] = min(steps, job.plan.steps)

    part = job.folder.with_name(f".{job.folder.name}.{os.getpid()}")
    try:
        run = train(job.plan, job.reward, seed=job.seed, device=job.device, progress=note, out=part)
        rows = [*run.rows, (job.plan.steps, "run/seconds", run.seconds)]
        found = {"reward": job.reward, "seed": job.seed, "success_rule": run.success_rule, "rows": rows}
        (part / "run.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
        os.replace(part, job.folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)  # gives a full disk its space back


def _failed(job: Job, error: BaseException) -> str:
    """The sentence for a run that failed; the whole trace goes to a file beside the runs."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"{job}: {_cannot_write(error, job.folder.parent.parent)}"
    kept = "the other runs are kept; the same command tries this one again."
    if isinstance(error, BrokenProcessPool):
        return f"{job} lost its process, which often means too little memory: run again with a smaller --jobs; {kept}"
    said = str(error) if isinstance(error, RewardError) else f"{type(error).__name__}: {error}"
    trace = job.folder.with_name(f"{job.folder.name}.error.txt")
    try:
        _write(trace, "".join(traceback.format_exception(error)))
    except OSError as full:
        return f"{job} failed: {said.rstrip('.')}; nor can its trace be written ({full.strerror}); {kept}"
    return f"{job} failed: {said.rstrip('.')} (trace in {trace}); {kept}"


# What came out


def _conclude(folder: Path, spec: dict[str, Any], jobs: list[Job]) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    from reward_envs.agents.episodes import watch
    from reward_envs.agents.report import conclude, draw
    from reward_envs.agents.webpage import write_page

    found = [json.loads((j.folder / "run.json").read_text(encoding="utf-8")) for j in jobs if j.done]
    rows = [(f["reward"], f["seed"], *row) for f in found for row in f["rows"]]
    columns = {"reward": "str", "seed": "int64", "steps": "int64", "metric": "str", "value": "float64"}
    table = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    for job in jobs:
        if job.done:
            job.folder.with_name(f"{job.folder.name}.error.txt").unlink(missing_ok=True)
    if not found:
        return table, "no run finished, so there is nothing to compare."
    answer = conclude(table, spec["rewards"])
    part = folder / ".results.parquet.part"
    table.to_parquet(part, index=False)
    os.replace(part, folder / "results.parquet")
    rules = "; ".join(sorted({f["success_rule"] for f in found}))
    plan = spec["plan"]
    part = folder / ".report.part.png"
    draw(table, spec["rewards"], part, title=answer, subtitle=f"{plan['env']}, {plan['algo'].upper()}; {rules}")
    os.replace(part, folder / "report.png")
    spec = {**spec, "answer": answer, "success": rules}
    part = folder / ".report.part.html"
    write_page(table, spec, [watch(job.folder) for job in _first_of_each(jobs)], part)
    os.replace(part, folder / "report.html")
    _write(folder / "spec.json", json.dumps(spec, indent=2) + "\n")
    return table, answer


def _first_of_each(jobs: list[Job]) -> list[Job]:
    """The finished run of the lowest seed of each reward."""
    first: dict[str, Job] = {}
    for job in jobs:
        if job.done:
            first.setdefault(job.reward, job)
    return list(first.values())
