"""What hindsight does to learning: the task's reward alone, with and without it, the same agent and gradient steps.

    python benchmarks/hindsight_learning.py --out hindsight-learning [--seeds 5] [--task Reach-v0 ...] [--jobs 2]

SAC with its preset but for what `TASKS` says. Each task and kind is a comparison into a folder of its own; an
interrupted one goes on where it stopped.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

from reward_envs.agents.compare import compare
from reward_envs.agents.report import COLOURS, MARKERS, Curves, band, curves, dress, thousands
from reward_envs.agents.statistics import interval, iqm, median, steps_to

_ALL = {"gamma": 0.95, "tau": 0.05, "learning_starts": 500}
_MAZE = {"gamma": 0.98, "tau": 0.02, "train_freq": 1, "gradient_steps": 4, "policy_kwargs": {"net_arch": [128, 128]}}


class Setting(NamedTuple):
    """Steps of training, how many evaluations, the success rate to reach, worlds side by side, hyperparameters."""

    steps: int
    evaluations: int
    threshold: float
    n_envs: int
    hyperparameters: dict[str, Any]


TASKS = {
    "Reach-v0": Setting(6_000, 12, 0.95, 1, _ALL),
    "PointMaze-UMaze-v0": Setting(60_000, 6, 0.8, 8, {**_MAZE, "learning_starts": 4_000}),
    "Push-v0": Setting(250_000, 10, 0.8, 8, {**_MAZE, "gamma": 0.95, "learning_starts": 2_000}),
}


Found = dict[tuple[str, int], Curves]  # success rates by task and number of other goals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("hindsight-learning"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument(
        "--goals", action="append", type=int, help="other goals of a row, 0 for none; by default 4 and 0"
    )
    parser.add_argument("--picture", type=Path, help="draw the curves into this file")
    given = parser.parse_args()
    print("| task | steps | hindsight | seeds there | median steps | success at the end |")
    print("| --- | --- | --- | --- | --- | --- |")
    found: Found = {}
    for task in given.task or TASKS:
        for goals in given.goals or (4, 0):
            curve = found[task, goals] = train(task, goals, given.out / f"{task}-{goals}", given.seeds, given.jobs)
            print(row(task, goals, curve), flush=True)
    if given.picture:
        draw(found, given.picture)


def train(task: str, goals: int, out: Path, seeds: int, jobs: int | None) -> Curves:
    """The success rates of a task's seeds, trained into a folder."""
    how = TASKS[task]
    found = compare(
        f"reward_envs/{task}",
        ["task"],
        algo="sac",
        steps=how.steps,
        seeds=seeds,
        out=out,
        jobs=jobs,
        n_envs=how.n_envs,
        eval_every=how.steps // how.evaluations,
        eval_episodes=50,
        hindsight=goals,
        hyperparameters=how.hyperparameters,
        progress=False,
    )
    for sentence in found.failures:
        print(sentence)
    return curves(found.table, "task", "eval/success_rate")


def row(task: str, goals: int, curve: Curves) -> str:
    """A line of the table."""
    how, last = TASKS[task], curve.values[:, -1]
    at = steps_to(*curve, how.threshold)
    middle = thousands(median(at)) if math.isfinite(median(at)) else "not reached"
    low, high = interval([last])
    there = f"{int((at < math.inf).sum())} of {len(at)} at {how.threshold:.0%}"
    end = f"{float(iqm(last)):.2f} ({float(low):.2f} to {float(high):.2f})"
    name, kind = task.removesuffix("-v0"), f"k = {goals}" if goals else "none"
    return f"| {name} | {thousands(how.steps)} | {kind} | {there} | {middle} | {end} |"


def draw(found: Found, path: Path) -> None:
    """A panel for each task, with and without."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(task for task, _ in found))
    figure = Figure(figsize=(3.6 * len(tasks), 3.2), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, task in zip(figure.subplots(1, len(tasks), squeeze=False).ravel(), tasks, strict=True):
        for (its, goals), curve in found.items():
            if its == task:
                label = f"hindsight, k = {goals}" if goals else "without"
                band(axes, curve, COLOURS[not goals], MARKERS[not goals], label)
        dress(axes, f"{task.removesuffix('-v0')}: success rate")
        axes.set_ylim(-0.03, 1.03)
        axes.legend(frameon=False, fontsize=10)
    figure.savefig(path, format="png")


if __name__ == "__main__":
    main()
