"""The box beside the pointer: a step and the value of each curve there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.theme.fonts import LABEL, interface_font
from app.theme.plots import PlotStyle

PADDING, LINE, SWATCH, GAP = 9, 18, 8, 7
FROM_POINTER = 12


@dataclass(frozen=True)
class Reading:
    """The value of one curve at a step; `place` is where it is drawn, in the plot's coordinates."""

    token: str
    name: str
    words: str
    place: float | None = None
    shape: str = "line"  # line, point, area: the swatch


class ReadOut(QWidget):
    """Custom-painted: it moves with the pointer, and labels in a layout would be laid out again each time."""

    def __init__(self, parent: QWidget, style: PlotStyle) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.style_ = style
        self.title = ""
        self.readings: tuple[Reading, ...] = ()
        self.hide()

    def say(self, title: str, readings: Sequence[Reading], x: float, room: QRectF) -> None:
        """Show it beside `x`, inside `room`, on the side with more space."""
        self.title, self.readings = title, tuple(readings)
        size = self._wanted()
        left = x + FROM_POINTER
        if left + size.width() > room.right():
            left = max(room.left(), x - FROM_POINTER - size.width())
        top = max(0.0, min(room.top() + 4, self.parentWidget().height() - size.height()))
        self.resize(size)
        self.move(QPoint(round(left), round(top)))
        self.show()
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self.style_.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.style_.colour("line"), 1))
        painter.setBrush(self.style_.brush("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.setFont(interface_font(LABEL))
        painter.setPen(tokens.mute)
        left, right = PADDING, self.width() - PADDING
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(left, PADDING - 3, right - left, LINE), middle, self.title)
        for row, reading in enumerate(self.readings, start=1):
            line = QRectF(left + SWATCH + GAP, PADDING - 3 + row * LINE, right - left - SWATCH - GAP, LINE)
            paint_swatch(painter, self.style_, reading.token, reading.shape, QRectF(left, line.top(), SWATCH, LINE))
            painter.setPen(tokens.mute)
            painter.drawText(line, middle, reading.name)
            painter.setPen(tokens.ink)
            painter.drawText(line, middle | Qt.AlignmentFlag.AlignRight, reading.words)

    def _wanted(self) -> QSize:
        metrics = QFontMetrics(interface_font(LABEL))
        widths = [metrics.horizontalAdvance(r.name) + metrics.horizontalAdvance(r.words) for r in self.readings]
        rows = max(widths, default=0) + SWATCH + GAP + 16
        width = max(rows, metrics.horizontalAdvance(self.title)) + 2 * PADDING
        return QSize(width, LINE * (len(self.readings) + 1) + 2 * (PADDING - 3))


def paint_swatch(painter: QPainter, style: PlotStyle, token: str, shape: str, room: QRectF) -> None:
    """A swatch of a curve: a line, a dashed line, a point or a filled square, so that colour is not the only cue."""
    middle = room.center()
    if shape in ("line", "thin", "dashes"):
        pen = QPen(style.colour(token, 0.7 if shape == "thin" else 1.0), 1 if shape == "thin" else 2)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if shape == "dashes":
            pen.setDashPattern([2, 1])
        painter.setPen(pen)
        y = int(middle.y()) + 0.5 * (shape == "thin")  # a line of one pixel must lie on one row of pixels
        painter.drawLine(QPointF(room.left(), y), QPointF(room.right(), y))
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(style.brush(token, 0.8 if shape == "area" else 1.0))
    square = QRectF(0, 0, SWATCH, SWATCH)
    square.moveCenter(middle)
    if shape == "point":
        painter.drawEllipse(square)
    else:
        painter.drawRoundedRect(square, 2, 2)
