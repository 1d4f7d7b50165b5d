"""Compare: what it leaves, how it goes on, and what it says when something is wrong."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reward_envs.agents import compare as module
from reward_envs.agents.compare import FolderError, Job, compare
from reward_envs.agents.plan import Plan
from reward_envs.wrappers import RewardError, TextError

SMALL = {
    "steps": 64,
    "n_envs": 2,
    "eval_every": 32,
    "eval_episodes": 2,
    "hyperparameters": {"n_steps": 16, "batch_size": 16, "n_epochs": 1},
}
REWARDS = ["task", "task + 0.1*count"]
BREAKS = "task + function('tests.rewards:breaks')"


def small(out: Path, rewards=REWARDS, **changes) -> module.Comparison:
    return compare("FrozenLake-v1", rewards, **{"seeds": 2, "jobs": 2, "progress": False, **SMALL, **changes}, out=out)


class Inline:
    """In the place of the process pool: runs jobs in this process, so that torch is imported once."""

    def __init__(self, workers: int, context: Any, start: Any, arguments: tuple[Any, ...]) -> None:
        (module._steps,) = arguments

    def submit(self, work: Any, *arguments: Any) -> Future[None]:
        future: Future[None] = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
        return future

    def shutdown(self, **_: Any) -> None:
        pass


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ProcessPoolExecutor", Inline)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> module.Comparison:
    return small(tmp_path_factory.mktemp("finished") / "report")


def test_leaves_one_folder(finished: module.Comparison) -> None:
    names = {p.name for p in finished.folder.iterdir()}
    assert names == {"results.parquet", "report.png", "report.html", "spec.json", "runs"}
    assert finished.failures == ()
    runs = sorted(p.name for p in (finished.folder / "runs").iterdir())
    assert runs == [f"{k}-{slug}-seed{s}" for k, slug in enumerate(["task", "task-0.1-count"]) for s in (0, 1)]
    for name in runs:
        files = {p.name for p in (finished.folder / "runs" / name).iterdir()}
        assert files == {"run.json", "model.zip", "reward.pt", "agent.json"}
    with (finished.folder / "report.png").open("rb") as picture:
        assert picture.read(8) == b"\x89PNG\r\n\x1a\n"


def test_results_keep_their_schema(finished: module.Comparison) -> None:
    table = pd.read_parquet(finished.folder / "results.parquet")
    assert list(table.columns) == ["reward", "seed", "steps", "metric", "value"]
    assert [str(t) for t in table.dtypes] == ["str", "int64", "int64", "str", "float64"]
    pd.testing.assert_frame_equal(table, finished.table)
    assert set(table["reward"]) == set(REWARDS) and set(table["seed"]) == {0, 1}
    evaluated = table[(table["metric"] == "eval/success_rate") & (table["reward"] == "task") & (table["seed"] == 0)]
    assert evaluated["steps"].tolist() == [0, 32, 64]
    counted = set(table.loc[table["metric"].str.startswith("train/episode_reward/"), "metric"])
    assert counted <= {"train/episode_reward/task", "train/episode_reward/count"}
    assert not table.duplicated(["reward", "seed", "steps", "metric"]).any()


def test_spec_says_how_to_run_it_again(finished: module.Comparison) -> None:
    spec = json.loads((finished.folder / "spec.json").read_text())
    assert spec["rewards"] == REWARDS and spec["seeds"] == [0, 1] and spec["answer"] == finished.answer
    assert spec["plan"]["hyperparameters"]["n_steps"] == 16 and spec["plan"]["hyperparameters"]["gamma"] == 0.99
    assert {"python", "reward-envs", "torch"} <= set(spec["versions"])
    words = shlex.split(spec["command"])
    assert words[:3] == ["reward-envs", "compare", "FrozenLake-v1"]
    assert [words[i + 1] for i, w in enumerate(words) if w == "--reward"] == REWARDS
    assert "n_steps=16" in words and not any(w.startswith("gamma=") for w in words)


def test_the_same_call_again_runs_nothing(finished: module.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a finished comparison started a process")

    monkeypatch.setattr(module, "ProcessPoolExecutor", refuse)
    again = small(finished.folder)
    pd.testing.assert_frame_equal(again.table, finished.table)
    assert again.answer == finished.answer


@pytest.mark.usefixtures("inline")
def test_a_run_does_not_depend_on_the_others(finished: module.Comparison, tmp_path: Path) -> None:
    alone = small(tmp_path / "alone", ["task + 0.1*count"], seeds=[1], jobs=1)
    both = finished.table
    same = both[(both["reward"] == "task + 0.1*count") & (both["seed"] == 1)]
    timeless = [t[t["metric"] != "run/seconds"].reset_index(drop=True) for t in (alone.table, same)]
    pd.testing.assert_frame_equal(*timeless)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": 128}, "steps 64, this one has 128"),
        ({"seeds": 3}, r"seeds \[0, 1\], this one has \[0, 1, 2\]"),
        ({"rewards": ["task"]}, "rewards"),
        ({"algo": "a2c", "hyperparameters": {}}, "algo ppo, this one has a2c"),
    ],
)
def test_a_folder_of_other_settings_is_refused(finished: module.Comparison, changes: dict, words: str) -> None:
    with pytest.raises(RewardError, match=words):
        small(finished.folder, **changes)


def test_other_versions_are_refused_only_where_runs_are_left(
    finished: module.Comparison, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(finished.folder, copied)
    monkeypatch.setattr(module, "_versions", lambda: {"torch": "0.0"})
    before = json.loads((copied / "spec.json").read_text())
    small(copied)
    assert json.loads((copied / "spec.json").read_text()) == before
    shutil.rmtree(copied / "runs" / "0-task-seed1")
    with pytest.raises(RewardError, match="was begun with"):
        small(copied)


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RewardError, match="holds other files"):
        small(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda out: small(out, ["task", "task"]), "none of them twice"),
        (lambda out: small(out, ["task", "1*task"][:1] * 2), "none of them twice"),
        (lambda out: small(out, []), "at least one"),
        (lambda out: small(out, seeds=0), "at least one"),
        (lambda out: small(out, ["task + coutn"]), "did you mean 'count'"),
        (lambda out: small(out, ["task", "task + potential(steps_to_go)"]), "steps_to_go"),
        (
            lambda out: small(out, algo="sac", hyperparameters={}),
            "SAC cannot train on FrozenLake-v1 with these settings",
        ),
        (lambda out: small(out, hyperparameters={"foo": 1}), "unexpected keyword argument 'foo'"),
        (lambda out: small(out, algo="pop"), "did you mean 'ppo'"),
        (lambda out: small(out, hyperparameters={"learning_rate": lambda p: p}), "write numbers"),
        (lambda out: compare("FrozenLick-v1", ["task"], out=out), "cannot make 'FrozenLick-v1'"),
        (lambda out: compare("nowhere_at_all:Env-v0", ["task"], out=out), "cannot make 'nowhere_at_all:Env-v0'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_written(call, words: str, tmp_path: Path) -> None:
    with pytest.raises(RewardError, match=words):
        call(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_method_without_text_is_refused(tmp_path: Path) -> None:
    from reward_envs.wrappers import function

    with pytest.raises(TextError, match="no text"):
        small(tmp_path / "out", [function(lambda reward: reward)])


def test_an_unwritable_folder_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="name another folder with --out"):
        small(tmp_path / "file" / "out")


def test_a_full_disk_gets_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FolderError, match=r"is full: free some space and run the same command again"):
        small(tmp_path / "out")
    job = Job(Plan("FrozenLake-v1"), "task", 3, tmp_path / "out" / "runs" / "0-task-seed3")
    said = module._failed(job, OSError(errno.ENOSPC, "No space left on device"))
    assert said.startswith("'task' on seed 3: the disk of") and "finished runs are kept" in said


@pytest.mark.usefixtures("inline")
def test_a_failing_run_keeps_the_others_and_is_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = small(out, ["task", BREAKS], seeds=1)
    assert len(found.failures) == 1
    assert found.failures[0].startswith(f"{BREAKS!r} on seed 0 failed: RuntimeError: no tide table")
    assert "the other runs are kept; the same command tries this one again" in found.failures[0]
    assert set(found.table["reward"]) == {"task"} and (out / "report.png").exists()
    (trace,) = (out / "runs").glob("*.error.txt")
    assert "Traceback" in trace.read_text()
    again = small(out, ["task", BREAKS], seeds=1)
    assert again.failures == found.failures


@pytest.mark.usefixtures("inline")
def test_all_runs_failing_leaves_the_spec(tmp_path: Path) -> None:
    found = small(tmp_path / "out", [BREAKS], seeds=1)
    assert len(found.failures) == 1 and len(found.table) == 0 and "nothing to compare" in found.answer
    assert not (tmp_path / "out" / "report.png").exists()


def test_a_lost_process_gets_a_sentence(tmp_path: Path) -> None:
    out = tmp_path / "out"
    plan = Plan("FrozenLake-v1", **SMALL)
    job = Job(plan, "task", 0, out / "runs" / "0-task-seed0")
    said = module._failed(job, module.BrokenProcessPool("died"))
    assert "too little memory" in said and "--jobs" in said


KILLED = """
import sys
from reward_envs.agents.compare import compare
if __name__ == "__main__":
    compare("FrozenLake-v1", ["task", "task + 0.1*count"], seeds=2, jobs=1, out=sys.argv[1], steps={steps}, n_envs=2,
            eval_every={steps}, eval_episodes=2, hyperparameters={{"n_steps": 64, "batch_size": 64, "n_epochs": 1}})
"""


def test_killed_it_leaves_no_process_and_goes_on(tmp_path: Path) -> None:
    script, out = tmp_path / "killed.py", tmp_path / "out"
    script.write_text(KILLED.format(steps=512))
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, str(script), str(out)]
    running = subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL, start_new_session=True)
    runs = out / "runs"
    while not any(p for p in runs.glob("[!.]*")) and running.poll() is None:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.wait()
    until_empty(running.pid)
    kept = {p.name: (p / "run.json").stat().st_mtime_ns for p in runs.glob("[!.]*")}
    assert 1 <= len(kept) < 4 and not (out / "results.parquet").exists()
    subprocess.run(command, env=variables, check=True, capture_output=True)
    after = {p.name: (p / "run.json").stat().st_mtime_ns for p in runs.iterdir()}
    assert len(after) == 4 and kept.items() <= after.items()
    assert pd.read_parquet(out / "results.parquet").groupby(["reward", "seed"]).ngroups == 4


def until_empty(session: int) -> None:
    """Wait until no process of a session is left: its workers end with it."""
    deadline = time.monotonic() + 60
    while members(session):
        assert time.monotonic() < deadline, f"processes live on: {members(session)}"
        time.sleep(0.05)


def members(session: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(of) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


def test_two_comparisons_in_one_folder_are_kept_apart(tmp_path: Path) -> None:
    import fcntl

    (tmp_path / ".lock").touch()
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RewardError, match="another compare works in"):
            compare("FrozenLake-v1", ["task"], seeds=1, out=tmp_path)
    assert not (tmp_path / "spec.json").exists()
