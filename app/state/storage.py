"""The data folder as the settings see it: where it is, what determines that, and moving it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.data.data_folder import VARIABLE, usual_folder
from app.data.data_move import COPIED, Move, MovePlan, old_folder, read_move
from app.values.events import Failure
from app.workers.jobs import Job, Jobs
from app.workers.moving import MovingWorker


class StorageController(QObject):
    """One move at a time: first a copy, then the next start of the program switches to it."""

    changed = Signal()  # phase, plan, move, old
    progressed = Signal()  # progress
    failed = Signal(object)  # Failure

    def __init__(self, folder: Path, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self._jobs = jobs
        self._job: Job | None = None  # the one under way
        self._usual = usual_folder()
        self.phase = "idle"  # idle, planning, copying, undoing, deleting
        self.plan: MovePlan | None = None  # what was asked about
        self.move: Move | None = None
        self.old = ""  # the previous folder, if it still exists
        self.progress = (0, 0, "")
        self.problem = ""  # why a finished copy is not used yet
        self._read()
        if self.move is not None and self.move.state == COPIED:
            self.problem = f"{self.move.target} could not be used this time, so the old folder is still in use."

    @property
    def decided(self) -> str:
        """Why the folder cannot be chosen here; "" if it can."""
        if os.environ.get(VARIABLE):
            return f"{VARIABLE} (or --data-dir) sets the data folder. Change it there to move the folder."
        here = self.move.folder if self.move is not None else self._usual
        return "" if here == self.folder else "The data folder was chosen for this start only."

    @property
    def busy(self) -> bool:
        return self.phase != "idle"

    @property
    def waiting(self) -> bool:
        """Whether there is a copy that the next start will use."""
        return self.move is not None and self.move.state == COPIED

    # ---- what the pane asks for

    def consider(self, chosen: str) -> None:
        """What would be moved there, and how much: `plan`."""
        if not self.decided and not self.busy:
            self.plan = None
            self._ask("planning", MovingWorker.plan, str(self.folder), chosen, then=self.on_planned)

    def decline(self) -> None:
        self.plan = None
        self.changed.emit()

    def copy(self) -> None:
        """Carry out the plan."""
        if self.plan is not None and not self.busy:
            plan, self.plan = self.plan, None
            self._ask("copying", MovingWorker.copy, str(self._usual), plan)

    def undo(self) -> None:
        """Keep the old folder, and delete the copy."""
        if self.waiting and not self.busy:
            self._ask("undoing", MovingWorker.undo, str(self._usual))

    def delete_old(self) -> None:
        """Delete the previous folder."""
        if self.old and not self.busy:
            self._ask("deleting", MovingWorker.delete, str(self._usual))

    def cancel(self) -> None:
        if self._job is not None:
            self._jobs.cancel(self._job)

    def _ask(self, phase: str, work: Callable[..., Any], *arguments: Any, then: Callable[[Any], None] | None = None):
        self._enter(phase)
        self._job = self._jobs.ask(
            *(work, *arguments),
            then=then or self.on_ended,
            failed=self.on_failed,
            cancelled=self.on_ended,
            progressed=self.on_progress,
        )

    # ---- what the worker answers

    def on_planned(self, plan: MovePlan) -> None:
        self.plan = plan
        self.on_ended()

    def on_progress(self, done: int, total: int, what: str) -> None:
        self.progress = (done, total, what)
        self.progressed.emit()

    def on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure)
        self.on_ended()

    def on_ended(self, _result: None = None) -> None:
        self._job = None
        self.progress, self.problem = (0, 0, ""), ""
        self._read()
        self._enter("idle")

    def _read(self) -> None:
        """Read the note, if it is about the folder in use."""
        if os.environ.get(VARIABLE):
            return
        move = read_move(self._usual)
        self.move = move if move is not None and move.folder == self.folder else None
        old = old_folder(self._usual) if self.move is not None else None
        self.old = str(old) if old is not None else ""

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.changed.emit()
