"""Graded subtasks and learning on text: MaskablePPO chooses among admissible actions, paid at the end or for subtasks.

    PYTHONPATH=. python benchmarks/text_learning.py [--seeds 3] [--only tools ...]

Success in 60 episodes with other seeds than training's, before and after. Both are paid by the environment:
`reward_mode="sparse"` and `"dense"`, the change of the score.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from sb3_contrib import MaskablePPO

import reward_envs  # noqa: F401  (enters the ids)
from reward_envs.text import sb3_vec

EPISODES, WORLDS = 60, 8


class Run(NamedTuple):
    """An id, its keywords, places for actions, steps of training."""

    env_id: str
    keywords: dict[str, Any]
    k: int
    steps: int


RUNS = {
    "tools": Run("reward_envs/Tools-v0", {"depth": 2}, 16, 12_000),
    "terminal": Run("reward_envs/Terminal-v0", {"task": "release", "max_steps": 12}, 12, 12_000),
}


def success(model: MaskablePPO, run: Run, seed: int) -> float:
    """The share of episodes that end in success."""
    venv = sb3_vec(run.env_id, WORLDS, k=run.k, seed=seed, **run.keywords)
    seen, ended = venv.reset(), []
    while len(ended) < EPISODES:
        masks = np.stack(venv.env_method("action_masks"))
        seen, _, dones, infos = venv.step(model.predict(seen, action_masks=masks)[0])
        ended += [info["is_success"] for done, info in zip(dones, infos, strict=True) if done]
    venv.close()
    return float(np.mean(ended))


def trained(run: Run, mode: str, seed: int) -> tuple[float, float]:
    """Success before and after training."""
    venv = sb3_vec(run.env_id, WORLDS, k=run.k, seed=1000 * seed, reward_mode=mode, **run.keywords)
    model = MaskablePPO(
        "MlpPolicy",
        venv,
        n_steps=64,
        batch_size=128,
        n_epochs=6,
        learning_rate=1e-3,
        gamma=0.97,
        seed=seed,
        device="cpu",
    )
    before = success(model, run, 10_000 + seed)
    model.learn(run.steps)
    venv.close()
    return before, success(model, run, 20_000 + seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=list(RUNS))
    given = parser.parse_args()
    print("| task | steps | paid | success of each seed, before | after |\n| --- | --- | --- | --- | --- |")
    for name in given.only or RUNS:
        run = RUNS[name]
        for mode in ("dense", "sparse"):
            found = [trained(run, mode, seed) for seed in range(given.seeds)]
            before, after = (", ".join(f"{x:.2f}" for x in part) for part in zip(*found, strict=True))
            print(f"| {name} | {run.steps:,} | {mode} | {before} | {after} |", flush=True)


if __name__ == "__main__":
    main()
