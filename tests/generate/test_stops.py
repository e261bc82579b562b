"""Where a completion ends; and that it ends there however its text is cut into tokens."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigError
from engine.generate.options import Stops
from engine.generate.stops import END_OF_BLOCK, END_OF_LINE, STOP_STRING, StopWatch, overlap

ALL = Stops(end_of_block=True, stop=("END", "\n\n\n"))


def through(stops: Stops, prefix: str, pieces: list[str]) -> tuple[list[str], str | None]:
    """What is shown piece by piece, and the reason."""
    watch = StopWatch(stops, prefix)
    shown = []
    for piece in pieces:
        shown.append(watch.feed(piece))
        if watch.reason:
            return shown, watch.reason
    return [*shown, watch.finish()], None


def test_a_stop_string_over_the_border_of_tokens_is_never_shown():
    shown, reason = through(Stops(stop=("</div>",)), "", ["a <", "/d", "iv", "> b"])
    assert shown == ["a ", "", "", ""] and reason == STOP_STRING


def test_what_only_began_like_a_stop_string_is_shown():
    shown, reason = through(Stops(stop=("</div>",)), "", ["a <", "/d", "x"])
    assert shown == ["a ", "", "</dx", ""] and reason is None
    assert through(Stops(stop=("</div>",)), "", ["a </di"]) == (["a ", "</di"], None)


def test_the_first_of_several_stop_stop_counts():
    assert through(Stops(stop=("yy", "x")), "", ["abxyy"]) == (["ab"], STOP_STRING)
    assert through(Stops(stop=("aab",)), "", ["a", "a", "a", "b"]) == (["", "", "a", ""], STOP_STRING)


@pytest.mark.parametrize(
    ("pieces", "text", "reason"),
    [
        (["x = 1\ny"], "x = 1", END_OF_LINE),
        (["x", "\r", "\ny"], "x", END_OF_LINE),
        (["x\ry"], "x\ry", None),
        (["\n"], "", END_OF_LINE),
        (["x = 1"], "x = 1", None),
    ],
)
def test_the_end_of_a_line(pieces, text, reason):
    shown, found = through(Stops(end_of_line=True), "", pieces)
    assert ("".join(shown), found) == (text, reason)


@pytest.mark.parametrize(
    ("prefix", "text", "kept"),
    [
        # The cursor's line continues, its block continues, then it ends.
        ("def f():\n    x =", " 1\n    y = 2\n\nprint(x)\n", " 1\n    y = 2"),
        ("def f():\n    ", "x = 1\n    if x:\n        y\n    z\nw", "x = 1\n    if x:\n        y\n    z"),
        ("class A:\n    def f(self):\n        ", "return 1\n\n    def g(self):", "return 1"),
        # The cursor is at the beginning of its line: what is written there says how far it is indented.
        ("def f():\n", "    return 1\n\n\ndef g():", "    return 1"),
        # The cursor's line opens the block.
        ("def f():", "\n    return 1\n\nf()", "\n    return 1"),
        ("if a:\n\tfor b in c:", "\n\t\td()\n\te()", "\n\t\td()"),
        # Brackets at the end of a block that was opened here belong to it.
        ("void f() {", "\n  g();\n}\nint h;", "\n  g();\n}"),
        ("x = call(", "\n    1,\n)\ny = 2", "\n    1,\n)"),
        ("run(() => {", "\n  a();\n});\nb", "\n  a();\n});"),
        # ... but not those of a block around it.
        ("void f() {\n  a();", "\n  b();\n}\n", "\n  b();"),
        ("def f():\r\n    x", " = 1\r\n    y\r\nz", " = 1\r\n    y"),
    ],
)
def test_the_end_of_a_block(prefix, text, kept):
    shown, reason = through(Stops(end_of_block=True), prefix, [text])
    assert ("".join(shown), reason) == (kept, END_OF_BLOCK)


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ("", "a\nb\n    c\n\nd\n"),
        ("    x", " = 1\n\n\n    y\n        z"),
        ("    x", " = 1\n  \n \n    y"),  # blank lines are no dedent
        ("f(", "\n    a\n)"),
    ],
)
def test_a_block_that_goes_on(prefix, text):
    shown, reason = through(Stops(end_of_block=True), prefix, [text])
    assert ("".join(shown), reason) == (text, None)


def test_blank_lines_wait_for_what_follows_them():
    shown, _ = through(Stops(end_of_block=True), "    ", ["a", "\n", "\n", "    b", "\n\n", "c"])
    assert shown == ["a", "", "", "\n\n    b", "", ""]


@given(
    st.sampled_from(["", "    ", "    x", "def f():", "f({", "\t"]),
    st.text("ab \n\r\t)};END", max_size=40),
    st.lists(st.integers(0, 40), max_size=8),
    st.booleans(),
)
def test_the_cuts_between_tokens_change_nothing(prefix, text, cuts, end_of_line):
    stops = Stops(end_of_block=ALL.end_of_block, stop=ALL.stop, end_of_line=end_of_line)
    places = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    shown, reason = through(stops, prefix, pieces)
    letters, same_reason = through(stops, prefix, list(text))
    assert "".join(shown) == "".join(letters) and text.startswith("".join(shown))
    assert reason == same_reason


def test_overlap():
    assert overlap("abcab", "abx") == 2 and overlap("abc", "x") == 0 and overlap("", "a") == overlap("a", "") == 0
    assert overlap("aaa", "aaaa") == 3


@pytest.mark.parametrize(
    ("name", "value"), [("max_tokens", 0), ("max_tokens", 1.5), ("milliseconds", -1), ("stop", ("",))]
)
def test_values_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        Stops(**{name: value})


def test_one_text_is_no_list_of_stop_stop():
    with pytest.raises(ConfigError, match="stop is 'END'"):
        Stops(stop="END")
