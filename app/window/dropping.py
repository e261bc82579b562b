"""What may be dropped on the window or a page, and the sign that says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.window.parts import label

MODEL_FILES = (".gguf", ".coil", ".bin", ".safetensors")  # what can be imported, by suffix
SURELY_MODELS = (".gguf", ".coil")  # imported wherever they are dropped; the others occur in folders of code


def dropped_model_file(data: QMimeData) -> str:
    """The file with a model that is dragged; an empty string for anything else."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return next((str(path) for path in paths if path.suffix.lower() in SURELY_MODELS and path.is_file()), "")


def dropped_folder(data: QMimeData) -> str:
    """The folder that is dragged, or the parent of the file that is; an empty string for anything else."""
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

    def rise(self, path: str, verb: str) -> None:
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


class Drops(QObject):
    """Files and folders dropped on a widget; what `path_of` finds no path in is left to the widget behind it."""

    dropped = Signal(str)
    model_dropped = Signal(str)  # only with `takes_models`: a file with a model, which goes before `path_of`

    def __init__(
        self,
        widget: QWidget,
        over: QWidget,
        path_of: Callable[[QMimeData], str],
        verb: str = "read",
        takes_models: bool = False,
    ) -> None:
        """`over`: what the sign covers."""
        super().__init__(widget)
        self._path_of, self._verb, self._takes_models = path_of, verb, takes_models
        self.welcome = True  # False: nothing may be dropped for now
        self.sign = DropSign(over)
        widget.setAcceptDrops(True)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.DragLeave:
            self.sign.hide()
        if kind not in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            return False
        path = self._path_of(event.mimeData()) if self.welcome else ""
        model = dropped_model_file(event.mimeData()) if self.welcome and self._takes_models else ""
        if not (path or model):
            event.ignore()
            return True
        event.acceptProposedAction()
        if kind == QEvent.Type.DragEnter:
            self.sign.rise(model or path, "import" if model else self._verb)
        elif model:
            self.sign.hide()
            self.model_dropped.emit(model)
        else:
            self.sign.hide()
            self.dropped.emit(path)
        return True
