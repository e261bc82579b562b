"""Lines in surroundings like the cursor's, against a search through the text of every file."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory import neighbours as columns
from engine.memory.evidence import Source
from engine.memory.neighbours import CursorLine, Neighbours
from engine.memory.segment import build_segment
from tests.generate.small import plain_tokenizer, tokenizer

FILE = """def first(items):
    total = 0
    for item in items:
        total += item.price
    return total


def second(items):
    total = 0
    for item in items:
        total += item.weight
    return total
"""


def found(before: str, after: str, others=(), typed: str = "", tokens=None, most: int = 20):
    """Neighbours of a line between two texts; `others`: files of the repository."""
    tokens = tokens or tokenizer()
    documents = [(f"{number}.py", f"d{number}", tokens.encode(text)) for number, text in enumerate(others)]
    sources = (Source(build_segment(documents, tokens.vocab_size)),) if documents else ()
    begin = before.rfind("\n") + 1
    line = CursorLine(tokens.encode(before[:begin]), tokens.encode(after), len(before) - begin, typed.encode())
    return Neighbours(tokens).find(line, sources, most)


def rows(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("tokens", [tokenizer, plain_tokenizer], ids=["own", "plain"])
def test_the_line_between_the_same_lines_comes_first(tokens):
    before = FILE + "\n\ndef third(items):\n    total = 0\n    "
    after = "\n        total += item.size\n    return total\n"
    best = found(before, after, tokens=tokens())[0]
    assert best.text == "for item in items:" and best.around[0] == "total = 0"
    assert best.likeness[columns.SAME_ABOVE] == 1 and best.likeness[columns.OWN_FILE] == 1
    assert best.likeness[columns.TIMES_IN_FILE] == pytest.approx(np.log(3))


@pytest.mark.parametrize("way", ["above", "below"])
def test_lines_of_the_repository_are_found_by_the_line_above_or_below(way):
    if way == "above":
        best = found("x = 1\ndef second(items):\n    ", "\nprint(x)\n", [FILE])[0]
        assert best.text == "total = 0" and best.likeness[columns.SAME_ABOVE] == 1
    else:
        best = found("x = 1\n    ", "\n    for item in items:\n", [FILE])[0]
        assert best.text == "total = 0" and best.likeness[columns.SAME_BELOW] == 1
    assert best.likeness[columns.OWN_FILE] == 0 and best.likeness[columns.TIMES_IN_REPOSITORY] > 0


def test_what_is_left_out_of_a_source_is_not_found():
    tokens = tokenizer()
    segment = build_segment([("a.py", "d", tokens.encode(FILE))], tokens.vocab_size)
    line = CursorLine(tokens.encode("def second(items):\n"), tokens.encode("\n"), 4, b"")
    dead = np.ones(len(segment.tokens), np.uint8)
    finder = Neighbours(tokens)
    texts = [[one.text for one in finder.find(line, (source,), 9)] for source in (
        Source(segment), Source(segment, dead), Source(segment, own=(0, len(segment.tokens)))
    )]  # fmt: skip
    assert "total = 0" in texts[0] and "total = 0" not in texts[1] + texts[2]


def test_only_what_begins_with_what_is_typed():
    before = FILE + "\n\ndef third(items):\n    total = 0\n    "
    assert {one.text for one in found(before, "\n", [FILE], typed="total += item.w")} == {"total += item.weight"}
    assert found(before, "\n", [FILE], typed="total += item.weight") == []


def test_blank_lines_and_indentation_do_not_count():
    before = "a = one()\n\n\n      b = two()\nc = three()\n\na = one()\n"
    best = found(before, "\nc = three()\n")[0]
    assert best.text == "b = two()" and best.around == ("a = one()", "c = three()")
    assert best.likeness[columns.INDENT] == 0


TEXT = st.lists(st.sampled_from(["x = 1", "  y(x)", "", "for a in b:", "    return z", "}", "# é"]), max_size=12)


@settings(max_examples=50, deadline=None)
@given(TEXT, TEXT, st.lists(TEXT, max_size=2))
def test_every_neighbour_is_a_line_of_a_file_between_its_own_lines(before, after, others):
    texts = ["\n".join(before) + "\n", "\n" + "\n".join(after), *("\n".join(other) for other in others)]
    for one in found(texts[0], texts[1], texts[2:], most=99):
        above, below = one.around
        places = [(["", *rows(text), ""], number) for text in texts for number in range(len(rows(text)))]
        assert any((lines[n], lines[n + 1], lines[n + 2]) == (above, one.text, below) for lines, n in places)
        assert np.isfinite(one.likeness).all() and one.likeness.min() >= 0
    everything = {line for text in texts[:2] for line in rows(text)}
    assert everything <= {one.text for one in found(texts[0], texts[1], texts[2:], most=99)}


def test_nothing_around_finds_nothing():
    assert found("", "") == []
