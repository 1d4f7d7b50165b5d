"""Text tasks: an agent that writes calls or commands and reads what they print, graded at the end."""

from __future__ import annotations

from reward_envs.text.env import TextEnv
from reward_envs.text.task import Grade, Reply, Source, TaskError, TextTask
from reward_envs.text.transcript import Transcript

__all__ = ["Grade", "Reply", "Source", "TaskError", "TextEnv", "TextTask", "Transcript"]
