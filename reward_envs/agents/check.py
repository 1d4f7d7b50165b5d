"""check: does an environment keep what reward methods rely on?"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np

Verdict = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """One checked fact: `ok`; `note` for what costs a feature; `fault` for what makes rewards wrong."""

    verdict: Verdict
    what: str


def check(env: gym.Env[Any, Any], *, episodes: int = 3, steps: int = 1000, seed: int = 0) -> list[Finding]:
    """Play an environment at random and compare what it does with what reward methods rely on.

    Checked are the reward (a finite number, or NaN for unseen), the flags, `info["is_success"]`, the hooks that the
    card offers (there at reset and at every step, float64 or text), that a seed decides everything, that it pickles,
    and for goal environments that `compute_reward` and `compute_terminated` take many rows and agree with the step.

    Parameters
    ----------
    env
        The environment; it is played, and asked for its hooks.
    episodes, steps
        Episodes to play, and the longest one.
    seed
        Of the episodes and actions.

    Returns
    -------
    list of Finding
        In the order checked. Nothing is raised for a fault of the environment.

    >>> [f.what for f in check(gym.make("CartPole-v1")) if f.verdict == "fault"]
    []
    """
    card = getattr(env.unwrapped, "card", None)
    if card is not None and hasattr(env.unwrapped, "request_hooks"):
        env.unwrapped.request_hooks(card.hooks)
    played = [_play(env, seed + k, steps) for k in range(episodes)]
    found = [*_rewards(played), *_ends(env, played, steps), *_hooks(card, played), _seeded(env, seed, played[0])]
    found.append(_pickles(env))
    if _is_goal(env):
        found += _goals(env, played)
    return found


@dataclass
class _Episode:
    infos: list[dict[str, Any]]  # of s_0 .. s_T
    observations: list[Any]
    actions: list[Any]
    rewards: list[Any]
    terminated: list[Any]
    truncated: list[Any]

    @property
    def ended(self) -> bool:
        return bool(self.terminated[-1] or self.truncated[-1])


def _play(env: gym.Env[Any, Any], seed: int, steps: int, actions: list[Any] | None = None) -> _Episode:
    obs, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    episode = _Episode([info], [obs], [], [], [], [])
    for t in range(steps if actions is None else len(actions)):
        action = env.action_space.sample() if actions is None else actions[t]
        obs, reward, terminated, truncated, info = env.step(action)
        episode.actions.append(action)
        episode.observations.append(obs)
        episode.infos.append(info)
        episode.rewards.append(reward)
        episode.terminated.append(terminated)
        episode.truncated.append(truncated)
        if terminated or truncated:
            break
    return episode


def _rewards(played: list[_Episode]) -> Iterator[Finding]:
    rewards = [r for e in played for r in e.rewards]
    odd = [r for r in rewards if isinstance(r, bool) or not isinstance(r, int | float | np.number)]
    if odd:
        yield Finding("fault", f"the reward is a {type(odd[0]).__name__} ({odd[0]!r}): return one float.")
        return
    if any(math.isinf(r) for r in rewards):
        yield Finding("fault", "the reward is infinite: a reward is finite, or NaN where it was not seen.")
    unseen = sum(math.isnan(r) for r in rewards)
    paid = sum(r != 0 for r in rewards if not math.isnan(r))
    if unseen:
        yield Finding("note", f"{unseen} of {len(rewards)} rewards are NaN, which means unseen: use fill_unknown(...).")
    yield Finding("ok", f"rewards are finite numbers; {paid} of {len(rewards)} random steps paid something.")


def _ends(env: gym.Env[Any, Any], played: list[_Episode], steps: int) -> Iterator[Finding]:
    flags = {type(f).__name__ for e in played for f in (*e.terminated, *e.truncated)}
    if not flags <= {"bool", "bool_"}:
        yield Finding("fault", f"terminated and truncated are {sorted(flags)}: return bools, and never merge the two.")
    if endless := sum(not e.ended for e in played):
        yield Finding("note", f"{endless} of {len(played)} episodes did not end in {steps} steps: methods that need "
                              f"whole episodes (delay, uniform, ...) would pay nothing.")  # fmt: skip
    else:
        yield Finding("ok", f"episodes end: {sum(bool(e.terminated[-1]) for e in played)} of {len(played)} terminated.")
    if all("is_success" in i for e in played for i in e.infos[1:]):
        yield Finding("ok", "info['is_success'] stands on every step.")
    else:
        yield Finding("note", "no info['is_success'] on every step: success is a task return above 0, and there are "
                              "no success rates where steps before the end pay.")  # fmt: skip


def _hooks(card: Any, played: list[_Episode]) -> Iterator[Finding]:
    if card is None or not card.hooks:
        yield Finding(
            "note", "no hooks (no card): potential(steps_to_go), progress and milestones have nothing to read."
        )
        return
    for name in card.hooks:
        values: list[Any] = [i.get(name) for e in played for i in e.infos]
        missing = sum(v is None for v in values)
        if missing:
            yield Finding("fault", f"hook {name!r} is missing in {missing} of {len(values)} infos, reset included.")
        elif any(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values):
            yield Finding("fault", f"hook {name!r} is an integer: vector environments then cut floats to integers.")
        elif name == "progress" and not all(0 <= v <= 1 for v in values):
            yield Finding("fault", "hook 'progress' leaves [0, 1].")
        elif name == "steps_to_go" and not all(v >= 0 for v in values):
            yield Finding("fault", "hook 'steps_to_go' is negative or NaN somewhere.")
        else:
            yield Finding("ok", f"hook {name!r} is there at reset and at every step.")


def _seeded(env: gym.Env[Any, Any], seed: int, first: _Episode) -> Finding:
    again = _play(env, seed, len(first.actions), first.actions)
    same = first.rewards == again.rewards and repr(first.observations) == repr(again.observations)
    if same or any(isinstance(r, float) and math.isnan(r) for r in first.rewards):
        return Finding("ok", "the same seed and actions give the same episode.")
    return Finding("fault", "the same seed and actions give another episode: draw everything from self.np_random.")


def _pickles(env: gym.Env[Any, Any]) -> Finding:
    try:
        pickle.loads(pickle.dumps(env.unwrapped))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        return Finding("note", f"it does not pickle ({error}): worker processes must make their own.")
    return Finding("ok", "it pickles.")


# goals


def _is_goal(env: gym.Env[Any, Any]) -> bool:
    spaces = getattr(env.observation_space, "spaces", {})
    return {"achieved_goal", "desired_goal"} <= set(spaces)


def _goals(env: gym.Env[Any, Any], played: list[_Episode]) -> Iterator[Finding]:
    task: Any = env.unwrapped
    achieved = np.stack([o["achieved_goal"] for e in played for o in e.observations[1:]])
    desired = np.stack([o["desired_goal"] for e in played for o in e.observations[1:]])
    infos = [i for e in played for i in e.infos[1:]]
    columns = {
        "compute_reward": np.array([r for e in played for r in e.rewards], dtype=float),
        "compute_terminated": np.array([f for e in played for f in e.terminated], dtype=float),
    }
    for name, stepped in columns.items():
        if not hasattr(task, name):
            verdict: Verdict = "fault" if name == "compute_reward" else "note"
            yield Finding(verdict, f"no {name}(achieved_goal, desired_goal, info): hindsight cannot relabel it.")
            continue
        compute = getattr(task, name)
        single = np.array([compute(a, d, i) for a, d, i in zip(achieved, desired, infos, strict=True)], dtype=float)
        if not np.allclose(single, stepped, equal_nan=True):
            row = int(np.flatnonzero(~np.isclose(single, stepped, equal_nan=True))[0])
            yield Finding("fault", f"{name} gives {single[row]} where the step gave {stepped[row]} (row {row}).")
        elif np.shape(compute(achieved, desired, np.array(infos, dtype=object))) != (len(achieved),):
            yield Finding("note", f"{name} takes one row at a time: relabelling loops over rows.")
        else:
            together = np.asarray(compute(achieved, desired, np.array(infos, dtype=object)), dtype=float)
            agrees = np.allclose(together, single, equal_nan=True)
            how = "agrees" if agrees else "disagrees"
            yield Finding("ok" if agrees else "fault", f"{name} takes many rows and {how} with the step.")
