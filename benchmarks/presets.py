"""What to expect of each preset: its success rate on a task that suits it, as a picture and a table.

    python benchmarks/presets.py --out presets [--seeds 3] [--picture docs/images/presets.png] [--only ppo ...]

One comparison an algorithm, each with the preset of `reward_envs.agents.plan.DEFAULTS` and nothing changed; an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from reward_envs.agents.compare import compare
from reward_envs.agents.report import COLOURS, MARKERS, band, curves, dress, thousands
from reward_envs.agents.statistics import iqm, median, steps_to

KEYS = "task + milestones((0.2, 0.3, 0.0))"
# algorithm: task, reward, steps
RUNS: dict[str, tuple[str, str, int]] = {
    "ppo": ("reward_envs/DoorKey-6x6-v0", KEYS, 100_000),
    "a2c": ("reward_envs/DoorKey-6x6-v0", KEYS, 100_000),
    "dqn": ("reward_envs/Empty-8x8-v0", "task + potential(steps_to_go)", 30_000),
    "qrdqn": ("reward_envs/Empty-8x8-v0", "task + potential(steps_to_go)", 30_000),
    "sac": ("reward_envs/PointReach-v0", "task + potential(steps_to_go)", 15_000),
    "td3": ("reward_envs/PointReach-v0", "task + potential(steps_to_go)", 15_000),
    "ddpg": ("reward_envs/PointReach-v0", "task + potential(steps_to_go)", 15_000),
    "tqc": ("reward_envs/PointReach-v0", "task + potential(steps_to_go)", 15_000),
}


def draw(tables: dict[str, Any], path: Path) -> None:
    """A panel for each task, a line for each algorithm."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(RUNS[a][:2] for a in tables))
    figure = Figure(figsize=(4.2 * len(tasks), 3.6), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (task, reward) in zip(figure.subplots(1, len(tasks), squeeze=False).ravel(), tasks, strict=True):
        own = [a for a in tables if RUNS[a][:2] == (task, reward)]
        for i, algo in enumerate(own):
            curve = curves(tables[algo], reward, "eval/success_rate")
            band(axes, curve, COLOURS[i], MARKERS[i], algo.upper())
        dress(axes, f"{task.removeprefix('reward_envs/')}: success rate")
        axes.set_ylim(-0.03, 1.03)
        axes.legend(frameon=False, fontsize=10)
    figure.savefig(path, format="png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("presets"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    given = parser.parse_args()
    tables: dict[str, Any] = {}
    print("| algorithm | task | reward | seeds at 90 % | median steps | success at the end | minutes a run |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for algo in given.only:
        task, reward, steps = RUNS[algo]
        found = compare(
            task,
            [reward],
            algo=algo,
            steps=steps,
            seeds=given.seeds,
            out=given.out / algo,
            jobs=given.jobs,
            eval_every=steps // 10,
            eval_episodes=20,
            progress=False,
        )
        tables[algo] = found.table
        curve = curves(found.table, reward, "eval/success_rate")
        at = steps_to(*curve, 0.9)
        middle = thousands(median(at)) if math.isfinite(median(at)) else "not reached"
        seconds = found.table.loc[found.table["metric"] == "run/seconds", "value"].median()
        there = f"{int((at < math.inf).sum())} of {len(at)}"
        end = float(iqm(curve.values[:, -1]))
        name = task.removeprefix("reward_envs/")
        print(f"| {algo} | {name} | `{reward}` | {there} | {middle} | {end:.2f} | {seconds / 60:.1f} |", flush=True)
        for sentence in found.failures:
            print(sentence)
    if given.picture:
        draw(tables, given.picture)


if __name__ == "__main__":
    main()
