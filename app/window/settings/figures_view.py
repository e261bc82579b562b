"""How a table of a device's figures is shown: rows of one height, nothing to select, columns that fill its width."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, Qt, Slot
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.theme import Theme
from app.window.parts import steady_scroll_bar


class FiguresView(QTableView):
    """Of `table`, each row `row_height` high; subclasses set the columns' widths."""

    def __init__(self, table: QAbstractTableModel, row_height: int, name: str) -> None:
        super().__init__()
        self.table = table
        table.setParent(self)
        self.setModel(table)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        steady_scroll_bar(self)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(row_height)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setMinimumSectionSize(60)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        Theme.current().restyled.connect(self.on_restyled)

    @Slot(object)
    def on_restyled(self, _tokens: object) -> None:
        self.viewport().update()
