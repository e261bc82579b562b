"""The table of checkpoints: stars, badges, colours of the curves, keys, column widths that are remembered."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import (
    QByteArray,
    QItemSelectionModel,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSignalBlocker,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLineEdit, QTableView, QWidget

from app.theme import Theme, Tokens
from app.theme.fonts import BODY, interface_font
from app.theme.icons import pixmap
from app.theme.plots import mixed
from app.values.checkpoints import CheckpointRow
from app.window.checkpoints.cells import PADDING, CellDelegate, badge_width, paint_badge, plain_table
from app.window.checkpoints.columns import CHOICES, SHORTEST_NAME, WIDTHS, ColumnMenu, Columns, TableLayout, used
from app.window.checkpoints.table_model import (
    BASE,
    HEADINGS,
    IN_USE,
    MARK,
    MODE,
    NAME,
    PINNED,
    ROW,
    TAGS,
    WHEN,
    CheckpointTable,
    Index,
)
from app.window.parts import SortMenu

HEIGHT = 34
STAR = 7.5  # its radius
USED = "in use"
LEAST = 40
ARROW = "    "  # as wide as the arrow of the sorted column
SIGNS = 24  # pixels before a name: the colour of its curve, the dot of what is in use
MEASURED = 12  # texts of a column, the longest ones, whose width is measured: a thousand would take too long


class CheckpointDelegate(CellDelegate):
    """A star, a name with its marks, text and numbers, tags as badges."""

    elide = Qt.TextElideMode.ElideMiddle  # names of one repository differ at their end

    def font(self, index: Index) -> QFont:
        return self.strong if index.column() == NAME else self.body

    def colour(self, tokens: Tokens, index: Index) -> str:
        row: CheckpointRow = index.data(ROW)
        if row.problem and index.column() == MODE:
            return tokens.bad_text
        return tokens.mute if index.column() in (WHEN, BASE) else tokens.ink

    def paint_words(self, painter: QPainter, cell: QRect, index: Index, tokens: Tokens) -> None:
        column, row = index.column(), index.data(ROW)
        if column == PINNED:
            paint_star(painter, QPointF(cell.center()) + QPointF(0.5, 0.5), row.pinned, tokens)
        elif column == TAGS:
            x = cell.left()
            for tag in row.tags:
                x = paint_badge(painter, tag, x, cell, cell.right() - x, tokens)
        elif column == NAME:
            super().paint_words(painter, self._paint_signs(painter, cell, index, tokens), index, tokens)
        else:
            super().paint_words(painter, cell, index, tokens)

    @staticmethod
    def _paint_signs(painter: QPainter, cell: QRect, index: Index, tokens: Tokens) -> QRect:
        """The curve's colour, a warning, "in use"; returns the rectangle that is left for the name."""
        row = index.data(ROW)
        painter.save()
        if index.data(MARK):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(tokens, index.data(MARK))))
            painter.drawRoundedRect(QRectF(cell.left(), cell.center().y() - 6, 4, 13), 2, 2)
            cell = cell.adjusted(11, 0, 0, 0)
        if row.problem:
            sign = pixmap("warning", tokens.bad, 16, painter.device().devicePixelRatioF())
            painter.drawPixmap(QPoint(cell.left(), cell.center().y() - 7), sign)
            cell = cell.adjusted(22, 0, 0, 0)
        if index.data(IN_USE):
            badge = badge_width(USED) + 8
            if painter.fontMetrics().horizontalAdvance(row.name) + badge <= cell.width():
                paint_badge(painter, USED, cell.right() - badge + 8, cell, badge, tokens, tokens.accent)
            else:  # the name matters more
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(tokens.accent))
                painter.drawEllipse(QPointF(cell.left() + 3.5, cell.center().y() + 1), 3.5, 3.5)
                cell = cell.adjusted(13, 0, 0, 0)
        painter.restore()
        return cell

    def createEditor(self, parent: QWidget, option, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(f"New name of {index.data()}")
        return editor

    def updateEditorGeometry(self, editor: QWidget, option, index: Index) -> None:
        editor.setGeometry(option.rect.adjusted(0, 1, 0, -2))


def paint_star(painter: QPainter, middle: QPointF, filled: bool, tokens: Tokens) -> None:
    """Filled: pinned."""
    points = []
    for corner in range(10):
        angle = math.pi * corner / 5 - math.pi / 2
        radius = STAR if corner % 2 == 0 else STAR * 0.42
        points.append(middle + QPointF(math.cos(angle) * radius, math.sin(angle) * radius))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(tokens.warn) if filled else mixed(tokens.dim, tokens.panel, 0.6), 1.2))
    painter.setBrush(QColor(tokens.warn) if filled else Qt.BrushStyle.NoBrush)
    painter.drawPolygon(QPolygonF(points))


class CheckpointView(QTableView):
    """The selection follows its checkpoints through sorting, filtering and updates."""

    chosen_changed = Signal()
    menu_wanted = Signal(QPoint)  # screen coordinates

    def __init__(self) -> None:
        super().__init__()
        self.table = CheckpointTable()
        self.table.setParent(self)
        self.setModel(self.table)
        self.setItemDelegate(CheckpointDelegate(self, HEIGHT))
        plain_table(self, "Checkpoints", HEIGHT)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self.on_menu_requested)
        self._fitting = False
        self.own_widths = False  # the user has dragged a column: widths are no longer fitted
        self.columns = Columns()
        self._needed: tuple[dict[int, int], int] = (WIDTHS, 0)  # pixels by column, and of the longest name
        self._waiting: Sequence[CheckpointRow] | None = None
        self._kept: tuple[list[str], str] = ([], "")
        self._reported: list[str] = []  # ids of the last selection that was announced
        header = self.horizontalHeader()
        header.setMinimumSectionSize(LEAST)
        header.setSectionsMovable(False)
        header.setSectionResizeMode(PINNED, QHeaderView.ResizeMode.Fixed)
        header.setSortIndicatorShown(True)
        header.setSortIndicator(WHEN, Qt.SortOrder.DescendingOrder)
        header.setMinimumSectionSize(WIDTHS[PINNED])
        self.setSortingEnabled(True)
        self.sort_menu, self.column_menu = SortMenu(self), ColumnMenu(self)
        self.column_menu.switched.connect(self.on_column_switched)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self.on_columns_wanted)
        header.sectionResized.connect(self.on_section_resized)
        self.itemDelegate().closeEditor.connect(self.on_editor_closed)
        self.table.modelAboutToBeReset.connect(self.on_about_to_reset)
        self.table.modelReset.connect(self.on_reset)
        self.table.modelReset.connect(self.on_content_changed)
        self.table.dataChanged.connect(self.on_content_changed)
        self.selectionModel().selectionChanged.connect(self.on_selection_changed)
        Theme.current().restyled.connect(self.on_restyled)

    # ---- rows

    def show_rows(self, rows: Sequence[CheckpointRow]) -> None:
        """All checkpoints; applied later if a name is being typed."""
        if self.state() == QAbstractItemView.State.EditingState:
            self._waiting = rows
        else:
            self.table.show_rows(rows)

    @Slot()
    def on_editor_closed(self, *_what) -> None:
        QTimer.singleShot(0, self, self.on_edited)

    @Slot()
    def on_edited(self) -> None:
        if self._waiting is not None and self.state() != QAbstractItemView.State.EditingState:
            rows, self._waiting = self._waiting, None
            self.table.show_rows(rows)

    # ---- the selection

    @property
    def chosen(self) -> list[CheckpointRow]:
        """The selected checkpoints, from top to bottom."""
        ranges = self.selectionModel().selection()  # not `selectedRows`, which asks for the flags of every cell
        places = {place for each in ranges for place in range(each.top(), each.bottom() + 1)}
        return [self.table.shown[place] for place in sorted(places)]

    def choose(self, ids: list[str]) -> None:
        """Select these, make the first one current and scroll to it."""
        with QSignalBlocker(self.selectionModel()):
            self.clearSelection()
            self._select(ids, ids[0] if ids else "")
        self.viewport().update()
        place = self.table.row_of(ids[0]) if ids else -1
        if place >= 0:
            self.scrollTo(self.table.index(place, NAME))
        self._report()

    def edit_name(self) -> None:
        chosen = self.chosen
        if len(chosen) == 1:
            index = self.table.index(self.table.row_of(chosen[0].id), NAME)
            self.setCurrentIndex(index)
            self.edit(index)

    def _select(self, ids: list[str], current: str) -> None:
        flags = QItemSelectionModel.SelectionFlag
        places = {row.id: place for place, row in enumerate(self.table.shown)}
        if current in places:
            index = self.table.index(places[current], NAME)
            self.selectionModel().setCurrentIndex(index, flags.NoUpdate)
        for id in ids:
            if id in places:
                index = self.table.index(places[id], NAME)
                self.selectionModel().select(index, flags.Select | flags.Rows)

    @Slot()
    def on_about_to_reset(self) -> None:
        current = self.currentIndex()
        known = current.isValid() and current.row() < len(self.table.shown)
        self._kept = ([row.id for row in self.chosen], self.table.shown[current.row()].id if known else "")

    @Slot()
    def on_reset(self) -> None:
        """Select the same checkpoints again, as far as they are still there."""
        with QSignalBlocker(self.selectionModel()):
            self._select(*self._kept)
        self.viewport().update()
        self._report()

    @Slot()
    def on_selection_changed(self, *_what) -> None:
        self._report()

    def _report(self) -> None:
        ids = [row.id for row in self.chosen]
        if ids != self._reported:
            self._reported = ids
            self.chosen_changed.emit()

    # ---- mouse and menu

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and index.column() == PINNED and event.button() == Qt.MouseButton.LeftButton:
            self.table.toggle_pin(index.row())
            return
        super().mousePressEvent(event)

    @Slot(QPoint)
    def on_menu_requested(self, where: QPoint) -> None:
        if self.chosen:
            self.menu_wanted.emit(self.viewport().mapToGlobal(where))
        else:
            self.sort_menu.open()

    # ---- columns

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    def fit_columns(self) -> None:
        """Distribute the width, until the user has dragged a column."""
        room = self.viewport().width()
        widths, name = self._needed
        hidden = self.columns.hidden(room, widths, name)
        is_wider = self.own_widths or room - used(hidden, widths) < SHORTEST_NAME
        policy = Qt.ScrollBarPolicy
        self.setHorizontalScrollBarPolicy(policy.ScrollBarAsNeeded if is_wider else policy.ScrollBarAlwaysOff)
        if self.own_widths:
            return
        self._fitting = True
        for column, width in widths.items():
            self.setColumnHidden(column, column in hidden)
            self.setColumnWidth(column, width)
        self.setColumnWidth(NAME, max(SHORTEST_NAME, room - used(hidden, widths)))
        self._fitting = False

    @Slot()
    def on_content_changed(self, *_where) -> None:
        needed = self._needed_widths()
        if needed != self._needed:
            self._needed = needed
            self.fit_columns()

    def _needed_widths(self) -> tuple[dict[int, int], int]:
        """Pixels that the content of each column needs, within `WIDTHS`; and what the longest name needs."""
        body, strong = QFontMetricsF(interface_font(BODY)), QFontMetricsF(interface_font(BODY, QFont.Weight.Medium))
        widths = {PINNED: WIDTHS[PINNED]}
        for column in CHOICES:
            texts = {HEADINGS[column] + ARROW, *(self.table.words(row, column) for row in self.table.shown)}
            widths[column] = min(WIDTHS[column], widest(texts, body) + 2 * PADDING)
        return widths, widest({row.name for row in self.table.shown}, strong) + 2 * PADDING + SIGNS

    @Slot(int, bool)
    def on_column_switched(self, column: int, shown: bool) -> None:
        """Show or hide it from now on, however wide the table is."""
        self.columns = self.columns.chosen(column, shown)
        self._fitting = True
        self.setColumnHidden(column, not shown)
        if shown and self.columnWidth(column) < LEAST:
            self.setColumnWidth(column, WIDTHS[column])
        self._fitting = False
        self.fit_columns()

    @Slot(QPoint)
    def on_columns_wanted(self, where: QPoint) -> None:
        self.column_menu.popup(self.horizontalHeader().mapToGlobal(where))

    @Slot(int, int, int)
    def on_section_resized(self, _section: int, _old: int, _new: int) -> None:
        if not self._fitting:
            self.own_widths = True
            self.fit_columns()

    def place(self) -> QByteArray:
        """Columns, widths and sorting, to be remembered."""
        header = self.horizontalHeader()
        shown = [column for column in range(self.table.columnCount()) if not self.isColumnHidden(column)]
        widths = {column: self.columnWidth(column) for column in shown} if self.own_widths else {}
        descending = header.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        return QByteArray(TableLayout(self.columns, header.sortIndicatorSection(), descending, widths).to_bytes())

    def restore(self, state: QByteArray) -> None:
        """What `place` gave; anything else is ignored."""
        layout = TableLayout.from_bytes(state.data())
        if layout is None:
            return
        self.columns = layout.columns
        orders = Qt.SortOrder
        self.sortByColumn(layout.sorted_by, orders.DescendingOrder if layout.descending else orders.AscendingOrder)
        self._fitting = True
        for column, width in layout.widths.items():
            self.setColumnWidth(column, max(width, LEAST if column != PINNED else WIDTHS[PINNED]))
        for column in CHOICES if layout.widths else ():
            self.setColumnHidden(column, column not in layout.widths)
        self._fitting = False
        self.own_widths = bool(layout.widths)
        self.fit_columns()

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.viewport().update()


def widest(texts: set[str], metrics: QFontMetricsF) -> int:
    """Rounded up: a text that is a fraction of a pixel wider than its cell is elided."""
    longest = sorted(texts, key=len)[-MEASURED:]
    return math.ceil(max(map(metrics.horizontalAdvance, longest), default=0))
