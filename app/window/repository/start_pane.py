"""The page while no repository is open: the first thing that a new user sees."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.window.actions import ALL_KEYS
from app.window.parts import ElidedLabel, EmptyState, IconButton, LayoutButton, PlainButton, label, tip

SHOWN = 5
WIDTH = 520


class RecentFolder(QWidget):
    """One folder that was open before, and a button that removes it from the list."""

    chosen = Signal(str)
    forgotten = Signal(str)

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self.button = LayoutButton("device")
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        inner = QHBoxLayout(self.button)
        inner.setContentsMargins(14, 9, 14, 9)
        inner.setSpacing(12)
        path = Path(folder)
        inner.addWidget(label(path.name or folder, "heading"))
        place = ElidedLabel(str(path.parent), "label", middle=True)
        place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        inner.addWidget(place, 1)
        self.button.pass_clicks()
        self.button.setAccessibleName(f"Open {folder}")
        tip(self.button, folder)
        self.button.clicked.connect(self.on_chosen)
        self.forget_button = IconButton("close", f"Remove {path.name or folder} from this list", size=14)
        self.forget_button.clicked.connect(self.on_forgotten)
        row.addWidget(self.button, 1)
        row.addWidget(self.forget_button)

    @Slot()
    def on_chosen(self) -> None:
        self.chosen.emit(self.folder)

    @Slot()
    def on_forgotten(self) -> None:
        self.forgotten.emit(self.folder)


class StartPane(EmptyState):
    """Choose a folder, try the sample, or reopen a recent one."""

    folder_wanted = Signal()
    sample_wanted = Signal()
    recent_chosen = Signal(str)
    recent_forgotten = Signal(str)
    all_wanted = Signal()

    def __init__(self, has_sample: bool) -> None:
        super().__init__(
            "repository",
            "Teach a model your code",
            "Choose a folder of source code. Codecoil reads it on this machine and teaches a small model to "
            "complete code the way you write it. Nothing is uploaded, and nothing in the folder is changed.",
        )
        self.folder_button = self.add_button("Choose a folder", primary=True, keys="Ctrl+O")
        self.folder_button.clicked.connect(self.folder_wanted)
        self.sample_button = self.add_button("Try the sample project", help_words="Opens a small project to explore")
        self.sample_button.clicked.connect(self.sample_wanted)
        self.sample_button.setVisible(has_sample)
        drop = label("or drop a folder anywhere on this window", "label")
        drop.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.below.addWidget(drop)
        self._list = QWidget()
        self._list.setFixedWidth(WIDTH)
        self._rows = QVBoxLayout(self._list)
        self._rows.setContentsMargins(0, 14, 0, 0)
        self._rows.setSpacing(6)
        self.below.addWidget(self._list, 0, Qt.AlignmentFlag.AlignHCenter)
        self.all_button = PlainButton("All repositories…", "Sizes, models and memories", ALL_KEYS)
        self.all_button.clicked.connect(self.all_wanted)
        self.below.addWidget(self.all_button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.recent: list[RecentFolder] = []
        self._folders: list[str] = []

    def show_recent(self, folders: list[str]) -> None:
        """List the folders that were open before, the latest first."""
        folders = folders[:SHOWN]
        self._list.setVisible(bool(folders))
        self.all_button.setVisible(bool(folders))
        if folders == self._folders:
            return
        self._folders = folders
        while self._rows.count():
            old = self._rows.takeAt(0).widget()
            old.hide()
            old.deleteLater()
        self.recent = [RecentFolder(folder) for folder in folders]
        if folders:
            self._rows.addWidget(label("Recent", "label"))
        for row in self.recent:
            row.chosen.connect(self.recent_chosen)
            row.forgotten.connect(self.recent_forgotten)
            self._rows.addWidget(row)
