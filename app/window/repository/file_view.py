"""The list of files: what is open and in view, the keys, the mouse and the menu."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QMouseEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QStyleOptionViewItem, QTreeView

from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.values.repository import FileRow
from app.window.parts import SortHeader, SortMenu, label, steady_scroll_bar
from app.window.repository.file_delegate import ROW, FileDelegate
from app.window.repository.file_model import FileModel, Index
from app.window.repository.file_tree import (
    COLUMN_NAMES,
    LANGUAGE,
    LEARN,
    LEAVE,
    LOSS,
    NAME,
    SIZE,
    TOKENS,
    VERDICT,
    FileTree,
    Kept,
    Node,
)
from app.window.repository.tree_builder import TreeBuilder, TreeWish

WIDTHS = {LANGUAGE: 116, SIZE: 84, TOKENS: 92, LOSS: 112}  # NAME and VERDICT share the rest
TREE_SHARE, LIST_SHARE = 0.52, 0.7  # of that, for NAME
NARROW = 860  # below this width, the size gives way
INDENT = 18
FEW = 400  # files that a filter may leave for all folders to be opened


class FileView(QTreeView):
    """Space or a click on the tick decides; the context menu has the rest."""

    override_wanted = Signal(str, object)  # path; True, False, or None to undo the user's choice
    reason_wanted = Signal(str)
    shown_changed = Signal(int)  # files that are shown
    help_keys = (("Learn a file or folder of the list, or leave it out", "Space"),)

    def __init__(self) -> None:
        super().__init__()
        self.files = FileModel(self)
        self.files.override_wanted.connect(self.on_override_wanted)
        self._delegate = FileDelegate(self)
        self._open: set[str] = set()  # folders that are open
        self._is_new = True  # the user has not opened or closed any yet
        self._wish = TreeWish()
        self._order = (NAME, False)  # as the user chose it; by the loss only once there is one
        self._builder = TreeBuilder(self)
        self._builder.built.connect(self.on_built)
        self.setModel(self.files)
        self.setItemDelegate(self._delegate)
        self.setUniformRowHeights(True)
        self.setIndentation(INDENT)
        self.setMouseTracking(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        steady_scroll_bar(self)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self.on_menu_wanted)
        self.setAccessibleName("Files and their verdicts")
        header = SortHeader(self)
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        header.setSectionResizeMode(header.ResizeMode.Fixed)
        header.setMinimumSectionSize(60)
        header.setSortIndicator(NAME, Qt.SortOrder.AscendingOrder)
        header.sortIndicatorChanged.connect(self.on_sort_changed)
        self.sort_menu = SortMenu(self)
        self.nothing = label("", "text")  # over the list where it is empty
        self.nothing.setParent(self.viewport())
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.nothing.hide()
        self.expanded.connect(self.on_expanded)
        self.collapsed.connect(self.on_collapsed)
        Theme.current().restyled.connect(self.on_restyled)

    # ---- what it shows

    def show_files(self, files: tuple[FileRow, ...]) -> None:
        """Other files or verdicts; what is open, selected and in view stays."""
        self.files.forget_ticks()
        self._build(replace(self._wish, files=files))

    def show_losses(self, losses: dict[str, float], model: str) -> None:
        """Losses by path, of the model with that name; the heat spans from the lowest to the highest."""
        self._delegate.range = (min(losses.values()), max(losses.values())) if losses else (0.0, 1.0)
        self.files.show_losses(losses, model)
        self._wish = replace(self._wish, losses=losses)
        if self._order[0] == LOSS:
            self._sort()
        self.fit_columns()

    def show_only(self, accept: Callable[[FileRow], bool] | None) -> None:
        """Only the files that `accept` takes; None for all."""
        self._build(replace(self._wish, accept=accept, kept=Kept()))

    def say_nothing(self, words: str) -> None:
        """Why the list is empty; "" where it is not."""
        self.nothing.setText(words)
        self.nothing.setVisible(bool(words))

    @property
    def order(self) -> str:
        """The column and the direction of the sorting, to be remembered: "tokens descending"."""
        column, descending = self._order
        return f"{COLUMN_NAMES[column]} {'descending' if descending else 'ascending'}"

    def restore_order(self, order: str) -> None:
        """Sort as `order` says; one that is not understood changes nothing."""
        column, _, direction = order.partition(" ")
        if column in COLUMN_NAMES and direction in ("ascending", "descending"):
            self._order = (COLUMN_NAMES.index(column), direction == "descending")
            self._sort()

    def _sort(self) -> None:
        """By the user's column, or by name while that is the loss and nothing was scored."""
        column, descending = self._order if self._order[0] != LOSS or self._wish.losses else (NAME, False)
        header = self.header()
        blocked = header.blockSignals(True)  # this is not the user's choice
        header.setSortIndicator(column, Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder)
        header.blockSignals(blocked)
        header.viewport().update()
        self._build(replace(self._wish, column=column, descending=descending))

    def forget_open(self) -> None:
        """Another repository: open as many folders as there is room for."""
        self._is_new = True

    def wait(self) -> None:
        """Wait until a large tree is built; its signal arrives with the next turn of the event loop."""
        self._builder.wait()

    def _build(self, wish: TreeWish) -> None:
        self._wish = wish
        self._builder.build(wish)

    @Slot(object)
    def on_built(self, tree: FileTree) -> None:
        """Replace the tree; what is open, selected and in view stays."""
        current = self.files.node(self.currentIndex()).path if self.currentIndex().isValid() else ""
        scrolled = self.verticalScrollBar().value()
        self.setUpdatesEnabled(False)
        self.files.show_tree(tree)
        self.fit_columns()
        if self._wish.accept is not None and tree.root.count <= FEW:
            self._quietly(self.expandAll)
        else:
            self._quietly(self._open_first if self._is_new else self._open_kept)
        index = self.files.index_of(current)
        if index.isValid():
            self.setCurrentIndex(index)
        self.verticalScrollBar().setValue(scrolled)
        self.setUpdatesEnabled(True)
        self.shown_changed.emit(tree.fitting)

    def _open_first(self) -> None:
        """Open folders from the top down, as many as can be seen at once."""
        room = 2 * max(10, self.viewport().height() // ROW)
        self._open = set()
        waiting, shown = [self.files.tree.root], len(self.files.tree.root.children)
        while waiting:
            node = waiting.pop(0)
            for child in node.children:
                if child.children and child.learned and shown + len(child.children) <= room:
                    shown += len(child.children)
                    self._open.add(child.path)
                    self.setExpanded(self.files.index_of(child.path), True)
                    waiting.append(child)

    def _open_kept(self) -> None:
        for path in self._open:
            index = self.files.index_of(path)
            if index.isValid():
                self.setExpanded(index, True)

    def _quietly(self, change) -> None:
        blocked = self.blockSignals(True)
        change()
        self.blockSignals(blocked)

    # ---- what the user does

    @Slot(object)
    def on_expanded(self, index: Index) -> None:
        self._is_new = False
        self._open.add(self.files.node(index).path)

    @Slot(object)
    def on_collapsed(self, index: Index) -> None:
        self._is_new = False
        self._open.discard(self.files.node(index).path)

    @Slot(int, Qt.SortOrder)
    def on_sort_changed(self, column: int, order: Qt.SortOrder) -> None:
        self._order = (column, order == Qt.SortOrder.DescendingOrder)
        self._sort()

    @Slot(str, object)
    def on_override_wanted(self, path: str, learn: bool | None) -> None:
        """Pass it on; the row stays until another filter is chosen, so that the choice can be undone in place."""
        node = self.files.tree.by_path.get(path)
        if self._wish.accept is not None and node is not None:
            self._wish = replace(self._wish, kept=self._wish.kept.with_node(node))
        self.override_wanted.emit(path, learn)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and index.column() == NAME and event.button() == Qt.MouseButton.LeftButton:
            tick = self._delegate.tick_rect(self.visualRect(index)).adjusted(-2, -5, 4, 5)
            if tick.contains(event.position().toPoint()):
                self.setCurrentIndex(index)
                self.files.toggle(index)
                return
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self.currentIndex().isValid():
            self.files.toggle(self.currentIndex().siblingAtColumn(NAME))
        else:
            super().keyPressEvent(event)

    @Slot(QPoint)
    def on_menu_wanted(self, where: QPoint) -> None:
        index = self.indexAt(where)
        if not index.isValid():
            index = self.currentIndex()
        if index.isValid():
            menu = self.menu_for(self.files.node(index))
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.viewport().mapToGlobal(where))
        else:
            self.sort_menu.open()

    def menu_for(self, node: Node) -> QMenu:
        """What can be done with a file or folder."""
        menu = QMenu(self)
        what = "this folder" if node.path.endswith("/") else "this file"
        learn = menu.addAction(f"Learn {what}", lambda: self.on_override_wanted(node.path, True))
        learn.setEnabled(node.state != LEARN)
        leave = menu.addAction(f"Leave {what} out", lambda: self.on_override_wanted(node.path, False))
        leave.setEnabled(node.state != LEAVE)
        rules = menu.addAction("Undo my choice", lambda: self.on_override_wanted(node.path, None))
        rules.setEnabled(node.file is None or node.file.overridden)
        menu.addSeparator()
        if node.file is not None and node.file.reason:
            reason = node.file.reason
            menu.addAction("Show all files left out for this reason", lambda: self.reason_wanted.emit(reason))
        menu.addAction("Copy path", lambda: QGuiApplication.clipboard().setText(node.path))
        menu.addMenu(self.sort_menu)
        return menu

    # ---- how it is drawn

    def drawBranches(self, painter: QPainter, rect: QRect, index: Index) -> None:
        tokens = Theme.current().tokens
        if self.selectionModel().isSelected(index):
            painter.fillRect(rect, QColor(tokens.raised))
        if self.files.node(index).children:
            name = "chevron_down" if self.isExpanded(index) else "chevron_right"
            image = pixmap(name, tokens.mute, 12, self.devicePixelRatioF())
            painter.drawPixmap(QPoint(rect.right() - INDENT + 3, rect.center().y() - 5), image)

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().drawRow(painter, option, index)
        tokens = Theme.current().tokens
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.left() + 8, option.rect.bottom(), option.rect.right() - 8, option.rect.bottom())
        if self.hasFocus() and index.siblingAtColumn(NAME) == self.currentIndex().siblingAtColumn(NAME):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)  # the style's own frame is a grey button
            painter.setPen(QPen(QColor(tokens.second), 1))
            painter.drawRoundedRect(QRectF(option.rect).adjusted(2.5, 1.5, -2.5, -2.5), 5, 5)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()
        self.nothing.setGeometry(self.viewport().rect())

    def fit_columns(self) -> None:
        """Share out the width; the loss has a column once there is one, and a list of paths more room than a tree."""
        room = self.viewport().width()
        hidden = {LOSS} if not self.files.losses else set()
        if room < NARROW:
            hidden.add(SIZE)
        for column, width in WIDTHS.items():
            self.setColumnHidden(column, column in hidden)
            self.setColumnWidth(column, width)
        rest = room - sum(width for column, width in WIDTHS.items() if column not in hidden)
        name = int(rest * (LIST_SHARE if self.files.tree.order[0] == LOSS else TREE_SHARE))
        self.setColumnWidth(NAME, name)
        self.setColumnWidth(VERDICT, rest - name)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.viewport().update()
