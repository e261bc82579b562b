"""Loss curves of one checkpoint's run, or of several overlaid.

For one: each step as a thin line, the held-out loss as points.  For several: only the held-out loss, a line with points
each, in the colour that the table shows beside the name; those without it are drawn with their training loss.
Loads pyqtgraph: the page imports this file when a curve is first shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyqtgraph as pg

from app.theme import Theme, Tokens
from app.theme.plots import PlotStyle
from app.values.checkpoints import HistoryCurve
from app.window.adapt.plots.chart import Chart
from app.window.adapt.plots.chart_card import ChartCard
from app.window.adapt.plots.legend import Entry
from app.window.adapt.plots.numbers import thinned
from app.window.adapt.plots.read_out import Reading
from app.window.adapt.plots.timeline import Timeline
from app.window.adapt.plots.words import loss, plain
from app.window.checkpoints.marks import HUES, MOST_CURVES, drawable
from app.window.parts import label

HEIGHT = 232
OUTLIERS = (1.0, 99.0)  # percentiles of the training loss that the plot shows
NAME = 28  # characters of a name in legend and read-out


@dataclass(frozen=True, eq=False)
class CurveSet:
    """What the chart draws; `step`: all steps with a value."""

    curves: tuple[HistoryCurve, ...] = ()
    step: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, curves: Sequence[HistoryCurve]) -> CurveSet:
        """As many of these as can be distinguished."""
        kept = drawable(curves)
        parts = [part for curve in kept for part in (curve.steps, curve.held_out_steps)]
        return cls(kept, np.unique(np.concatenate(parts)) if parts else np.empty(0))


class CurvesChart(Chart):
    name = "Loss"

    def __init__(self, timeline: Timeline, style: PlotStyle) -> None:
        super().__init__(timeline, style, plain)
        self._raw = self.line("second", 1.0, 0.6)
        self._lines: list[pg.PlotCurveItem] = []
        self._points: list[pg.ScatterPlotItem] = []
        for place in range(MOST_CURVES):
            self._lines.append(self.line(HUES[place % len(HUES)], 2.0, dashed=place >= len(HUES)))
            points = pg.ScatterPlotItem(size=7)
            points.setZValue(10)
            self._points.append(points)
            self.addItem(points)
        self.restyle(style)

    def restyle(self, style: PlotStyle) -> None:
        super().restyle(style)
        for place, points in enumerate(self._points):
            points.setBrush(style.brush(HUES[place % len(HUES)]))
            points.setPen(style.pen("panel", 1.0))

    def draw(self, history: CurveSet, low: float, high: float, columns: int) -> tuple[float, float]:
        seen: list[np.ndarray] = []
        alone = len(history.curves) == 1
        for place, (line, points) in enumerate(zip(self._lines, self._points, strict=True)):
            x = y = marks = np.empty(0)
            if place < len(history.curves):
                curve = history.curves[place]
                x, y = drawn(curve)
                marks = x if len(curve.held_out_steps) else marks
                seen.append(y[(x >= low) & (x <= high)])
                x, y = thinned(x, y, low, high, columns)
            line.setData(x, y)
            points.setData(x=x if len(marks) else [], y=y if len(marks) else [])
        raw = np.empty(0)
        if alone and len(history.curves[0].held_out_steps):
            curve = history.curves[0]
            x, raw = thinned(curve.steps, curve.losses, low, high, columns)
            self._raw.setData(x, raw)
            raw = raw[np.isfinite(raw)]
            if len(raw):
                seen.append(np.percentile(raw, OUTLIERS))
        self._raw.setVisible(bool(len(raw)))
        every = np.concatenate(seen) if seen else np.empty(0)
        every = every[np.isfinite(every)]
        return (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)

    def read(self, history: CurveSet, index: int) -> Iterator[Reading]:
        step = history.step[index]
        for place, curve in enumerate(history.curves):
            x, y = drawn(curve)
            if not len(x) or step > x[-1]:
                continue
            last = max(0, int(np.searchsorted(x, step, side="right")) - 1)
            if x[last] > step:
                continue
            token, name = HUES[place % len(HUES)], self._name(curve, len(history.curves))
            at = "" if x[last] == step else f" at {x[last]:,.0f}"
            yield Reading(token, name, f"{loss(y[last])}{at}", float(y[last]) if not at else None, "point")
        if len(history.curves) == 1 and len(history.curves[0].held_out_steps):
            curve = history.curves[0]
            known = np.flatnonzero(curve.steps == step)
            if len(known):
                yield Reading("second", "training", loss(curve.losses[known[0]]), shape="thin")

    def table(self, history: CurveSet) -> tuple[tuple[str, ...], list[np.ndarray]]:
        names, columns = ["step"], [history.step]
        for curve in history.curves:
            for what, x, y in (
                ("loss", curve.steps, curve.losses),
                ("held_out_loss", curve.held_out_steps, curve.held_out_losses),
            ):
                column = np.full(len(history.step), np.nan)
                column[np.searchsorted(history.step, x)] = y
                names.append(f"{what} {curve.name}".replace(",", " ").replace('"', "'"))
                columns.append(column)
        return tuple(names), columns

    @staticmethod
    def _name(curve: HistoryCurve, count: int) -> str:
        if count > 1:
            return short(curve.name)
        return "held-out" if len(curve.held_out_steps) else "training"


class CurvesCard(ChartCard):
    """The chart with its legend, or a sentence if there is nothing to draw."""

    def __init__(self) -> None:
        theme = Theme.current()
        timeline = Timeline()
        super().__init__(CurvesChart(timeline, PlotStyle(theme.tokens)), (), "Loss")
        timeline.setParent(self)
        self.column.setContentsMargins(16, 10, 12, 8)
        self.setMinimumHeight(HEIGHT)
        self.nothing = label("", "label", wrap=True)
        self.column.insertWidget(1, self.nothing)
        self.column.addStretch(0)
        timeline.moved.connect(self.chart.redraw)
        theme.restyled.connect(self.on_restyled)
        self.show_curves(())

    def show_curves(self, curves: Sequence[HistoryCurve], why_none: str = "It has no training history.") -> None:
        found = CurveSet.of(curves)
        several = len(curves) > 1
        self.nothing.setText(why_none)
        self.nothing.setVisible(not found.curves)
        self.chart.setVisible(bool(found.curves))
        self.legend.setVisible(bool(found.curves))
        self.menu_button.setEnabled(bool(found.curves))
        self.setMinimumHeight(HEIGHT if found.curves else 0)
        self.heading.title.setText("Held-out loss" if several else "Loss")
        left_out = len(curves) - len(found.curves)
        self.heading.say(f"{left_out} of {len(curves)} without history" if several and left_out else "")
        self.legend.set_entries(legend(found))
        self.chart.timeline.reset()
        self.chart.timeline.reach(max(1.0, float(found.step[-1])) if len(found.step) else 1.0)
        self.chart.show_history(found if found.curves else None)

    def on_restyled(self, tokens: Tokens) -> None:
        self.chart.restyle(PlotStyle(tokens))


def drawn(curve: HistoryCurve) -> tuple[np.ndarray, np.ndarray]:
    """The held-out losses of a checkpoint, or its training losses if there are none."""
    if len(curve.held_out_steps):
        return curve.held_out_steps, curve.held_out_losses
    return curve.steps, curve.losses


def legend(found: CurveSet) -> list[Entry]:
    """A swatch and a name for each curve."""
    if len(found.curves) == 1:
        held_out = len(found.curves[0].held_out_steps)
        return (
            [("accent", "point", "held-out"), ("second", "thin", "each step")]
            if held_out
            else [("accent", "line", "each step")]
        )
    shapes = ["line" if place < len(HUES) else "dashes" for place in range(len(found.curves))]
    return [(HUES[i % len(HUES)], shapes[i], short(curve.name)) for i, curve in enumerate(found.curves)]


def short(name: str) -> str:
    """A shortened name that keeps its end, where the names of runs differ."""
    return name if len(name) <= NAME else f"…{name[-NAME + 1 :]}"
