"""Builds trees of files: small ones at once, large ones in another thread, so that the window never freezes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal, Slot

from app.values.repository import FileRow
from app.window.repository.file_tree import NAME, FileTree, Kept

AT_ONCE = 3000  # files that take no longer than a few frames


@dataclass(frozen=True)
class TreeWish:
    """Which tree: the files, which of them are listed, and their order."""

    files: tuple[FileRow, ...] = ()
    accept: Callable[[FileRow], bool] | None = None
    column: int = NAME
    descending: bool = False
    losses: dict[str, float] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)

    def build(self) -> FileTree:
        return FileTree(self.files, self.accept, self.column, self.descending, self.losses, self.kept)


class _Job(QRunnable):
    """Builds one tree in the pool's thread and hands it over by a queued signal."""

    def __init__(self, wish: TreeWish, number: int, done) -> None:
        super().__init__()
        self._wish, self._number, self._done = wish, number, done

    def run(self) -> None:
        self._done.emit(self._number, self._wish.build())


class TreeBuilder(QObject):
    """The newest request wins; `built` arrives in the window's thread."""

    built = Signal(object)  # FileTree
    _done = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._number = 0
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._done.connect(self.on_done, Qt.ConnectionType.QueuedConnection)

    def build(self, wish: TreeWish) -> None:
        self._number += 1
        self._pool.clear()  # requests that are out of date
        if len(wish.files) <= AT_ONCE:
            self.built.emit(wish.build())
        else:
            self._pool.start(_Job(wish, self._number, self._done))

    def wait(self) -> None:
        """Wait until the tree that is being built is done."""
        self._pool.waitForDone()

    @Slot(int, object)
    def on_done(self, number: int, tree: FileTree) -> None:
        if number == self._number:
            self.built.emit(tree)
