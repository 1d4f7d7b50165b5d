"""Learned state as a tree of arrays: what is saved, and how it comes back."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from reward_envs.wrappers.errors import RewardError


def export(state: Any) -> Any:
    """A copy of `state` made of dicts, lists, arrays and plain values only, so that it can be saved without pickle."""
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, np.ndarray | np.generic):
        return state.tolist() if state.dtype == object else np.array(state)
    if isinstance(state, np.random.Generator):
        return copy.deepcopy(state.bit_generator.state)
    if isinstance(state, dict):
        return {k: export(v) for k, v in state.items()}
    if isinstance(state, list | tuple):
        return [export(v) for v in state]
    if dataclasses.is_dataclass(state):
        return {f.name: export(getattr(state, f.name)) for f in dataclasses.fields(state)}
    if hasattr(state, "state_dict"):
        return copy.deepcopy(state.state_dict())
    if callable(state):
        return None
    raise RewardError(f"a state holds a {type(state).__name__}, which cannot be saved; hold arrays and plain values.")


def restore(target: Any, saved: Any) -> Any:
    """`target`, made anew by `init` or `start`, with the saved values put in; modules are loaded in place."""
    if isinstance(target, np.random.Generator):
        target.bit_generator.state = copy.deepcopy(saved)
        return target
    if isinstance(target, np.ndarray | np.generic):
        return np.array(saved, dtype=target.dtype)
    if isinstance(target, dict):
        return {k: restore(target.get(k), v) for k, v in saved.items()}
    if isinstance(target, list) and len(target) != len(saved):
        return copy.deepcopy(saved)
    if isinstance(target, list | tuple):
        items = [restore(t, s) for t, s in zip(target, saved, strict=True)]
        if isinstance(target, list):
            return items
        return type(target)(*items) if hasattr(target, "_fields") else tuple(items)
    if dataclasses.is_dataclass(target) and not isinstance(target, type):
        values = {f.name: restore(getattr(target, f.name), saved[f.name]) for f in dataclasses.fields(target)}
        try:
            for name, value in values.items():
                setattr(target, name, value)
        except dataclasses.FrozenInstanceError:
            return type(target)(**values)
        return target
    if hasattr(target, "load_state_dict"):
        target.load_state_dict(copy.deepcopy(saved))
        return target
    return target if callable(target) else copy.deepcopy(saved)
