"""Hooks: columns that an environment gives in `info` only when asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Hooked:
    """Mixin: remembers which of `offers` were asked for, and fills `info` from the methods `_<hook>()`.

    Raises ValueError where an unknown hook is asked for.
    """

    offers: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()

    def request_hooks(self, hooks: Iterable[str]) -> None:
        """Give these hooks in `info` from the next reset on; they add to those asked for before."""
        asked = {hooks} if isinstance(hooks, str) else set(hooks)
        if unknown := sorted(asked - set(self.offers)):
            raise ValueError(f"no hook {unknown[0]!r}: this task gives {', '.join(self.offers)}.")
        self.hooks = tuple(h for h in self.offers if h in asked or h in self.hooks)

    def hook_values(self) -> dict[str, Any]:
        """The hooks asked for, at the present state."""
        return {hook: getattr(self, f"_{hook}")() for hook in self.hooks}


def check_reward_mode(mode: str) -> str:
    """The mode, or a sentence."""
    if mode not in ("sparse", "dense"):
        raise ValueError(f"reward_mode={mode!r}: it is 'sparse' or 'dense'.")
    return mode


def check_render_mode(mode: str | None, metadata: dict[str, Any]) -> str | None:
    """The mode, or a sentence."""
    if mode is not None and mode not in metadata["render_modes"]:
        raise ValueError(f"render_mode={mode!r}: it is None or one of {', '.join(metadata['render_modes'])}.")
    return mode
