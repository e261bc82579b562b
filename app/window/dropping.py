"""A folder dragged onto the window: what counts as one, and the sign that says that it may be dropped."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.window.parts import label


def dropped_folder(data: QMimeData) -> str:
    """The folder that is dragged, or the one that the dragged file lies in; an empty string for anything else."""
    for url in data.urls():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is not None and path.is_dir():
            return str(path)
        if path is not None and path.is_file():
            return str(path.parent)
    return ""


class DropSign(QFrame):
    """Covers the pages while a folder is over the window."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self.setProperty("card", "drop")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column = QVBoxLayout(self)
        self._words = label("", "title")
        self._words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self._words)
        over.installEventFilter(self)
        self.hide()

    def rise(self, path: str, verb: str = "read") -> None:
        """Say what would be done with it."""
        self._words.setText(f"Drop to {verb} {Path(path).name or path}")
        self._cover()
        self.show()
        self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._cover()
        return False

    def _cover(self) -> None:
        self.setGeometry(self.parentWidget().rect().adjusted(12, 12, -12, -12))
