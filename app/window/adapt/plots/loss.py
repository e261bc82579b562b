"""Loss: each step thin, the smoothed curve, the held-out loss as points, and a line at its value before adapting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyqtgraph as pg

from app.state.run_history import RunHistory
from app.theme.plots import PlotStyle
from app.window.adapt.plots.chart import Chart, Points
from app.window.adapt.plots.numbers import Smoother, thinned
from app.window.adapt.plots.read_out import Reading
from app.window.adapt.plots.timeline import Timeline
from app.window.adapt.plots.words import loss, plain

LEGEND = (
    ("second", "thin", "each step"),
    ("second", "line", "smoothed"),
    ("accent", "point", "held-out"),
    ("warn", "dashes", "before"),
)
SMOOTH = 4  # pixel columns per point of a smooth curve: a thick line with many points is slow to paint
USUAL = (5.0, 95.0)  # percentiles; a loss further outside than the distance between them is a spike


def without_spikes(losses: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """`losses` without those far outside the usual range of `steps`: one spike would flatten everything else."""
    finite = steps[np.isfinite(steps)]
    if not len(finite):
        return finite
    low, high = np.percentile(finite, USUAL)
    return losses[(losses >= low - (high - low)) & (losses <= high + (high - low))]


class LossChart(Chart):
    """The held-out points matter most; they are drawn last."""

    name = "Loss"
    help = (
        "How surprised the model is by your code; lower is better. Held-out points are code it is not trained on; the "
        "dashed line is their loss before adapting."
    )

    def __init__(self, timeline: Timeline, style: PlotStyle) -> None:
        super().__init__(timeline, style, plain)
        self._raw = self.line("second", 1.0, 0.55)
        self._smooth = self.line("second", 2.0)
        self._begin = pg.InfiniteLine(angle=0)
        self._held_out = Points(size=9)
        self._begin.setZValue(5)
        self._begin.hide()
        self._held_out.setZValue(10)
        self.addItem(self._begin)
        self.addItem(self._held_out)
        self._smoother, self._steps = Smoother(), 0
        self.restyle(style)

    def show_history(self, history: RunHistory | None, steps: int = 0) -> None:
        """`steps`: planned for the run; 0 if unknown."""
        if history is not self.history or steps != self._steps:
            self._smoother, self._steps = Smoother(steps), steps
        super().show_history(history)

    def set_logarithmic(self, on: bool) -> None:
        self.left.logarithmic = on
        self.redraw()

    def restyle(self, style: PlotStyle) -> None:
        super().restyle(style)
        self._begin.setPen(self.style_.pen("warn", 1.5, dashed=True))
        self._held_out.setBrush(style.brush("accent"))
        self._held_out.setPen(style.pen("panel", 1.0))

    def draw(self, history: RunHistory, low: float, high: float, columns: int) -> tuple[float, float]:
        smoothed = self._smoother.extend(history.loss)
        x, y = thinned(history.step, history.loss, low, high, columns)
        raw = self._shown(y)
        self._raw.setData(x, raw)
        x, y = thinned(history.step, smoothed, low, high, columns // SMOOTH)
        smooth = self._shown(y)
        self._smooth.setData(x, smooth)
        places = history.evaluation_step
        near = (places >= low) & (places <= high)
        points = self._shown(history.evaluation_loss[near])
        self._held_out.setData(x=places[near], y=points)
        begin = history.begin_loss
        self._begin.setVisible(begin is not None)
        line = self._shown(np.array([np.nan if begin is None else begin]))
        self._begin.setPos(float(line[0]) if np.isfinite(line[0]) else 0.0)
        seen = np.concatenate([points, line, without_spikes(raw, raw), without_spikes(smooth, raw)])
        seen = seen[np.isfinite(seen)]
        return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)

    def read(self, history: RunHistory, index: int) -> Iterator[Reading]:
        step = history.step[index]
        smoothed, raw = self._smoother.extend(history.loss)[index], history.loss[index]
        yield Reading("second", "this step", loss(raw), shape="thin")
        yield Reading("second", "smoothed", loss(smoothed), self._place(smoothed))
        places = history.evaluation_step
        last = int(np.searchsorted(places, step, side="right")) - 1
        if last >= 0:
            measured = f"{loss(history.evaluation_loss[last])} at {places[last]:,.0f}"
            yield Reading("accent", "held-out", measured, shape="point")
        if history.begin_loss is not None:
            yield Reading("warn", "before", loss(history.begin_loss), shape="dashes")

    def table(self, history: RunHistory) -> tuple[tuple[str, ...], list[np.ndarray]]:
        held_out = np.full(len(history.step), np.nan)
        known = np.isin(history.step, history.evaluation_step)
        held_out[known] = history.evaluation_loss[np.searchsorted(history.evaluation_step, history.step[known])]
        columns = [history.step, history.loss, self._smoother.extend(history.loss).copy(), held_out]
        if history.begin_loss is not None:  # measured before the first step: a row of its own
            first = (0.0, np.nan, np.nan, history.begin_loss)
            columns = [np.concatenate([[value], column]) for value, column in zip(first, columns, strict=True)]
        return ("step", "loss", "smoothed_loss", "held_out_loss"), columns

    def _shown(self, values: np.ndarray) -> np.ndarray:
        if not self.left.logarithmic:
            return values
        return np.log10(np.where(values > 0, values, np.nan))

    def _place(self, value: float) -> float:
        return float(self._shown(np.array([value]))[0])
