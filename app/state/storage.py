"""Where the program keeps its things, as the settings see it: the folder, who decides about it, and moving it."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.data.data_folder import VARIABLE, usual_folder
from app.data.data_move import COPIED, Move, MovePlan, old_folder, read_move
from app.values.events import Failure


class StorageController(QObject):
    """One move at a time.  It is a copy at first; the next start of the program switches over."""

    changed = Signal()  # phase, plan, move, old
    progressed = Signal()  # progress
    failed = Signal(object)  # Failure

    plan_wanted = Signal(str, str)  # from here on: to the worker
    copy_wanted = Signal(str, object)
    undo_wanted = Signal(str)
    delete_wanted = Signal(str)
    cancel_wanted = Signal()

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.folder = folder
        self._usual = usual_folder()
        self.phase = "idle"  # idle, planning, copying, undoing, deleting
        self.plan: MovePlan | None = None  # what was asked about
        self.move: Move | None = None
        self.old = ""  # the folder that was left and is still there
        self.progress = (0, 0, "")
        self.problem = ""  # why a copy that was made is still not used
        self._read()
        if self.move is not None and self.move.state == COPIED:
            self.problem = f"{self.move.target} could not be used at this start, so the old folder still is."

    @property
    def decided(self) -> str:
        """Who says where the folder is, in words, where the user cannot say it here; "" where they can."""
        if os.environ.get(VARIABLE):
            return f"{VARIABLE} (or --data-dir) says where it is. To have it elsewhere, change that."
        here = self.move.folder if self.move is not None else self._usual
        return "" if here == self.folder else "This start was given a folder of its own."

    @property
    def busy(self) -> bool:
        return self.phase != "idle"

    @property
    def waiting(self) -> bool:
        """Whether a copy is there that the next start will use."""
        return self.move is not None and self.move.state == COPIED

    # ---- what the pane asks for

    def consider(self, chosen: str) -> None:
        """What would be moved there, and how much: `plan`."""
        if not self.decided and not self.busy:
            self.plan = None
            self._enter("planning")
            self.plan_wanted.emit(str(self.folder), chosen)

    def decline(self) -> None:
        """Put the plan away."""
        self.plan = None
        self.changed.emit()

    def copy(self) -> None:
        """Do what was planned."""
        if self.plan is not None and not self.busy:
            plan, self.plan = self.plan, None
            self._enter("copying")
            self.copy_wanted.emit(str(self._usual), plan)

    def undo(self) -> None:
        """Stay with the old folder, and take the copy away again."""
        if self.waiting and not self.busy:
            self._enter("undoing")
            self.undo_wanted.emit(str(self._usual))

    def delete_old(self) -> None:
        """Delete the folder that was left."""
        if self.old and not self.busy:
            self._enter("deleting")
            self.delete_wanted.emit(str(self._usual))

    def cancel(self) -> None:
        if self.busy:
            self.cancel_wanted.emit()

    # ---- what the worker answers

    @Slot(object)
    def on_planned(self, plan: MovePlan) -> None:
        self.plan = plan

    @Slot(int, int, str)
    def on_progress(self, done: int, total: int, what: str) -> None:
        self.progress = (done, total, what)
        self.progressed.emit()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure)

    @Slot(str)
    def on_ended(self, _what: str) -> None:
        self.progress, self.problem = (0, 0, ""), ""
        self._read()
        self._enter("idle")

    def _read(self) -> None:
        """The note, where it is about the folder in use."""
        if os.environ.get(VARIABLE):
            return
        move = read_move(self._usual)
        self.move = move if move is not None and move.folder == self.folder else None
        old = old_folder(self._usual) if self.move is not None else None
        self.old = str(old) if old is not None else ""

    def _enter(self, phase: str) -> None:
        self.phase = phase
        self.changed.emit()
