"""Worlds that have begun, for tests of layouts and rules."""

from __future__ import annotations

from typing import Any

from reward_envs.grid.worlds import Worlds


def begun(spec: Any, n: int, seed: int = 0) -> Worlds:
    worlds = (spec.engine or Worlds)(spec, n)
    worlds.seed(worlds.all, list(range(seed, seed + n)))
    worlds.begin(worlds.all)
    return worlds
