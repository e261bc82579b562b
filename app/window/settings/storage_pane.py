"""What is kept on disk: the data folder with its disk use by kind, the trash, the log."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel

from app.state.application import Application
from app.values.checkpoints import DiskUseView
from app.values.words import counted, nbytes
from app.window.parts import Card, ElidedLabel, InlineMessage, PageColumn, PlainButton, label, rule
from app.window.settings.kept_part import KeptPart
from app.window.settings.move_part import MovePart

LOG = "codecoil.log"
KINDS = (  # fields of DiskUseView
    ("checkpoints", "Checkpoints"),
    ("runs", "Paused and interrupted runs, ready to resume"),
    ("memory", "Memory of your repositories, used by suggestions"),
    ("tokens", "Tokenized files, rebuilt when missing"),
    ("lists", "File lists, your choices and held-out splits"),
    ("downloads", "Partly downloaded base models"),
    ("sample", "Sample project"),
    ("trash", "Trash"),
    ("leftovers", "Left behind by interrupted writes"),
    ("other", "Settings, log and editor sessions"),
)
ALWAYS = ("checkpoints", "memory", "tokens", "trash", "other")  # the others only where there is something


class StoragePane(PageColumn):
    """Two cards: the folder and the log."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application, self._checkpoints = application, application.checkpoints
        self.column.setContentsMargins(20, 0, 20, 18)
        self.column.addWidget(self._folder_card())
        self.column.addWidget(self._log_card())
        self.column.addStretch(1)
        self._checkpoints.disk_use_ready.connect(self.on_disk_use)
        self._checkpoints.changed.connect(self.on_checkpoints_changed)
        application.downloads.changed.connect(self.on_downloads_changed)
        self.on_disk_use(self._checkpoints.disk_use)
        self.on_checkpoints_changed()

    def _folder_card(self) -> Card:
        card = Card("Data folder", spacing=10)
        row = QHBoxLayout()
        row.setSpacing(10)
        path = ElidedLabel(str(self._application.data_folder), "code", middle=True)
        self.copy_button = PlainButton("Copy path")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.open_button = PlainButton("Open folder", "Shows it in the file manager")
        self.open_button.clicked.connect(self.on_open_clicked)
        self.move = MovePart(self._application.storage)
        self.move.moved.connect(self.on_moved)
        row.addWidget(path, 1)
        for button in (self.copy_button, self.open_button, self.move.button):
            row.addWidget(button)
        card.column.addLayout(row)
        card.column.addWidget(self.move)
        card.column.addWidget(rule())
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(0, 1)
        self.sizes: dict[str, QLabel] = {}
        self.names: dict[str, QLabel] = {}
        for i, (kind, name) in enumerate((*KINDS, ("total", "Total"), ("free", "Free on this disk"))):
            self.names[kind] = label(name, "heading" if kind == "total" else "text")
            self.sizes[kind] = label("", "heading" if kind == "total" else "body")
            self.sizes[kind].setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(self.names[kind], i, 0)
            grid.addWidget(self.sizes[kind], i, 1)
        card.column.addLayout(grid)
        self.problem = InlineMessage(closable=False)
        card.column.addWidget(self.problem)
        if self._application.settings.problem:
            self.problem.say(self._application.settings.problem, kind="warn")
        row = QHBoxLayout()
        row.setSpacing(10)
        self.trash_words = label("", "label")
        self.empty_button = PlainButton("Empty trash", "Deletes everything in it permanently; asks first")
        self.empty_button.clicked.connect(self.on_empty_clicked)
        self.sure_button = PlainButton("Delete permanently")
        self.sure_button.clicked.connect(self.on_sure_clicked)
        self.keep_button = PlainButton("Cancel")
        self.keep_button.clicked.connect(self.on_keep_clicked)
        self.parts_button = PlainButton(
            "Delete partial downloads", "Those base models would have to be downloaded from the start"
        )
        self.parts_button.clicked.connect(self.on_delete_parts_clicked)
        row.addWidget(self.trash_words, 1)
        for button in (self.parts_button, self.keep_button, self.sure_button, self.empty_button):
            row.addWidget(button)
        card.column.addLayout(row)
        self.kept = KeptPart(self._application.repository, self._application.training)
        card.column.addWidget(self.kept)
        return card

    def _log_card(self) -> Card:
        card = Card("Log file", spacing=10)
        row = QHBoxLayout()
        row.setSpacing(10)
        self._log = self._application.data_folder / LOG
        row.addWidget(ElidedLabel(str(self._log), "code", middle=True), 1)
        self.log_button = PlainButton("Open log")
        self.log_button.clicked.connect(self.on_log_clicked)
        row.addWidget(self.log_button)
        card.column.addLayout(row)
        self.log_words = label("", "label")
        card.column.addWidget(self.log_words)
        return card

    def on_shown(self) -> None:
        """Measure again."""
        self._checkpoints.measure_disk_use()
        there = self._log.is_file()
        self.log_button.setEnabled(there)
        self.log_words.setText("" if there else "Nothing has been logged yet.")
        self.log_words.setVisible(not there)

    @Slot()
    def on_moved(self) -> None:
        if self.isVisible():
            self._checkpoints.measure_disk_use()

    @Slot(object)
    def on_disk_use(self, use: DiskUseView) -> None:
        for kind, figure in self.sizes.items():
            size = getattr(use, kind)
            figure.setText(nbytes(size))
            for part in (self.names[kind], figure):
                part.setVisible(size > 0 or kind in (*ALWAYS, "total", "free"))
        self.on_downloads_changed()

    @Slot()
    def on_downloads_changed(self) -> None:
        self.parts_button.setVisible(self._checkpoints.disk_use.downloads > 0)
        self.parts_button.setEnabled(not self._application.downloads.active)

    @Slot()
    def on_delete_parts_clicked(self) -> None:
        self._checkpoints.delete_downloads()

    @Slot()
    def on_checkpoints_changed(self) -> None:
        count = len(self._checkpoints.trash)
        self.trash_words.setText(f"{counted(count, 'checkpoint')} in the trash" if count else "The trash is empty.")
        self.empty_button.setEnabled(count > 0)
        self._ask(False)

    def _ask(self, asking: bool) -> None:
        self.empty_button.setVisible(not asking)
        self.sure_button.setVisible(asking)
        self.keep_button.setVisible(asking)

    @Slot()
    def on_empty_clicked(self) -> None:
        count = len(self._checkpoints.trash)
        self.trash_words.setText(f"Delete {counted(count, 'checkpoint')} permanently?")
        self._ask(True)

    @Slot()
    def on_sure_clicked(self) -> None:
        self._ask(False)
        self._checkpoints.empty_trash()

    @Slot()
    def on_keep_clicked(self) -> None:
        self.on_checkpoints_changed()

    @Slot()
    def on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(str(self._application.data_folder))

    @Slot()
    def on_open_clicked(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._application.data_folder)))

    @Slot()
    def on_log_clicked(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._log)))
