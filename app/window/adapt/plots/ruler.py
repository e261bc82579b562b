"""An axis: ticks at round numbers, our own labels, and grid lines in place of a frame."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pyqtgraph as pg
from PySide6.QtCore import QRectF

from app.theme.plots import PlotStyle
from app.window.adapt.plots.numbers import log_ticks, ticks

LEFT_WIDTH, RIGHT_WIDTH, BOTTOM_HEIGHT = 56, 40, 20  # fixed: a plot must not move when a number gets longer
OVERHANG = 8
RIGHT_MARGIN = 17  # for half of the last step's label
COLUMN = 64  # pixels per tick of the lower axis

Words = Callable[[float, float], str]  # of a value, given the distance between ticks


class Ruler(pg.AxisItem):
    def __init__(self, orientation: str, words: Words, grid: bool = False) -> None:
        super().__init__(orientation)
        self._words = words
        self.interval = 0.0  # the distance between ticks, if the plot has set one
        self.most = 4  # intervals, if it has not
        self.unit = 1.0  # what 1 in plot coordinates stands for
        self.logarithmic = False
        upright = orientation != "bottom"
        self.setStyle(tickLength=0, tickAlpha=255, hideOverlappingLabels=False)
        if upright:
            self.setStyle(tickTextOffset=8)
            self.setWidth(LEFT_WIDTH if orientation == "left" else RIGHT_WIDTH)
        else:
            self.setStyle(tickTextOffset=5)
            self.setHeight(BOTTOM_HEIGHT)
        self.setGrid(255 if grid else False)

    def restyle(self, style: PlotStyle) -> None:
        self.setTickFont(style.axis_font())
        self.setPen(pg.mkPen(None))
        self.setTickPen(style.pen("line"))
        self.setTextPen(style.pen("mute"))

    def boundingRect(self) -> QRectF:
        """A little beyond the plot, or the first and the last label would be omitted."""
        rect = super().boundingRect()
        if self.orientation == "bottom":
            return rect.adjusted(-LEFT_WIDTH, 0, RIGHT_MARGIN, 0)
        return rect.adjusted(0, -OVERHANG, 0, OVERHANG)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        if self.logarithmic:
            places = [math.log10(value) for value in log_ticks(10.0**low, 10.0**high, self.most)]
            return [(0.0, places)]
        if self.orientation == "bottom":
            step, places = ticks(low, high, max(1, int(size // COLUMN)))
            return [(step, [place for place in places if place == int(place)])]
        if not self.interval:
            return [ticks(low, high, self.most)]
        step = self.interval / self.unit
        first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
        return [(step, [index * step for index in range(first, last + 1)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.logarithmic:
            values = [10.0**value for value in values]
            distances = [b - a for a, b in itertools.pairwise(values)]
            spacing = min(distances, default=max(values, default=1.0))
        return [self._words(value * self.unit, spacing * self.unit) for value in values]
