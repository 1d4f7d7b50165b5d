"""What sign and scale of a potential do to learning: one table over three tasks, from one command.

    python benchmarks/sign_and_scale.py --out sign-and-scale [--seeds 5] [--task DoorKey-8x8-v0 ...]

Each task is a `reward-envs compare` into a folder of its own; an interrupted table goes on where it stopped. All
potentials keep the optimal policies; the table says which of them are learned.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from reward_envs.agents.compare import compare
from reward_envs.agents.report import curves, thousands
from reward_envs.agents.statistics import interval, iqm, median, steps_to

STEPS = {"DoorKey-8x8-v0": 450_000, "MultiRoom-N2-S4-v0": 120_000, "LavaCrossingS9N1-v0": 240_000}
FARTHEST = {"DoorKey-8x8-v0": 30, "MultiRoom-N2-S4-v0": 11, "LavaCrossingS9N1-v0": 22}  # steps_to_go_max of the cards
MILESTONES = {
    "DoorKey-8x8-v0": "task + milestones((0.2, 0.3, 0.0))",
    "MultiRoom-N2-S4-v0": "task + milestones((0.3, 0.0))",
}


def rewards(task: str) -> dict[str, str]:
    """The rows of the table: a name that a person reads, and the reward's text."""
    far = FARTHEST[task]

    def line(per_step: float, offset: int = 0) -> str:
        return f"task + potential(steps_to_go, scale={far * per_step:g}, offset={offset})"

    def power(scale: float, offset: int) -> str:
        return f"task + potential(steps_to_go, scale={scale:g}, offset={offset}, decay=0.99)"

    found = {
        "sparse alone": "task",
        "-d/20": line(1 / 20),
        "2 (gamma^d - 1)": power(2, -1),
        "-d/5": line(1 / 5),
        "-d": line(1),
        "5 gamma^d": power(5, 0),
    }
    if task in MILESTONES:
        found["milestones"] = MILESTONES[task]
    else:  # an episode can end in failure
        found["1 - d/d_max"] = line(1 / far, 1)
        found["gamma^d"] = power(1, 0)
    return found


def row(name: str, table: object, text: str) -> str:
    """A line of the table: seeds that reached 90 %, median steps, and the last success rate with its interval."""
    curve = curves(table, text, "eval/success_rate")  # type: ignore[arg-type]
    at = steps_to(*curve, 0.9)
    last = curve.values[:, -1]
    low, high = interval([last])
    middle = thousands(median(at)) if math.isfinite(median(at)) else "not reached"
    each = ", ".join(thousands(a) if math.isfinite(a) else "-" for a in at)
    there = f"{int((at < math.inf).sum())} of {len(at)}"
    return f"| {name} | {there} | {middle} | {each} | {float(iqm(last)):.2f} ({float(low):.2f} to {float(high):.2f}) |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("sign-and-scale"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--task", action="append", choices=list(STEPS))
    given = parser.parse_args()
    for task in given.task or STEPS:
        texts = rewards(task)
        every = STEPS[task] // 20
        found = compare(
            f"reward_envs/{task}",
            list(texts.values()),
            seeds=given.seeds,
            out=given.out / task,
            jobs=given.jobs,
            steps=STEPS[task],
            eval_every=every,
            eval_episodes=10,
        )
        print(
            f"\n{task}, {thousands(STEPS[task])} steps, {given.seeds} seeds, evaluated every {thousands(every)} steps\n"
        )
        print("| potential | seeds at 90 % | median steps | each seed | success at the end |")
        print("| --- | --- | --- | --- | --- |")
        for name, text in texts.items():
            print(row(name, found.table, text))
        for sentence in found.failures:
            print(sentence)


if __name__ == "__main__":
    main()
