"""PPO on the gridworlds for grid_engine.py: what the environments' speed is worth in training."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import minigrid
from grid_turns import table
from minigrid.wrappers import ImgObsWrapper

from reward_envs.agents.plan import Plan
from reward_envs.agents.sb3 import train

assert minigrid.__name__  # its import registers the ids
OURS, THEIRS, PLAIN = "reward_envs/DoorKey-8x8-v0", "MiniGrid-DoorKey-8x8-v0", "PlainMiniGrid-DoorKey-8x8-v0"
REWARD = "task + milestones((0.2, 0.3, 0.0))"


def _plain(**kwargs: Any) -> gym.Env[Any, Any]:
    """minigrid with its own partial view, which `train` would replace."""
    return gym.wrappers.FlattenObservation(ImgObsWrapper(gym.make(THEIRS, disable_env_checker=True, **kwargs)))


gym.register(PLAIN, entry_point=_plain)


def fixed_steps(steps: int, repeats: int) -> list[dict[str, Any]]:
    """The same PPO on the task's own reward for so many steps; it evaluates one episode before and one after."""
    rows: list[dict[str, Any]] = []
    plans = {name: Plan(name, steps=steps, eval_every=steps, eval_episodes=1) for name in (OURS, THEIRS, PLAIN)}
    for name in plans:  # the first training of a process is slower
        train(Plan(name, steps=1, eval_episodes=1), "task")
    for seed in range(repeats):
        for name, plan in plans.items():
            cpu, wall = time.process_time(), time.perf_counter()
            train(plan, "task", seed=seed)
            cost = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
            rows.append({"env": name, "seed": seed, "steps": steps, **cost})
    return rows


def to_success(steps: int, seeds: int) -> list[dict[str, Any]]:
    """Steps and seconds to the first evaluation at 90 % success, evaluations included; None where it did not come."""
    rows: list[dict[str, Any]] = []
    for seed in range(seeds):
        clock: list[tuple[int, float, float]] = []
        cpu, wall = time.process_time(), time.perf_counter()

        def note(at: int, clock: Any = clock, cpu: float = cpu, wall: float = wall) -> None:
            clock.append((at, time.process_time() - cpu, time.perf_counter() - wall))

        plan = Plan(OURS, steps=steps, eval_every=max(1, steps // 20), eval_episodes=10)
        run = train(plan, REWARD, seed=seed, progress=note)
        good = [r.steps for r in run.rows if r.metric == "eval/success_rate" and r.value >= 0.9]
        row: dict[str, Any] = {"seed": seed, "steps": good[0] if good else None, "cpu_s": None, "wall_s": None}
        if good:  # the clock is read after each rollout
            _, row["cpu_s"], row["wall_s"] = next((c for c in clock if c[0] >= good[0]), clock[-1])
        rows.append(row)
    return rows


def ppo(quick: bool) -> dict[str, Any]:
    """Print both tables."""
    fixed = fixed_steps(4_096 if quick else 100_000, 1 if quick else 3)
    middle = {
        name: [sorted(r[key] for r in fixed if r["env"] == name) for key in ("cpu_s", "wall_s")]
        for name in (OURS, THEIRS, PLAIN)
    }
    cpu, wall = ({name: columns[i][len(columns[i]) // 2] for name, columns in middle.items()} for i in (0, 1))
    notes = {THEIRS: "minigrid with our partial view, as `train` makes it", PLAIN: "minigrid as it is", OURS: "ours"}
    table(
        f"PPO, 16 environments, reward `task`, {fixed[0]['steps']:,} steps, medians of {len(fixed) // 3}",
        ("environment", "CPU s", "wall s", "times ours, CPU", "times ours, wall"),
        [(notes[n], cpu[n], wall[n], cpu[n] / cpu[OURS], wall[n] / wall[OURS]) for n in (OURS, THEIRS, PLAIN)],
    )
    learned = to_success(8_192 if quick else 300_000, 1 if quick else 3)
    table(
        f"PPO on {OURS} with `{REWARD}`: the first evaluation at 90 % success",
        ("seed", "environment steps", "CPU s", "wall s"),
        [
            (r["seed"], *(r[key] if r["steps"] else "not reached" for key in ("steps", "cpu_s", "wall_s")))
            for r in learned
        ],
    )
    return {"fixed": fixed, "to_success": learned}
