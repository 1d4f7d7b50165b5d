"""SB3's Monitor, as an environment's spec can record it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs
from stable_baselines3.common.monitor import Monitor


class RecordedMonitor(Monitor, RecordConstructorArgs):
    """SB3's Monitor without a file; `gym.make(env.spec)` makes it again, which SB3's own refuses."""

    __module__ = "reward_envs.wrappers"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        Monitor.__init__(self, env)
