"""Memory by kind as one bar against the ceiling: what a run will need, before its first step."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import Theme
from app.theme.plots import MEMORY_TOKENS, PlotStyle
from app.values.words import nbytes

HEIGHT = 12
KINDS_HELP = (
    "weights: the model itself\n"
    "optimiser: running averages of the gradients of each trained weight\n"
    "gradients: the direction in which each trained weight should change\n"
    "activations: intermediate results of the layers\n"
    "workspace: scratch space for the computation\n"
    "decode: what suggestions need during the run"
)
LEAST = 3.0  # pixels, so that a kind with few bytes is visible


def in_order(memory: Mapping[str, int]) -> list[str]:
    """Kinds that hold something, in the order that all plots use."""
    known = [kind for kind in MEMORY_TOKENS if memory.get(kind)]
    return known + sorted(kind for kind in memory if memory[kind] and kind not in MEMORY_TOKENS)


class MemoryBar(QWidget):
    """The whole width is the ceiling, or the need where that is larger: then a line marks the ceiling."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: dict[str, int] = {}
        self.ceiling = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        Theme.current().restyled.connect(self.on_restyled)

    def show_memory(self, memory: Mapping[str, int], ceiling: int) -> None:
        """Bytes by kind, and the ceiling (0: unknown)."""
        self.memory, self.ceiling = dict(memory), ceiling
        total = sum(memory.values())
        self.setAccessibleName(f"Memory: {nbytes(total)} of {nbytes(ceiling)}" if ceiling else "Memory")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def segments(self) -> list[tuple[str, QRectF]]:
        """The rectangle of each kind."""
        total = sum(self.memory.values())
        whole = max(total, self.ceiling, 1)
        x, result = 0.0, []
        for kind in in_order(self.memory):
            width = max(LEAST, self.memory[kind] / whole * self.width())
            result.append((kind, QRectF(x, 0, width, self.height())))
            x += width
        return result

    def paintEvent(self, _event: QPaintEvent) -> None:
        style = PlotStyle(Theme.current().tokens)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shape = QPainterPath()
        shape.addRoundedRect(QRectF(self.rect()), HEIGHT / 3, HEIGHT / 3)
        painter.setClipPath(shape)
        painter.fillRect(self.rect(), style.brush("raised"))
        painter.setPen(Qt.PenStyle.NoPen)
        for kind, place in self.segments():
            painter.fillRect(place, style.memory_brush(kind))
        total = sum(self.memory.values())
        if self.ceiling and total > self.ceiling:
            painter.setPen(QPen(style.colour("bad"), 2))
            x = self.ceiling / total * self.width()
            painter.drawLine(int(x), 0, int(x), self.height())

    @Slot(object)
    def on_restyled(self, _tokens) -> None:
        self.update()
