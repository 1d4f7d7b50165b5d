"""`reward_envs/Terminal-v0`: a workspace of files, a real bash in a sandbox, and checks of what was left.

Templates draw the tasks: find and extract, edit and configure, logs and data, archives, builds and small programs,
tasks with a cue and a distractor, and work of more than fifty commands.
"""

from __future__ import annotations

from typing import Any

from reward_envs.text.env import TextEnv
from reward_envs.text.terminal.env import TerminalSource
from reward_envs.text.terminal.sandbox import Confinement, Sandbox, SandboxError, unavailable
from reward_envs.text.vector import TextVector

__all__ = ["Confinement", "Sandbox", "SandboxError", "TerminalSource", "terminal_env", "terminal_vector", "unavailable"]


def terminal_env(*, task: str = "all", limits: Confinement | None = None, **kwargs: Any) -> TextEnv:
    """The environment; `kwargs` of `TextEnv`."""
    return TextEnv(TerminalSource(task, limits), **kwargs)


def terminal_vector(
    *, num_envs: int, task: str = "all", limits: Confinement | None = None, **kwargs: Any
) -> TextVector:
    """The vector environment; `kwargs` of `TextVector`."""
    return TextVector(TerminalSource(task, limits), num_envs, **kwargs)
