"""The worker that moves the data folder: copies, verifies and deletes.

It lives in the files' thread, where the checkpoint store is changed, too: so no checkpoint is renamed or deleted in the
middle of a copy.
"""

from __future__ import annotations

from pathlib import Path

from app.data.data_move import MovePlan, copy_all, delete_old, plan_move, undo_copy
from app.workers.jobs import JobWorker

MIB = 2**20


class MovingWorker(JobWorker):
    """`usual`: the default data folder, which holds the note about a move."""

    def plan(self, source: str, chosen: str) -> MovePlan:
        return plan_move(Path(source), Path(chosen))

    def copy(self, usual: str, plan: MovePlan) -> None:
        copy_all(Path(usual), plan, self._mebibytes)

    def undo(self, usual: str) -> None:
        undo_copy(Path(usual))

    def delete(self, usual: str) -> None:
        delete_old(Path(usual), self._files)

    def _mebibytes(self, done: int, total: int) -> None:
        half = total // 2
        what = "Copying, in MiB" if done <= half else "Verifying the copy, in MiB"
        self.progress((done if done <= half else done - half) // MIB, -(-half // MIB), what)

    def _files(self, done: int, total: int) -> None:
        self.progress(done, total, "Deleting the old folder")
