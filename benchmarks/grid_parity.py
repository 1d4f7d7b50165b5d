"""Our gridworlds beside the minigrid package, step by step: at least 20,000 steps a task on at least 50 of its layouts.

    PYTHONPATH=. python benchmarks/grid_parity.py [--steps 20000] [--layouts 50] [task ...]

Observation, direction, reward, both ends and the hands are compared at every step; a difference stops it. Three layouts
in four are played at random, the fourth by the expert after some random steps.
"""

from __future__ import annotations

import argparse

from reward_envs.grid.tasks import TASKS
from tests.grid.test_parity import Played, drive

EACH = 500  # steps on a layout, at most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sources = [name for name, spec in TASKS.items() if spec.source]
    parser.add_argument("task", nargs="*", default=sources)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--layouts", type=int, default=50)
    given = parser.parse_args()
    total = Played()
    print("| task | layouts | steps | successes | failures |")
    print("| --- | --- | --- | --- | --- |")
    for name in given.task:
        done = drive(name, given.layouts, EACH, at_least=given.steps, experts=True)
        total = Played(*(a + b for a, b in zip(total, done, strict=True)))
        print(f"| {name.removesuffix('-v0')} | {' | '.join(f'{n:,}' for n in done)} |", flush=True)
    print(f"| {len(given.task)} tasks, all equal | {' | '.join(f'{n:,}' for n in total)} |")


if __name__ == "__main__":
    main()
