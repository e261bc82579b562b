"""Learning rate and gradient norm: two scales, one plot.

Both curves are scaled to their own axis (0 to 1); the axes show the actual numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.state.run_history import RunHistory
from app.theme.plots import PlotStyle
from app.window.adapt.plots.chart import Chart
from app.window.adapt.plots.numbers import fitted, thinned
from app.window.adapt.plots.read_out import Reading
from app.window.adapt.plots.timeline import Timeline
from app.window.adapt.plots.words import count, rate, significant

LEGEND = (("warn", "line", "learning rate, left"), ("third", "thin", "gradient norm, right"))
SMOOTH = 4  # pixel columns per point of the rate
ROOM = 1.04  # above the highest value, or its line would be cut in half
HIGHEST = 99.0  # percentile of the norms that the right axis reaches to


class RatesChart(Chart):
    """The norm is noisy: a thin line.  The rate follows a schedule: a thick one."""

    name = "Learning rate and gradient norm"
    help = "The learning rate sets how far a step may move the weights; the gradient norm is the size of the gradient."

    def __init__(self, timeline: Timeline, style: PlotStyle) -> None:
        super().__init__(timeline, style, rate, count)
        self._norm = self.line("third", 1.0, 0.8)
        self._rate = self.line("warn", 2.0)
        self._tops = (1.0, 1.0)
        self.restyle(style)

    def set_left(self, low: float, high: float) -> None:
        """Nothing to fit: both curves are scaled to their axes."""
        self.getViewBox().setYRange(0.0, ROOM, padding=0)

    def draw(self, history: RunHistory, low: float, high: float, columns: int) -> tuple[float, float]:
        x, rates = thinned(history.step, history.rate, low, high, columns // SMOOTH)
        at, norms = thinned(history.step, history.gradient_norm, low, high, columns)
        finite = norms[np.isfinite(norms)]
        highest = (float(rates.max(initial=0.0)), float(np.percentile(finite, HIGHEST)) if len(finite) else 1.0)
        most = self.intervals()
        tops = []
        for axis, value in zip((self.left, self.right), highest, strict=True):
            _, top, interval = fitted(0.0, value or 1.0, most)
            if (axis.unit, axis.interval) != (top, interval):
                axis.unit, axis.interval = top, interval
                axis.picture = None  # redraw it: its own range stays 0 to 1
                axis.update()
            tops.append(top)
        self._tops = tuple(tops)
        self._rate.setData(x, rates / tops[0])
        self._norm.setData(at, norms / tops[1])
        return 0.0, 1.0

    def read(self, history: RunHistory, index: int) -> Iterator[Reading]:
        learning, norm = history.rate[index], history.gradient_norm[index]
        yield Reading("warn", "learning rate", significant(learning), learning / self._tops[0])
        yield Reading("third", "gradient norm", significant(norm), norm / self._tops[1])

    def table(self, history: RunHistory) -> tuple[tuple[str, ...], list[np.ndarray]]:
        return ("step", "learning_rate", "gradient_norm"), [history.step, history.rate, history.gradient_norm]
