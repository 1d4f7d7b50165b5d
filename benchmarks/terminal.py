"""What a terminal task costs: commands and resets of the sandbox, beside starting bash in one for each command.

    PYTHONPATH=. python benchmarks/terminal.py [--commands 300]

Milliseconds of wall clock, medians; the contenders take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import time
from collections.abc import Callable

import gymnasium as gym

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.text.terminal import Sandbox, unavailable

LINES = ("echo {i} >> out.txt", "cat notes.txt | sort | tail -n 1", "for f in *; do echo $f; done", "wc -l < notes.txt")
BARE = [
    "bwrap",
    "--unshare-all",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/lib",
    "/lib",
]
BARE += ["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/box", "--chdir", "/box"]


def timed(play: Callable[[int], object], i: int) -> float:
    began = time.perf_counter()
    play(i)
    return (time.perf_counter() - began) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=300)
    commands = parser.parse_args().commands
    if why := unavailable():
        raise SystemExit(why)
    files = {f"notes{i or ''}.txt": b"one\ntwo\nthree\n" for i in range(20)}
    env = gym.make("reward_envs/Terminal-v0", task="edit")
    env.reset(seed=0)

    def step(i: int) -> None:
        _, _, terminated, truncated, _ = env.step(LINES[i % 4].format(i=i))
        if terminated or truncated:
            env.reset()

    with contextlib.closing(Sandbox(files)) as box:
        plays: dict[str, Callable[[int], object]] = {
            "a command in the sandbox": lambda i: box.run(LINES[i % 4].format(i=i)),
            "a step of Terminal-v0": step,
            "bwrap and bash begun for a command": lambda i: subprocess.run(
                [*BARE, "bash", "-c", LINES[0].format(i=i)], check=True
            ),
            "a reset of Terminal-v0": lambda i: env.reset(seed=i),
        }
        costs: dict[str, list[float]] = {what: [] for what in plays}
        for i in range(commands):
            for what, play in plays.items():
                costs[what].append(timed(play, i))
    env.close()
    print("| what | ms |\n| --- | --- |")
    for what, found in costs.items():
        print(f"| {what} | {statistics.median(found):.2f} |")


if __name__ == "__main__":
    main()
