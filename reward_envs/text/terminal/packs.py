"""All templates of terminal tasks, by pack and name."""

from __future__ import annotations

import zlib

import numpy as np

from reward_envs.text.terminal.cues import CUES
from reward_envs.text.terminal.data import DATA
from reward_envs.text.terminal.draw import SPLITS, Draw
from reward_envs.text.terminal.edit import EDIT
from reward_envs.text.terminal.find import FIND
from reward_envs.text.terminal.long import LONG
from reward_envs.text.terminal.template import Instance, Template
from reward_envs.text.terminal.work import WORK

PACKS: dict[str, dict[str, Template]] = {
    "find": FIND.templates,
    "edit": EDIT.templates,
    "data": DATA.templates,
    "work": WORK.templates,
    "cues": CUES.templates,
    "long": LONG.templates,
}
TEMPLATES: dict[str, Template] = {name: make for pack in PACKS.values() for name, make in pack.items()}


def draw_instance(template: str, seed: int, split: str = "train") -> Instance:
    """The instance of a template that a seed gives; each split has words of its own.

    Raises ValueError for an unknown template or split.

    >>> draw_instance("largest-file", seed=0).checks[0].name
    'the largest file is named'
    """
    if template not in TEMPLATES:
        raise ValueError(f"no template {template!r}: there are {', '.join(TEMPLATES)}.")
    if split not in SPLITS:
        raise ValueError(f"split={split!r}: it is one of {', '.join(SPLITS)}.")
    word = (zlib.crc32(template.encode()), SPLITS.index(split), seed)
    return TEMPLATES[template](Draw(np.random.default_rng(np.random.SeedSequence(word)), split))
