"""Pieces of other files: the most similar ones, and the same ones while somebody types."""

from __future__ import annotations

from engine.generate.context import MOST_FILES, RecentFiles, around_cursor, chunks, identifiers, similarity

BASKET = "def basket_total(items):\n    return sum(item.price for item in items)\n"
SERVER = "def open_socket(address, port):\n    listener = socket.bind(address, port)\n    return listener\n"


def test_identifiers_and_their_likeness():
    assert identifiers("def sum_of(x1): größe = 3abc") == {"def", "sum_of", "größe"}
    assert similarity(frozenset("ab"), frozenset("bc")) == 1 / 3
    assert similarity(frozenset(), frozenset()) == 0.0


def test_a_file_in_pieces():
    text = "".join(f"value_{number} = 1\n" for number in range(70)) + "\n" * 40
    pieces = chunks("a.py", text)
    assert [piece.text.count("\n") for piece in pieces] == [32, 32, 32]  # the blank rest is not one
    assert text.startswith("".join(piece.text for piece in pieces))


def test_the_most_similar_piece_comes_last_and_the_own_file_never():
    recent = RecentFiles()
    place = "for item in items:\n    total += item.price\n"
    recent.note("server.py", SERVER + "items = 1\n")
    recent.note("basket.py", BASKET)
    recent.note("own.py", place)
    recent.note("nothing.py", "import zlib\n")
    assert [chunk.path for chunk in recent.choose("own.py", place, 5)] == ["server.py", "basket.py"]
    assert [chunk.path for chunk in recent.choose("own.py", place, 1)] == ["basket.py"]
    assert recent.choose("own.py", place, 0) == () == recent.choose("own.py", "", 3)
    recent.forget("basket.py")
    assert [chunk.path for chunk in recent.choose("own.py", place, 1)] == ["server.py"]


def test_of_equals_the_file_that_was_edited_last_wins():
    recent = RecentFiles()
    for name in ("a.py", "b.py", "c.py"):
        recent.note(name, BASKET)
    recent.note("a.py", BASKET)
    assert [chunk.path for chunk in recent.choose("own.py", BASKET, 2)] == ["c.py", "a.py"]


def test_only_so_many_files_are_remembered():
    recent = RecentFiles()
    for number in range(MOST_FILES + 3):
        recent.note(f"{number}.py", BASKET)
    assert len(recent.choose("own.py", BASKET, 1000)) == MOST_FILES


def test_the_place_stays_while_somebody_types():
    text = "".join(f"value_{number} = 1\n" for number in range(100))
    places = {around_cursor(text[:end]) for end in range(len(text) - 150, len(text))}
    assert len(places) == 2
    assert around_cursor("a\nb\nc") == "a\nb"
