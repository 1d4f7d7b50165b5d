"""Drawn at random: batches of several streams with hooks and both kinds of end, and small decision processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from reward_envs.agents.tabular import MDP, rows
from reward_envs.wrappers import Batch

STATES = 6
EXECUTION = np.random.default_rng(3).integers(0, 2, (STATES, 7)).astype(float)  # counts of calls, by state


def rollout(rng: np.random.Generator, streams: int = 3, steps: int = 12, end: float = 0.25) -> Batch:
    """Time-major rows of walks over six states; episodes end either way, or both ways at once, and some stay open."""
    n = streams * steps
    hooks = {
        "steps_to_go": rng.integers(0, 8, STATES).astype(float),
        "progress": rng.random(STATES),
        "milestones": rng.integers(0, 2, (STATES, 3)).astype(float),
        "execution": EXECUTION,
    }
    state, nxt = np.empty(n, np.int64), np.empty(n, np.int64)
    terminated, truncated = rng.random(n) < end, rng.random(n) < end
    now = rng.integers(STATES, size=streams)
    for i in range(n):
        s = i % streams
        state[i], nxt[i] = now[s], rng.integers(STATES)
        now[s] = rng.integers(STATES) if terminated[i] or truncated[i] else nxt[i]
    return Batch.of(
        obs=state,
        action=rng.integers(2, size=n),
        next_obs=nxt,
        reward=rng.normal(size=n),
        terminated=terminated,
        truncated=truncated,
        stream=np.tile(np.arange(streams), steps),
        info={k: table[state] for k, table in hooks.items()},
        next_info={k: table[nxt] for k, table in hooks.items()},
    )


def cut(batch: Batch, rng: np.random.Generator, often: float = 0.3) -> list[Batch]:
    """The batch in pieces of random lengths."""
    at = np.flatnonzero(rng.random(len(batch)) < often)
    return [batch.rows(part) for part in np.split(np.arange(len(batch)), at) if len(part)]


def whole_episodes(batch: Batch) -> list[Any]:
    """Row numbers of each episode that the batch holds from first row to end."""
    seen = batch.episodes()
    return [np.flatnonzero(seen.index == e) for e in range(seen.n) if seen.whole[e]]


def process(rng: np.random.Generator, gamma: float, ends: bool = True, states: int = STATES, actions: int = 3) -> MDP:
    """A process with rewards without ties; with `ends` its last state is terminal."""
    transition = rng.dirichlet(np.ones(states), size=(states, actions))
    reward = rng.normal(size=(states, actions, states))
    terminal = np.zeros(states, bool)
    if ends:
        terminal[-1] = True
        transition[-1], reward[-1] = np.eye(states)[-1], 0.0
    return MDP(transition, reward, terminal, gamma)


def transitions(mdp: MDP) -> Batch:
    """The process's possible transitions, one a row."""
    r = rows(mdp)
    return Batch.of(
        obs=r["state"], action=r["action"], next_obs=r["next_state"], reward=r["reward"], terminated=r["terminated"]
    )
