"""Where a completion meets the text after the cursor."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.generate.trimming import SuffixWatch


def trimmed(prefix: str, pieces: list[str], suffix: str) -> tuple[str, bool]:
    """What is shown of a completion, and whether it ended early."""
    watch = SuffixWatch(prefix, suffix)
    shown = ""
    for piece in pieces:
        shown += watch.feed(piece)
        if watch.joined:
            return shown, True
    return shown + watch.finish(), False


@pytest.mark.parametrize(
    ("prefix", "text", "suffix", "kept"),
    [
        # Lines that come again.
        ("def f(x):\n    y = x", " + 1\n    return y\n\n\ndef g", "\n    return y\n", " + 1"),
        ("def f(x):\n    y = x", " + 1\n    return y\n", "\n\n    return y\n", " + 1"),
        ("def f(x):\n", "    y = x\n    return y\n", "    return y\n", "    y = x\n"),
        ("a = 1\n", "return y\nb", "return y\n", ""),
        ("def f(x):\n    ", "return y\n", "\n    return y\n", ""),
        ("def f(x):\n    ", "y = x\n    return y\n", "\n    return y\n", "y = x"),
        # A closing bracket that is there already, one or several, on this line or on the next.
        ("print(", "x)", ")", "x"),
        ("foo(bar(x", "))", "))", ""),
        ("foo(bar(", "x))\n", "))\n", "x"),
        ("call({'a': [", "1, 2]})", "]})", "1, 2"),
        ("fn f() {\n  x", " = 1;\n}\n", "\n}\n", " = 1;"),
        ("if (a", " && b) {", ") {", " && b"),
        # ... together with a quote.
        ('print("hel', 'lo")', '")', "lo"),
        ("open('a", ".txt')", "')", ".txt"),
        # The tail, when the end comes.
        ("x = ", "compute(value", "value)\n", "compute("),
    ],
)
def test_what_is_there_already_is_not_suggested_again(prefix, text, suffix, kept):
    for pieces in ([text], list(text), [text[:2], text[2:]]):
        assert trimmed(prefix, pieces, suffix)[0] == kept


@pytest.mark.parametrize(
    ("prefix", "text", "suffix"),
    [
        ("foo(bar(x", ")", ")"),  # one for each
        ("foo(", "bar(x), [1]", ")"),
        ("print(", '")", x', ")"),  # a bracket in quotes closes nothing
        ("x = (", "1 + 2)", ""),
        ("x = (", "1 + 2)", "\ny = 3\n"),
        ("text :) ", "foo(1))", ") more"),  # it fitted nothing before: no opinion
        ("", "a = 1\n", "\nb = 2\n"),
        ("if a:\n", "    b\n    return None\n", "return None\n"),  # indented otherwise
        ('print("a', '", "b', '")'),
        ("    x = ", "return_y\n", "\n    return_y\n"),
        ("f(", "x, y", "\n"),
    ],
)
def test_what_belongs_to_the_completion_stays(prefix, text, suffix):
    for pieces in ([text], list(text)):
        assert trimmed(prefix, pieces, suffix) == (text, False)


def test_a_completion_that_reaches_the_next_lines_ends_there():
    shown, joined = trimmed("", list("a = 1\nreturn x\nand much more\n"), "\nreturn x\nreturn y\n")
    assert (shown, joined) == ("a = 1", True)


def test_what_may_be_repeated_is_held_until_it_is_known():
    watch = SuffixWatch("x = ", "\nreturn x\n")
    assert [watch.feed(piece) for piece in ("1", "\n", "ret", "ry")] == ["1", "", "", "\nretry"]


@given(
    st.text("a(\n ", max_size=8),
    st.text('ab()[] "\n', max_size=30),
    st.text('ab()] "\n', max_size=12),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_the_cuts_between_tokens_change_nothing(prefix, text, suffix, cuts):
    places = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    shown, joined = trimmed(prefix, pieces, suffix)
    assert (shown, joined) == trimmed(prefix, list(text), suffix)
    assert text.startswith(shown)
