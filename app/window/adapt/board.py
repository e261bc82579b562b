"""The board of a run: four plots, the layers and the notes in a grid of two rows.

Loads pyqtgraph, which takes a third of a second: imported when the page is first shown, not with the window.

An event of the run only marks the plots as stale; a timer redraws one per tick, so that no turn of the event loop pays
for all four.  The loss, which people watch, is redrawn six times a second and each of the others twice: a key press
almost never has to wait for a plot.
"""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.state.run_history import RunHistory
from app.theme import Theme, Tokens
from app.theme.plots import MEMORY_TOKENS, PlotStyle
from app.values.words import nbytes
from app.window.adapt.layer_map import LayerMap
from app.window.adapt.notes import NotesCard
from app.window.adapt.plots import loss, rates, speed
from app.window.adapt.plots.chart_card import HEADING, ChartCard
from app.window.adapt.plots.loss import LossChart
from app.window.adapt.plots.memory import MemoryChart
from app.window.adapt.plots.numbers import grown
from app.window.adapt.plots.rates import RatesChart
from app.window.adapt.plots.speed import SpeedChart
from app.window.adapt.plots.timeline import Timeline
from app.window.parts import GAP, Card, Segmented, tip

TICK = 80  # milliseconds
ORDER = (0, 1, 0, 2, 0, 3)  # of the plots: the loss at every second tick
COLUMNS, ROWS = (5, 4, 3), (5, 4)  # shares of the width and the height
LEAST_ROW = 160


class Board(QWidget):
    """Shows a growing `RunHistory`."""

    save_reported = Signal(str)  # where a plot was saved, or why it was not

    def __init__(self) -> None:
        super().__init__()
        theme = Theme.current()
        style = PlotStyle(theme.tokens)
        self.history: RunHistory | None = None
        self._steps = 0
        self.timeline = Timeline(self)
        self.loss = LossChart(self.timeline, style)
        self.memory = MemoryChart(self.timeline, style)
        self.rates = RatesChart(self.timeline, style)
        self.speed = SpeedChart(self.timeline, style)
        self.charts = (self.loss, self.memory, self.rates, self.speed)
        self.loss_card = ChartCard(self.loss, loss.LEGEND)
        self.memory_card = ChartCard(self.memory, ())
        self.rates_card = ChartCard(self.rates, rates.LEGEND, "Learning rate, gradient norm")
        self.speed_card = ChartCard(self.speed, speed.LEGEND)
        self.cards = (self.loss_card, self.memory_card, self.rates_card, self.speed_card)
        self.notes = NotesCard()
        self.layers_card = Card("Layers", margins=(14, 10, 14, 8), spacing=4)
        self.layers = LayerMap()
        self.layers_card.column.addWidget(self.layers, 1)
        tip(
            self.layers_card.heading.title,
            "Gradients, updates and dead channels by layer. Hover over a cell for its value.",
        )
        for card in (self.notes, self.layers_card):
            card.heading.setFixedHeight(HEADING)
        self._add_log_switch()
        self._lay_out()
        self._waiting: set[int] = set()  # indices of the stale plots
        self._turn = 0  # place in ORDER
        self._timer = QTimer(self)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self.on_tick)
        self.timeline.moved.connect(self.mark)
        for card in self.cards:
            card.save_reported.connect(self.save_reported)
        theme.restyled.connect(self.on_restyled)

    def _add_log_switch(self) -> None:
        words = (("linear", "Linear"), ("log", "Log", "Logarithmic loss axis"))
        self.scale = Segmented(words, "Loss axis")
        self.scale.set_value("linear")
        self.scale.chosen.connect(self.on_scale_chosen)
        row = self.loss_card.heading.row
        row.insertWidget(row.count() - 1, self.scale)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(GAP)
        for row, widgets in enumerate(
            ((self.loss_card, self.memory_card, self.notes), (self.rates_card, self.speed_card, self.layers_card))
        ):
            for column, widget in enumerate(widgets):
                widget.setMinimumHeight(LEAST_ROW)
                grid.addWidget(widget, row, column)
            grid.setRowStretch(row, ROWS[row])
        for column, share in enumerate(COLUMNS):
            grid.setColumnStretch(column, share)
            grid.setColumnMinimumWidth(column, 60 * share)

    # ---- what is shown

    def show_run(self, history: RunHistory, steps: int, ceiling: int) -> None:
        """Show this run with `steps` planned (0: unknown) and a memory ceiling in bytes."""
        if history is not self.history:
            self.timeline.reset()
            self.timeline.point(None)
        if history is not self.history or steps != self._steps:
            self.loss.show_history(history, steps)
            for chart in self.charts[1:]:
                chart.show_history(history)
        self.history, self._steps = history, steps
        self.memory.ceiling = ceiling
        self.mark()

    @Slot()
    def mark(self) -> None:
        """The history has grown: redraw when it is time."""
        self._waiting.update(range(len(self.charts)))
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def on_tick(self) -> None:
        """Draw the plot whose turn it is."""
        if self.history is None or not self._waiting:
            self._timer.stop()
            return
        while (index := ORDER[self._turn]) not in self._waiting:
            self._turn = (self._turn + 1) % len(ORDER)
        self._turn = (self._turn + 1) % len(ORDER)
        self._waiting.discard(index)
        if index == 0:  # every second tick
            self._update_words()
            last = float(self.history.step[-1]) if len(self.history) else 0.0
            self.timeline.reach(grown(last, self._steps))
        self.charts[index].redraw()

    def draw_now(self) -> None:
        """Draw everything that is stale at once: for pictures and tests."""
        while self._waiting:
            self.on_tick()

    def _update_words(self) -> None:
        history = self.history
        self.notes.show_history(history)
        self.layers.show_layers(history.layers, history.layers_step)
        self.layers_card.heading.say(f"step {history.layers_step:,}" if history.layers else "")
        kinds = self.memory.kinds(history)
        self.memory_card.legend.set_entries([(MEMORY_TOKENS.get(kind, "mute"), "area", kind) for kind in kinds])
        if len(history):
            used = sum(int(history.memory[kind][-1]) for kind in kinds)
            ceiling = f" of {nbytes(self.memory.ceiling)}" if self.memory.ceiling else ""
            self.memory_card.heading.say(f"{nbytes(used)}{ceiling}" if used else "")  # resumed: not read yet
            self.speed_card.heading.say(f"{history.tokens_per_second[-1]:,.0f}")
        else:
            self.memory_card.heading.say("")
            self.speed_card.heading.say("")

    # ---- the window

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.mark()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def choose_scale(self, scale: str) -> None:
        """ "linear" or "log"."""
        self.scale.set_value(scale)
        self.on_scale_chosen(scale)

    @Slot(str)
    def on_scale_chosen(self, scale: str) -> None:
        self.loss.set_logarithmic(scale == "log")

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        style = PlotStyle(tokens)
        for chart in self.charts:
            chart.restyle(style)
