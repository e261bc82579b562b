"""Texts as the editor has them: every kind of change, line end and column."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.language_server.documents import Change, Document, Documents
from app.language_server.positions import Encoding, Position, Range, lines_of, plain

at_any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PIECES = ["\r", "\n", "\r\n", "a", "é", "😀", "\t", "\u2028", "\x0c", "字", ""]
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
positions = st.builds(Position, st.integers(0, 8), st.integers(0, 14))


def offset_of(text: str, position: Position, encoding: Encoding) -> int:
    """The slow way: line by line, unit by unit."""
    begins = [0, *(found.end() for found in re.finditer("\r\n|\r|\n", text))]
    if position.line >= len(begins):
        return len(text)
    place = begins[position.line]
    units = 0
    while place < len(text) and text[place] not in "\r\n":
        units += (
            len(text[place].encode({"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding, encoding)))
            // {
                "utf-8": 1,
                "utf-16": 2,
                "utf-32": 4,
            }[encoding]
        )
        if units > position.character:
            break
        place += 1
    return place


@settings(at_any_speed, max_examples=400)
@given(texts, st.lists(st.tuples(positions, positions, texts), max_size=6), st.sampled_from(Encoding))
def test_incremental_changes_are_those_of_a_plain_string(text, changes, encoding):
    document = Document(Path("a.py"), text)
    for start, end, new in changes:
        begin, stop = sorted((offset_of(text, start, encoding), offset_of(text, end, encoding)))
        text = text[:begin] + new + text[stop:]
        document.apply(Change(new, Range(start, end)), encoding)
        assert document.text == text
        assert document.lines == lines_of(text)


@at_any_speed
@given(texts, texts)
def test_a_full_change_replaces_everything(old, new):
    document = Document(Path("a.py"), old)
    document.apply(Change(new), Encoding.UTF16)
    assert document.text == new and document.lines == lines_of(new)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 10), ("utf-16", 7), ("utf-32", 6)])
def test_columns_after_an_emoji(encoding, column):
    document = Document(Path("a.py"), "x\r\né😀 = |rest\r\nlast")
    at = Position(1, column)
    assert document.around(Range(at, at), Encoding(encoding)) == ("x\né😀 = |", "rest\nlast")


def test_a_column_inside_a_character_is_where_it_begins():
    document = Document(Path("a.py"), "a😀b")
    at = Position(0, 2)
    assert document.around(Range(at, at), Encoding.UTF16) == ("a", "😀b")


def test_half_a_pair_becomes_a_character_of_equal_width():
    assert plain("a\ud83db") == "a\ufffdb" and plain("\ud83d\ude00") == "😀" and plain("😀") == "😀"


def edited(documents: Documents, besides: str = "open") -> list[str]:
    return [chunk.text for chunk in documents.edited(documents.get(besides))]


@pytest.fixture
def documents():
    documents = Documents()
    documents.open("open", Document(Path("open.py"), "mine\n"))
    documents.open("other", Document(Path("other.py"), "".join(f"line {n}\n" for n in range(100))))
    return documents


def insert(documents: Documents, line: int, text: str, uri: str = "other") -> None:
    at = Position(line, 0)
    documents.change(uri, (Change(text, Range(at, at)),), Encoding.UTF16)


def test_edits_of_other_files_are_taken_along_and_move_with_their_lines(documents):
    assert edited(documents) == []
    insert(documents, 50, "new = 1\n")
    insert(documents, 2, "above\n" * 30)
    place, above = edited(documents)
    around = [*(f"line {n}" for n in range(46, 50)), "new = 1", *(f"line {n}" for n in range(50, 55))]
    assert place.split("\n")[:-1] == around
    assert "above" in above
    insert(documents, 0, "also\n", "open")
    assert len(edited(documents)) == 2, "the file at the cursor is sent as it is"
    documents.close("other")
    assert edited(documents) == []


def test_typing_in_one_place_is_one_edit(documents):
    for _ in range(20):
        insert(documents, 50, "x")
    assert len(edited(documents)) == 1


def test_of_a_full_change_only_the_lines_that_differ_were_edited(documents):
    text = documents.get("other").text
    documents.change("other", (Change(text.replace("line 50", "fifty")),), Encoding.UTF16)
    (place,) = edited(documents)
    around = [*(f"line {n}" for n in range(46, 50)), "fifty", *(f"line {n}" for n in range(51, 55))]
    assert place.split("\n")[:-1] == around
    documents.change("other", (Change(documents.get("other").text),), Encoding.UTF16)
    assert len(edited(documents)) == 1


@at_any_speed
@given(st.lists(st.tuples(positions, positions, texts), max_size=12))
def test_edited_places_stay_inside_the_file(changes):
    document = Document(Path("a.py"), "a\nb\nc\n")
    for start, end, new in changes:
        document.apply(Change(new, Range(start, end)), Encoding.UTF16)
        for first, last in document.edits.places(len(document.lines)):
            assert 0 <= first <= last < len(document.lines)
