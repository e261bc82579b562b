"""What a memory adds to the page: alternatives, where a suggestion is from, its confidence, and the switch."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.data.settings_file import USUAL_LEAST_CHANCE
from app.values.completion import SourceView
from app.values.memory import READING, READY, MemoryView
from tests.window.complete.script import TEXT, type_and_answer
from tests.window.complete.test_files import files  # noqa: F401  (fixture)
from tests.window.stage import press

ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier
SOURCES = (SourceView("notes.md", 2), SourceView("web/panel.ts", 1))


# ---- alternatives


def test_alternatives_come_round_and_the_shown_one_is_taken(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.answer("one()", alternatives=("two()", "one()", "three()"), chance=0.824, sources=SOURCES)
    editor, status = page.editor, page.card.status
    assert all(part in status.words.text() for part in ("1 of 3", "82 %")) and status.source.isVisible()
    shown = []
    for key in (Qt.Key.Key_BracketRight,) * 3 + (Qt.Key.Key_BracketLeft,) * 2:
        qtbot.keyClick(editor, key, ALT)
        shown.append((editor.shown_ghost, status.words.text(), status.source.isVisible()))
    assert shown == [
        ("two()", "Suggestion 2 of 3", False),  # where the first one is from says nothing about this one
        ("three()", "Suggestion 3 of 3", False),
        ("one()", "Suggestion 1 of 3, 82 % confident", True),
        ("three()", "Suggestion 3 of 3", False),
        ("two()", "Suggestion 2 of 3", False),
    ]
    assert editor.toPlainText() == TEXT + "x"
    qtbot.keyClick(editor, Qt.Key.Key_Tab)
    assert editor.toPlainText() == TEXT + "xtwo()"


def test_alternatives_go_on_from_what_is_typed(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.answer("total = a", alternatives=("count = b", "total = b"))
    qtbot.keyClicks(page.editor, "to")
    qtbot.keyClick(page.editor, Qt.Key.Key_BracketRight, ALT)
    assert page.editor.shown_ghost == "tal = b"
    qtbot.keyClick(page.editor, Qt.Key.Key_BracketRight, ALT)
    assert page.editor.shown_ghost == "tal = a"


def test_without_alternatives_the_keys_type_nothing(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.answer("one()")
    qtbot.keyClick(page.editor, Qt.Key.Key_BracketRight, ALT)
    assert page.editor.toPlainText() == TEXT + "x" and page.editor.shown_ghost == "one()"
    assert page.card.status.words.text() == "Suggestion"


# ---- sources


def test_a_source_is_named_and_opened_at_its_line(page, files, script, qtbot):  # noqa: F811
    page.editor.setFocus()
    type_and_answer(page, script, qtbot)
    script.answer("value = 1", sources=SOURCES, more_sources=2, from_memory=True)
    source = page.card.status.source
    assert source.text() == "as in notes.md:2 and 3 more"
    press(qtbot, source)
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    assert page.editor.textCursor().blockNumber() == 1 and not source.isVisible()
    type_and_answer(page, script, qtbot)
    script.answer("value", sources=(SourceView("notes.md", 1),))
    assert source.text() == "as in notes.md:1"
    press(qtbot, source)  # the file that is open already, edited or not
    assert page.editor.textCursor().blockNumber() == 0 and not page.saving.unsaved.isVisible()


def test_a_long_source_is_shortened(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    path = "src/" + "a_long_folder/" * 12 + "ledger.py"
    script.answer("x", sources=(SourceView(path, 41),))
    source = page.card.status.source
    assert "…" in source.text() and source.text().endswith("ledger.py:41") and path in source.accessibleName()
    assert page.card.width() <= page.width()


def test_a_source_goes_with_its_suggestion(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.answer("x", sources=SOURCES)
    qtbot.keyClick(page.editor, Qt.Key.Key_Escape)
    assert not page.card.status.source.isVisible()


def test_a_source_outside_the_repository_is_not_opened(page, script, monkeypatch):
    monkeypatch.setattr(page.card, "open", lambda *_, **__: pytest.fail("it was opened"))
    page.open_file("../secret.py", 1)
    assert page.card.path == "orbit/pass.py" and not page.message.isVisible()


# ---- confidence


def test_silence_is_explained_quietly(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.answer("", silence="Nothing is likely enough to be right")
    assert page.card.status.words.text() == "Nothing is likely enough to be right"
    assert page.editor.shown_ghost == "" and not page.message.isVisible()


def test_the_slider_decides_what_is_shown(page, application, script, qtbot):
    confidence = page.drawer.options.confidence
    usual = round(USUAL_LEAST_CHANCE * 100)
    assert confidence.slider.value() == usual and f"{usual} %" in confidence.heading.remark.words
    type_and_answer(page, script, qtbot)
    assert script.last().least_chance == USUAL_LEAST_CHANCE
    script.answer("one")
    count = len(script.asked)
    confidence.slider.setFocus()
    qtbot.keyClick(confidence.slider, Qt.Key.Key_PageUp)
    assert application.settings.least_chance == pytest.approx((usual + 10) / 100)
    qtbot.waitUntil(lambda: len(script.asked) > count)  # the same cursor again
    assert script.last().least_chance == pytest.approx((usual + 10) / 100)
    qtbot.keyClick(confidence.slider, Qt.Key.Key_Home)
    assert "%" not in confidence.heading.remark.words
    page.drawer.options.reset_button.click()
    assert application.settings.least_chance == USUAL_LEAST_CHANCE and not page.drawer.options.reset_button.isEnabled()


def test_who_asks_by_a_key_sees_everything(page, script, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_Space, CTRL)
    assert script.last().least_chance == 0.0


# ---- the switch


def test_the_switch_appears_with_the_memory_and_turns_it_off(page, application, script, qtbot):
    chip = page.memory_chip
    assert not chip.isVisible()
    application.memory.on_memory(MemoryView(1_234_000, 40, 9_000_000, READING))
    assert chip.isVisible() and chip.text() == "Memory: 1.2 M tokens" and "40 files" in chip.toolTip()
    application.memory.on_memory(MemoryView(1_234_000, 40, 9_000_000, READY))
    assert "being read" not in chip.toolTip() and "40 files" in chip.toolTip()
    type_and_answer(page, script, qtbot)
    assert script.last().memory
    script.answer("one")
    count = len(script.asked)
    press(qtbot, chip)
    assert chip.text() == "Memory: off" and not application.settings.memory_on
    qtbot.waitUntil(lambda: len(script.asked) > count)
    assert not script.last().memory
    application.memory.on_memory(None)
    assert not chip.isVisible()


def test_ligatures_are_a_setting(page, application):
    tag = page.editor.font().featureTags()[0]
    values = [page.editor.font().featureValue(tag)]
    application.settings.ligatures = True
    assert values == [0] and page.editor.font().featureValue(tag) == 1
