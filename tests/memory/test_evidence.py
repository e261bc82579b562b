"""Evidence is what counting by hand gives."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory import evidence as module
from engine.memory.evidence import ORDERS, Counter, Evidence, Source
from engine.memory.segment import border_of
from tests.memory.brute import followers, segment_of

END = 2
TOKENS = st.sampled_from([0, 1, 7, 299])
TEXTS = st.lists(st.lists(TOKENS, max_size=40), max_size=5)


def same(found: Evidence, wanted: dict[int, Tally]) -> None:
    """`wanted`: by order, how often each token followed."""
    for row, order in enumerate(ORDERS.tolist()):
        counted = {int(token): int(n) for token, n in zip(found.tokens, found.counts[row], strict=True) if n}
        assert counted == dict(wanted[order])
        assert found.sums[row] == sum(counted.values()) and found.distinct[row] == len(counted)
        for token in (0, 1, 2, 7, 299, 150):
            assert found.of(token)[row] == wanted[order][token]
    assert len(set(found.tokens.tolist())) == len(found.tokens)


def by_hand(documents: list[list[int]], context: list[int], end: int = END) -> dict[int, Tally]:
    return {
        order: Tally(followers(documents, context[len(context) - order :], end) if order <= len(context) else ())
        for order in ORDERS.tolist()
    }


@pytest.mark.parametrize("vocabulary", [300, 70_000])
@settings(max_examples=60, deadline=None)
@given(first=TEXTS, second=TEXTS, context=st.lists(TOKENS, max_size=26), data=st.data())
def test_counts_of_two_segments_without_the_open_file_and_what_is_dead(vocabulary, first, second, context, data):
    if first and data.draw(st.booleans()):  # a context that occurs
        text = data.draw(st.sampled_from(first))
        context = text[: data.draw(st.integers(0, len(text)))]
    sources, live = [], []
    for texts in (first, second):
        segment = segment_of(texts, vocabulary)
        own = data.draw(st.sampled_from([None, *range(len(texts))]))
        gone = data.draw(st.sets(st.sampled_from(range(len(texts))))) if texts else set()
        dead = np.zeros(len(segment.tokens) if gone else 0, np.uint8)
        for number in gone:
            entry = segment.entries[number]
            dead[entry.start : entry.start + entry.count + 1] = 1
        entry = None if own is None else segment.entries[own]
        range_ = (0, 0) if entry is None else (entry.start, entry.start + entry.count + 1)
        sources.append(Source(segment, dead, range_))
        live += [text for number, text in enumerate(texts) if number not in gone and number != own]
    counter = Counter(vocabulary, END)
    given_context = np.array(context[-24:], sources[0].segment.tokens.dtype)
    for _ in range(2):  # the room is used again
        found = counter.of_segments(tuple(sources), given_context)
        same(found, by_hand(live, context[-24:]))


def test_a_document_is_never_read_into_the_next_and_its_end_is_the_end_of_the_text():
    counter = Counter(300, END)
    source = Source(segment_of([[5, 6], [7, 8], [6, 9]], 300))
    found = counter.of_segments((source,), np.array([6], np.uint16))
    assert dict(zip(found.tokens.tolist(), found.counts[0].tolist(), strict=True)) == {END: 1.0, 9: 1.0}
    across = counter.of_segments((source,), np.array([6, 7], np.uint16))
    assert across.sums[0] > 0 == across.sums[1]


@settings(max_examples=80, deadline=None)
@given(st.lists(TOKENS, max_size=60), st.lists(TOKENS, max_size=40), st.lists(TOKENS, max_size=3))
def test_counts_of_an_open_file(before, after, written):
    border = border_of(np.dtype(np.uint16))
    text = np.array([*before, border, *after], np.uint16)
    context = (before + written)[-24:]
    found = Counter(300, END).of_text(text, len(before), np.array(context, np.uint16))
    # Each side is a document of its own, without an end: the cursor and the end of the file are no evidence.
    wanted = {order: Tally(token for token in tally.elements() if token >= 0) for order, tally in
              by_hand([before, after], context, -1).items()}  # fmt: skip
    same(found, wanted)


def test_other_texts_behind_an_open_file_are_documents_of_their_own():
    border = border_of(np.dtype(np.uint16))
    text = np.array([5, 6, border, 6, border, 5, 6, 9, border, 6, 8], np.uint16)
    found = Counter(300, END).of_text(text, 2, np.array([5, 6], np.uint16))
    assert dict(zip(found.tokens.tolist(), found.counts[0].tolist(), strict=True)) == {9: 1.0, 8: 1.0}
    assert found.of(9)[1] == 1 and found.of(8)[1] == 0  # only the first was after both


def test_a_common_context_is_sampled_evenly():
    ids = [1, 7] * 3_000 + [1, 0] * 1_000
    found = Counter(300, END).of_segments((Source(segment_of([ids], 300)),), np.array([9, 1], np.uint16))
    counts = dict(zip(found.tokens.tolist(), found.counts[0].tolist(), strict=True))
    assert found.sums[0] == pytest.approx(4_000, abs=8)
    assert counts[7] == pytest.approx(3_000, rel=0.1) and counts[0] == pytest.approx(1_000, rel=0.1)


def test_only_so_much_of_an_open_file_is_gone_through(monkeypatch):
    far = [5, 6]
    text = np.array([*far, *[0] * module.MOST_TEXT, 5, 65535], np.uint16)
    found = Counter(300, END).of_text(text, len(text) - 1, np.array([5], np.uint16))
    assert len(found.tokens) == 0
    near = np.array([*far, *[0] * 10, 5, 65535], np.uint16)
    assert Counter(300, END).of_text(near, len(near) - 1, np.array([5], np.uint16)).tokens.tolist() == [6]
