"""A slider whose stops are the checkpoints of a run, with the curve of their held-out losses above it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QSlider

from app.theme import Theme, Tokens

HEIGHT, SIDE = 64, 10  # pixels
TRACK = 50  # the track's height from above
TOP, BOTTOM = 8, 38  # of the curve
STOP, KNOB = 3.0, 7.0  # radii


class TimelineSlider(QSlider):
    """A value is an index into the list of losses."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._losses: tuple[float | None, ...] = ()
        self.setSingleStep(1)
        self.setPageStep(1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        Theme.current().restyled.connect(self.on_restyled)

    def show_losses(self, losses: Sequence[float | None]) -> None:
        """One stop per loss; None if it was not measured."""
        self._losses = tuple(losses)
        blocked = self.blockSignals(True)
        self.setRange(0, max(0, len(losses) - 1))
        self.blockSignals(blocked)
        self.setEnabled(len(losses) > 1)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, HEIGHT)

    # ---- the mouse: to the nearest stop, at once

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._nearest(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.setValue(self._nearest(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setSliderDown(False)

    def _nearest(self, x: float) -> int:
        return round((x - SIDE) / max(1.0, self.width() - 2 * SIDE) * self.maximum())

    # ---- painting

    def _x(self, place: int) -> float:
        return SIDE + (self.width() - 2 * SIDE) * (place / self.maximum() if self.maximum() else 0.5)

    def _curve(self) -> list[QPointF]:
        known = [(i, loss) for i, loss in enumerate(self._losses) if loss is not None and math.isfinite(loss)]
        if len(known) < 2:
            return []
        least, most = min(loss for _, loss in known), max(loss for _, loss in known)
        scale = (BOTTOM - TOP) / (most - least) if most > least else 0.0
        return [QPointF(self._x(i), BOTTOM - (loss - least) * scale) for i, loss in known]

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = Theme.current().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        on = self.isEnabled()
        hue = QColor(tokens.second if on else tokens.dim)
        self._paint_curve(painter, tokens)
        left, right, here = self._x(0), self._x(self.maximum()), self._x(self.value())
        painter.setPen(_thick(QColor(tokens.line)))
        painter.drawLine(QPointF(left, TRACK), QPointF(right, TRACK))
        if on:
            painter.setPen(_thick(hue))
            painter.drawLine(QPointF(left, TRACK), QPointF(here, TRACK))
        for place in range(self.maximum() + 1 if on else 0):
            painter.setPen(QPen(QColor(tokens.panel), 1.5))
            painter.setBrush(hue if place <= self.value() else QColor(tokens.dim))
            painter.drawEllipse(QPointF(self._x(place), TRACK), STOP + 0.75, STOP + 0.75)
        if on:
            painter.setPen(QPen(hue, 2))
            painter.setBrush(hue if self.hasFocus() else QColor(tokens.panel))
            painter.drawEllipse(QPointF(here, TRACK), KNOB, KNOB)
        if self.hasFocus():
            painter.setPen(QPen(QColor(tokens.second), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)

    def _paint_curve(self, painter: QPainter, tokens: Tokens) -> None:
        points = self._curve()
        if not points:
            return
        path = QPainterPath(points[0])
        for point in points[1:]:
            path.lineTo(point)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(tokens.accent if self.isEnabled() else tokens.dim), 1.5))
        painter.drawPath(path)
        here = self._x(self.value())
        at = next((point for point in points if abs(point.x() - here) < 0.5), None)
        if at is not None:
            painter.setPen(QPen(QColor(tokens.line), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(here, at.y()), QPointF(here, TRACK))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(at, STOP, STOP)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.update()


def _thick(colour: QColor) -> QPen:
    pen = QPen(colour, 4)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    return pen
