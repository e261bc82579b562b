"""Tokens per second."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.state.run_history import RunHistory
from app.theme.plots import PlotStyle
from app.window.adapt.plots.chart import Chart
from app.window.adapt.plots.numbers import from_its_start, thinned
from app.window.adapt.plots.read_out import Reading
from app.window.adapt.plots.timeline import Timeline
from app.window.adapt.plots.words import count

LEGEND = (("second", "line", "tokens/s"),)


class SpeedChart(Chart):
    """The axis starts at zero, so that half the height is half the speed."""

    name = "Tokens per second"
    help = "Tokens that the run processes per second."
    floor = 0.0

    def __init__(self, timeline: Timeline, style: PlotStyle) -> None:
        super().__init__(timeline, style, count)
        self._speed = self.line("second", 1.0)
        self.restyle(style)

    def restyle(self, style: PlotStyle) -> None:
        super().restyle(style)
        self._speed.setFillLevel(0.0)
        self._speed.setBrush(style.brush("second", 0.15))

    def draw(self, history: RunHistory, low: float, high: float, columns: int) -> tuple[float, float]:
        x, y = thinned(*from_its_start(history.step, history.tokens_per_second), low, high, columns)
        self._speed.setData(x, y)
        return 0.0, float(np.nanmax(y, initial=0.0)) or 1.0

    def read(self, history: RunHistory, index: int) -> Iterator[Reading]:
        speed = history.tokens_per_second[index]
        yield Reading("second", "tokens/s", f"{speed:,.0f}", speed)

    def table(self, history: RunHistory) -> tuple[tuple[str, ...], list[np.ndarray]]:
        return ("step", "tokens_per_second"), [history.step, history.tokens_per_second]
