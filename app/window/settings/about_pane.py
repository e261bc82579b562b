"""About: the versions of what runs, where the state is kept, and whose fonts these are."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

from PySide6.QtCore import Qt, Slot, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app import VERSION
from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.window.parts import keyboard_focus, label

LIBRARIES = (("wgpu", "wgpu"), ("NumPy", "numpy"), ("Numba", "numba"), ("PySide6", "PySide6-Essentials"))


def versions(folder: Path) -> list[tuple[str, str]]:
    """Name and version of everything that matters for a report."""
    rows = [("Codecoil", VERSION), ("Python", platform.python_version()), ("Qt", qVersion())]
    for name, distribution in LIBRARIES:
        try:
            rows.append((name, metadata.version(distribution)))
        except metadata.PackageNotFoundError:
            rows.append((name, "unknown"))
    return [*rows, ("System", platform.platform(terse=True)), ("State is kept in", str(folder))]


class AboutDialog(QDialog):
    """Closes on Esc or Close."""

    def __init__(self, theme: Theme, folder: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("About Codecoil")
        self._rows = versions(folder)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 22, 24, 18)
        column.setSpacing(14)
        top = QHBoxLayout()
        top.setSpacing(12)
        self._mark = label()
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(label("Codecoil", "title"))
        names.addWidget(label("Teaches a small code model your repository, on your own machine."))
        top.addWidget(self._mark)
        top.addLayout(names, 1)
        column.addLayout(top)
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        for i, (name, value) in enumerate(self._rows):
            words = label(value, "body", wrap=True)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(label(name), i, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(words, i, 1)
        column.addLayout(grid)
        column.addWidget(label("Set in Inter and JetBrains Mono, both under the SIL Open Font License 1.1.", "label"))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addStretch(1)
        self.copy_button = QPushButton("Copy versions")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.close_button = QPushButton("Close")
        self.close_button.setDefault(True)
        self.close_button.clicked.connect(self.accept)
        row.addWidget(self.copy_button)
        row.addWidget(self.close_button)
        column.addLayout(row)
        self.setMinimumWidth(460)
        keyboard_focus(self)
        self.setFocus()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._mark.setPixmap(pixmap("codecoil", tokens.accent, 40, self.devicePixelRatioF()))

    @Slot()
    def on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(f"{name}: {value}" for name, value in self._rows))
