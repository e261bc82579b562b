"""Two models at one cursor: side by side, blended, and along a run."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.values.completion import IN_TRAINING, STARTER
from tests.window.complete.script import ADAPTED, OTHER, compare, in_training, list_models, type_and_answer
from tests.window.stage import press

CTRL = Qt.KeyboardModifier.ControlModifier


# ---- side by side


def test_both_models_continue_the_same_cursor_and_differences_are_marked(page, application, script, qtbot):
    compare(page, application, script, **{STARTER: "call(a)\n    return None", ADAPTED: "call(a, b)\n    return None"})
    type_and_answer(page, script, qtbot)
    sides = page.sides
    qtbot.waitUntil(lambda: sides.upper.view.text != "" and sides.lower.view.text != "")
    assert (sides.upper.title.text(), sides.upper.badge.text()) == ("Before", "base")
    assert (sides.lower.title.text(), sides.lower.badge.text()) == ("After", "adapted")
    assert sides.upper.choice.value == STARTER and sides.lower.choice.value == ADAPTED
    assert sides.upper.view.marks == () and [sides.lower.view.text[a:b] for a, b in sides.lower.view.marks] == [", b"]
    assert sides.lower.view.toPlainText() == "xcall(a, b)\nreturn None"  # after its line, both less indented
    assert sides.lower.words.text() == "Differs from line 1, underlined"
    channels = [query.channel for query in script.asked]
    assert channels == ["ghost", "right"]  # the ghost's own model is not asked twice
    assert script.last("right").prefix == script.last("ghost").prefix


def test_the_next_key_cancels_the_comparison_and_says_that_it_is_old(page, application, script, qtbot):
    compare(page, application, script)
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot)
    waiting = script.last("right")
    script.piece("half", waiting)
    assert page.sides.upper.view.text == "half"
    script.texts.clear()
    qtbot.keyClicks(page.editor, "q")
    assert waiting.ticket in script.cancelled
    assert page.sides.upper.words.text() == page.sides.lower.words.text() == "For the cursor before"


def test_choosing_what_the_other_has_lets_them_change_places(page, application, script, qtbot):
    compare(page, application, script)
    page.sides.lower.chosen.emit(STARTER)
    assert (application.completion.model, application.completion.second) == (STARTER, ADAPTED)
    assert page.sides.upper.choice.value == STARTER  # the base is above whichever is in use
    page.sides.upper.chosen.emit(OTHER)
    assert application.completion.model == OTHER and page.sides.upper.title.text() == "First"
    page.sides.lower.chosen.emit("")
    assert application.completion.second == "" and not page.sides.lower.view.isVisible()
    page.on_shown()
    assert application.completion.second == ""  # who wants none is not offered one


def test_something_to_compare_with_is_offered(page, application):
    page.sides._declined = False
    page.on_shown()
    assert application.completion.second == ADAPTED
    application.completion.choose_model(ADAPTED)  # in the header
    assert application.completion.second == STARTER


def test_a_hidden_comparison_asks_nothing_until_it_is_shown(page, application, script, qtbot):
    compare(page, application, script)
    qtbot.keyClick(page.editor, Qt.Key.Key_E, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert not page.side.isVisible() and page.compare_button.text() == "Compare"
    type_and_answer(page, script, qtbot)
    assert script.last("right") is None
    press(qtbot, page.compare_button)
    qtbot.waitUntil(lambda: script.last("right") is not None)


def test_a_side_that_fails_says_so_in_its_place(page, application, script, qtbot):
    compare(page, application, script)
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot)
    script.fail(script.last("right"))
    assert page.sides.upper.words.text().startswith("✕ The device is gone.")
    assert not page.error_card.isVisible() and page.editor.shown_ghost == "new one"


def test_the_model_in_training_is_a_choice_while_there_is_one(page, application, script, qtbot):
    in_training(application)
    page.sides.upper.chosen.emit(IN_TRAINING)
    script.texts = {IN_TRAINING: "half learned"}
    type_and_answer(page, script, qtbot)
    assert page.editor.shown_ghost == "half learned" and page.sides.upper.badge.text() == "in training"
    in_training(application, False)
    assert application.completion.model != IN_TRAINING


# ---- blend


def test_the_slider_goes_from_the_base_to_the_adapted_and_the_ghost_follows(page, application, script, qtbot):
    compare(page, application, script, blend="both a little")
    slider = page.blend.slider
    assert slider.value() == 100 and page.blend.heading.remark.words == "100 % adapted"
    type_and_answer(page, script, qtbot)
    count = len(script.asked)
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_PageDown)
    qtbot.keyClick(slider, Qt.Key.Key_Left)
    assert application.completion.blend == pytest.approx(0.11) and page.blend.heading.remark.words == "89 % adapted"
    qtbot.waitUntil(lambda: page.editor.shown_ghost == "both a little", timeout=3000)
    ghosts = [query for query in script.asked[count:] if query.channel == "ghost"]
    assert len(ghosts) == 1 and ghosts[0].blend == pytest.approx(0.11)  # once, when it rests
    assert page.blend.words.words == "Suggests: both a little"
    qtbot.waitUntil(lambda: page.sides.lower.view.text == "new one")  # the panes show the pure ones
    assert script.last("left").blend == 0.0


@pytest.mark.parametrize("second", ["", IN_TRAINING])
def test_what_cannot_be_blended_says_why(page, application, second):
    in_training(application)
    application.completion.choose_second(second)
    assert not page.blend.slider.isEnabled()
    assert page.blend.words.words == (
        "A model in training cannot be blended" if second else "Choose two models to blend"
    )


# ---- timeline


def test_the_timeline_goes_along_the_run(page, application, script, qtbot):
    compare(page, application, script)
    timeline = page.timeline
    assert [point.id for point in timeline.points] == [STARTER, "t100", "t200", ADAPTED]
    assert timeline.heading.remark.words == "result, step 300 · held-out loss 1.200"
    type_and_answer(page, script, qtbot)
    assert script.last("timeline") is None  # nothing is asked before somebody moves it
    timeline.slider.setFocus()
    qtbot.keyClick(timeline.slider, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: timeline.view.text == "second try")
    assert timeline.heading.remark.words == "step 200 · held-out loss 1.300"
    qtbot.keyClick(timeline.slider, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: timeline.view.text == "first try")
    assert [timeline.view.text[a:b] for a, b in timeline.view.marks] == ["first"]
    qtbot.keyClick(timeline.slider, Qt.Key.Key_Home)
    assert timeline.heading.remark.words == "before · held-out loss 1.900"
    qtbot.waitUntil(lambda: timeline.view.text == "old one")
    count = len(script.asked)
    timeline.slider.setValue(2)
    qtbot.waitUntil(lambda: timeline.view.text == "second try")
    assert len(script.asked) == count  # known at this cursor


def test_once_used_it_follows_the_cursor(page, application, script, qtbot):
    compare(page, application, script)
    type_and_answer(page, script, qtbot)
    page.timeline.slider.setValue(1)
    qtbot.waitUntil(lambda: page.timeline.view.text == "first try")
    script.texts["t100"] = "elsewhere"
    type_and_answer(page, script, qtbot, "q")
    qtbot.waitUntil(lambda: page.timeline.view.text == "elsewhere")
    assert script.last("timeline").prefix.endswith("xq")


def test_the_timeline_is_that_of_the_model_until_a_run_is_chosen(page, monkeypatch):
    runs = {"first": "a #1", "second": "b #1"}
    monkeypatch.setattr(page.timeline, "_runs", lambda: dict(runs))
    page.timeline.refresh()
    assert page.timeline.run == "first"
    runs["first"] = runs.pop("first")  # another model is in use: its run comes first
    page.timeline.refresh()
    assert page.timeline.run == "second"
    page.timeline.on_run_chosen("first")
    page.timeline.refresh()
    assert page.timeline.run == "first"


def test_without_a_run_the_timeline_says_when_it_comes(page, application):
    list_models(application, trained=False)
    assert not page.timeline.slider.isVisible() and "once a run" in page.timeline.words.text()
