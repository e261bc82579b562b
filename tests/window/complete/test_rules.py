"""The rules without a window: the ghost, the pace, indentation, differences, and who stands above whom."""

from __future__ import annotations

import pytest

from app.values.completion import IN_TRAINING, STARTER, ModelChoice
from app.window.complete.arrangement import MODEL, SECOND, arrange, counterpart, stems_from
from app.window.complete.differences import differing, first_difference
from app.window.complete.ghost import Ghost
from app.window.complete.indenting import backspace_width, next_indent, unit_of
from app.window.complete.pace import Pace, delay

# ---- the ghost


def test_typing_along_uses_the_ghost_up():
    ghost = Ghost("return x\n")
    along = ghost.typed("ret")
    assert along.rest == "urn x\n" and along.typed("urn x\n").rest == ""
    assert ghost.typed("rat") is None and ghost.typed("") is None and ghost.typed("return x\nmore") is None
    assert not along.typed("urn x\n").is_spent  # more may come
    assert along.typed("urn x\n").ended("return x\n").is_spent


@pytest.mark.parametrize(
    ("rest", "word"),
    [
        ("call(vessel)", "call"),
        ("(vessel)", "("),
        (" = call", " ="),
        ("\n    return x", "\n    return"),
        ("))\nx", "))"),
        ("   ", "   "),
        ("größe + 1", "größe"),
    ],
)
def test_the_next_word(rest, word):
    assert Ghost(rest).next_word() == word


@pytest.mark.parametrize(
    ("rest", "line"), [("a b\nc", "a b"), ("\n  c\nd", "\n  c"), ("a", "a"), ("\n\nx", "\n"), ("\n", "\n")]
)
def test_the_next_line(rest, line):
    assert Ghost(rest).next_line() == line


def test_words_and_lines_come_to_the_end():
    for step in (Ghost.next_word, Ghost.next_line):
        ghost = Ghost("if a:\n    return (b, c)\n\nend")
        for _ in range(20):
            if ghost.rest:
                ghost = ghost.typed(step(ghost))
        assert ghost.rest == ""


def test_pieces_add_up_and_the_answer_has_the_last_word():
    ghost = Ghost().grown("ret").grown("urn ").typed("re")
    assert ghost.rest == "turn " and ghost.ended("return x").rest == "turn x"
    assert ghost.ended("r").rest == ""  # shorter than what was taken
    assert ghost.ended("re  \n    ").is_spent  # blanks, which nobody would see


# ---- the pace


def test_the_wait_stays_between_its_bounds():
    for pace in (Pace(), Pace(5.0, 20.0, 1.0), Pace(5000.0, 900.0, 0.0)):
        assert 75 <= delay(pace, 75, 400) <= 400
    assert delay(Pace(5.0, 20.0, 1.0), 75, 400) == 75
    assert delay(Pace(900.0, None, 0.0), 75, 400) == 400
    assert delay(Pace(900.0, None, 0.0), 0, 0) == 0


def test_quick_answers_that_are_taken_shorten_it_and_dismissals_lengthen_it():
    first = delay(Pace(), 75, 400)
    assert delay(Pace().answered(30.0), 75, 400) < first < delay(Pace().answered(600.0), 75, 400)
    assert delay(Pace().taken(), 75, 400) < first < delay(Pace().dismissed(), 75, 400)
    pace = Pace().answered(30.0)
    for _ in range(8):
        pace = pace.taken()
    shortest = delay(pace, 75, 400)
    assert shortest < 85 and delay(pace.dismissed(), 75, 400) > shortest
    assert delay(pace.dismissed().dismissed(), 75, 400) > delay(pace.dismissed(), 75, 400)


def test_it_is_longer_than_the_pause_between_two_keys():
    quick = Pace(30.0, None, 1.0)
    assert delay(quick.typed(200.0), 75, 400) == 250
    assert quick.typed(5000.0) == quick  # a rest is no typing


# ---- indentation


@pytest.mark.parametrize(
    ("lines", "unit"),
    [
        (["def f():", "    return"], "    "),
        (["a {", "  b", "    c"], "  "),
        (["a {", "\tb"], "\t"),
        (["a", "b"], "    "),
        (["/*", " * x", " */", "  b"], "  "),
        (["   ", "a"], "    "),
    ],
)
def test_one_step_is_what_the_file_has(lines, unit):
    assert unit_of(lines) == unit


@pytest.mark.parametrize(
    ("before", "indent"),
    [
        ("    x = 1", "    "),
        ("  if a:", "      "),
        ("f(", "    "),
        ("", ""),
        ("\treturn {", "\t    "),
        ("a:  ", "    "),
    ],
)
def test_the_next_line_begins_under_this_one_or_further_in(before, indent):
    assert next_indent(before, "    ") == indent


@pytest.mark.parametrize(("before", "count"), [("        ", 4), ("      ", 2), ("   x", 1), ("", 1), ("     ", 1)])
def test_backspace_goes_back_backspace_width(before, count):
    assert backspace_width(before, "    ") == count


# ---- differences


def test_only_what_differs_is_marked():
    first, second = "call, vessel)\n    return None", "call, vessel, berth)\n    return billed"
    marks = differing(first, second)
    assert [first[a:b] for a, b in marks[0]] == ["None"]
    assert [second[a:b] for a, b in marks[1]] == [", berth", "billed"]
    assert differing("same", "same") == ([], [])
    assert differing("a  b", "a b") == ([], [])
    assert differing("", "x") == ([], [(0, 1)])


def test_the_first_line_that_differs():
    assert first_difference("a\nb", "a\nb") == 0
    assert first_difference("a\nb", "a\nc") == 2
    assert first_difference("a", "a\nc") == 2


# ---- who stands above whom

CHOICES = (
    ModelChoice(IN_TRAINING, "In training"),
    ModelChoice(STARTER, "Built-in"),
    ModelChoice("c2", "two", base="c1"),
    ModelChoice("c1", "one", base="starter-in-the-store"),
    ModelChoice("x", "imported"),
)


def test_the_base_stands_above():
    found = arrange(CHOICES, "c2", STARTER)
    assert (found.before, found.after, found.related) == (SECOND, MODEL, True) and found.titles == ("Before", "After")
    other = arrange(CHOICES, "c1", "c2")
    assert (other.before, other.after, other.related) == (MODEL, SECOND, True)


def test_the_share_of_the_lower_one_whichever_it_is():
    model_below, second_below = arrange(CHOICES, "c2", "c1"), arrange(CHOICES, "c1", "c2")
    assert model_below.share(0.0) == 1.0 and model_below.blend(0.25) == 0.75
    assert second_below.share(0.25) == 0.25 and second_below.blend(0.25) == 0.25


def test_unrelated_models_keep_their_places():
    before = arrange(CHOICES, "c2", "c1")
    after = arrange(CHOICES, "c2", "x", earlier=before)
    assert (after.before, after.after, after.related) == (SECOND, MODEL, False)
    assert after.titles == ("First", "Second")
    assert not arrange(CHOICES, "c2", "").related


def test_a_model_in_training_stems_from_its_base():
    assert stems_from(CHOICES, IN_TRAINING, "c1", training_base="c1")
    assert stems_from(CHOICES, IN_TRAINING, STARTER) and not stems_from(CHOICES, "x", STARTER)
    assert not stems_from((ModelChoice("a", "", base="b"), ModelChoice("b", "", base="a")), "a", "c")  # a circle


def test_something_to_compare_with_is_found():
    assert counterpart(CHOICES, "c1") == STARTER
    assert counterpart(CHOICES, STARTER) == IN_TRAINING
    assert counterpart(CHOICES, "x") == ""
