"""Fields of a form: a number, a choice, a switch, a line of text, words to search for; and the row around a field,
with its name, help and error.

A field emits `changed` only when the user changed it.  It does not judge values: the owner of the row passes them to a
controller and shows the answer with `FieldRow.complain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPaintEvent, QPen, QShortcut, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme, Tokens
from app.theme.icons import icon, pixmap
from app.window.parts.labels import label, set_style
from app.window.parts.tool_tips import tip

TYPING = 150  # milliseconds of quiet before what is typed counts
SIGN = 16  # pixels


class FieldRow(QWidget):
    """Name and help on the left, the control on the right, and a line below for what is wrong with the value."""

    def __init__(self, name: str, control: QWidget, help_words: str = "", tool_tip: str = "") -> None:
        super().__init__()
        self.control = control
        control.setAccessibleName(name)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        row = QHBoxLayout()
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(2)
        self.name = label(name, "body")
        words.addWidget(self.name)
        self.help = label(help_words, "label", wrap=True)
        if not help_words:
            self.help.hide()
        words.addWidget(self.help)
        row.addLayout(words, 1)
        row.addWidget(control, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        column.addLayout(row)
        self.error = label("", "label", "bad", wrap=True)
        self.error.hide()
        column.addWidget(self.error)
        if tool_tip or help_words:
            tip(control, tool_tip or help_words)
        if tool_tip:
            tip(self.name, tool_tip)

    def complain(self, words: str) -> None:
        """Say below the field why its value is refused; "" clears that."""
        self.error.setText(f"✕ {words}" if words else "")
        self.error.setVisible(bool(words))
        set_style(self.control, "state", "wrong" if words else "")
        self.control.setAccessibleDescription(words or self.help.text())


class WholeNumber(QSpinBox):
    """A whole number with its unit.  Keys and the wheel step; the wheel only where the field has the focus."""

    changed = Signal(int)

    def __init__(self, least: int, most: int, unit: str = "", step: int = 1, width: int = 120) -> None:
        super().__init__()
        self.setRange(least, most)
        self.setSingleStep(step)
        self.setSuffix(f" {unit}" if unit else "")
        self.setGroupSeparatorShown(True)
        _as_field(self, width)
        self.valueChanged.connect(self.on_value_changed)

    def set_value(self, value: int) -> None:
        """Show a value without emitting `changed`."""
        _quietly(self, value)

    @Slot(int)
    def on_value_changed(self, value: int) -> None:
        self.changed.emit(value)

    def wheelEvent(self, event: QWheelEvent) -> None:
        _wheel(self, super().wheelEvent, event)


class Number(QDoubleSpinBox):
    """A number with decimals and its unit; otherwise like `WholeNumber`."""

    changed = Signal(float)

    def __init__(
        self, least: float, most: float, unit: str = "", step: float = 0.1, decimals: int = 1, width: int = 120
    ) -> None:
        super().__init__()
        self.setDecimals(decimals)
        self.setRange(least, most)
        self.setSingleStep(step)
        self.setSuffix(f" {unit}" if unit else "")
        _as_field(self, width)
        self.valueChanged.connect(self.on_value_changed)

    def set_value(self, value: float) -> None:
        """Show a value without emitting `changed`."""
        _quietly(self, value)

    @Slot(float)
    def on_value_changed(self, value: float) -> None:
        self.changed.emit(value)

    def wheelEvent(self, event: QWheelEvent) -> None:
        _wheel(self, super().wheelEvent, event)


def _as_field(box: QSpinBox | QDoubleSpinBox, width: int) -> None:
    box.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    box.setKeyboardTracking(False)  # a value counts when it is finished, not at every digit
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.setFixedWidth(width)
    box.lineEdit().setTextMargins(0, 0, 5, 0)


def _quietly(box: QSpinBox | QDoubleSpinBox, value: float) -> None:
    blocked = box.blockSignals(True)
    box.setValue(value)
    box.blockSignals(blocked)


def _wheel(widget: QWidget, handle, event: QWheelEvent) -> None:
    """Scrolling a page must not change a field that happens to be under the mouse."""
    if widget.hasFocus():
        handle(event)
    else:
        event.ignore()


class Choice(QComboBox):
    """One of several, by key.  `chosen` is emitted only when the user chose."""

    chosen = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str]] = (), name: str = "", width: int = 0) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        if width:
            self.setFixedWidth(width)
        self.set_choices(choices)
        self.activated.connect(self.on_activated)

    def set_choices(self, choices: Sequence[tuple[str, str]]) -> None:
        """Other choices; the chosen key stays if it is still there, otherwise the first one is chosen."""
        chosen = self.currentData()
        self.clear()
        for key, words in choices:
            self.addItem(words, key)
        self.set_value(chosen)

    @property
    def value(self) -> str:
        """The key of the chosen one."""
        return self.currentData() or ""

    def set_value(self, key: str) -> None:
        """Choose without emitting `chosen`."""
        self.setCurrentIndex(max(0, self.findData(key)))

    @Slot(int)
    def on_activated(self, index: int) -> None:
        self.chosen.emit(self.itemData(index))

    def wheelEvent(self, event: QWheelEvent) -> None:
        _wheel(self, super().wheelEvent, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        room = self.width() - 40
        option.currentText = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideRight, room)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        chevron = pixmap("chevron_down", Theme.current().tokens.mute, 14, self.devicePixelRatioF())
        painter.drawPixmap(QPointF(self.width() - 22, (self.height() - 14) / 2), chevron)


class Line(QLineEdit):
    """A line of text.  `changed` is emitted on Enter or when the focus leaves, if the text differs."""

    changed = Signal(str)

    def __init__(self, placeholder: str = "", width: int = 0) -> None:
        super().__init__()
        self.setPlaceholderText(placeholder)
        self._last = ""
        if width:
            self.setFixedWidth(width)
        self.editingFinished.connect(self.on_editing_finished)

    def set_value(self, words: str) -> None:
        """Show text without emitting `changed`."""
        self._last = words
        self.setText(words)

    @Slot()
    def on_editing_finished(self) -> None:
        if self.text() != self._last:
            self._last = self.text()
            self.changed.emit(self._last)


class SearchField(QLineEdit):
    """Words to search for; Ctrl+F leads here from anywhere on the page.  `settled` once the user has stopped typing."""

    settled = Signal()

    def __init__(self, placeholder: str, name: str, help_words: str, page: QWidget) -> None:
        super().__init__()
        self.setProperty("role", "search")
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name)
        tip(self, help_words, "Ctrl+F")
        self._sign = self.addAction(icon("search", "#888888", SIGN), QLineEdit.ActionPosition.LeadingPosition)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING)
        self._typing.timeout.connect(self.settled)
        self.textEdited.connect(self.on_edited)
        find = QShortcut(QKeySequence.StandardKey.Find, page)
        find.setWhatsThis(name)
        find.activated.connect(self.on_find_wanted)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """What is looked for, in lower case."""
        return tuple(self.text().lower().split())

    @Slot(str)
    def on_edited(self, _text: str) -> None:
        self._typing.start()

    @Slot()
    def on_find_wanted(self) -> None:
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._sign.setIcon(icon("search", tokens.mute, SIGN))


class Switch(QAbstractButton):
    """On or off: shown by the place of the knob, not by colour alone."""

    changed = Signal(bool)  # only when the user pressed it

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(self.on_clicked)

    def set_value(self, on: bool) -> None:
        """Show a state without emitting `changed`."""
        self.setChecked(on)

    @Slot(bool)
    def on_clicked(self, on: bool) -> None:
        self.changed.emit(on)

    def sizeHint(self) -> QSize:
        return QSize(44, 26)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = Theme.current().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(4, 4, self.width() - 8, self.height() - 8)
        on = self.isChecked()
        fill = tokens.accent if on else tokens.pressed
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        painter.setPen(QPen(QColor(tokens.accent if on else tokens.dim), 1))
        painter.setBrush(QColor(fill))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        radius = track.height() / 2 - 3
        x = track.right() - radius - 3 if on else track.left() + radius + 3
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.on_accent if on else tokens.mute))
        painter.drawEllipse(QPointF(x, track.center().y()), radius, radius)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(tokens.second), 2))
            ring = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
