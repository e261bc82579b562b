"""The look, and what is kept on disk: the theme, the data folder with its disk use, the trash, the log."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel

from app.state.application import Application
from app.values.checkpoints import DiskUseView
from app.values.words import nbytes
from app.window.actions import THEMES
from app.window.parts import Card, ElidedLabel, InlineMessage, PageColumn, PlainButton, Segmented, label, rule
from app.window.settings.kept_part import KeptPart
from app.window.settings.move_part import MovePart
from app.window.settings.setting_row import SettingRow

LOG = "codecoil.log"
KINDS = (
    ("checkpoints", "Checkpoints"),
    ("tokens", "Tokens of repositories, made again when they are missing"),
    ("downloads", "Base models that were fetched in part"),
    ("trash", "Trash"),
    ("leftovers", "Left over from what was interrupted"),
    ("other", "Settings and the rest"),
)


class StoragePane(PageColumn):
    """Three cards: the theme, the folder, the log."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application, self._checkpoints = application, application.checkpoints
        self.column.setContentsMargins(20, 0, 20, 18)
        self.column.addWidget(self._look_card())
        self.column.addWidget(self._folder_card())
        self.column.addWidget(self._log_card())
        self.column.addStretch(1)
        self._checkpoints.disk_use_ready.connect(self.on_disk_use)
        self._checkpoints.changed.connect(self.on_checkpoints_changed)
        application.downloads.changed.connect(self.on_downloads_changed)
        self.on_disk_use(self._checkpoints.disk_use)
        self.on_checkpoints_changed()

    def _look_card(self) -> Card:
        card = Card("Look")
        themes = Segmented(THEMES, "Theme")
        self.theme = SettingRow(
            self._application.settings, "theme", "Theme", themes, "Light, dark, or as the system has it."
        )
        card.column.addWidget(self.theme)
        return card

    def _folder_card(self) -> Card:
        card = Card("Data folder", spacing=10)
        row = QHBoxLayout()
        row.setSpacing(10)
        path = ElidedLabel(str(self._application.data_folder), "code", middle=True)
        self.copy_button = PlainButton("Copy the path")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.open_button = PlainButton("Open the folder", "Shows it in the file manager")
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
        for i, (kind, name) in enumerate((*KINDS, ("free", "Free on this disk"))):
            self.sizes[kind] = label("", "body")
            self.sizes[kind].setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(label(name, "text"), i, 0)
            grid.addWidget(self.sizes[kind], i, 1)
        card.column.addLayout(grid)
        self.problem = InlineMessage(closable=False)
        card.column.addWidget(self.problem)
        if self._application.settings.problem:
            self.problem.say(self._application.settings.problem, kind="warn")
        row = QHBoxLayout()
        row.setSpacing(10)
        self.trash_words = label("", "label")
        self.empty_button = PlainButton("Empty the trash", "Deletes what is in it for good")
        self.empty_button.clicked.connect(self.on_empty_clicked)
        self.sure_button = PlainButton("Delete for good")
        self.sure_button.clicked.connect(self.on_sure_clicked)
        self.keep_button = PlainButton("Keep it")
        self.keep_button.clicked.connect(self.on_keep_clicked)
        self.parts_button = PlainButton(
            "Delete what was fetched in part", "Those base models would be fetched from their beginning again"
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
        self.log_button = PlainButton("Open the log")
        self.log_button.clicked.connect(self.on_log_clicked)
        row.addWidget(self.log_button)
        card.column.addLayout(row)
        self.log_words = label("", "label")
        card.column.addWidget(self.log_words)
        return card

    def on_shown(self) -> None:
        """Somebody looks: measure again."""
        self._checkpoints.measure_disk_use()
        there = self._log.is_file()
        self.log_button.setEnabled(there)
        self.log_words.setText("" if there else "Nothing was logged yet.")
        self.log_words.setVisible(not there)

    @Slot()
    def on_moved(self) -> None:
        if self.isVisible():
            self._checkpoints.measure_disk_use()

    @Slot(object)
    def on_disk_use(self, use: DiskUseView) -> None:
        for kind, figure in self.sizes.items():
            figure.setText(nbytes(getattr(use, kind)))
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
        self.trash_words.setText(f"{count} in the trash" if count else "The trash is empty.")
        self.empty_button.setEnabled(count > 0)
        self._ask(False)

    def _ask(self, asking: bool) -> None:
        self.empty_button.setVisible(not asking)
        self.sure_button.setVisible(asking)
        self.keep_button.setVisible(asking)

    @Slot()
    def on_empty_clicked(self) -> None:
        count = len(self._checkpoints.trash)
        self.trash_words.setText(f"Delete {count} {'checkpoint' if count == 1 else 'checkpoints'} for good?")
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
