"""About: versions, the data folder, and the licences of the fonts."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

from PySide6.QtCore import Qt, Slot, qVersion
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout

from app import VERSION
from app.state.application import Application
from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.window.parts import Card, PageColumn, PlainButton, label, rule

LIBRARIES = (
    ("wgpu", "wgpu"),
    ("NumPy", "numpy"),
    ("Numba", "numba"),
    ("PySide6", "PySide6-Essentials"),
    ("pyqtgraph", "pyqtgraph"),
    ("tokenizers", "tokenizers"),
    ("safetensors", "safetensors"),
)


def versions(folder: Path) -> list[tuple[str, str]]:
    """Name and version of everything that matters for a bug report."""
    rows = [("Codecoil", VERSION), ("Python", platform.python_version()), ("Qt", qVersion())]
    for name, distribution in LIBRARIES:
        try:
            rows.append((name, metadata.version(distribution)))
        except metadata.PackageNotFoundError:
            rows.append((name, "unknown"))
    return [*rows, ("System", platform.platform(terse=True)), ("Data folder", str(folder))]


class AboutPane(PageColumn):
    def __init__(self, application: Application) -> None:
        super().__init__()
        self.column.setContentsMargins(20, 0, 20, 18)
        self._rows = versions(application.data_folder)
        card = Card(margins=(20, 18, 20, 18), spacing=14)
        top = QHBoxLayout()
        top.setSpacing(14)
        self._mark = label()
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(label("Codecoil", "title"))
        names.addWidget(label("Adapts a small code model to your repository, on your own machine."))
        self.copy_button = PlainButton("Copy versions", "For a bug report")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        top.addWidget(self._mark)
        top.addLayout(names, 1)
        top.addWidget(self.copy_button)
        card.column.addLayout(top)
        card.column.addWidget(rule())
        grid = QGridLayout()
        grid.setHorizontalSpacing(32)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        for i, (name, value) in enumerate(self._rows):
            words = label(value, "body", wrap=True)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(label(name), i, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(words, i, 1)
        card.column.addLayout(grid)
        card.column.addWidget(rule())
        offline = "No account, no telemetry, no upload: Codecoil never opens a network connection on its own."
        fonts = "Set in Inter and JetBrains Mono, both under the SIL Open Font License 1.1."
        for words in (offline, fonts):
            card.column.addWidget(label(words, "label", wrap=True))
        self.column.addWidget(card)
        self.column.addStretch(1)
        Theme.current().restyled.connect(self.on_restyled)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.on_restyled(Theme.current().tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._mark.setPixmap(pixmap("codecoil", tokens.accent, 40, self.devicePixelRatioF()))

    @Slot()
    def on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(f"{name}: {value}" for name, value in self._rows))
