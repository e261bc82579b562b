"""Sorting a list without the mouse: a menu of its columns, opened by a key and from the list's own menu."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QTableView, QTreeView

KEYS = "Ctrl+Shift+O"
ORDERS = ((Qt.SortOrder.AscendingOrder, "Ascending"), (Qt.SortOrder.DescendingOrder, "Descending"))


class SortMenu(QMenu):
    """The columns that are shown and the two orders; filled when it opens.  Does what a click on the header does."""

    def __init__(self, view: QTreeView | QTableView) -> None:
        super().__init__("Sort by", view)
        self._view = view
        self._header = view.header() if isinstance(view, QTreeView) else view.horizontalHeader()
        self._groups: list[QActionGroup] = []
        self.aboutToShow.connect(self.on_about_to_show)
        shortcut = QShortcut(QKeySequence(KEYS), view)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.setWhatsThis("Sort the list by another column")
        shortcut.activated.connect(self.open)

    @Slot()
    def open(self) -> None:
        """Under the header."""
        self.popup(self._view.viewport().mapToGlobal(QPoint(0, 0)))

    @Slot()
    def on_about_to_show(self) -> None:
        self.clear()
        for group in self._groups:
            group.deleteLater()
        columns = [column for column in range(self._header.count()) if not self._header.isSectionHidden(column)]
        self._groups = [
            self._group([(column, self._words(column)) for column in columns], self._header.sortIndicatorSection()),
            self._group(ORDERS, self._header.sortIndicatorOrder()),
        ]
        self._groups[0].triggered.connect(self.on_column_picked)
        self._groups[1].triggered.connect(self.on_order_picked)

    @Slot(QAction)
    def on_column_picked(self, action: QAction) -> None:
        column, order = action.data(), self._header.sortIndicatorOrder()
        if column != self._header.sortIndicatorSection():
            first = self._view.model().headerData(
                column, Qt.Orientation.Horizontal, Qt.ItemDataRole.InitialSortOrderRole
            )
            order = order if first is None else Qt.SortOrder(first)
        self._header.setSortIndicator(column, order)

    @Slot(QAction)
    def on_order_picked(self, action: QAction) -> None:
        self._header.setSortIndicator(self._header.sortIndicatorSection(), action.data())

    def _words(self, column: int) -> str:
        model, side = self._view.model(), Qt.Orientation.Horizontal
        named = model.headerData(column, side) or model.headerData(column, side, Qt.ItemDataRole.AccessibleTextRole)
        return named or f"Column {column + 1}"

    def _group(self, entries, chosen) -> QActionGroup:
        group = QActionGroup(self)
        if not self.isEmpty():
            self.addSeparator()
        for data, words in entries:
            action = group.addAction(words)
            action.setData(data)
            action.setCheckable(True)
            action.setChecked(data == chosen)
            self.addAction(action)
        return group
