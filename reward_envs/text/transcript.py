"""What was said in an episode, by whom, and which tokens of it the agent wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Author = Literal["system", "agent", "tool", "environment"]
AUTHORS: tuple[Author, ...] = ("system", "agent", "tool", "environment")


class Span(NamedTuple):
    """A piece of text, its author, and the turn that it belongs to; 0 is the reset."""

    author: str
    text: str
    turn: int


@dataclass
class Transcript:
    """Spans in the order in which they were said; `text` joins them without anything between.

    A model is scored only on what it wrote. Its tokens are those that lie wholly within spans of the agent: what a tool
    printed, what the environment added, and padding never count, also where a tool repeats the agent's words.

    Raises ValueError for an author that is none of system, agent, tool and environment.

    >>> said = Transcript()
    >>> said.add("agent", "sum?", 1)
    >>> said.add("tool", "42", 1)
    >>> said.token_mask([(0, 3), (3, 4), (4, 6), (0, 0)]).tolist()
    [True, True, False, False]
    """

    spans: list[Span] = field(default_factory=list)

    def add(self, author: str, text: str, turn: int) -> None:
        """Append a span; an empty text adds none."""
        if author not in AUTHORS:
            raise ValueError(f"author={author!r}: it is one of {', '.join(AUTHORS)}.")
        if text:
            self.spans.append(Span(author, text, turn))

    @property
    def text(self) -> str:
        """All spans, joined."""
        return "".join(span.text for span in self.spans)

    @property
    def authors(self) -> NDArray[np.int8]:
        """int8[characters]: the place of each character's author in `AUTHORS`."""
        lengths = [len(span.text) for span in self.spans]
        return np.repeat(np.array([AUTHORS.index(s.author) for s in self.spans], np.int8), lengths)

    def token_mask(self, offsets: Iterable[Sequence[int]]) -> NDArray[np.bool_]:
        """bool[tokens]: the tokens that the agent wrote.

        Parameters
        ----------
        offsets
            (start, end) of each token in `text`, as tokenizers give it with `return_offsets_mapping=True`; an empty
            range is padding.

        Raises ValueError where a token reaches beyond the text.
        """
        by_agent = np.concatenate([[0], np.cumsum(self.authors == AUTHORS.index("agent"))])
        at = np.array(list(offsets), np.int64).reshape(-1, 2)
        if at.size and (at.min() < 0 or at.max() >= len(by_agent)):
            raise ValueError(f"a token reaches to {at.max()}, the text has {len(by_agent) - 1} characters.")
        length = at[:, 1] - at[:, 0]
        mask: NDArray[np.bool_] = (length > 0) & (by_agent[at[:, 1]] - by_agent[at[:, 0]] == length)
        return mask

    def __str__(self) -> str:
        """As a person reads it: the agent's text behind "> ", each span on lines of its own."""
        return "\n".join(_shown(span) for span in self.spans)


def _shown(span: Span) -> str:
    text = span.text.rstrip("\n")
    return text if span.author != "agent" else "\n".join(f"> {line}" for line in text.split("\n"))


def reward_place(mask: NDArray[np.bool_]) -> int | None:
    """The agent's last token, where the reward of a text belongs; None where it wrote nothing."""
    places = np.flatnonzero(mask)
    return int(places[-1]) if places.size else None
