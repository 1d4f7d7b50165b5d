"""The command line, called as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reward_envs
from reward_envs import cli

ROOT = Path(__file__).resolve().parents[1]


def call(*words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["reward-envs", *words])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    return lambda *words: call(*words, monkeypatch=monkeypatch, capsys=capsys)


def test_version(run) -> None:
    assert run("--version") == (0, f"{reward_envs.__version__}\n", "")


def test_help_names_every_command(run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(name in out for name in ("compare", "train", "list", "show", "try", "relabel", "check", "catalogue"))


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['reward-envs', '--help']\n"
        "from reward_envs import cli\n"
        "try: cli.main()\n"
        "except SystemExit: print(*sorted({'torch', 'numba', 'pandas', 'matplotlib', 'minigrid', 'mujoco',"
        " 'stable_baselines3', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""


def test_list_holds_every_method_and_environment(run) -> None:
    from reward_envs.registration import IDS
    from reward_envs.wrappers import methods

    code, out, _ = run("list")
    assert code == 0
    first = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert set(methods()) <= first
    assert {f"reward_envs/{name}" for name in IDS} <= first


def test_show_a_method(run) -> None:
    code, out, _ = run("show", "count")
    assert code == 0 and "N(s_{t+1})" in out and "example: count" in out
    assert (
        out.startswith("count(bits=0, episodic=False, power=0.5, resolution=None)") and "@inproceedings{tang2017" in out
    )


def test_show_an_environment(run) -> None:
    code, out, _ = run("show", "reward_envs/DoorKey-6x6-v0")
    assert code == 0 and "hooks: steps_to_go" in out and "milestones: take the key" in out
    assert "steps at most: 360" in out


def test_show_does_not_list_every_character_of_a_text(run) -> None:
    out = run("show", "reward_envs/Tools-v0")[1].splitlines()
    assert "observation: Text(0, 16000)" in out and "action: Text(0, 4000)" in out


def test_show_draws_heat_maps_of_a_gridworld(run, tmp_path: Path) -> None:
    out = tmp_path / "map.png"
    code, said, _ = run("show", "reward_envs/DoorKey-5x5-v0", "--heatmap", str(out), "--seed", "3")
    assert code == 0 and said.startswith("reward_envs/DoorKey-5x5-v0")
    assert said.splitlines()[-1] == f"heat maps of the layout of seed 3: {out}"
    first = out.read_bytes()
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    run("show", "reward_envs/DoorKey-5x5-v0", "--heatmap", str(out), "--seed", "3")
    assert out.read_bytes() == first


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("show", "CartPole-v1", "--heatmap", "map.png"), "CartPole-v1 is no gridworld on our engine"),
        (("show", "count", "--heatmap", "map.png"), "count is a method"),
        (("show", "reward_envs/Empty-5x5-v0", "--heatmap", "nowhere/map.png"), "cannot write nowhere/map.png"),
        (("show", "reward_envs/Empty-5x5-v0", "--heatmap", "map.doc"), "give a .png file"),
        (("show", "cuont"), "did you mean 'count'?"),
        (("show", "Nowhere-v0"), "cannot make 'Nowhere-v0'"),
        (("try", "CartPole-v1", "--reward", "task + coutn"), "did you mean 'count'?"),
        (("try", "CartPole-v1", "--reward", "potential(steps_to_go)"), "steps_to_go"),
        (("compare", "CartPole-v1", "--reward", "task +"), "cannot read 'task +'"),
        (("compare", "CartPole-v1", "--reward", "task", "--seeds", "many"), "--seeds many: write how many"),
        (("compare", "CartPole-v1", "--reward", "task", "--set", "lr"), "--set name=value"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(run, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert sentence in err and err.startswith("reward-envs: ") and err.count("\n") == 1


def test_try_prints_each_term_and_the_sums(run) -> None:
    code, out, _ = run("try", "FrozenLake-v1", "--reward", "task + 0.1*count", "--seed", "1")
    assert code == 0
    head, *rows, end = out.splitlines()
    assert head.split() == ["step", "task's", "own", "task", "count", "paid"]
    numbers = [[float(x) for x in row.split()] for row in rows[:-1]]
    assert [n[0] for n in numbers] == list(range(len(numbers)))
    for _, task, term, count, paid in numbers:
        assert term == task and paid == pytest.approx(term + count, abs=1e-3)
    total = rows[-1].split()
    assert total[0] == "sum" and float(total[4]) == pytest.approx(sum(n[4] for n in numbers), abs=1e-3)
    assert f"after {len(numbers)} steps" in end
    assert run("try", "FrozenLake-v1", "--reward", "task + 0.1*count", "--seed", "1")[1] == out


def test_try_serves_whole_episodes_and_cuts(run) -> None:
    code, out, _ = run("try", "FrozenLake-v1", "--reward", "uniform")
    assert code == 0 and "uniform" in out
    code, out, _ = run("try", "MountainCar-v0", "--reward", "task", "--steps", "3")
    assert code == 0 and "cut by --steps after 3 steps" in out and len(out.splitlines()) == 6


def test_catalogue(run) -> None:
    code, out, _ = run("catalogue", "--json")
    rows = json.loads(out)
    assert code == 0 and [r["id"] for r in rows] == list(range(1, 299))
    assert all(set(r) >= {"id", "system", "source", "covered_by", "property_test"} for r in rows)
    code, out, _ = run("catalogue")
    assert code == 0 and out.splitlines()[-1].endswith("of 298 systems are covered.")


def test_compare_end_to_end_on_own_code(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def pay(reward):\n    return 2 * reward\n")
    words = ["compare", "FrozenLake-v1", "--reward", "task", "--reward", "function('mine:pay')", "--seeds", "0,"]
    words += [
        "--steps",
        "32",
        "--envs",
        "2",
        "--eval-episodes",
        "2",
        "--eval-every",
        "32",
        "--jobs",
        "1",
        "--out",
        "out",
    ]
    words += ["--set", "n_steps=16", "--set", "batch_size=16"]
    command = [sys.executable, "-m", "reward_envs.cli", *words]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "No reward reached 90 % success in any of 1 seed." in done.stdout and "report.png" in done.stdout
    assert "of 2 runs" in done.stderr and "100 % of the steps" in done.stderr


def test_compare_reports_failures_with_exit_code_1(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import pandas as pd

    from reward_envs.agents import compare as module

    def failing(*_: object, **settings: object) -> module.Comparison:
        assert settings["hyperparameters"] == {"learning_rate": 3e-4, "target": "auto"} and settings["seeds"] == [5]
        return module.Comparison(tmp_path, pd.DataFrame(), "an answer", ("a sentence.",))

    monkeypatch.setattr(module, "compare", failing)
    words = ("--reward", "task", "--seeds", "5,", "--set", "learning_rate=3e-4", "--set", "target=auto")
    code, out, err = run("compare", "CartPole-v1", *words)
    assert code == 1 and out.startswith("an answer") and err == "reward-envs: a sentence.\n"

    def unwritable(*_: object, **__: object) -> None:
        raise module.FolderError("cannot write.")

    monkeypatch.setattr(module, "compare", unwritable)
    assert run("compare", "CartPole-v1", "--reward", "task") == (1, "", "reward-envs: cannot write.\n")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compare", interrupted)
    code, _, err = run("compare", "CartPole-v1", "--reward", "task")
    assert code == 130 and "the same command goes on" in err


def test_unknown_options_are_typers() -> None:
    found = CliRunner().invoke(cli.app, ["compare", "CartPole-v1", "--rewards", "task"])
    assert found.exit_code == 2 and "--rewards" in found.output


def test_train_prints_the_tasks_own_reward_and_saves_both(run, tmp_path: Path) -> None:
    out = tmp_path / "agent"
    words = ("train", "FrozenLake-v1", "--reward", "task + count", "--steps", "2048", "--out", str(out))
    code, said, _ = run(*words)
    assert code == 0
    assert said.splitlines()[0].split() == ["steps", "task_return", "success_rate", "length"]
    assert {p.name for p in out.iterdir()} == {"model.zip", "reward.pt", "agent.json"}


def test_relabel_scores_recorded_rows(run, tmp_path: Path) -> None:
    import numpy as np

    data, out = tmp_path / "rows.npz", tmp_path / "scored.npz"
    rows = {"obs": np.arange(3), "action": np.zeros(3), "next_obs": np.arange(1, 4), "reward": np.array([0.0, 0, 1])}
    hooks = {"info/progress": np.array([0.0, 0.5, 0.5]), "next_info/progress": np.array([0.5, 0.5, 1.0])}
    np.savez(data, **rows, **hooks, terminated=np.array([0, 0, 1]))
    code, said, _ = run("relabel", str(data), "--reward", "task + progress", "--out", str(out))
    assert code == 0 and said.startswith("3 rows, 3 with a value; sum 2 ")
    with np.load(out) as scored:
        assert scored["values"].tolist() == [0.5, 0.0, 1.5]
        assert scored["reward/progress"].tolist() == [0.5, 0.0, 0.5]
    data.write_bytes(b"nothing")
    assert "it is a .npz file of arrays" in run("relabel", str(data), "--reward", "task", "--out", str(out))[2]
    np.savez(data, rewards=np.zeros(3))
    assert "does not hold the columns of a batch" in run("relabel", str(data), "--reward", "task", "--out", str(out))[2]


def test_check_names_faults_and_says_so_by_its_exit_code(run) -> None:
    code, said, _ = run("check", "reward_envs/PointReach-v0", "--episodes", "1")
    assert code == 0 and "compute_reward takes many rows" in said
    code, said, _ = run("check", "CartPole-v1", "--episodes", "1")
    assert code == 0 and "note   no hooks" in said
