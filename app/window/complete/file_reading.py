"""Reads one file of the user's in a thread of its own: a disk may be slow, and the window does not wait for it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

from app.window.complete.file_text import FileText, decode
from engine.corpus.reading.safe_opening import read_file

MOST_BYTES = 2 << 20


class FileReader(QObject):
    """One file after the other; only the one that was wanted last is told."""

    read = Signal(str, object)  # path as it was asked for, FileText
    failed = Signal(str, str)  # path, why in words

    _came = Signal(int, str, object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)  # waits for its thread when it is destroyed
        self._pool.setMaxThreadCount(1)
        self._number = 0
        self._came.connect(self.on_came)

    def want(self, root: str, path: str) -> None:
        """Read `path` below `root`."""
        self._number += 1
        self._pool.start(_Job(self._number, root, path, self._came))

    def forget(self) -> None:
        """What was wanted last is not wanted any more."""
        self._number += 1

    def wait(self) -> None:
        """Until the reading that is going on has ended."""
        self._pool.waitForDone()

    @Slot(int, str, object, str)
    def on_came(self, number: int, path: str, text: FileText | None, problem: str) -> None:
        if number != self._number:
            return
        if problem:
            self.failed.emit(path, problem)
        else:
            self.read.emit(path, text)


class _Job(QRunnable):
    def __init__(self, number: int, root: str, path: str, came) -> None:
        super().__init__()
        self._number, self._root, self._path, self._came = number, root, path, came

    def run(self) -> None:
        text, problem = read_text(Path(self._root) / self._path)
        self._came.emit(self._number, self._path, text, problem)


def read_text(path: Path) -> tuple[FileText | None, str]:
    """The text of a file, or None and why it cannot be shown."""
    try:
        content = read_file(path.resolve(), MOST_BYTES + 1)
    except OSError as error:
        return None, f"{path.name} cannot be read: {error.strerror or error}."
    if len(content) > MOST_BYTES:
        return None, f"{path.name} is larger than {MOST_BYTES >> 20} MiB, too large for this editor."
    text = decode(content)
    return text, "" if text is not None else f"{path.name} is no text."
