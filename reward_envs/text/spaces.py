"""The characters that agents and tasks exchange, and the space of such texts."""

from __future__ import annotations

import re
from typing import Any

from gymnasium import spaces

_RANGES = (
    (0x20, 0x7E),  # ASCII
    (0xA1, 0x17F),  # Latin
    (0x391, 0x3C9),  # Greek
    (0x410, 0x44F),  # Cyrillic
    (0x2010, 0x2027),  # dashes, quotes, bullets, ellipsis
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # mathematics
    (0x2500, 0x25FF),  # boxes and blocks
)
UNSEEN = "\ufffd"  # stands for every other character
CHARSET = "\n\t" + "".join(
    c for low, high in _RANGES for c in map(chr, range(low, high + 1)) if c.isprintable()
) + "\u20ac" + UNSEEN  # fmt: skip
_OTHER = re.compile(f"[^{re.escape(CHARSET)}]")


def clean(text: str) -> str:
    """The text with line ends as newlines and every character beyond `CHARSET` as U+FFFD.

    >>> clean("one\\r\\ntwo\\x00")
    'one\\ntwo\ufffd'
    """
    if text.isascii() and text.isprintable():
        return text
    return _OTHER.sub(UNSEEN, text.replace("\r\n", "\n").replace("\r", "\n"))


def other_character(text: str) -> str | None:
    """The first character beyond `CHARSET`, None where there is none."""
    if text.isascii() and text.isprintable():
        return None
    found = _OTHER.search(text)
    return found.group() if found else None


def text_space(max_length: int, seed: Any = None) -> spaces.Text:
    """Texts of at most `max_length` characters of `CHARSET`, the empty one included."""
    return spaces.Text(max_length, min_length=0, charset=CHARSET, seed=seed)
