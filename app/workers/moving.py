"""The worker that moves the data folder: copies, verifies and deletes, in the files' thread.

There because the checkpoint store is changed from that thread, too: while it copies, no checkpoint is renamed or thrown
away in the middle.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.data.data_move import MovePlan, copy_all, delete_old, plan_move, undo_copy
from app.workers.cancellation import Flag
from app.workers.failures import Cancelled, failure_from

MIB = 2**20


class MovingWorker(QObject):
    """One thing after the other; every call ends with `ended`."""

    planned = Signal(object)  # MovePlan
    progressed = Signal(int, int, str)
    failed = Signal(object)  # Failure
    ended = Signal(str)  # what was done: "plan", "copy", "undo", "delete"; "" where it was cancelled or failed

    def __init__(self, flag: Flag) -> None:
        super().__init__()
        self._flag = flag

    @Slot(str, str)
    def plan(self, source: str, chosen: str) -> None:
        self._do("plan", lambda: self.planned.emit(plan_move(Path(source), Path(chosen))))

    @Slot(str, object)
    def copy(self, usual: str, plan: MovePlan) -> None:
        self._do("copy", lambda: copy_all(Path(usual), plan, self._mebibytes))

    @Slot(str)
    def undo(self, usual: str) -> None:
        self._do("undo", lambda: undo_copy(Path(usual)))

    @Slot(str)
    def delete(self, usual: str) -> None:
        self._do("delete", lambda: delete_old(Path(usual), self._files))

    def _do(self, what: str, job) -> None:
        try:
            job()
        except Cancelled:
            self.ended.emit("")
        except Exception as error:
            self.failed.emit(failure_from(error))
            self.ended.emit("")
        else:
            self.ended.emit(what)

    def _mebibytes(self, done: int, total: int) -> None:
        half = total // 2
        what = "Copying, in MiB" if done <= half else "Reading it again, in MiB"
        self.progressed.emit((done if done <= half else done - half) // MIB, -(-half // MIB), what)
        self._look()

    def _files(self, done: int, total: int) -> None:
        self.progressed.emit(done, total, "Deleting the old folder")
        self._look()

    def _look(self) -> None:
        if self._flag.is_raised():
            raise Cancelled
