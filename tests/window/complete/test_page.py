"""The page: its states, sampling and scores, and what it remembers."""

from __future__ import annotations

from PySide6.QtCore import Qt

from app.values.training import ScoreView
from app.window.complete import suggester as states
from app.window.complete.status_line import STATES, THINKING
from engine.generate.options import SUGGESTION_STOPS, Sampling
from tests.window.complete.script import STARTER, TEXT, compare, list_models, type_and_answer
from tests.window.stage import ROOT, press

CTRL = Qt.KeyboardModifier.ControlModifier


# ---- states


def test_without_a_model_it_says_what_to_do(application, script, theme, qtbot):
    from app.window.complete.page import CompletePage

    page = CompletePage(application)
    qtbot.addWidget(page)
    page.show()
    assert page.stack.currentIndex() == 1  # the store was not read yet: nothing is said too early
    application.checkpoints.listed = True
    application.completion.on_choices(())
    assert page.empty.isVisible()
    wanted = []
    page.page_wanted.connect(wanted.append)
    press(qtbot, page.adapt_button)
    press(qtbot, page.import_button)
    assert wanted == ["Adapt", "Checkpoints"]
    list_models(application)
    assert page.editor.isVisible()


def test_the_status_line_tells_what_is_going_on(page, script, qtbot):
    status = page.card.status
    assert status.place.text() == f"Line 6, column {len(TEXT.splitlines()[-1]) + 1}"
    type_and_answer(page, script, qtbot)
    assert status.words.text() in (STATES[states.ASKING][1], THINKING[1])  # the second after a moment
    qtbot.waitUntil(lambda: status.words.text() == THINKING[1])
    script.piece("a")
    assert status.words.text() == STATES[states.WRITING][1]
    script.answer("ab")
    assert status.words.text() == STATES[states.SHOWN][1]
    assert status.figures.words == "first token 38 ms · 1,180 tokens/s"
    assert "2,114 of the 2,130 " in status.toolTip()
    qtbot.keyClick(page.editor, Qt.Key.Key_Escape)
    assert status.words.text() == STATES[states.DISMISSED][1]
    type_and_answer(page, script, qtbot, "y")
    script.answer("")
    assert status.words.text() == STATES[states.NOTHING][1]


def test_a_failure_is_a_card_that_can_be_tried_again(page, script, qtbot):
    type_and_answer(page, script, qtbot)
    script.fail()
    assert page.error_card.isVisible() and page.error_card.cause.text() == "The device is gone."
    assert page.card.status.words.text() == STATES[states.FAILED][1] and page.editor.shown_ghost == ""
    count = len(script.asked)
    press(qtbot, page.error_card.action_button)
    assert len(script.asked) == count + 1 and not page.error_card.isVisible()
    script.fail()
    type_and_answer(page, script, qtbot, "y")
    script.answer("fine")
    assert not page.error_card.isVisible()  # an answer says that it works again


def test_suggestions_that_are_off_are_said_to_be(page, application):
    application.settings.completion_enabled = False
    assert "off" in page.card.status.words.text()


def test_keys_are_named_as_they_are_set(page, application):
    assert all(f"{keys} " in page.heading.subtitle.text() for keys in ("Tab", "Ctrl+→", "Ctrl+↓", "Esc"))
    application.settings.key_accept = "F2"
    assert "F2 " in page.heading.subtitle.text() and "Tab" not in page.heading.subtitle.text()


# ---- sampling and scores


def test_sampling_changes_the_next_question_and_goes_back(page, application, script, qtbot):
    drawer = page.drawer.options
    assert "Temperature" not in drawer.heading.remark.words
    type_and_answer(page, script, qtbot)
    script.answer("ab")
    count = len(script.asked)
    drawer.rows["temperature"].control.setValue(0.8)
    drawer.rows["end_of_line"].control.click()
    qtbot.waitUntil(lambda: len(script.asked) > count)
    assert script.last().sampling.temperature == 0.8 and script.last().stops.end_of_line
    assert all(part in drawer.heading.remark.words for part in ("0.8", "seed 0", "48 tokens", "line"))
    drawer.reset_button.click()
    assert application.completion.sampling == Sampling() and application.completion.stops == SUGGESTION_STOPS
    assert drawer.rows["temperature"].control.value() == 0.0 and not drawer.reset_button.isEnabled()


def test_the_scores_of_the_last_run_are_beside_it(page, application):
    application.settings.unfolded = ["scores"]
    assert not page.drawer.isVisible() and not page.folds.buttons["scores"].isVisible()  # nothing is known yet
    training = application.training
    training.before = ScoreView("a", 1.9, 1.62, 0.061, shown=0.0, taken=float("nan"))
    training.after = ScoreView("b", 1.2, 1.31, 0.148, with_memory=ScoreView("b", 0.9, 0.8, 0.25, shown=0.3, taken=0.6))
    training.scored.emit()
    assert page.drawer.scores.isVisible()
    cells = {place: cell.text() for place, cell in page.drawer.scores.cells.items()}
    assert cells["bits_per_byte", "adapted"] == "1.31" and cells["next_line_exact", "base"] == "6.1 %"
    assert cells["next_line_exact", "adapted + memory"] == "25.0 %" and cells["taken", "adapted + memory"] == "60.0 %"
    unknown = [("keystrokes_saved", "adapted"), ("next_line_exact", "base + memory"), ("taken", "base")]
    assert [cells[place] for place in unknown] == ["–", "–", "–"]


# ---- the page as a whole


def test_f6_leaves_the_editor_and_comes_back(page, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_F6)
    assert page.folds.buttons["compare"].hasFocus()
    qtbot.keyClick(page.folds.buttons["compare"], Qt.Key.Key_F6)
    assert page.editor.hasFocus()


def test_at_first_there_is_only_the_editor(application, script, models, theme, qtbot):
    from app.window.complete.page import CompletePage

    page = CompletePage(application)
    qtbot.addWidget(page)
    page.resize(1080, 700)
    page.show()
    assert not page.drawer.isVisible() and page.editor.width() > 1000 and page.card.height() > 500
    assert application.completion.second == ""  # no second model is loaded for a comparison that nobody sees
    parts = {
        "compare": page.sides,
        "blend": page.drawer.blend,
        "timeline": page.drawer.timeline,
        "options": page.drawer.options,
    }
    for name, part in parts.items():
        press(qtbot, page.folds.buttons[name])
        assert part.isVisible() and application.settings.unfolded == [name]
        press(qtbot, page.folds.buttons[name])
        assert not part.isVisible() and not page.drawer.isVisible()
    application.settings.unfolded = ["options", "compare"]
    assert page.sides.isVisible() and page.drawer.options.isVisible() and application.completion.second


def test_the_editor_keeps_its_height_while_answers_come(page, application, script, qtbot, qapp):
    application.settings.unfolded = ["compare"]
    page.resize(1096, 760)
    for _ in range(3):
        qapp.processEvents()
    before = page.editor.height()
    compare(page, application, script, **{STARTER: "a\n    b\n    c\n    d\n    e\n    f"})
    type_and_answer(page, script, qtbot)
    qtbot.waitUntil(lambda: page.sides.before.alone.view.text != "")
    for _ in range(3):
        qapp.processEvents()
    assert page.editor.height() == before
    assert page.sides.before.alone.view.y() == page.sides.after.alone.view.y()
    room = page.drawer.viewport().height()
    assert page.drawer.widget().height() <= room  # all of it is seen, and no more than it wants is taken
    assert room < 0.5 * page.splitter.height()


def test_the_height_is_shared_alike_until_the_user_shares_it(page, application):
    page.resize(1096, 700)
    before = page.splitter.sizes()
    page.resize(1700, 900)
    page.resize(1096, 700)
    assert page.splitter.sizes() == before
    page.keep_place()
    assert not application.settings.place("complete.height")
    page.splitter.handle(1).moveSplitter(300)
    page.resize(1120, 700)
    assert abs(page.splitter.sizes()[0] - 300) < 40
    page.keep_place()
    assert application.settings.place("complete.height")


def test_it_fits_the_smallest_window_and_everything_has_a_name(page, qtbot):
    from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QSlider

    page.resize(840, 590)
    qtbot.waitUntil(lambda: page.drawer.widget().width() <= page.drawer.viewport().width())
    assert page.minimumSizeHint().width() <= 840 and page.minimumSizeHint().height() <= 590
    for kind in (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit, QSlider):
        for widget in page.findChildren(kind):
            if widget.objectName().startswith("qt_"):
                continue  # inside a spin box or a completer
            if isinstance(widget, QAbstractButton) and not widget.isVisible() and not widget.text():
                continue  # of a card that says nothing yet
            assert widget.accessibleName(), widget
    assert page.suggester.state == states.IDLE and ROOT
