"""Importing checkpoints: drag and drop, and the dialogs for a file or a folder."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from app.window.dropping import MODEL_FILES
from app.window.parts import FileDialog

SIGNS = ("config.json", "manifest.json")  # one of these is in every model folder


def dropped_model(data: QMimeData) -> str:
    """The path of the dragged model; "" for anything else, such as a folder of source code."""
    for url in data.urls():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is None:
            continue
        if path.suffix.lower() in MODEL_FILES and path.is_file():
            return str(path)
        if path.is_dir() and any((path / sign).is_file() for sign in SIGNS) and any(path.glob("*.safetensors")):
            return str(path)
    return ""


class ImportDialog(QObject):
    """Asks for a file or a folder, without blocking the window."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.dialog: FileDialog | None = None

    @Slot()
    def ask_for_file(self) -> None:
        dialog = self._dialog("Import a model")
        dialog.setFileMode(FileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([f"Models ({' '.join(f'*{suffix}' for suffix in MODEL_FILES)})", "All files (*)"])
        dialog.open()

    @Slot()
    def ask_for_folder(self) -> None:
        self._dialog("Import a folder in Hugging Face format").ask_for_folder()

    def _dialog(self, title: str) -> FileDialog:
        self.dialog = FileDialog(self.parent(), title, Path.home(), "Import")
        self.dialog.fileSelected.connect(self.chosen)
        return self.dialog
