"""Layouts of the minigrid package, loaded into our engine: what the parity tests compare on."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from reward_envs.grid.spec import COLOURS, KINDS, GridSpec
from reward_envs.grid.worlds import Worlds
from reward_envs.kernels import grid as k


def theirs(spec: GridSpec) -> Any:
    """The environment of the minigrid package that a task equals."""
    module, _, name = spec.source.partition(":")
    return getattr(importlib.import_module(module), name)(**(spec.kwargs or {}))


def code(thing: Any) -> int:
    """A minigrid object as our cell."""
    if thing is None:
        return k.EMPTY
    kind, colour, door = thing.encode()
    content = getattr(thing, "contains", None)
    inside = 0 if content is None else (1 + COLOURS.index(content.color)) << 10
    return int(k.pack(kind, colour, door)) | inside


def kind_of(kind: str, colour: str) -> int:
    return KINDS.index(kind) | COLOURS.index(colour) << 4


def load(worlds: Worlds, i: int, env: Any) -> None:
    """Put the state in which a minigrid environment was just reset into world i."""
    width = env.width
    for y in range(env.height):
        for x in range(width):
            worlds.cells[i, y * width + x] = code(env.grid.get(x, y))
    state = worlds.state[i]
    state[:] = 0
    state[k.X], state[k.Y], state[k.DIR] = *map(int, env.agent_pos), int(env.agent_dir)
    registers = _registers(worlds.spec.rule, env)
    state[k.R : k.R + len(registers)] = registers


def _registers(rule: int, env: Any) -> list[int]:
    width = env.width

    def cell(position: Any) -> int:
        return int(position[1]) * width + int(position[0])

    if rule == k.TAKE:
        return [kind_of(env.obj.type, env.obj.color)]
    if rule == k.UNLOCK:
        return [cell(env.door.cur_pos)]
    if rule == k.FETCH:
        return [kind_of(env.targetType, env.targetColor)]
    if rule == k.GO_TO:
        return [int(v) for v in env.target_pos]
    if rule == k.PUT_NEAR:
        return [kind_of(env.move_type, env.moveColor), *map(int, env.target_pos)]
    if rule == k.RED_BLUE:
        found = {env.grid.get(x, y): (x, y) for x in range(width) for y in range(env.height)}
        return [cell(found[env.red_door]), cell(found[env.blue_door])]
    if rule == k.MEMORY:
        return [cell(env.success_pos), cell(env.failure_pos)]
    if rule == k.DODGE:
        return [len(env.obstacles), *(cell(o.cur_pos) for o in env.obstacles)]
    return []


def ball_moves(env: Any, before: list[Any]) -> np.ndarray:
    """Where the balls of DynamicObstacles went in the last step, int64[1, K]; -1 for one that stayed."""
    now = [tuple(map(int, o.cur_pos)) for o in env.obstacles]
    return np.array([[y * env.width + x if (x, y) != old else -1 for (x, y), old in zip(now, before, strict=True)]])
