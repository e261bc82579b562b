"""Every repository that was read: how large it is, which model completes there, when it was last adapted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QRect, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QKeySequence, QPainter, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QHeaderView, QStackedWidget, QTableView

from app.state.application import Application
from app.theme import Theme, Tokens
from app.values.folders import FolderModel, FolderRow
from app.values.words import counted, nbytes, thousands
from app.window.checkpoints.cells import CellDelegate, plain_table
from app.window.checkpoints.words import NOTHING, exact_when, when_words
from app.window.parts import Card, EmptyState, HeadedTable, PageColumn, PageTitle, PlainButton, label
from app.window.parts.headed_table import LEFT, Index

FOLDER, FILES, SIZE, MEMORY, MODEL, ADAPTED, READ = range(7)
HEADINGS = ("Folder", "Files", "Size", "Memory", "Model", "Last adapted", "Last read")
WIDTHS = {FILES: 76, SIZE: 84, MEMORY: 92, MODEL: 170, ADAPTED: 128, READ: 128}
WIDE = 900  # pixels; a narrower table leaves out what matters least
SPARED = (FILES, READ)
NUMBERS = (FILES, SIZE, MEMORY)
HEIGHT = 36
LEAST = 40  # pixels in which a place can be read
GAP = 10  # between a folder's name and where it is
OPEN, THERE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
KEPT = "Checkpoints and the folder itself stay."


class FoldersModel(HeadedTable):
    """The one read last comes first."""

    headings = HEADINGS
    numbers = NUMBERS

    def __init__(self, model_in: Callable[[str], FolderModel]) -> None:
        super().__init__()
        self._model_in = model_in
        self.rows: tuple[FolderRow, ...] = ()
        self.models: tuple[FolderModel, ...] = ()
        self.open = ""

    def show_rows(self, rows: Sequence[FolderRow], open_: str) -> None:
        models = tuple(self._model_in(row.root) for row in rows)
        if (tuple(rows), models, open_) != (self.rows, self.models, self.open):
            self.beginResetModel()
            self.rows, self.models, self.open = tuple(rows), models, open_
            self.endResetModel()

    def count(self) -> int:
        return len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, model, column = self.rows[index.row()], self.models[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(row, model, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._help(row, model, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return row.root if column == FOLDER else self._words(row, model, column)
        if role in (OPEN, THERE):
            return row.root == self.open if role == OPEN else row.is_there
        return self.side(column) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _words(self, row: FolderRow, model: FolderModel, column: int) -> str:
        if column == FOLDER:
            return Path(row.root).name or row.root
        if column in NUMBERS and row.files is None:
            return NOTHING
        return {
            FILES: f"{row.files or 0:,}",
            SIZE: nbytes(row.nbytes),
            MEMORY: nbytes(row.memory) if row.memory else NOTHING,
            MODEL: model.name or NOTHING,
            ADAPTED: when_words(model.adapted) if model.adapted else "never",
            READ: when_words(row.read),
        }[column]

    def _help(self, row: FolderRow, model: FolderModel, column: int) -> str:
        if column == FOLDER:
            return row.root if row.is_there else f"{row.root} no longer exists"
        if column == MEMORY and row.files is not None:
            return f"{thousands(row.tokens)} tokens"
        if column == ADAPTED:
            return f"{model.adapted_name}, {exact_when(model.adapted)}" if model.adapted else "Never adapted"
        return exact_when(row.read) if column == READ else self._words(row, model, column)


class FolderDelegate(CellDelegate):
    """A folder's name, then where it is; what is no longer there is muted."""

    def paint_words(self, painter: QPainter, cell: QRect, index: Index, tokens: Tokens) -> None:
        super().paint_words(painter, cell, index, tokens)
        if index.column() != FOLDER:
            return
        name = painter.fontMetrics().horizontalAdvance(index.data())
        rest = cell.adjusted(name + GAP, 0, 0, 0)
        if rest.width() < LEAST:
            return
        painter.setFont(self.body)
        painter.setPen(QColor(tokens.mute))
        place = "no longer there" if not index.data(THERE) else str(Path(index.model().rows[index.row()].root).parent)
        words = painter.fontMetrics().elidedText(place, Qt.TextElideMode.ElideMiddle, rest.width())
        painter.drawText(rest, int(LEFT), words)

    def font(self, index: Index) -> QFont:
        return self.strong if index.column() == FOLDER else self.body

    def colour(self, tokens: Tokens, index: Index) -> str:
        if index.column() == FOLDER and index.data(OPEN):
            return tokens.accent_text
        strong = index.column() in (FOLDER, MODEL) and index.data(THERE)
        return tokens.ink if strong else tokens.mute


class Overview(PageColumn):
    """Open a repository from here, or delete the data about it after a confirmation."""

    open_wanted = Signal(str)
    folder_wanted = Signal()
    closed = Signal()

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._folders, self._repository = application.folders, application.repository
        self.heading = PageTitle("Repositories")
        self.folder_button = PlainButton("Choose a folder", "Opens another repository", "Ctrl+O")
        self.back_button = PlainButton("Back", "Shows the open repository", "Esc")
        for button in (self.back_button, self.folder_button):
            self.heading.row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addWidget(self.heading)
        self.column.addWidget(self._build_table(), 1)
        escape = QShortcut(QKeySequence("Esc"), self, self.on_escape)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.folder_button.clicked.connect(self.folder_wanted)
        self.back_button.clicked.connect(self.closed)
        for part in (self._folders, self._repository, application.completion, application.checkpoints):
            part.changed.connect(self.on_changed)
        Theme.current().restyled.connect(self.on_restyled)
        self._asked = ""  # the folder whose data is about to be deleted
        self._is_filling = False  # the table is being filled
        self._show_state()

    def _build_table(self) -> Card:
        card = Card(margins=(6, 6, 6, 4), spacing=4)
        self.model = FoldersModel(self._folders.model)
        self.model.setParent(self)
        self.view = QTableView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(FolderDelegate(self.view, HEIGHT))
        plain_table(self.view, "Repositories", HEIGHT)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        header = self.view.horizontalHeader()
        header.setSectionsClickable(False)
        header.setSectionResizeMode(FOLDER, QHeaderView.ResizeMode.Stretch)
        for column, width in WIDTHS.items():
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            self.view.setColumnWidth(column, width)
        self.view.activated.connect(self.on_open_clicked)
        self.view.selectionModel().selectionChanged.connect(self.on_selection_changed)
        self.model.modelReset.connect(self.on_selection_changed)
        self.nothing = EmptyState("repository", "No repositories yet", "A folder is listed here once it was read.")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.nothing)
        row = QHBoxLayout()
        row.setContentsMargins(10, 2, 10, 4)
        row.setSpacing(8)
        self.words = label("", "label")
        self.open_button = PlainButton("Open", "Opens the selected repository", "Return")
        self.delete_button = PlainButton("Delete its data…", f"Deletes what Codecoil keeps about it. {KEPT}")
        self.sure_button = PlainButton("Delete")
        self.keep_button = PlainButton("Keep")
        self.open_button.clicked.connect(self.on_open_clicked)
        self.delete_button.clicked.connect(self.on_delete_clicked)
        self.sure_button.clicked.connect(self.on_sure_clicked)
        self.keep_button.clicked.connect(self.on_keep_clicked)
        row.addWidget(self.words, 1)
        for button in (self.open_button, self.delete_button, self.keep_button, self.sure_button):
            row.addWidget(button)
        card.column.addWidget(self.stack, 1)
        card.column.addLayout(row)
        return card

    # ---- what is shown

    @Slot()
    def on_changed(self) -> None:
        if self.isVisible():  # finding out which folders are related takes a look at each
            self._show_state()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for column in SPARED:
            self.view.setColumnHidden(column, self.width() < WIDE)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_state()
        self._folders.refresh()

    def _show_state(self) -> None:
        rows, chosen = self._folders.rows, self.chosen
        self._is_filling = True
        self.model.show_rows(rows or (), self._repository.root)
        roots = [row.root for row in self.model.rows]
        if roots:
            wanted = chosen if chosen in roots else self._repository.root
            self.view.selectRow(roots.index(wanted) if wanted in roots else 0)
        self._is_filling = False
        if self._asked != self.chosen:
            self._asked = ""
        self.back_button.setVisible(bool(self._repository.root))
        self.stack.setCurrentWidget(self.nothing if rows == () else self.view)
        size = sum(row.memory for row in rows or ())
        known = f"{counted(len(rows or ()), 'folder')} · {nbytes(size)} of memory on disk"
        self.heading.say("Looking…" if rows is None else known)
        self._show_question()

    @property
    def chosen(self) -> str:
        """The selected folder; "" if none is."""
        places = self.view.selectionModel().selectedRows()
        return self.model.rows[places[0].row()].root if places and places[0].row() < len(self.model.rows) else ""

    def _show_question(self) -> None:
        chosen, asking = self.chosen, bool(self._asked) and self._asked == self.chosen
        row = next((each for each in self.model.rows if each.root == chosen), None)
        name = Path(chosen).name
        self.words.setText(f"Delete all data about {name}? {KEPT}" if asking else "")
        self.open_button.setVisible(not asking)
        self.delete_button.setVisible(not asking)
        self.sure_button.setVisible(asking)
        self.keep_button.setVisible(asking)
        self.open_button.setEnabled(row is not None and row.is_there)
        self.delete_button.setEnabled(row is not None)

    # ---- what the user does

    @Slot()
    def on_selection_changed(self, *_what) -> None:
        if self._is_filling:
            return  # the same folder is selected again below: a question about it stays
        self._asked = ""
        self._show_question()

    @Slot()
    def on_open_clicked(self, *_what) -> None:
        if self.open_button.isEnabled():
            self.open_wanted.emit(self.chosen)

    @Slot()
    def on_delete_clicked(self) -> None:
        self._asked = self.chosen
        self._show_question()
        self.keep_button.setFocus()

    @Slot()
    def on_sure_clicked(self) -> None:
        root, self._asked = self._asked, ""
        self._show_question()
        if root:
            self._repository.delete_kept(root)

    @Slot()
    def on_keep_clicked(self) -> None:
        self._asked = ""
        self._show_question()
        self.view.setFocus()

    @Slot()
    def on_escape(self) -> None:
        if self._asked:
            self.on_keep_clicked()
        elif self.back_button.isVisible():
            self.closed.emit()

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.view.viewport().update()
