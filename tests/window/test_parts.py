"""The parts that pages are made of."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.values.events import Failure
from app.window.parts import (
    Choice,
    ElidedLabel,
    ErrorCard,
    FieldRow,
    FigureLabel,
    InlineMessage,
    KeySplitter,
    Number,
    ProgressLine,
    Segmented,
    Switch,
    WholeNumber,
    tip_words,
)

pytestmark = pytest.mark.usefixtures("theme")


@pytest.fixture
def shown(qtbot):
    """Shows a part in a window of its own."""

    def show(part: QWidget, width: int = 400) -> QWidget:
        qtbot.addWidget(part)
        part.resize(width, part.sizeHint().height())
        part.show()
        qtbot.waitExposed(part)
        return part

    return show


def test_a_row_of_words_tells_only_what_the_user_chose(shown, qtbot):
    row = shown(Segmented((("a", "One"), ("b", "Two")), "Which"))
    told = []
    row.chosen.connect(told.append)
    row.set_value("b")
    assert (row.value, told) == ("b", [])
    qtbot.mouseClick(row.buttons["a"], Qt.MouseButton.LeftButton)
    assert (row.value, told) == ("a", ["a"])


@pytest.mark.parametrize(("field", "value"), [((WholeNumber, 100, "ms"), 40), ((Number, 9, "GiB"), 2.5)])
def test_a_number_tells_only_what_the_user_typed(shown, qtbot, field, value):
    kind, most, unit = field
    field = shown(kind(0, most, unit))
    told = []
    field.changed.connect(told.append)
    field.set_value(value)
    assert told == []
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Up)
    assert told == [value + field.singleStep()]


def test_scrolling_a_page_changes_no_field_under_the_mouse(shown):
    number, choice = WholeNumber(0, 100), Choice((("a", "One"), ("b", "Two")))
    for field in (number, choice):
        shown(field)
        field.clearFocus()
        turn = QWheelEvent(
            QPointF(5, 5),
            QPointF(5, 5),
            QPoint(0, -120),
            QPoint(0, -120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(field, turn)
        assert not turn.isAccepted()
    assert number.value() == 0 and choice.value == "a"


def test_a_switch_answers_the_keyboard(shown, qtbot):
    switch = shown(Switch("Watch"))
    told = []
    switch.changed.connect(told.append)
    switch.setFocus()
    qtbot.keyClick(switch, Qt.Key.Key_Space)
    assert told == [True] and switch.isChecked()


def test_a_field_says_why_its_value_cannot_be_taken(shown):
    row = shown(FieldRow("Ceiling", Number(0, 9), "No run takes more"))
    row.complain("At least 1 GiB.")
    assert row.error.isVisible() and "At least 1 GiB." in row.error.text()
    assert row.control.property("state") == "wrong"
    row.complain("")
    assert not row.error.isVisible() and row.control.property("state") == ""


def test_a_line_shortens_itself_and_keeps_its_words(shown, qapp):
    line = shown(ElidedLabel("/home/somebody/a/rather/long/path/to/a/folder", "text", middle=True), 160)
    qapp.processEvents()
    assert "…" in line.text() and line.text().endswith("folder")
    assert line.words in line.toolTip()
    line.resize(800, 20)
    assert line.text() == line.words and line.toolTip() == ""


def test_a_figure_is_heard_with_its_title(shown):
    figure = shown(FigureLabel("Step"))
    figure.say("642", "of 1,000")
    assert figure.accessibleName() == "Step: 642 of 1,000"
    assert figure.number.text() == "642"


def test_progress_can_be_cancelled_once(shown, qtbot):
    line = ProgressLine()
    holder = shown(QWidget())
    line.setParent(holder)
    line.show_progress(3, 10, "Reading")
    told = []
    line.cancelled.connect(lambda: told.append(1))
    assert line.isVisible() and line.count.text() == "3 of 10" and line.bar.value() == 3
    qtbot.mouseClick(line.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(line.cancel_button, Qt.MouseButton.LeftButton)
    assert told == [1] and line.cancel_button.text() == "Cancelling…"
    line.put_away()
    line.show_progress(0, 0, "Looking")
    assert line.cancel_button.isEnabled() and line.bar.maximum() == 0 and line.count.text() == ""


def test_a_message_has_words_and_a_sign(shown, qtbot):
    message = shown(InlineMessage())
    message.hide()
    told = []
    message.dismissed.connect(lambda: told.append(1))
    message.say("Three lines hold secrets.", "Look here.", "warn")
    assert message.isVisible() and message.property("card") == "warn"
    assert message.accessibleName() == "Look here. Three lines hold secrets."
    qtbot.mouseClick(message.close_button, Qt.MouseButton.LeftButton)
    assert not message.isVisible() and told == [1]


def test_the_error_card_offers_the_fix(shown, qtbot):
    card = shown(ErrorCard())
    told = []
    card.action_wanted.connect(lambda: told.append(1))
    card.show_failure(Failure("It broke.", "Mend it."), "Try again")
    assert card.action_button.text() == "Try again" and not card.fold.isVisible()
    qtbot.mouseClick(card.action_button, Qt.MouseButton.LeftButton)
    assert told == [1]
    card.show_failure(Failure("It broke.", "", "trace"))
    assert not card.action_button.isVisible() and not card.remedy.isVisible() and card.fold.isVisible()


def test_tool_tips_show_what_looks_like_markup_as_it_is():
    assert tip_words("Open it", "Ctrl+O") == "Open it (Ctrl+O)"
    assert "&lt;b&gt;" in tip_words("a <b>card</b>")
    assert tip_words("word " * 40).startswith("<table")


def test_a_splitter_is_moved_by_the_arrows(shown, qtbot):
    splitter = KeySplitter()
    splitter.setHandleWidth(14)
    for _ in range(2):
        half = QWidget()
        half.setMinimumSize(50, 80)
        splitter.addWidget(half)
    shown(splitter, 600).setSizes([300, 300])
    handle, before = splitter.handle(1), splitter.sizes()[0]
    assert handle.focusPolicy() & Qt.FocusPolicy.TabFocus
    quiet = handle.grab().toImage()
    handle.setFocus(Qt.FocusReason.TabFocusReason)
    splitter.activateWindow()
    qtbot.waitUntil(handle.hasFocus)
    assert handle.grab().toImage() != quiet  # the focus is seen
    qtbot.keyClick(handle, Qt.Key.Key_Right)
    assert splitter.sizes()[0] > before
    for _ in range(2):
        qtbot.keyClick(handle, Qt.Key.Key_Left)
    assert splitter.sizes()[0] < before
