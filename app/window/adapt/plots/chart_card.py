"""A card around a plot: title, latest value, legend, and a menu to reset the zoom and to save."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QMenu, QToolButton

from app.window.adapt.plots.chart import Chart
from app.window.adapt.plots.legend import Entry, Legend
from app.window.adapt.plots.saving import SaveDialog, save_numbers, save_picture
from app.window.parts import Card, IconButton, LinkButton, tip

HEADING = 32  # the same on every card of the board, with or without buttons
HELP = "Drag or Ctrl+wheel to zoom, double-click to show all. Keyboard: arrows, + and -, Escape."


class ChartCard(Card):
    save_reported = Signal(str)  # where it was saved, or why it was not

    def __init__(self, chart: Chart, legend: Sequence[Entry], title: str = "") -> None:
        super().__init__(title or chart.name, margins=(14, 10, 10, 8), spacing=2)
        self.chart = chart
        chart.setAccessibleDescription(HELP)
        self.legend = Legend(legend)
        row = self.heading.row
        row.setSpacing(2)
        self.heading.setFixedHeight(HEADING)
        self.reset_button = LinkButton("Show all", "Reset the zoom of all plots")
        self.reset_button.hide()
        self.reset_button.clicked.connect(chart.timeline.reset)
        row.addWidget(self.reset_button)
        self.menu_button = IconButton("more", f"Save {chart.name.lower()} or reset the zoom")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self)
        self.picture_action = self.menu.addAction("Save as PNG…")
        self.picture_action.triggered.connect(self.on_picture_wanted)
        self.numbers_action = self.menu.addAction("Save as CSV…")
        self.numbers_action.triggered.connect(self.on_numbers_wanted)
        self.menu.addSeparator()
        self.all_action = self.menu.addAction("Show all steps")
        self.all_action.triggered.connect(chart.timeline.reset)
        self.menu_button.setMenu(self.menu)
        row.addWidget(self.menu_button)
        for part in (self.heading.title, self.legend):
            tip(part, f"{chart.help} {HELP}")
        self.column.addWidget(self.legend)
        self.column.addWidget(chart, 1)
        self._dialog = SaveDialog(self)
        self._dialog.saved.connect(self.save_reported)
        chart.timeline.moved.connect(self.on_moved)
        self.on_moved()

    @Slot()
    def on_moved(self) -> None:
        zoomed = self.chart.timeline.zoomed
        self.reset_button.setVisible(zoomed)
        self.all_action.setEnabled(zoomed)

    @Slot()
    def on_picture_wanted(self) -> None:
        self._dialog.ask(f"Save {self.chart.name.lower()} as PNG", self._file_name(), "png", self.save_picture)

    @Slot()
    def on_numbers_wanted(self) -> None:
        self._dialog.ask(f"Save {self.chart.name.lower()} as CSV", self._file_name(), "csv", self.save_numbers)

    def save_picture(self, path: Path) -> str:
        """The card as it looks now; returns "" or why it could not be written."""
        return save_picture(self, path)

    def save_numbers(self, path: Path) -> str:
        """Every step, visible or not; returns "" or why they could not be written."""
        if self.chart.history is None or not len(self.chart.history.step):
            return "There is nothing to save yet."
        return save_numbers(*self.chart.table(self.chart.history), path)

    def _file_name(self) -> str:
        return self.chart.name.lower().replace(" ", "-")
