"""Memory by kind as stacked areas, against the ceiling.

The areas are drawn from the highest sum down, each filled to the floor and covering part of the one before: one fill
per kind, and no area between two curves to compute.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Slot

from app.state.run_history import RunHistory
from app.theme.plots import MEMORY_TOKENS, PlotStyle
from app.values.words import nbytes
from app.window.adapt.memory_bar import KINDS_HELP
from app.window.adapt.plots.chart import Chart, Curve
from app.window.adapt.plots.numbers import fitted, from_its_start, thinned
from app.window.adapt.plots.read_out import Reading
from app.window.adapt.plots.timeline import Timeline
from app.window.adapt.plots.words import size

ROOM = 1.08  # above the ceiling, so that its line is not at the edge
NEAR = 0.3  # of the ceiling: below that the plot shows what is used, and only names the ceiling
LINE = 20  # pixels for its name


class MemoryChart(Chart):
    """Kinds in the order of `MEMORY_TOKENS`; empty ones are left out."""

    name = "Memory"
    help = f"What the engine holds on the device, against the ceiling in Settings.\n{KINDS_HELP}\n"
    floor = 0.0

    def __init__(self, timeline: Timeline, style: PlotStyle) -> None:
        super().__init__(timeline, style, size)
        self.ceiling = 0
        self._height = 0.0  # of the ceiling's name
        self._areas: dict[str, Curve] = {}
        self._line = pg.InfiniteLine(angle=0)
        self._words = pg.TextItem(anchor=(0, 0))
        for item in (self._line, self._words):
            item.setZValue(10)
            item.hide()
            self.addItem(item)
        timeline.moved.connect(self.on_ceiling_moved)
        self.restyle(style)

    @staticmethod
    def kinds(history: RunHistory) -> list[str]:
        """From the bottom up, without those that are empty."""
        memory = history.memory
        known = [kind for kind in MEMORY_TOKENS if kind in memory]
        return [kind for kind in [*known, *sorted(set(memory) - set(known))] if memory[kind].any()]

    def restyle(self, style: PlotStyle) -> None:
        super().restyle(style)
        for kind, area in self._areas.items():
            area.setBrush(style.memory_brush(kind))
        self._line.setPen(self.style_.pen("bad", 1.5, dashed=True))
        self._words.setColor(style.colour("bad_text" if self._line.isVisible() else "mute"))
        self._words.setFont(style.axis_font())

    def draw(self, history: RunHistory, low: float, high: float, columns: int) -> tuple[float, float]:
        kinds, memory, highest = self.kinds(history), history.memory, 0.0
        known = np.zeros(len(history.step), bool)  # steps before a run was resumed may have no reading
        for kind in kinds:
            known |= memory[kind] > 0
        step, total = history.step[known], np.zeros(int(known.sum()))
        for height, kind in enumerate(kinds):
            total = total + memory[kind][known]
            area = self._areas.get(kind) or self._new_area(kind)
            area.setZValue(-height)  # a higher sum is drawn first and covered by the lower ones
            x, y = thinned(*from_its_start(step, total), low, high, columns)
            area.setData(x, y)
            highest = max(highest, float(y.max(initial=0.0)))
        shown = self.ceiling > 0 and highest >= NEAR * self.ceiling
        self._line.setVisible(shown)
        self._words.setVisible(self.ceiling > 0 and highest > 0)
        self._words.setColor(self.style_.colour("bad_text" if shown else "mute"))
        if shown:
            self._line.setPos(self.ceiling)
            self._say_ceiling(f"ceiling {nbytes(self.ceiling)}", low, self.ceiling, 0)
            highest = max(highest, self.ceiling * ROOM)
        elif self.ceiling > 0 and highest > 0:
            self._say_ceiling(f"↑ ceiling {nbytes(self.ceiling)}", low, highest, 1)
            room = LINE / max(3.0 * LINE, self.getViewBox().height())
            highest /= 1 - room
        return 0.0, highest or float(self.ceiling) or 1.0

    def _say_ceiling(self, words: str, x: float, y: float, anchor: int) -> None:
        """Text at a point: below it (anchor 0) or above it (1)."""
        self._height = y
        self._words.setText(words)
        self._words.setAnchor((0, anchor))
        self._words.setPos(x, y)

    def set_left(self, low: float, high: float) -> None:
        """Ticks at round numbers of KiB, MiB or GiB."""
        unit = next((unit for unit in (2**30, 2**20, 2**10) if high >= unit), 1)
        most = self.intervals()
        _, top, interval = fitted(0.0, high / unit, most)
        self.left.interval = interval * unit
        if [0.0, top * unit] != self.getViewBox().viewRange()[1]:
            self.getViewBox().setYRange(0.0, top * unit, padding=0)

    def read(self, history: RunHistory, index: int) -> Iterator[Reading]:
        memory = history.memory
        kinds = self.kinds(history)
        if not any(memory[kind][index] for kind in kinds):
            yield Reading("mute", "before the run was resumed", "not recorded")
            return
        for kind in reversed(kinds):
            yield Reading(MEMORY_TOKENS.get(kind, "mute"), kind, nbytes(int(memory[kind][index])), shape="area")
        total = sum(float(memory[kind][index]) for kind in kinds)
        yield Reading("ink", "total", nbytes(int(total)), total)

    def table(self, history: RunHistory) -> tuple[tuple[str, ...], list[np.ndarray]]:
        kinds = self.kinds(history)
        return ("step", *(f"{kind}_bytes" for kind in kinds)), [history.step, *(history.memory[k] for k in kinds)]

    @Slot()
    def on_ceiling_moved(self) -> None:
        """The text stays at the left edge."""
        self._words.setPos(self.sight()[0], self._height)

    def _new_area(self, kind: str) -> Curve:
        area = Curve(fillLevel=0.0, pen=pg.mkPen(None), brush=self.style_.memory_brush(kind))
        area.setSkipFiniteCheck(True)
        self._areas[kind] = area
        self.addItem(area)
        return area
