"""Which tokens count: those that lie wholly in what the agent wrote."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_envs.text.transcript import AUTHORS, Transcript, reward_place

SPANS = st.lists(st.tuples(st.sampled_from(AUTHORS), st.text("ab \n", max_size=5)), max_size=8)


def said(spans: list[tuple[str, str]]) -> Transcript:
    transcript = Transcript()
    for turn, (author, text) in enumerate(spans):
        transcript.add(author, text, turn)
    return transcript


@given(SPANS)
def test_single_characters_are_masked_by_their_author(spans: list[tuple[str, str]]) -> None:
    transcript = said(spans)
    assert transcript.text == "".join(text for _, text in spans)
    mask = transcript.token_mask([(i, i + 1) for i in range(len(transcript.text))])
    assert mask.tolist() == [author == "agent" for author, text in spans for _ in text]
    assert len(transcript.spans) == sum(bool(text) for _, text in spans)


@given(SPANS, st.data())
def test_a_token_counts_where_all_its_characters_do(spans: list[tuple[str, str]], data: st.DataObject) -> None:
    transcript = said(spans)
    n = len(transcript.text)
    start = data.draw(st.integers(0, n))
    end = data.draw(st.integers(start, n))
    each = transcript.token_mask([(i, i + 1) for i in range(start, end)])
    assert transcript.token_mask([(start, end)]).tolist() == [bool(each.size and each.all())]


def test_a_tool_that_repeats_the_agent_is_not_scored() -> None:
    transcript = said([("system", "sum? "), ("agent", "echo 42"), ("tool", "42"), ("agent", "ok")])
    mask = transcript.token_mask([(0, 5), (5, 9), (10, 12), (12, 14), (11, 13), (14, 16), (0, 0)])
    assert mask.tolist() == [False, True, True, False, False, True, False]
    assert reward_place(mask) == 5
    assert reward_place(np.zeros(4, np.bool_)) is None
    assert str(transcript) == "sum? \n> echo 42\n42\n> ok"


def test_wrong_authors_and_offsets_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="author='user'"):
        said([("user", "hi")])
    with pytest.raises(ValueError, match="a token reaches to 9"):
        said([("agent", "hi")]).token_mask([(0, 9)])
    assert said([]).token_mask([]).shape == (0,)
