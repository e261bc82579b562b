"""Every folder that was read: how large it is, and what completes there."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.state.checkpoints import CheckpointController
from app.state.completion import CompletionController
from app.state.repository import RepositoryController
from app.values.folders import FolderModel, FolderRow
from app.workers.files import FilesWorker
from app.workers.jobs import Job, Jobs


class FoldersController(QObject):
    """Read from disk when asked for; the open folder is one of them."""

    changed = Signal()  # rows

    def __init__(
        self,
        jobs: Jobs,
        repository: RepositoryController,
        completion: CompletionController,
        checkpoints: CheckpointController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._repository = jobs, repository
        self._completion, self._checkpoints = completion, checkpoints
        self._job: Job | None = None
        self._read = ""  # the open folder, once it was read
        self.rows: tuple[FolderRow, ...] | None = None  # the one read last comes first; None until they are known
        repository.kept_deleted.connect(self.refresh)
        repository.changed.connect(self.on_repository)

    @Slot()
    def refresh(self) -> None:
        """Look at the data folder again."""
        if self._job is not None:
            self._jobs.cancel(self._job)
        self._job = self._jobs.ask(FilesWorker.known_folders, tuple(self._repository.recent), then=self.on_rows)

    def model(self, root: str) -> FolderModel:
        """What completes in a folder."""
        choice = self._completion.choice(self._completion.model_in(root))
        own = [row for row in self._checkpoints.rows if row.repository == root and not row.is_snapshot]
        newest = max(own, key=lambda row: row.created, default=None)
        name = choice.name if choice is not None else ""
        return FolderModel(name, newest.created, newest.name) if newest is not None else FolderModel(name)

    def around(self, root: str) -> str:
        """The nearest known folder that `root` lies in; "" if none is known."""
        known = {row.root for row in self.rows or ()}
        return next((str(above) for above in Path(root).parents if str(above) in known), "") if root else ""

    @Slot()
    def on_repository(self) -> None:
        """A folder was read that was not open before: it is known from now on."""
        root = self._repository.root if self._repository.phase == "ready" else ""
        if root and root != self._read:
            self.refresh()
        self._read = root or (self._read if self._repository.root else "")

    def on_rows(self, rows: tuple[FolderRow, ...]) -> None:
        self._job, self.rows = None, rows
        self.changed.emit()
