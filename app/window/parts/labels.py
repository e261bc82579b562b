"""Text on a page: labels by role, titles, figures with tabular numerals, and a line that elides itself."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

NOTHING = "–"


def label(text: str = "", role: str = "text", tone: str = "", wrap: bool = False) -> QLabel:
    """A label; `role` and `tone` are those of the stylesheet.  Plain text: a driver's name is no markup."""
    result = QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setProperty("role", role)
    result.setProperty("tone", tone)
    result.setWordWrap(wrap)
    return result


def set_tone(widget: QWidget, tone: str) -> None:
    """Change the tone of a widget that is already styled."""
    set_style(widget, "tone", tone)


def set_style(widget: QWidget, name: str, value: str) -> None:
    """Change a property that the stylesheet depends on, and redraw the widget."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def dot(tone: str = "") -> QLabel:
    """An 8 px dot; there is always a word beside it."""
    result = label("", "dot", tone)
    result.setFixedSize(8, 8)
    return result


class PageTitle(QWidget):
    """The name of a page, a line below it for the current state, and room for controls on the right."""

    def __init__(self, title: str, subtitle: str = "") -> None:
        super().__init__()
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(10)
        column = QVBoxLayout()
        column.setSpacing(4)
        self.title = label(title, "title")
        self.subtitle = label(subtitle, "text", wrap=True)
        self.subtitle.setMinimumHeight(18)  # a line's height also while it is empty
        column.addWidget(self.title)
        column.addWidget(self.subtitle)
        self.row.addLayout(column, 1)

    def say(self, words: str, tone: str = "") -> None:
        """The line under the title."""
        self.subtitle.setText(words)
        set_tone(self.subtitle, tone)


class SectionTitle(QWidget):
    """The heading of a card, a remark on the right, and room for controls after it."""

    def __init__(self, title: str, remark: str = "") -> None:
        super().__init__()
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(8)
        self.title = label(title, "heading")
        self.remark = ElidedLabel(remark, "label")
        self.remark.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.row.addWidget(self.title)
        self.row.addWidget(self.remark, 1)

    def say(self, words: str) -> None:
        """The remark."""
        self.remark.set_words(words)


class FigureLabel(QWidget):
    """A label, a large number under it, and a small remark beside the number (or below it).

    The numerals have one width and the figure a least width of its own, so that nothing jumps when a number changes.
    """

    def __init__(
        self,
        title: str,
        least_width: int = 64,
        remark_role: str = "unit",
        remark_width: int = 0,
        remark_below: bool = False,
    ) -> None:
        super().__init__()
        self._remark_width = remark_width
        self._below = remark_below
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 if remark_below else 0)
        self.heading = label(title, "label")
        self.setMinimumWidth(least_width)
        self.number = label(NOTHING, "figure")
        column.addWidget(self.heading)
        if remark_below:
            self.remark = ElidedLabel("", "label")
            column.addWidget(self.number)
            column.addWidget(self.remark)
            column.addStretch(1)
            return
        self.remark = label("", remark_role)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.number)
        row.addWidget(self.remark, 0, Qt.AlignmentFlag.AlignBottom)
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(1)

    def say(self, number: str = NOTHING, remark: str = "", tone: str = "") -> None:
        """Set number and remark; `tone` colours the remark (good, warn, bad)."""
        self.number.setText(number)
        self.setAccessibleName(f"{self.heading.text()}: {number} {remark}".rstrip())
        set_tone(self.remark, tone)
        if self._below:
            self.remark.set_words(remark)
            return
        metrics = self.remark.fontMetrics()
        room = self._remark_width or metrics.horizontalAdvance(remark) + 1
        self.remark.setText(metrics.elidedText(remark, Qt.TextElideMode.ElideRight, room))
        self.remark.setToolTip(remark)


class ElidedLabel(QLabel):
    """One line that is elided where there is too little room; the tool tip has it in full.

    `middle` elides in the middle: for paths, whose end says most.
    """

    def __init__(self, words: str = "", role: str = "text", middle: bool = False) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setProperty("tone", "")
        self._mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        self._words = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(24)
        self.set_words(words)

    @property
    def words(self) -> str:
        """The full text."""
        return self._words

    def set_words(self, words: str) -> None:
        self._words = words
        self.setAccessibleName(words)
        self.updateGeometry()
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self._words) + 2, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(24, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        shown = self.fontMetrics().elidedText(self._words, self._mode, max(0, self.width()))
        if shown != self.text():
            self.setText(shown)
        self.setToolTip(self._words if shown != self._words else "")
