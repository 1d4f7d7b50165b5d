"""The examples run from their files, and the numbers that they print make sense."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@functools.cache
def said(name: str, steps: int, *more: str) -> str:
    """What an example prints; a warning in it is an error."""
    command = [sys.executable, "-W", "error::UserWarning", str(ROOT / "examples" / f"{name}.py"), "--steps", str(steps)]
    command += more
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=variables, text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(name: str, steps: int, *more: str) -> dict[str, float]:
    """The lines "name value" of an example."""
    return {k: float(v) for k, v in re.findall(r"^(\w+) (-?[\d.]+)$", said(name, steps, *more), re.M)}


def test_make_with_reward_the_potential_adds_up_whatever_was_done() -> None:
    out = said("make_with_reward", 300)
    sums = re.findall(r"idle +(\d+): +(\d+) steps, .* paid 1, .* sum is ([\d.]+) and -phi\(s_0\) is ([\d.]+)", out)
    assert {idle for idle, *_ in sums} == {"0", "20"}
    assert len({steps for _, steps, *_ in sums}) > 1  # the drivers took their time
    assert all(float(paid) == float(start) > 0 for *_, paid, start in sums)
    first, mean = re.search(r"0\.1\*count: first episode ([\d.]+), .* ([\d.]+)$", out, re.M).groups()
    assert float(first) > float(mean) > 0  # the bonus fades


def test_vector_env_terms_add_up_and_resets_pay_nothing() -> None:
    out = said("vector_env", 12)
    number = r"(-?\d+\.\d+)"
    rows = re.findall(rf"^ *\d+ +(\d) +(\d+) +{number} +{number} +{number} +{number}(.*)$", out, re.M)
    assert len(rows) == 36
    dead = [r for r in rows if "no transition" in r[-1]]
    assert dead and all(float(v) == 0 for r in dead for v in r[2:6])
    for _, _, task, count, potential, paid, note in rows:
        assert float(paid) == pytest.approx(float(task) + float(count) + float(potential), abs=2e-3)
        assert "no transition" in note or 0 < float(count) <= 0.1
    total, alive, resets = re.search(r"paid in all (-?[\d.]+) in (\d+) transitions and (\d+) resets", out).groups()
    assert (int(alive), int(resets)) == (36 - len(dead), len(dead))
    assert float(total) == pytest.approx(sum(float(r[5]) for r in rows), abs=0.02)


def test_cleanrl_style_bonus_fades() -> None:
    got = numbers("cleanrl_style_bonus", 2_000)
    assert 0 < got["last_bonus"] < got["first_bonus"] <= 0.1
    assert 10 < got["episodes"] < 2_000
    assert 0 <= got["first_task_return"] <= 1 and 0 <= got["last_task_return"] <= 1


def test_offline_relabel_rewards_hold_what_their_pages_say() -> None:
    got = numbers("offline_relabel", 3_000)
    assert got["rows"] == 3_000 and 0 < got["task_return"] < got["episodes"]
    assert got["potential_nonzero_share"] > 0.3  # it pays all the time, and yet
    assert got["potential_of_terminated_episodes"] == pytest.approx(0, abs=1e-6)
    assert 0 < got["count_mean"] < 1
    assert got["uniform_known"] <= got["rows"]
    assert got["uniform_return"] == pytest.approx(got["task_return"], abs=1e-6)
    assert 0 < got["uniform_nonzero_share"] < 0.5
    assert got["advantage_of_successes"] > 0 > got["advantage_of_failures"]


def test_sb3_shaped_shows_the_task_and_the_terms() -> None:
    got = numbers("sb3_shaped", 512)
    for name in ("task", "shaped"):
        assert 0 <= got[f"{name}_last_task_return"] <= got[f"{name}_best_task_return"] <= 1
        assert 0 <= got[f"{name}_last_task_a_step"] < 0.1
    assert 0 < abs(got["shaped_last_potential_a_step"]) < 0.1
    assert "task_last_potential_a_step" not in got


def test_binary_goals_trains_with_and_without_hindsight() -> None:
    for goals in ((), ("--goals", "0")):
        got = numbers("binary_goals", 600, *goals)
        assert list(got) == [f"success_{steps}" for steps in range(120, 601, 120)]
        assert all(0 <= share <= 1 for share in got.values())


def test_every_example_has_a_test_and_says_how_to_run_it() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES:
        assert f'("{path.stem}", ' in here, path.name
        assert f"python examples/{path.name} --steps" in path.read_text(encoding="utf-8"), path.name
