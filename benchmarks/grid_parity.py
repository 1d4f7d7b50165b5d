"""The gridworlds beside the minigrid package, step by step: how much was compared, and what differed.

    PYTHONPATH=. python benchmarks/grid_parity.py [--layouts 50] [--steps 20000] [task ...]

Plays minigrid's layouts in both, at least that many layouts and steps a task, partly at random and partly by the
expert, and compares as `tests/grid/test_parity.py` does: the observation, the direction, the reward, both ends of an
episode and what the agent carries, at every step. Prints a table in Markdown; a task ends at its first difference,
which is printed, and the script then ends with 1.
"""

from __future__ import annotations

import argparse
import sys
import time

from reward_envs.grid.tasks import TASKS
from tests.grid.test_parity import drive

COLUMNS = ("layouts", "steps", "successes", "failures", "truncations")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=[name for name, spec in TASKS.items() if spec.source])
    parser.add_argument("--layouts", type=int, default=50)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"| task | {' | '.join(COLUMNS)} | differences |")
    print(f"| --- |{' --: |' * (len(COLUMNS) + 1)}")
    differing = 0
    for name in options.tasks:
        began = time.process_time()
        try:
            compared = drive(name, options.layouts, options.steps // options.layouts, options.steps, options.seed)
        except AssertionError as difference:
            print(f"| {name} | stopped: {' '.join(str(difference).split())} |", flush=True)
            differing += 1
            continue
        print(f"| {name} | {' | '.join(f'{compared[c]:,}' for c in COLUMNS)} | 0 |", flush=True)
        print(f"{name}: {time.process_time() - began:.0f} s of CPU", file=sys.stderr, flush=True)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
