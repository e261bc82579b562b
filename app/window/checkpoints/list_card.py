"""The card on the left: the table and its filter, or the trash."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QApplication, QHBoxLayout, QStackedWidget

from app.state.checkpoints import CheckpointController
from app.window.checkpoints.filters import CheckpointFilter, FilterRow
from app.window.checkpoints.table_view import CheckpointView
from app.window.checkpoints.trash_view import TrashView
from app.window.parts import Card, EmptyState, Segmented, label

ALL, TRASH = "all", "trash"


class ListCard(Card):
    list_changed = Signal()  # between checkpoints and trash

    def __init__(self, checkpoints: CheckpointController) -> None:
        super().__init__(margins=(6, 8, 6, 6), spacing=4)
        self._checkpoints = checkpoints
        row = QHBoxLayout()
        row.setContentsMargins(8, 2, 8, 4)
        row.setSpacing(8)
        self.which = Segmented(((ALL, "Checkpoints"), (TRASH, "Trash")), "List")
        self.which.set_value(ALL)
        self.filters = FilterRow()
        self.shown = label("", "label")
        row.addWidget(self.which)
        row.addStretch(1)
        row.addWidget(self.shown)
        row.addWidget(self.filters, 20)
        self.table = CheckpointView()
        self.no_match = EmptyState("search", "No matches", "No checkpoint matches the search and the filter.")
        self.clear_button = self.no_match.add_button("Show all results")
        self.trash = TrashView()
        self.lists = QStackedWidget()
        for widget in (self.table, self.no_match, self.trash):
            self.lists.addWidget(widget)
        self.column.addLayout(row)
        self.column.addWidget(self.lists, 1)
        self.which.chosen.connect(self.show_list)
        self.filters.changed.connect(self.on_filtered)
        self.clear_button.clicked.connect(self.filters.clear)
        self.trash.restore_wanted.connect(self.on_restore)
        self.trash.empty_wanted.connect(checkpoints.empty_trash)
        self.table.table.show_only(self.filters.filter.accept())

    @property
    def in_trash(self) -> bool:
        return self.which.value == TRASH

    def show_store(self, root: str, in_use: str) -> None:
        """The store was read again; `root` is the open repository."""
        checkpoints, trash = self._checkpoints, len(self._checkpoints.trash)
        self.which.buttons[TRASH].setText(f"Trash  {trash:,}" if trash else "Trash")
        if trash != len(self.trash.model.rows):
            checkpoints.measure_disk_use()
        self.show_trash()
        self.filters.show_choices(checkpoints.rows, root)
        self.table.table.set_in_use(in_use)
        self.table.show_rows(checkpoints.rows)
        self._show_lists()

    def show_trash(self) -> None:
        self.trash.show_rows(self._checkpoints.trash, self._checkpoints.disk_use.trash)

    def choose(self, ids: list[str]) -> None:
        """Select these; a filter that hides one of them is cleared."""
        self.show_list(ALL)
        table = self.table.table
        if any(table.row_of(id) < 0 for id in ids):
            self.filters.clear()
        if any(table.row_of(id) < 0 for id in ids):
            self.filters.show_everything()
        self.table.choose([id for id in ids if table.row_of(id) >= 0])

    @Slot(str)
    def show_list(self, key: str) -> None:
        """`key`: ALL or TRASH."""
        before = self.lists.currentWidget() is self.trash
        self.which.set_value(key)
        for part in (self.filters, self.shown):
            part.setVisible(key == ALL)
        self._show_lists()
        if QApplication.focusWidget() in (None, self.table, self.trash.view) and before != self.in_trash:
            self.lists.currentWidget().setFocus()
        if before != self.in_trash:
            self.list_changed.emit()

    def _show_lists(self) -> None:
        table = self.table.table
        if self.in_trash:
            self.lists.setCurrentWidget(self.trash)
        else:
            self.lists.setCurrentWidget(self.table if table.shown or not table.rows else self.no_match)
        some = len(table.shown) != len(table.rows) and bool(self.filters.search.text())
        self.shown.setText(f"{len(table.shown):,} of {len(table.rows):,}" if some else "")

    @Slot(object)
    def on_filtered(self, wanted: CheckpointFilter) -> None:
        self.table.table.show_only(wanted.accept())
        self._show_lists()

    @Slot(list)
    def on_restore(self, keys: list[str]) -> None:
        for key in keys:
            self._checkpoints.restore(key)
