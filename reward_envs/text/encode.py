"""Texts as vectors: hashed n-grams, which need nothing, and sentence embeddings, which need a model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reward_envs.kernels.text import hashed_ngrams


class Encoder(Protocol):
    """Texts to rows of length 1, or 0 for a text that holds nothing."""

    @property
    def size(self) -> int:
        """Numbers of a row."""
        ...

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32[N, size]."""
        ...


@dataclass(frozen=True)
class NGrams:
    """Signed counts of hashed n-grams, divided by their root of squares: float32[N, size].

    Texts are read in lower case. The product of two rows is near the cosine of the texts' n-gram counts, the nearer the
    larger `size`; nothing is learned and no word has a meaning.

    Parameters
    ----------
    size
        Numbers of a row.
    low, high
        Lengths of n-grams of characters.
    words
        N-grams of 1 to `words` words.

    Source: Weinberger, Dasgupta, Langford, Smola and Attenberg 2009, "Feature Hashing for Large Scale Multitask
    Learning", ICML, arXiv:0902.2206.

    >>> a, b, c = NGrams()(["open the red door", "Open the red door!", "sell nine shares"])
    >>> bool(a @ b > 0.8), bool(abs(a @ c) < 0.2)
    (True, True)
    """

    size: int = 256
    low: int = 3
    high: int = 4
    words: int = 2

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.size))
        for row, text in zip(rows, texts, strict=True):
            codes = np.frombuffer(text.lower().encode("utf-32-le", "surrogatepass"), np.uint32)
            hashed_ngrams(codes, self.low, self.high, self.words, row)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(length == 0.0, 1.0, length)).astype(np.float32)


@dataclass(frozen=True)
class MiniLM:
    """Sentence embeddings of a small language model, float32[N, 384], of length 1.

    Needs `pip install "reward-envs[embeddings]"` and the model's weights, which are fetched at the first call.

    Parameters
    ----------
    model
        Name or folder of the model.
    size
        Numbers of a row.

    Raises ImportError without the package, ValueError where the model gives rows of another size.

    Source: Wang et al. 2020, "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
    Transformers", arXiv:2002.10957.
    """

    model: str = "sentence-transformers/all-MiniLM-L6-v2"
    size: int = 384

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.asarray(_loaded(self.model).encode(list(texts), normalize_embeddings=True), np.float32)
        if rows.shape != (len(texts), self.size):
            raise ValueError(f"{self.model} gives rows of {rows.shape[-1]} numbers: write MiniLM(..., size=that).")
        return rows


@functools.cache
def _loaded(model: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ImportError('MiniLM needs a package: pip install "reward-envs[embeddings]"') from error
    return SentenceTransformer(model)
