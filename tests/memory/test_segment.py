"""A segment finds what a search through all documents finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory.segment import border_of, build_segment
from engine.memory.suffixes import LONGEST, match
from tests.memory.brute import followers, segment_of

END = -1
VOCABULARIES = [300, 65_534, 65_535, 65_536, 70_000]


def documents(vocabulary: int):
    """Few different tokens, so that much repeats; the lowest and the highest are among them."""
    token = st.sampled_from([0, 1, 7, vocabulary - 1])
    one = st.lists(token, max_size=40) | st.integers(0, 70).map(lambda size: [7] * size)
    return st.lists(one, max_size=6).map(lambda some: some + some[:2])


def found(segment, context: list[int]) -> list[int]:
    places = segment.places_after(np.array(context, segment.tokens.dtype))
    border = border_of(segment.tokens.dtype)
    return sorted(END if segment.tokens[place] == border else int(segment.tokens[place]) for place in places)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_context_is_found_wherever_it_stands(vocabulary, data):
    texts = data.draw(documents(vocabulary))
    segment = segment_of(texts, vocabulary)
    assert segment.count == sum(map(len, texts))
    assert sorted(segment.order.tolist()) == list(range(1, len(segment.tokens)))
    assert (segment.followers == segment.tokens[segment.order]).all()
    contexts = [text[begin : begin + size] for text in texts for begin in (0, 1, 9) for size in (1, 2, 5, LONGEST)]
    contexts += [data.draw(st.lists(st.sampled_from([0, 1, 7, vocabulary - 1]), min_size=1, max_size=4))]
    for context in filter(None, contexts):
        assert found(segment, context) == followers(texts, context, END)


@pytest.mark.parametrize("vocabulary", [300, 70_000])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_longest_known_end_of_a_context(vocabulary, data):
    texts = data.draw(documents(vocabulary))
    context = data.draw(st.lists(st.sampled_from([0, 1, 7]), max_size=LONGEST + 3))
    segment = segment_of(texts, vocabulary)
    ranges = np.zeros((LONGEST + 1, 2), np.int64)
    longest = match(segment.tokens, segment.order, np.array(context, segment.tokens.dtype), ranges)
    known = [
        size
        for size in range(1, min(LONGEST, len(context)) + 1)
        if followers(texts, context[len(context) - size :], END)
    ]
    assert longest == max(known, default=0)
    for size in range(1, longest + 1):
        low, high = ranges[size]
        assert high - low == len(followers(texts, context[len(context) - size :], END))


def test_many_places_on_all_cores_are_sorted_as_few_are():
    draw = np.random.default_rng(3)
    ids = draw.integers(0, 5, 70_000)
    segment = build_segment([("a.py", "d", ids)], 300)
    text = ids.tolist()
    for begin in range(0, 69_000, 6_900):
        context = text[begin : begin + 7]
        assert found(segment, context) == followers([text], context, END)


def test_documents_by_place_and_by_path():
    segment = build_segment(
        [("a", "1", np.array([5, 6])), ("b", "2", np.array([], int)), ("a", "3", np.array([7]))], 300
    )
    assert [entry.digest for entry in segment.of_path("a")] == ["1", "3"] and segment.of_path("c") == []
    assert [segment.entry_at(place).digest for place in range(1, 7)] == ["1", "1", "1", "2", "3", "3"]
    assert segment.tokens.tolist() == [65535, 5, 6, 65535, 65535, 7, 65535]


def test_a_build_that_is_cancelled_gives_nothing():
    assert build_segment([("a", "1", np.arange(9))], 300, lambda: True) is None
    assert build_segment([("a", "1", np.arange(9))], 300, lambda: False) is not None
