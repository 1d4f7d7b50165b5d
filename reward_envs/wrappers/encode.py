"""Observations as numbers, in one place: bytes for exact counting, float features for projections and networks."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_envs.wrappers.batch import Tree
from reward_envs.wrappers.errors import RewardError

TEXT_WIDTH = 64  # features of a text


def row_bytes(tree: Tree, resolution: float | None = None) -> NDArray[np.uint8]:
    """uint8[N, B]: each row of an observation tree as bytes; equal rows, equal bytes.

    Floats are first rounded to multiples of `resolution` where one is given; -0.0 counts as 0.0. A text is its 8-byte
    BLAKE2b hash.
    """
    if isinstance(tree, Mapping | tuple):
        parts = [tree[k] for k in sorted(tree)] if isinstance(tree, Mapping) else list(tree)
        return np.concatenate([row_bytes(p, resolution) for p in parts], axis=1)
    if tree.dtype.kind in "OU":
        hashes = [hashlib.blake2b(str(t).encode(), digest_size=8).digest() for t in tree]
        return np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(len(tree), 8)
    if tree.dtype.kind == "f":
        tree = tree + 0.0 if resolution is None else np.rint(tree / resolution).astype(np.int64)
    numbers = math.prod(tree.shape[1:])
    flat = np.ascontiguousarray(tree).reshape(len(tree), numbers)
    return flat.view(np.uint8).reshape(len(tree), numbers * flat.itemsize)


def features(tree: Tree, space: Any = None) -> NDArray[np.float32]:
    """float32[N, D]: each row of an observation tree as numbers.

    Boxes and MultiBinary are flattened, Discrete and MultiDiscrete are one-hot, a text becomes signed counts of its
    hashed character trigrams over 64 places, divided by their root; parts of a dict follow by key. Without a space,
    numbers stand for themselves.

    Raises RewardError for spaces that it does not know.
    """
    if isinstance(tree, Mapping):
        return np.concatenate([features(tree[k], _part(space, k)) for k in sorted(tree)], axis=1)
    if isinstance(tree, tuple):
        return np.concatenate([features(v, _part(space, i)) for i, v in enumerate(tree)], axis=1)
    if tree.dtype.kind in "OU":
        return np.stack([_trigrams(str(t)) for t in tree]) if len(tree) else np.zeros((0, TEXT_WIDTH), np.float32)
    kind = type(space).__name__
    if kind == "Discrete":
        return _one_hot(tree[:, None] - int(space.start), np.array([int(space.n)]))
    if kind == "MultiDiscrete":
        return _one_hot(tree.reshape(len(tree), -1) - space.start.ravel(), space.nvec.ravel())
    if kind in ("Box", "MultiBinary", "NoneType"):
        numbers: NDArray[np.float32] = tree.reshape(len(tree), math.prod(tree.shape[1:])).astype(np.float32)
        return numbers
    raise RewardError(f"no features for a {kind} space: hand the method a Box, Discrete, MultiDiscrete, MultiBinary, "
                      f"Text, Dict or Tuple observation, or encode it in a wrapper below.")  # fmt: skip


def _part(space: Any, key: Any) -> Any:
    return None if space is None else space[key]


def _one_hot(values: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.float32]:
    out = np.zeros((len(values), int(sizes.sum())), np.float32)
    places = values.astype(np.int64) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    np.put_along_axis(out, places, 1.0, axis=1)
    return out


def _trigrams(text: str) -> NDArray[np.float32]:
    out = np.zeros(TEXT_WIDTH, np.float32)
    padded = f"  {text} "
    for i in range(len(padded) - 2):
        code = zlib.crc32(padded[i : i + 3].encode())
        out[(code >> 1) % TEXT_WIDTH] += 1.0 if code & 1 else -1.0
    size = float(np.linalg.norm(out))
    return out / np.float32(size) if size > 0 else out
