"""How far two checkpoints differ, by layer and kind of tensor, as a heat map; a line below describes a cell.

Zero is grey, so that what was not trained stands out; the strongest blue is the largest value of the map.  The arrow
keys move over the cells like the pointer.
"""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QLinearGradient, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import Theme, Tokens
from app.theme.fonts import interface_font
from app.theme.plots import AXIS_FONT, mixed
from app.values.checkpoints import HeatMapView
from app.values.words import percent

GUTTER, FOOT, BETWEEN = 52, 20, 8
TALLEST, LEAST, WANTED = 24, 6, 230  # a cell's height, and the height of all layers
FAINT = 0.22  # strength of the colour of the smallest change that is not zero
MEASURES = {
    "relative_l2": ("Relative", "Norm of the change, relative to the norm of the weights"),
    "largest_change": ("Largest", "The largest change of a single weight"),
    "cosine": ("Direction", "Change of direction: 1 − cosine similarity"),
    "changed_share": ("Changed", "Share of weights that differ"),
}


class DriftMap(QWidget):
    """Custom-painted.  `pointed` carries the text for the cell under the pointer, or "" for none.

    The tool tip is the tensor's name as it is in files.
    """

    pointed = Signal(str)
    help_keys = (("In the drift map: move by cell", "Left, Right, Up, Down"),)

    def __init__(self) -> None:
        super().__init__()
        self.heat: HeatMapView | None = None
        self._missing: np.ndarray | None = None
        self._cell: tuple[int, int] | None = None  # row and column; row == number of layers: outside of them
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        Theme.current().restyled.connect(self.on_restyled)

    def show_map(self, heat: HeatMapView | None, missing: np.ndarray | None = None) -> None:
        """One measure of a comparison; `missing` marks layers without such a tensor, whose cells stay empty."""
        self.heat, self._cell, self._missing = heat, None, missing
        if heat is not None:
            self.setAccessibleName(f"Drift map, {MEASURES[heat.measure][0].lower()}: {self.summary()}")
        self.setFixedHeight(self.sizeHint().height())
        self.pointed.emit("")
        self.update()

    def sizeHint(self) -> QSize:
        layers = len(self.heat.layers) if self.heat is not None else 1
        below = BETWEEN + self._height() + FOOT if self.outside else 0
        return QSize(GUTTER + 240, layers * self._height() + FOOT + below)

    @property
    def outside(self) -> list[tuple[str, float]]:
        """Name and value of what lies outside the layers."""
        return list(self.heat.outside.items()) if self.heat is not None else []

    def value(self, row: int, column: int) -> float:
        """The value of a cell as it is drawn: 1 − cosine for directions."""
        heat = self.heat
        outside = row == len(heat.layers)
        found = self.outside[column][1] if outside else float(heat.values[row, column])
        return 1.0 - found if heat.measure == "cosine" else found

    @property
    def most(self) -> float:
        """The value with the full colour."""
        if self.heat.measure == "changed_share":
            return 1.0
        values = [self.value(row, column) for row, column in self._cells()]
        finite = [value for value in values if math.isfinite(value)]
        return max(finite, default=0.0)

    def summary(self) -> str:
        """Where the largest value is."""
        known = [(self.value(*cell), cell) for cell in self._cells()]
        known = [each for each in known if math.isfinite(each[0])]
        if not known or max(known)[0] == 0:
            return "no difference"
        return f"most in {self.where(*max(known)[1])}"

    def words(self, row: int, column: int) -> str:
        """ "layer 3, input projection: 0.0213"."""
        return f"{self.where(row, column)}: {value_words(self.heat.measure, self.value(row, column))}"

    def where(self, row: int, column: int) -> str:
        name = self.raw_name(row, column)
        words = self.heat.labels.get(name, name)
        return words if row == len(self.heat.layers) else f"layer {self.heat.layers[row]}, {words}"

    def raw_name(self, row: int, column: int) -> str:
        """The tensor as files name it, without its layer: "in_proj.weight"."""
        outside = row == len(self.heat.layers)
        return self.outside[column][0] if outside else self.heat.kinds[column]

    # ---- geometry

    def cell(self, row: int, column: int) -> QRectF:
        """The rectangle of a cell, with a small gap between cells."""
        layers, height = len(self.heat.layers), self._height()
        count = len(self.outside) if row == layers else len(self.heat.kinds)
        top = row * height + (FOOT + BETWEEN if row == layers else 0)
        width = (self.width() - GUTTER) / max(1, count)
        left, right = round(GUTTER + column * width), round(GUTTER + (column + 1) * width)
        gap = 2 if height >= 12 else 1
        return QRectF(left, top, max(1, right - left - gap), max(1, height - gap))

    def cell_at(self, place: QPointF) -> tuple[int, int] | None:
        """The cell at a point."""
        return next((cell for cell in self._cells() if self.cell(*cell).contains(place)), None)

    def _cells(self) -> list[tuple[int, int]]:
        if self.heat is None:
            return []
        layers = len(self.heat.layers)
        inside = [(row, column) for row in range(layers) for column in range(len(self.heat.kinds))]
        return inside + [(layers, column) for column in range(len(self.outside))]

    def _height(self) -> int:
        layers = len(self.heat.layers) if self.heat is not None else 1
        return min(TALLEST, max(LEAST, WANTED // max(1, layers)))

    # ---- drawing

    def colour(self, value: float, most: float, tokens: Tokens) -> QColor:
        """Grey for zero, then from faint to full; red if not finite."""
        if not math.isfinite(value):
            return QColor(tokens.bad)
        if value <= 0 or most <= 0:
            return QColor(tokens.raised)
        return mixed(tokens.second, tokens.raised, FAINT + (1 - FAINT) * min(1.0, value / most))

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self.heat is None:
            return
        tokens, most = Theme.current().tokens, self.most
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(interface_font(AXIS_FONT))
        layers = len(self.heat.layers)
        painter.setPen(Qt.PenStyle.NoPen)
        for row, column in self._cells():
            value, room = self.value(row, column), self.cell(row, column)
            if row < layers and self._missing is not None and self._missing[row, column]:
                continue
            painter.setBrush(self.colour(value, most, tokens))
            painter.drawRoundedRect(room, 2, 2)
        self._paint_names(painter, tokens)
        if self._cell is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(tokens.ink), 1.5))
            painter.drawRoundedRect(self.cell(*self._cell).adjusted(-0.5, -0.5, 0.5, 0.5), 2, 2)
        if self.hasFocus() and self._cell is None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(tokens.second), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)

    def _paint_names(self, painter: QPainter, tokens: Tokens) -> None:
        painter.setPen(QColor(tokens.mute))
        metrics = QFontMetrics(painter.font())
        layers, height = self.heat.layers, self._height()
        every = max(1, math.ceil(15 / height))
        for row, layer in enumerate(layers):
            if row % every == 0:
                room = QRectF(0, row * height - 8 + height / 2 - 1, GUTTER - 8, 16)
                words = f"layer {layer}" if height >= 15 else f"{layer}"
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
        short = self.heat.short
        for column, kind in enumerate(self.heat.kinds):
            words = short.get(kind, kind.removesuffix(".weight"))
            self._paint_caption(painter, metrics, len(layers) - 1, column, words)
        for column, (name, _) in enumerate(self.outside):
            self._paint_caption(painter, metrics, len(layers), column, short.get(name, name))

    def _paint_caption(self, painter: QPainter, metrics: QFontMetrics, row: int, column: int, words: str) -> None:
        cell = self.cell(row, column)
        room = QRectF(cell.left() - 3, cell.bottom() + 2, cell.width() + 6, FOOT - 4)
        shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, shown)

    # ---- pointer and keys

    def point(self, cell: tuple[int, int] | None) -> None:
        """Mark a cell and describe it; None for none."""
        if cell != self._cell:
            self._cell = cell
            self.setToolTip(self.raw_name(*cell) if cell is not None else "")
            self.pointed.emit(self.words(*cell) if cell is not None else "")
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.point(self.cell_at(event.position()))

    def leaveEvent(self, _event) -> None:
        self.point(None)

    def focusOutEvent(self, event) -> None:
        super().focusOutEvent(event)
        self.point(None)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move over the cells, Escape clears the mark."""
        moves = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}
        key = event.key()
        if key == Qt.Key.Key_Escape and self._cell is not None:
            self.point(None)
        elif key in moves and self._cells():
            row, column = self._cell or (0, -1 if key == Qt.Key.Key_Right else 0)
            rows = len(self.heat.layers) + bool(self.outside)
            row = min(max(row + moves[key][0], 0), rows - 1)
            count = len(self.outside) if row == len(self.heat.layers) else len(self.heat.kinds)
            self.point((row, min(max(column + moves[key][1], 0), count - 1)))
        else:
            event.ignore()

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.update()


class ColourScale(QWidget):
    """The colours from zero to the largest value, with both numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._map: DriftMap | None = None
        self.setFixedHeight(16)
        self.setMinimumWidth(150)
        Theme.current().restyled.connect(self.on_restyled)

    def show_for(self, drift_map: DriftMap) -> None:
        """The scale of this map."""
        self._map = drift_map
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._map is None or self._map.heat is None:
            return
        tokens, drift = Theme.current().tokens, self._map
        painter = QPainter(self)
        painter.setFont(interface_font(AXIS_FONT))
        painter.setPen(QColor(tokens.mute))
        high = value_words(drift.heat.measure, drift.most)
        room = QRectF(self.rect())
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, high)
        taken = QFontMetrics(painter.font()).horizontalAdvance(high) + 8
        bar = QRectF(room.right() - taken - 70, room.center().y() - 4, 70, 8)
        painter.drawText(room.adjusted(0, 0, -taken - 78, 0), middle | Qt.AlignmentFlag.AlignRight, "0")
        fill = QLinearGradient(bar.topLeft(), bar.topRight())
        fill.setColorAt(0, QColor(tokens.raised))
        fill.setColorAt(0.02, drift.colour(1e-9, 1.0, tokens))
        fill.setColorAt(1, QColor(tokens.second))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(bar, 3, 3)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.update()


def value_words(measure: str, value: float) -> str:
    """A value with as many figures as mean something."""
    if not math.isfinite(value):
        return "beyond measure" if math.isinf(value) else "not a number"
    if measure == "changed_share":
        return percent(value)
    return "0" if value == 0 else f"{value:.3g}"
