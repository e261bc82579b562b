"""Two models at one cursor: side by side, blended, and along a run."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.values.completion import IN_TRAINING, STARTER
from app.values.memory import READY, MemoryView
from tests.window.complete.script import ADAPTED, OTHER, compare, in_training, list_models, type_and_answer
from tests.window.stage import press

CTRL = Qt.KeyboardModifier.ControlModifier


# ---- side by side


def test_both_models_continue_the_same_cursor_and_differences_are_marked(page, application, script, qtbot):
    compare(page, application, script, **{STARTER: "call(a)\n    return None", ADAPTED: "call(a, b)\n    return None"})
    type_and_answer(page, script, qtbot)
    sides = page.sides
    qtbot.waitUntil(lambda: sides.before.alone.view.text != "" and sides.after.alone.view.text != "")
    assert (sides.before.title.text(), sides.before.badge.text()) == ("Before", "base")
    assert (sides.after.title.text(), sides.after.badge.text()) == ("After", "adapted")
    assert sides.before.choice.value == STARTER and sides.after.choice.value == ADAPTED
    assert sides.before.alone.view.marks == () and [
        sides.after.alone.view.text[a:b] for a, b in sides.after.alone.view.marks
    ] == [", b"]
    assert sides.after.alone.view.toPlainText() == "xcall(a, b)\nreturn None"  # after its line, both less indented
    assert "line 1" in sides.after.alone.words.words
    channels = [query.channel for query in script.asked]
    assert channels == ["ghost", "right"]  # the ghost's own model is not asked twice
    assert script.last("right").prefix == script.last("ghost").prefix


def test_the_next_key_cancels_the_comparison_and_says_that_it_is_old(page, application, script, qtbot):
    compare(page, application, script)
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot)
    waiting = script.last("right")
    script.piece("half", waiting)
    assert page.sides.before.alone.view.text == "half"
    script.texts.clear()
    qtbot.keyClicks(page.editor, "q")
    assert waiting.ticket in script.cancelled
    assert "previous" in page.sides.before.alone.words.words and "previous" in page.sides.after.alone.words.words


def test_an_old_answer_never_stands_under_a_new_line(page, application, script, qtbot):
    compare(page, application, script)
    type_and_answer(page, script, qtbot)
    view = page.sides.before.alone.view
    qtbot.waitUntil(lambda: view.text == "old one")
    seen = []
    page.sides.channels["right"].changed.connect(lambda: seen.append(view.toPlainText()))
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot, "q")
    qtbot.waitUntil(lambda: script.last("right").prefix.endswith("xq"))
    assert page.sides.before.alone.words.words == "Writing…" and view.toPlainText() == "xq"
    assert set(seen) <= {"xold one", "xq"}  # with its own line and greyed, or gone
    script.piece("now", script.last("right"))
    assert view.toPlainText() == "xqnow"


def remember(application, tokens: int = 1_200_000) -> None:
    """As if the repository had been read into a memory."""
    application.memory.on_memory(MemoryView(tokens, 40, 9_000_000, READY))


def test_with_a_memory_there_are_four_answers(page, application, script, qtbot):
    compare(page, application, script)
    sides = page.sides
    assert not sides.before.memory.isVisible() and not sides.before.alone.caption.isVisible()
    remember(application)
    assert sides.before.memory.isVisible() and sides.after.alone.caption.text() == "Model alone"
    script.texts = {}
    type_and_answer(page, script, qtbot)
    script.answer("adapted and memory", chance=0.9)
    asked = {query.channel: query for query in script.asked}
    assert list(asked) == ["ghost", "left", "right", "right_memory"]  # the ghost is the adapted one with memory
    assert [asked[name].memory for name in asked] == [True, False, False, True]
    assert [asked[name].least_chance for name in asked] == [application.settings.least_chance, 0, 0, 0]
    for name, text in (("left", "adapted"), ("right", "base"), ("right_memory", "base and memory")):
        script.answer(text, asked[name])
    texts = [answer.view.text for pane in (sides.before, sides.after) for answer in (pane.alone, pane.memory)]
    assert texts == ["base", "base and memory", "adapted", "adapted and memory"]
    remember(application, 0)
    assert not sides.after.memory.isVisible() and sides.channels["left_memory"].text == ""


def test_without_the_memory_the_ghost_is_the_model_alone(page, application, script, qtbot):
    compare(page, application, script)
    remember(application)
    application.memory.switch(False)
    script.texts = {}
    type_and_answer(page, script, qtbot)
    assert not script.last().memory
    script.answer("alone")
    assert page.sides.after.alone.view.text == "alone"
    assert [query.channel for query in script.asked] == ["ghost", "right", "left_memory", "right_memory"]


def test_a_ghost_that_stays_silent_is_still_compared(page, application, script, qtbot):
    compare(page, application, script)
    script.texts = {}
    type_and_answer(page, script, qtbot)
    script.answer("", silence="Nothing is likely enough")
    assert script.last("left").least_chance == 0.0  # what the ghost would not say is said here
    script.answer("unsure", script.last("left"))
    assert page.sides.after.alone.view.text == "unsure" and page.editor.shown_ghost == ""


def test_choosing_what_the_other_has_lets_them_change_places(page, application, script, qtbot):
    compare(page, application, script)
    page.sides.after.chosen.emit(STARTER)
    assert (application.completion.model, application.completion.second) == (STARTER, ADAPTED)
    assert page.sides.before.choice.value == STARTER  # the base is above whichever is in use
    page.sides.before.chosen.emit(OTHER)
    assert application.completion.model == OTHER and page.sides.before.title.text() == "First"
    page.sides.after.chosen.emit("")
    assert application.completion.second == "" and not page.sides.after.alone.view.isVisible()
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
    assert not page.sides.isVisible() and "compare" not in application.settings.unfolded
    type_and_answer(page, script, qtbot)
    assert script.last("right") is None
    press(qtbot, page.folds.buttons["compare"])
    qtbot.waitUntil(lambda: script.last("right") is not None)


def test_a_side_that_fails_says_so_in_its_place(page, application, script, qtbot):
    compare(page, application, script)
    del script.texts[STARTER]
    type_and_answer(page, script, qtbot)
    script.fail(script.last("right"))
    assert page.sides.before.alone.words.words.startswith("✕ The device is gone.")
    assert not page.error_card.isVisible() and page.editor.shown_ghost == "new one"


def test_the_model_in_training_is_a_choice_while_there_is_one(page, application, script, qtbot):
    in_training(application)
    page.sides.before.chosen.emit(IN_TRAINING)
    script.texts = {IN_TRAINING: "half learned"}
    type_and_answer(page, script, qtbot)
    assert page.editor.shown_ghost == "half learned" and page.sides.before.badge.text() == "in training"
    in_training(application, False)
    assert application.completion.model != IN_TRAINING


# ---- blend


def test_the_slider_goes_from_the_base_to_the_adapted_and_the_ghost_follows(page, application, script, qtbot):
    compare(page, application, script, blend="both a little")
    slider = page.drawer.blend.slider
    assert slider.value() == 100 and page.drawer.blend.heading.remark.words == "100 % adapted"
    type_and_answer(page, script, qtbot)
    count = len(script.asked)
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_PageDown)
    qtbot.keyClick(slider, Qt.Key.Key_Left)
    assert application.completion.blend == pytest.approx(0.11)
    assert page.drawer.blend.heading.remark.words == "89 % adapted"
    assert page.folds.buttons["blend"].text() == "Blend: 89 % adapted"  # acts also while it is folded
    qtbot.waitUntil(lambda: page.editor.shown_ghost == "both a little")
    ghosts = [query for query in script.asked[count:] if query.channel == "ghost"]
    assert len(ghosts) == 1 and ghosts[0].blend == pytest.approx(0.11)  # once, when it rests
    assert page.drawer.blend.words.words == "Suggests: both a little"
    qtbot.waitUntil(lambda: page.sides.after.alone.view.text == "new one")  # the panes show the pure ones
    assert script.last("left").blend == 0.0


@pytest.mark.parametrize("second", ["", IN_TRAINING])
def test_what_cannot_be_blended_says_why(page, application, second):
    in_training(application)
    application.completion.choose_second(second)
    assert not page.drawer.blend.slider.isEnabled()
    assert page.drawer.blend.words.words == (
        "A model in training cannot be blended" if second else "Choose two models to blend"
    )


# ---- timeline


def test_the_timeline_goes_along_the_run(page, application, script, qtbot):
    compare(page, application, script)
    timeline = page.drawer.timeline
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
    page.drawer.timeline.slider.setValue(1)
    qtbot.waitUntil(lambda: page.drawer.timeline.view.text == "first try")
    script.texts["t100"] = "elsewhere"
    type_and_answer(page, script, qtbot, "q")
    qtbot.waitUntil(lambda: page.drawer.timeline.view.text == "elsewhere")
    assert script.last("timeline").prefix.endswith("xq")


def test_the_timeline_is_that_of_the_model_until_a_run_is_chosen(page, monkeypatch):
    runs = {"first": "a #1", "second": "b #1"}
    monkeypatch.setattr(page.drawer.timeline, "_runs", lambda: dict(runs))
    page.drawer.timeline.refresh()
    assert page.drawer.timeline.run == "first"
    runs["first"] = runs.pop("first")  # another model is in use: its run comes first
    page.drawer.timeline.refresh()
    assert page.drawer.timeline.run == "second"
    page.drawer.timeline.on_run_chosen("first")
    page.drawer.timeline.refresh()
    assert page.drawer.timeline.run == "first"


def test_without_a_run_the_timeline_says_when_it_comes(page, application):
    list_models(application, trained=False)
    assert not page.drawer.timeline.slider.isVisible() and page.drawer.timeline.words.text()
