"""The layers as a small heat map: a row for each statistic, a cell for each layer.

Each row has its own scale, shown at its right end: gradients and updates are not comparable. A mixture of experts has
one row more, in which a cell has a band for each expert of the layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.state.run_history import LayerLine
from app.theme import Theme
from app.theme.fonts import LABEL, interface_font
from app.theme.plots import mixed
from app.theme.tokens import Tokens

HEAD, BETWEEN, FOOT = 18, 6, 18
LEAST_CELL, HIGHEST_CELL = 12, 56
FAINT = 0.12  # strength of the colour in the lowest cell
LEAST_RANGE = math.log(10)  # of a row's colours: layers that differ by 10 % should look alike
MANY_DEAD = 0.5  # a share of dead channels that is as bad as it gets


@dataclass(frozen=True)
class Statistic:
    name: str
    field: str
    token: str
    help: str
    logarithmic: bool = True

    def words(self, value: float) -> str:
        if not math.isfinite(value):
            return "not finite"
        return f"{value:.1e}" if self.logarithmic else f"{100 * value:.0f} %"


STATISTICS = (
    Statistic("Gradient", "gradient_rms", "second", "Size of this layer's gradient (root mean square)."),
    Statistic("Update", "update_ratio", "third", "How far one step moves the weights, relative to their size."),
    Statistic("Dead channels", "dead_share", "warn", "Share of channels that are inactive.", logarithmic=False),
)
LOAD = Statistic("Expert load", "expert_load", "accent", "Share of the tokens that an expert got.", logarithmic=False)
MUCH_LOAD = 2.0  # times the even share, at which a band is as strong as it gets


class LayerMap(QWidget):
    """Custom-painted; the tool tip has the value of the cell under the pointer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers: tuple[LayerLine, ...] = ()
        self.step = 0
        self.setMouseTracking(True)
        self._metrics = QFontMetrics(interface_font(LABEL))
        Theme.current().restyled.connect(self.on_restyled)
        self.show_layers((), 0)

    def show_layers(self, layers: Sequence[LayerLine], step: int) -> None:
        """The newest statistics."""
        layers = tuple(layers)
        if layers == self.layers and layers:
            return
        self.layers, self.step = layers, step
        self.setMinimumHeight(len(self.rows) * (HEAD + LEAST_CELL + BETWEEN) - BETWEEN + FOOT)
        if layers:
            ranges = (f"{s.name.lower()} {' to '.join(map(s.words, self._range(s)))}" for s in self.rows)
            self.setAccessibleName(f"Layers at step {step:,}: {', '.join(ranges)}")
        else:
            self.setAccessibleName("Layers: not measured yet")
        self.update()

    @property
    def rows(self) -> tuple[Statistic, ...]:
        """What is shown, from the top."""
        return (*STATISTICS, LOAD) if any(line.expert_load for line in self.layers) else STATISTICS

    def sizeHint(self) -> QSize:
        return QSize(220, len(self.rows) * (HEAD + 28 + BETWEEN) - BETWEEN + FOOT)

    def cell(self, row: int, column: int) -> QRectF:
        """The rectangle of a cell, with a gap of one pixel between cells."""
        height = self._cell_height()
        width = self.width() / max(1, len(self.layers))
        left, right = round(column * width), round((column + 1) * width)
        top = row * (HEAD + height + BETWEEN) + HEAD
        return QRectF(left, top, max(1, right - left - (1 if width >= 4 else 0)), height)

    def band(self, column: int, expert: int) -> QRectF:
        """The part of a layer's cell that is an expert's, the first at the top."""
        cell, experts = self.cell(len(STATISTICS), column), len(self.layers[column].expert_load)
        return QRectF(cell.left(), cell.top() + expert * cell.height() / experts, cell.width(), cell.height() / experts)

    def colour(self, statistic: Statistic, value: float, tokens: Tokens) -> QColor:
        """The fill for a value: the larger, the stronger."""
        if not math.isfinite(value):
            return QColor(tokens.bad)
        share = FAINT + (1 - FAINT) * self._share(statistic, value)
        return mixed(getattr(tokens, statistic.token), tokens.panel, share)

    def words_at(self, x: float, y: float) -> str:
        """The tool tip of the cell at a point."""
        for row, statistic in enumerate(self.rows):
            for column, line in enumerate(self.layers):
                if not self.cell(row, column).adjusted(0, 0, 1, 0).contains(x, y):
                    continue
                if statistic is LOAD:
                    place = self.cell(row, column)
                    return self._words_of_expert(line, (y - place.top()) / place.height()) if line.expert_load else ""
                value = statistic.words(getattr(line, statistic.field))
                return f"Layer {line.layer + 1}, {statistic.name.lower()}: {value}\n{statistic.help}"
        return ""

    def _words_of_expert(self, line: LayerLine, depth: float) -> str:
        """The tool tip of a layer's expert; `depth`: how far down in the cell, 0 to 1."""
        experts = len(line.expert_load)
        expert = min(int(depth * experts), experts - 1)
        share, even = LOAD.words(line.expert_load[expert]), LOAD.words(1 / experts)
        return f"Layer {line.layer + 1}, expert {expert + 1}: {share} (evenly: {even})\n{LOAD.help}"

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = Theme.current().tokens
        painter = QPainter(self)
        painter.setFont(interface_font(LABEL))
        middle, right = Qt.AlignmentFlag.AlignVCenter, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        for row, statistic in enumerate(self.rows):
            top = self.cell(row, 0).top() - HEAD
            head = QRectF(0, top, self.width(), HEAD - 3)
            painter.setPen(tokens.mute)
            painter.drawText(head, middle, statistic.name)
            if not self.layers:
                painter.fillRect(self.cell(row, 0).adjusted(0, 0, 1, 0), QColor(tokens.raised))
                continue
            low, high = self._range(statistic)
            words = statistic.words(low) if low == high else f"{statistic.words(low)} – {statistic.words(high)}"
            painter.setPen(tokens.ink)
            painter.drawText(head, right, words)
            for column, line in enumerate(self.layers):
                if statistic is LOAD:
                    self._paint_experts(painter, column, tokens)
                    continue
                painter.fillRect(self.cell(row, column), self.colour(statistic, getattr(line, statistic.field), tokens))
        self._paint_foot(painter, tokens)

    def _paint_experts(self, painter: QPainter, column: int, tokens: Tokens) -> None:
        load = self.layers[column].expert_load
        for expert, share in enumerate(load):
            strength = FAINT + (1 - FAINT) * min(1.0, share * len(load) / MUCH_LOAD)
            painter.fillRect(self.band(column, expert), mixed(getattr(tokens, LOAD.token), tokens.panel, strength))

    def _paint_foot(self, painter: QPainter, tokens: Tokens) -> None:
        painter.setPen(tokens.mute)
        foot = QRectF(0, self.cell(len(self.rows) - 1, 0).bottom() + 2, self.width(), FOOT)
        if not self.layers:
            painter.drawText(foot, Qt.AlignmentFlag.AlignCenter, "Available after the first steps")
            return
        painter.drawText(foot, Qt.AlignmentFlag.AlignLeft, "first layer")
        painter.drawText(foot, Qt.AlignmentFlag.AlignRight, "last")

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            words = self.words_at(event.pos().x(), event.pos().y())
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().event(event)

    @Slot(object)
    def on_restyled(self, _tokens) -> None:
        self.update()

    def _cell_height(self) -> int:
        count = len(self.rows)
        room = (self.height() - FOOT - (count - 1) * BETWEEN - count * HEAD) // count
        return max(LEAST_CELL, min(HIGHEST_CELL, room))

    def _range(self, statistic: Statistic) -> tuple[float, float]:
        if statistic is LOAD:
            values = [share for line in self.layers for share in line.expert_load]
        else:
            values = [getattr(line, statistic.field) for line in self.layers]
        finite = [value for value in values if math.isfinite(value)] or [math.nan]
        return min(finite), max(finite)

    def _share(self, statistic: Statistic, value: float) -> float:
        """A value between the smallest (0) and the largest (1) of its row; dead channels on a fixed scale."""
        if not statistic.logarithmic:
            return min(1.0, value / MANY_DEAD)
        low, high = self._range(statistic)
        if not 0 < low < high or value <= 0:
            return 1.0 if value >= high > 0 else 0.0
        return math.log(value / low) / max(math.log(high / low), LEAST_RANGE)
