"""Rows of a replay buffer with hindsight: what they may hold, and where in a row it lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_obs_shape

from reward_envs.wrappers.batch import Int
from reward_envs.wrappers.errors import RewardError

if TYPE_CHECKING:
    from reward_envs.wrappers.adapters.sb3_hindsight import HindsightReplayBuffer


def check(space: spaces.Space[Any], optimize_memory_usage: bool, n_sampled_goal: int, copy_info_dict: bool) -> None:
    if not isinstance(space, spaces.Dict) or not {"achieved_goal", "desired_goal"} <= set(space.spaces):
        raise RewardError(
            f"HindsightReplayBuffer needs goals: observations are dicts with achieved_goal and desired_goal, and these "
            f"are {space}."
        )
    for key, kind in space.spaces.items():
        if not isinstance(kind, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
            raise RewardError(
                f"{key} is {kind}, and SB3's buffers carry only arrays of numbers: encode it as codes (MultiDiscrete) "
                f"or as a vector, or relabel recorded rows with relabel_rows, which takes any."
            )
    if get_obs_shape(space["achieved_goal"]) != get_obs_shape(space["desired_goal"]):
        raise RewardError(
            f"achieved_goal is {space['achieved_goal']} and desired_goal is {space['desired_goal']}: what is reached "
            f"can be asked for only where both are of one kind."
        )
    if optimize_memory_usage:
        raise RewardError("HindsightReplayBuffer keeps both observations of a row: leave optimize_memory_usage out.")
    if copy_info_dict:
        raise RewardError(
            "HindsightReplayBuffer stores no info dicts: let the environment name the entries that its reward reads, "
            "relabel_info = {'name': shape}, and leave copy_info_dict out."
        )
    if type(n_sampled_goal) is not int or n_sampled_goal < 1:
        raise RewardError(f"HindsightReplayBuffer: n_sampled_goal={n_sampled_goal!r}; it is an integer of 1 or more.")


def layout(buffer: HindsightReplayBuffer) -> np.dtype[Any]:
    """A row, all of it side by side, so that a random one costs few misses of the cache."""
    fields: list[tuple[Any, ...]] = [("start", np.int32), ("length", np.int32)]
    fields += [(name, np.float32) for name in ("reward", "done", "timeout")]
    fields.append(("action", buffer._maybe_cast_dtype(buffer.action_space.dtype), (buffer.action_dim,)))
    for when in ("obs", "next"):
        for key, space in cast(Any, buffer.observation_space).spaces.items():
            fields.append((f"{when}/{key}", space.dtype, cast(Any, buffer.obs_shape)[key]))
    fields += [(f"info/{name}", np.float64, shape) for name, shape in buffer.relabel_info.items()]
    return np.dtype(fields, align=True)


def parts(dtype: np.dtype[Any]) -> dict[str, tuple[int, int, int]]:
    """Of each field of a sample: where it lies, its bytes, and where a new goal comes from (-1: nowhere)."""
    fields = cast(Any, dtype).fields
    achieved = fields["next/achieved_goal"][1]
    return {
        name: (offset, field.itemsize, achieved if name.endswith("/desired_goal") else -1)
        for name, (field, offset) in fields.items()
        if name not in ("start", "length")
    }


def seen(parts: Mapping[str, tuple[int, int, int]], word: int) -> Int:
    """Where each observation lies, where its successor does, and how long they are, int64[K, 3] in words."""
    names = [name.removeprefix("obs/") for name in parts if name.startswith("obs/")]
    table = [(parts[f"obs/{name}"][0], *parts[f"next/{name}"][:2]) for name in names]
    return np.array(table, np.int64) // word
