"""Sorting a list: a header whose arrow is beside the words it belongs to, and a menu that does the same by key."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QColor, QFontMetricsF, QKeySequence, QPainter, QPolygonF, QShortcut
from PySide6.QtWidgets import QHeaderView, QMenu, QStyleOptionHeader, QTableView, QTreeView

from app.theme import Theme
from app.theme.fonts import LABEL, interface_font

PADDING = 10  # of a heading, in the stylesheet
GAP, HALF = 7, 4  # between words and arrow; half of the arrow's width
KEYS = "Ctrl+Shift+O"
ORDERS = ((Qt.SortOrder.AscendingOrder, "Ascending"), (Qt.SortOrder.DescendingOrder, "Descending"))


class SortHeader(QHeaderView):
    """Qt puts the arrow at the far end of a column: in a wide one it looks like the next column's."""

    def __init__(self, view: QTreeView) -> None:
        """Becomes the header of `view`."""
        super().__init__(Qt.Orientation.Horizontal, view)
        view.setHeader(self)  # which makes its sections unclickable, as the view does not sort
        self.setSectionsClickable(True)
        self.setSortIndicatorShown(True)

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        super().initStyleOptionForIndex(option, section)
        option.sortIndicator = QStyleOptionHeader.SortIndicator.None_  # drawn below

    def arrow_at(self, rect: QRect, section: int) -> QPointF:
        """The middle of the arrow: after words on the left, before words on the right, which end over their numbers."""
        model, side = self.model(), self.orientation()
        words = model.headerData(section, side) or ""
        width = QFontMetricsF(interface_font(LABEL)).horizontalAdvance(words)  # as the stylesheet draws it
        where = model.headerData(section, side, Qt.ItemDataRole.TextAlignmentRole)
        middle = rect.center().y() + 0.5
        if where is not None and Qt.AlignmentFlag(where) & Qt.AlignmentFlag.AlignRight:
            return QPointF(rect.right() - PADDING - width - GAP - HALF, middle)
        return QPointF(rect.left() + PADDING + width + GAP + HALF, middle)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        painter.save()
        super().paintSection(painter, rect, section)
        painter.restore()
        if section != self.sortIndicatorSection():
            return
        up = self.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        tip = -HALF / 2 if up else HALF / 2
        corners = [QPointF(-HALF, -tip), QPointF(HALF, -tip), QPointF(0, tip)]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(Theme.current().tokens.mute))
        painter.translate(self.arrow_at(rect, section))
        painter.drawPolygon(QPolygonF(corners))
        painter.restore()


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
