"""`reward_envs/Tools-v0`: chains of function calls over a simulated office.

Mail, contacts, calendar, files, a shop and a bank keep records that name one another. An errand gives the key of one
and asks for a fact at the end of a chain, so each call needs what an earlier one showed. Splits have their own tools.
"""

from __future__ import annotations

from typing import Any

from reward_envs.text.env import TextEnv
from reward_envs.text.tools.office import OfficeSource
from reward_envs.text.vector import TextVector


def tools_env(*, depth: int = 2, **kwargs: Any) -> TextEnv:
    """The environment; `kwargs` of `TextEnv`."""
    return TextEnv(OfficeSource(depth), **kwargs)


def tools_vector(*, num_envs: int, depth: int = 2, **kwargs: Any) -> TextVector:
    """The vector environment; `kwargs` of `TextVector`."""
    return TextVector(OfficeSource(depth), num_envs, **kwargs)
