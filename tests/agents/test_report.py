"""The report: its sentence on golden tables, and that the picture holds what it should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reward_envs.agents import report
from reward_envs.agents.report import conclude, curves, draw

STEPS = (0, 1000, 2000, 41000)


def table(success: dict[str, list[list[float]]], metric: str = "eval/success_rate") -> pd.DataFrame:
    """A row for each reward, seed and step; the return is the success rate."""
    rows = [
        (reward, seed, step, name, value)
        for reward, seeds in success.items()
        for seed, values in enumerate(seeds)
        for step, value in zip(STEPS, values, strict=False)
        for name in {metric, "eval/task_return"}
    ]
    return pd.DataFrame(rows, columns=["reward", "seed", "steps", "metric", "value"])


NEVER, LATE, EARLY, UNSTEADY = [0.0] * 4, [0.0, 0.0, 0.0, 0.95], [0.0, 0.9, 1.0, 1.0], [0.0, 0.9, 0.1, 0.0]


@pytest.mark.parametrize(
    ("success", "sentence"),
    [
        (
            {"task": [NEVER, NEVER, LATE], "task + 0.1*count": [LATE, LATE, EARLY]},
            "task + 0.1*count reached 90 % success in 3 of 3 seeds, median 41k steps; "
            "task alone in 1 of 3 seeds, median not reached.",
        ),
        (
            {"task": [EARLY, EARLY], "clip(task, 0, 1)": [LATE, LATE]},
            "task alone reached 90 % success in 2 of 2 seeds, median 1k steps; "
            "clip(task, 0, 1) in 2 of 2 seeds, median 41k steps.",
        ),
        ({"task": [NEVER, NEVER]}, "task reached 90 % success in 0 of 2 seeds."),
        ({"task": [UNSTEADY]}, "task reached 90 % success in 1 of 1 seed, median 1k steps."),
    ],
)
def test_conclusion(success: dict[str, list[list[float]]], sentence: str) -> None:
    assert conclude(table(success), list(success)) == sentence


def test_conclusion_without_success_is_the_return_best_first() -> None:
    found = table({"task": [NEVER, LATE], "task + count": [EARLY, EARLY]}, metric="eval/length")
    expected = "Task return after training: task + count 1; task alone 0.475."
    assert conclude(found, ["task", "task + count"]) == expected


def test_a_reward_without_a_finished_run_is_left_out() -> None:
    sentence = "task alone reached 90 % success in 1 of 1 seed, median 1k steps."
    assert conclude(table({"task": [EARLY]}), ["task", "task + count"]) == sentence


def test_curves_keep_the_steps_that_all_seeds_have() -> None:
    steps, values = curves(table({"task": [[0.0, 0.5, 1.0], [0.1, 0.2]]}), "task", "eval/success_rate")
    assert steps.tolist() == [0, 1000]
    assert values.tolist() == [[0.0, 0.5], [0.1, 0.2]]


def with_terms(success: dict[str, list[list[float]]]) -> pd.DataFrame:
    found = table(success)
    paid = found[found["metric"] == "eval/task_return"]
    terms = [paid.assign(metric=f"train/episode_reward/{name}") for name in ("task", "a $cost$ in_dollars")]
    return pd.concat([found, *terms], ignore_index=True)


@pytest.mark.parametrize(("rewards", "seeds"), [(1, 1), (2, 3), (7, 3)])
def test_picture_is_1200_pixels_wide(rewards: int, seeds: int, tmp_path: Path) -> None:
    import matplotlib.image

    names = ["task", "task + 0.1*count", *(f"task + {k}*potential('a $x$ {{b}}', gamma=0.99)" for k in range(2, 7))]
    found = with_terms({name: [EARLY, LATE, NEVER][:seeds] for name in names[:rewards]})
    draw(found, names[:rewards], tmp_path / "p.png", title=conclude(found, names[:rewards]), subtitle="Some-v0, PPO")
    pixels = matplotlib.image.imread(tmp_path / "p.png")
    assert pixels.shape[1] == 1200 and pixels.shape[0] > 600
    assert np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0).shape[0] > 50


def test_picture_of_runs_without_success_or_terms(tmp_path: Path) -> None:
    found = table({"task": [NEVER, LATE]}, metric="eval/length")
    draw(found, ["task"], tmp_path / "p.png", title="$5 and $6", subtitle="")
    assert (tmp_path / "p.png").stat().st_size > 10_000


def test_no_two_rewards_look_the_same() -> None:
    assert len(set(report.COLOURS)) == len(set(report.MARKERS)) == len(report.COLOURS)


def test_rewards_that_reached_the_same_are_not_ranked() -> None:
    rows = [
        (reward, seed, steps, "eval/success_rate", float(steps >= 100 * late))
        for reward, late in (("task", 2), ("a", 1), ("b", 1))
        for seed in (0, 1)
        for steps in (0, 100, 200)
    ]
    said = conclude(pd.DataFrame(rows, columns=["reward", "seed", "steps", "metric", "value"]), ["task", "a", "b"])
    assert said == (
        "a and b reached 90 % success in 2 of 2 seeds, median 100 steps; task alone in 2 of 2 seeds, median 200 steps."
    )
