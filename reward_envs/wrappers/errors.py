"""Every error of the reward side.

RewardError
    TextError       a reward text that names nothing or cannot be written
    ScopeError      a method handed to a place that cannot serve it
    HookError       an environment that lacks a hook the method needs
    NonFiniteError  a method that gave NaN or infinity
"""

from __future__ import annotations


class RewardError(ValueError):
    """Raised when a reward method, its input or its use is wrong."""


class TextError(RewardError):
    """Raised when a reward text cannot be read, or a method cannot be written as text."""


class ScopeError(RewardError):
    """Raised when a place cannot give a method the rows that it needs."""


class HookError(RewardError):
    """Raised when a method needs a hook that the environment does not give."""


class NonFiniteError(RewardError):
    """Raised when a method returns NaN or infinity for a row that it calls known."""
