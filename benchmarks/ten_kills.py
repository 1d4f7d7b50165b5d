"""Kill a comparison at ten random moments: does it go on, is no finished run lost, is the table the same in the end?

    python benchmarks/ten_kills.py --out kills [--kills 10] [--seed 0]

A reference comparison runs undisturbed; the same one then runs in another folder and is killed (SIGKILL)
again and again at a moment drawn from the reference's duration. Exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

WHAT = [
    "reward_envs/DoorKey-5x5-v0",
    *("--reward", "task", "--reward", "task + milestones((0.2, 0.3, 0.0))", "--reward", "task + 0.01*count"),
    *("--seeds", "3", "--steps", "24000", "--eval-every", "6000", "--eval-episodes", "5"),
]


def start(out: Path) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    code = "from reward_envs.cli import main; main()"
    command = [sys.executable, "-c", code, "compare", *WHAT, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finished(out: Path) -> dict[str, str]:
    """What each finished run holds: a digest of its rows."""
    return {p.parent.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in out.glob("runs/[!.]*/run.json")}


def table(out: Path) -> pd.DataFrame:
    """The results without their durations."""
    rows = pd.read_parquet(out / "results.parquet")
    return rows[rows["metric"] != "run/seconds"].reset_index(drop=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("kills"))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    reference, killed = given.out / "reference", given.out / "killed"
    began = time.monotonic()
    if start(reference).wait() != 0:
        print("the undisturbed comparison failed")
        return 1
    took = time.monotonic() - began
    rng, before, wrong = np.random.default_rng(given.seed), dict[str, str](), 0
    for number in range(given.kills):
        process = start(killed)
        moment = rng.uniform(0.02, 0.4) * took
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        time.sleep(1.0)  # workers end with their parent
        now = finished(killed)
        lost = [name for name, digest in before.items() if now.get(name) != digest]
        wrong += len(lost)
        print(f"kill {number + 1} after {moment:5.1f} s: {len(now)} of 9 runs finished, {len(lost)} lost", flush=True)
        before = now
    ended = start(killed).wait()
    same = ended == 0 and table(reference).equals(table(killed))
    print(f"exit code {ended}; the table is {'the same' if same else 'DIFFERENT'}; {wrong} finished runs were lost")
    return int(not same or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
