"""The losses of the blends measured so far, from all of the first parent to all of the second."""

from __future__ import annotations

import math
from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import Theme, Tokens
from app.theme.fonts import interface_font
from app.theme.plots import AXIS_FONT
from app.window.checkpoints.words import loss_words

HEIGHT, EDGE, TOP, BOTTOM = 104, 8, 20, 22


class BlendPlot(QWidget):
    """A point for each blend; a line marks the slider's position."""

    def __init__(self) -> None:
        super().__init__()
        self.losses: dict[float, float] = {}  # by weight of the second parent
        self.weight = 0.5
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        Theme.current().restyled.connect(self.on_restyled)
        self.show_losses({}, 0.5)

    def show_losses(self, losses: Mapping[float, float], weight: float) -> None:
        """`losses` by weight of the second parent, and the slider's `weight`."""
        self.losses = {key: value for key, value in sorted(losses.items()) if math.isfinite(value)}
        self.weight = weight
        words = ", ".join(f"{key:.0%}: {loss_words(value)}" for key, value in self.losses.items())
        self.setAccessibleName(f"Held-out loss by share of the second checkpoint: {words or 'not measured'}")
        self.update()

    def place(self, weight: float, loss: float) -> QPointF:
        low, high = min(self.losses.values()), max(self.losses.values())
        share = (loss - low) / (high - low) if high > low else 0.5
        room = self._room()
        return QPointF(room.left() + weight * room.width(), room.bottom() - share * room.height())

    def _room(self) -> QRectF:
        return QRectF(self.rect()).adjusted(EDGE, TOP, -EDGE, -BOTTOM)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = Theme.current().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = self._room()
        painter.setPen(QPen(QColor(tokens.line), 1))
        for y in (room.top(), room.bottom()):
            painter.drawLine(QPointF(room.left(), round(y) + 0.5), QPointF(room.right(), round(y) + 0.5))
        x = room.left() + self.weight * room.width()
        painter.setPen(QPen(QColor(tokens.dim), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(x, room.top() - 4), QPointF(x, room.bottom() + 4))
        points = [(weight, loss, self.place(weight, loss)) for weight, loss in self.losses.items()]
        painter.setPen(QPen(QColor(tokens.accent), 1.5))
        painter.drawPolyline([point for _, _, point in points])
        best = min(self.losses.values(), default=0.0)
        painter.setFont(interface_font(AXIS_FONT))
        for weight, loss, point in points:
            painter.setPen(QPen(QColor(tokens.panel), 1))
            painter.setBrush(QColor(tokens.accent))
            painter.drawEllipse(point, 5, 5)
            if loss == best or weight in (0.0, 1.0):
                painter.setPen(QColor(tokens.accent_text if loss == best else tokens.mute))
                words = f"{loss_words(loss)} best" if loss == best else loss_words(loss)
                painter.drawText(self._label_room(point, weight, loss == best), _aligned(weight), words)

    def _label_room(self, point: QPointF, weight: float, below: bool) -> QRectF:
        """Above a point; below the lowest one, where the curve comes down from both sides."""
        left = point.x() - (0 if weight < 0.1 else 100 if weight > 0.9 else 50)
        return QRectF(left, point.y() + 7 if below else max(0.0, point.y() - 20), 100, 14)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.update()


def _aligned(weight: float) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeft if weight < 0.1 else Qt.AlignmentFlag.AlignRight
    return (side if weight < 0.1 or weight > 0.9 else Qt.AlignmentFlag.AlignHCenter) | Qt.AlignmentFlag.AlignVCenter
