"""Loops end after the second time; what repeats and is no loop comes through whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.generate.loops import LEAST_TOKENS, LONGEST, LoopWatch


def read(text: str) -> tuple[str, bool, int]:
    """What is shown of letters taken as tokens, whether it looped, and how many of them were read."""
    watch = LoopWatch(lambda token: chr(token).isalpha())
    shown: list[int] = []
    for count, letter in enumerate(text, 1):
        shown += watch.feed(ord(letter))
        if watch.looped:
            return "".join(map(chr, shown + watch.finish())), True, count
    return "".join(map(chr, shown + watch.finish())), False, len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Buoyyyyyyyyyyyy", "Buoy"),
        ("x = ab.ab.ab.ab.ab.ab.", "x = ab.ab."),
        ("f(g(g(g(g(g(g(g(", "f(g(g"),  # the first bracket belongs to it
        ("a" + "0123456789bcdefghij" * 4, "a" + "0123456789bcdefghij" * 2),
    ],
)
def test_a_loop_ends_after_the_second_time(text, shown):
    assert read(text)[:2] == (shown, True)


def test_a_loop_is_known_soon():
    assert read("y" * 100)[2] == LEAST_TOKENS
    assert read("abcde" * 100)[2] == 15


@pytest.mark.parametrize(
    "text",
    [
        "",
        "y",
        "committee",
        "# " + "-" * 60,
        "(0, 0, 0, 0, 0, 0, 0, 0)",
        "))))))))))))))",
        "None, None, x",
        "abcabcabd",
        ("a" + "." * LONGEST) * 5,  # longer than what is looked for
    ],
)
def test_what_is_no_loop_comes_through_whole(text):
    assert read(text)[:2] == (text, False)


def test_what_may_become_a_loop_is_held_and_then_given():
    watch = LoopWatch(lambda _: True)
    assert [watch.feed(token) for token in (1, 2, 2, 2, 3)] == [[1], [2], [], [], [2, 2, 3]]


@given(st.text("ab.", max_size=80))
def test_what_is_shown_is_a_beginning_of_what_was_said(text):
    shown, looped, count = read(text)
    assert text.startswith(shown)
    assert len(shown) < count if looped else shown == text
