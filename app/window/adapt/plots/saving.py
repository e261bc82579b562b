"""Saves a plot as PNG or its numbers as CSV.  The dialogs do not block: the run is drawn on behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget

from app.window.parts import FileDialog

SHARPNESS = 2.0  # pixels of the picture per pixel on screen


def save_picture(widget: QWidget, path: Path) -> str:
    """Write the widget as PNG at twice its size; returns "" or what went wrong."""
    picture = QPixmap(widget.size() * SHARPNESS)
    picture.setDevicePixelRatio(SHARPNESS)
    picture.fill(Qt.GlobalColor.transparent)
    widget.render(picture)
    if picture.save(str(path), "PNG"):
        return ""
    return f"{path} could not be written. Choose another folder."


def save_numbers(names: Sequence[str], columns: Sequence[np.ndarray], path: Path) -> str:
    """Write columns as CSV, with an empty cell where nothing was measured; returns "" or what went wrong."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    text = "\n".join([",".join(names), *(",".join(map(_cell, row)) for row in rows), ""])
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        return f"{path} could not be written: {error.strerror or error}. Choose another folder."
    return ""


def _cell(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


class SaveDialog(QObject):
    """Asks for a path, then writes to it."""

    saved = Signal(str)  # where it was saved, or why it was not

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._write: Callable[[Path], str] | None = None
        self.dialog: FileDialog | None = None

    def ask(self, title: str, name: str, ending: str, write: Callable[[Path], str]) -> None:
        """`write` gets the chosen path and returns "" or what went wrong."""
        dialog = FileDialog(self.parent(), title)
        dialog.setAcceptMode(FileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(ending)
        dialog.setNameFilter(f"{ending.upper()} (*.{ending})")
        dialog.selectFile(f"{name}.{ending}")
        dialog.fileSelected.connect(self.on_selected)
        self._write, self.dialog = write, dialog
        dialog.open()

    @Slot(str)
    def on_selected(self, path: str) -> None:
        problem = self._write(Path(path))
        self.saved.emit(problem or f"Saved {path}")
