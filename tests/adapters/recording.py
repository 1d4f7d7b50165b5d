"""Rows of a run, recorded beside an adapter without any of its code: the batch that the array adapter is handed."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from reward_envs.wrappers import Batch


def column(values: list[Any]) -> Any:
    """Stack what single environments gave."""
    first = values[0]
    if isinstance(first, dict):
        return {k: column([v[k] for v in values]) for k in first}
    return list(values) if isinstance(first, str) else np.stack([np.asarray(v) for v in values])


def batch_of(rows: list[dict[str, Any]], hooks: tuple[str, ...] = ()) -> Batch:
    """A batch from row dicts with obs, action, next_obs, reward, terminated, truncated, stream, t, episode, infos."""
    return Batch.of(
        **{k: column([r[k] for r in rows]) for k in ("obs", "action", "next_obs")},
        **{k: [r[k] for r in rows] for k in ("reward", "terminated", "truncated", "stream", "t", "episode")},
        info={h: np.array([r["info"][h] for r in rows]) for h in hooks},
        next_info={h: np.array([r["next_info"][h] for r in rows]) for h in hooks},
    )


def record_single(
    env: gym.Env[Any, Any], steps: int, seed: int, abort_every: int = 0
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(rows, infos) of random play; `abort_every` resets in mid-episode after so many steps."""
    rows: list[dict[str, Any]] = []
    infos: list[dict[str, Any]] = []
    env.action_space.seed(seed)
    obs, info = env.reset(seed=seed)
    t, episode = 0, 0
    for k in range(steps):
        action = env.action_space.sample()
        next_obs, _, terminated, truncated, next_info = env.step(action)
        row = {"obs": obs, "action": action, "next_obs": next_obs, "reward": next_info["task_reward"], "stream": 0}
        rows.append(
            {
                **row,
                "terminated": terminated,
                "truncated": truncated,
                "t": t,
                "episode": episode,
                "info": info,
                "next_info": next_info,
            }
        )
        infos.append(next_info)
        obs, info, t = next_obs, next_info, t + 1
        if terminated or truncated or (abort_every and (k + 1) % abort_every == 0):
            obs, info = env.reset()
            t, episode = 0, episode + 1
    return rows, infos


def at(obs: Any, i: int) -> Any:
    """Row i of a batched observation, copied."""
    if isinstance(obs, dict):
        return {k: at(v, i) for k, v in obs.items()}
    return obs[i] if isinstance(obs[i], str) else np.array(obs[i])


def info_at(infos: dict[str, Any], i: int, hooks: tuple[str, ...]) -> dict[str, Any]:
    return {h: infos[h][i] if infos.get(f"_{h}", [True] * 999)[i] else np.nan for h in hooks}


def record_vector(
    envs: Any, steps: int, seed: int, hooks: tuple[str, ...] = ()
) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]], list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """Rows of each step (dead rows left out), the infos, the paid rewards, and which rows were alive."""
    mode = envs.metadata["autoreset_mode"]
    n = envs.num_envs
    envs.action_space.seed(seed)
    obs, infos = envs.reset(seed=seed)
    now = [at(obs, i) for i in range(n)]
    hook_now = [info_at(infos, i, hooks) for i in range(n)]
    t, episode, over = [0] * n, list(range(n)), [False] * n
    started = n
    out_rows, out_infos, out_rewards, alive = [], [], [], []
    for _ in range(steps):
        actions = envs.action_space.sample()
        obs, rewards, terminated, truncated, infos = envs.step(actions)
        rows = []
        for i in range(n):
            if over[i]:
                continue
            ended = bool(terminated[i] or truncated[i])
            final = mode is AutoresetMode.SAME_STEP and ended
            successor = infos["final_obs"][i] if final else at(obs, i)
            after = info_at(infos["final_info"] if final else infos, i, hooks)
            row = {"obs": now[i], "action": np.array(actions[i]), "next_obs": successor, "stream": i}
            row |= {"reward": infos["task_reward"][i], "terminated": terminated[i], "truncated": truncated[i]}
            rows.append({**row, "t": t[i], "episode": episode[i], "info": hook_now[i], "next_info": after})
            t[i] += 1
        out_rows.append(rows)
        out_infos.append(infos)
        out_rewards.append(rewards.copy())
        alive.append(~np.array(over))
        done = terminated | truncated
        fresh = np.zeros(n, bool)
        if mode is AutoresetMode.DISABLED and done.any():
            obs, infos = envs.reset(options={"reset_mask": done})
            fresh = done
        elif mode is AutoresetMode.SAME_STEP:
            fresh = done
        elif mode is AutoresetMode.NEXT_STEP:
            fresh = np.array(over)
            over = list(done)
        for i in range(n):
            if fresh[i]:
                t[i], episode[i], started = 0, started, started + 1
            now[i], hook_now[i] = at(obs, i), info_at(infos, i, hooks)
    return out_rows, out_infos, out_rewards, alive
