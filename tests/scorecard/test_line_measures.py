"""The simulated programmer: what each offer saves him."""

from __future__ import annotations

import pytest

from engine.scorecard.line_measures import (
    LineResult,
    brackets_like,
    edit_similarity,
    keys_pressed,
    line_samples,
    open_brackets,
)


@pytest.mark.parametrize(
    ("offer", "rest", "expected"),
    [
        ("return x", "return x", (8, 1, 1)),  # whole line: one key
        ("", "abc", (1, 1, 1)),  # nothing offered: one letter typed
        ("xyz", "abc", (1, 1, 1)),
        ("return y", "return x", (8, 8, 3)),  # "return" taken as a word, " x" typed: the last letter differs
        ("self.name = name", "self.name = value", (13, 13, 6)),  # self . name = are words (4), " v" is typed
        ("returning", "return", (6, 6, 6)),  # too long: no word of it is right
        ("ab", "abc", (3, 3, 2)),  # too short: taken as a word, then c
    ],
)
def test_keys(offer, rest, expected):
    reach, by_line, by_word = keys_pressed(offer, rest)
    assert (reach, by_line) == expected[:2]
    assert by_word == expected[2]


def test_taking_words_never_costs_more_than_typing():
    for offer in ("a b c d", "a", ") ]", "foo(bar, baz)", "  x"):
        for rest in ("a b c e", "foo(bar, qux)", ") }", "  xy"):
            reach, by_line, by_word = keys_pressed(offer, rest)
            assert 1 <= by_word <= by_line <= reach <= len(rest)


def test_open_brackets():
    assert open_brackets("f(a[1], {") == "({"
    assert open_brackets("}) + (") == "})("
    assert open_brackets("(]") == "(]"


def test_a_line_may_open_what_a_later_one_closes():
    assert brackets_like("call(", "other(")
    assert not brackets_like("call()", "other(")


def test_likeness():
    assert edit_similarity("", "") == 1.0
    assert edit_similarity("abc", "xyz") == 0.0
    assert 0.5 < edit_similarity("return value", "return valve") < 1.0


def result(offered: str, wanted: str, shown: bool | None = None) -> LineResult:
    return LineResult(0, offered, wanted, 1, 1, 1, 0.1, (1.0,), shown=bool(offered) if shown is None else shown)


def test_how_often_something_is_shown_and_then_taken_as_it_is():
    results = [result("return x", "return x"), result("return y", "return x"), result("", "return x")]
    assert [each.taken for each in results] == [True, False, False]
    samples = line_samples(results)
    assert samples["shown"].value == pytest.approx(2 / 3)
    assert samples["taken_of_shown"].value == pytest.approx(1 / 2)
    held_back = line_samples([*results, result("return x", "return x", shown=False)])
    assert held_back["taken_of_shown"].value == pytest.approx(1 / 2), "what was not shown cannot be taken"
