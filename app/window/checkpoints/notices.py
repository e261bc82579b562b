"""Under the table: the progress of a job, then its result, with a button for the next step.

Nothing above it moves.  What was deleted can be restored from here, all at once.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.state.checkpoints import CheckpointController
from app.values.checkpoints import CheckpointRow, ExportView, ImportedResult, MergeView, TrashRow, VerifyView
from app.values.events import Failure
from app.values.words import nbytes
from app.window.checkpoints.words import loss_words
from app.window.parts import Card, InlineMessage, ProgressLine

PATIENCE = 400  # milliseconds before progress is shown: most jobs are over sooner
CANCELLED = "Cancelled"
UNDO, SHOW = "Undo", "Show in folder"


class Notices(QWidget):
    """Listens to the controller; the page only says what to delete."""

    def __init__(self, checkpoints: CheckpointController) -> None:
        super().__init__()
        self._checkpoints = checkpoints
        self._waiting: set[str] = set()  # ids that are being deleted
        self._deleted: list[TrashRow] = []
        self._path = ""
        self._was_cancelled = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        self.message = InlineMessage()
        self.button = self.message.add_button(UNDO)
        self.button.clicked.connect(self.on_button_clicked)
        self.progress_card = Card(margins=(16, 8, 12, 14))
        self.progress = ProgressLine("Progress")
        self.progress_card.column.addWidget(self.progress)
        self.progress_card.hide()
        column.addWidget(self.message)
        column.addWidget(self.progress_card)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self.on_patience_over)
        self.progress.cancelled.connect(checkpoints.cancel)
        for signal, slot in (
            (checkpoints.busy_changed, self.on_busy_changed),
            (checkpoints.progressed, self.on_progressed),
            (checkpoints.deleted, self.on_deleted),
            (checkpoints.exported, self.on_exported),
            (checkpoints.imported, self.on_imported),
            (checkpoints.result_imported, self.on_result_imported),
            (checkpoints.converted, self.on_converted),
            (checkpoints.merged, self.on_merged),
            (checkpoints.verified, self.on_verified),
            (checkpoints.failed, self.on_failed),
        ):
            signal.connect(slot)
        self.on_busy_changed()

    # ---- deleting

    @property
    def can_undo(self) -> bool:
        return bool(self._deleted)

    def delete(self, ids: list[str]) -> None:
        """Move these to the trash, in this order."""
        self._deleted, self._waiting = [], set(ids)
        self.message.put_away()
        for id in ids:
            self._checkpoints.delete(id)

    @Slot()
    def undo(self) -> None:
        """Restore what was deleted last."""
        restored, self._deleted = self._deleted, []
        if restored:
            self.message.put_away()
        for trashed in reversed(restored):  # bases were deleted last
            self._checkpoints.restore(trashed.key)

    @Slot(object)
    def on_deleted(self, trashed: TrashRow) -> None:
        if trashed.id in self._waiting:
            self._waiting.discard(trashed.id)
            self._deleted.append(trashed)
            many = len(self._deleted)
            words = f"{trashed.name} is in the trash." if many == 1 else f"{many:,} checkpoints are in the trash."
            self._say(words, UNDO)

    # ---- results of other jobs

    @Slot(object)
    def on_exported(self, done: ExportView) -> None:
        self._path = done.path
        self._say(" ".join((f"Wrote {done.path} ({nbytes(done.nbytes)}).", *done.notes)), SHOW, "accent")

    @Slot(object)
    def on_imported(self, row: CheckpointRow) -> None:
        self._say(f"{row.name} was imported.", kind="accent")

    @Slot(object)
    def on_result_imported(self, found: ImportedResult) -> None:
        if found.problem:
            self._say(f"{found.row.name} was imported. It has no scorecard: {found.problem}", kind="accent")
        elif found.after is not None:
            bits = f"{found.before:.3f} before, {found.after:.3f} now"
            self._say(f"{found.row.name} was imported. Bits per byte of held-out code: {bits}.", kind="accent")

    @Slot(object)
    def on_converted(self, row: CheckpointRow) -> None:
        self._say(f"{row.name} was saved.", kind="accent")

    @Slot(object)
    def on_merged(self, merged: MergeView) -> None:
        loss = f" Its held-out loss is {loss_words(merged.child_loss)}." if merged.child_loss is not None else ""
        self._say(f"{merged.child_name} was saved.{loss}", kind="accent")

    @Slot(object)
    def on_verified(self, found: VerifyView) -> None:
        if not found.findings:
            self._say(f"{found.name} is intact: every file matches its checksum.", kind="accent")
            return
        more = f" And {len(found.findings) - 3} more." if len(found.findings) > 3 else ""
        words = f"{found.name} is damaged. {' '.join(found.findings[:3])}{more}"
        self._say(f"{words} Delete it, or import it again.", kind="error")

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        if failure.job == "delete":
            self._waiting = set()

    def put_away(self) -> None:
        """Another job starts: clear the last result, unless it can be undone."""
        if self.button.text() != UNDO:
            self.message.put_away()

    def say(self, words: str, kind: str = "plain") -> None:
        self._say(words, kind=kind)

    def _say(self, words: str, button: str = "", kind: str = "plain") -> None:
        self.button.setText(button)
        self.button.setAccessibleName(button)
        self.button.setVisible(bool(button))
        self.message.say(words, kind=kind)

    @Slot()
    def on_button_clicked(self) -> None:
        if self.button.text() == UNDO:
            self.undo()
        else:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(self._path).parent)))

    # ---- progress

    @Slot()
    def on_busy_changed(self) -> None:
        if self._checkpoints.busy:
            self._patience.start()
            return
        self._patience.stop()
        self.progress.put_away()
        self.progress_card.hide()
        if self._was_cancelled:
            self._was_cancelled = False
            self._say("Cancelled. Nothing was written.")

    @Slot()
    def on_patience_over(self) -> None:
        self._show_progress()

    @Slot(int, int, str)
    def on_progressed(self, _done: int, _total: int, what: str) -> None:
        if what == CANCELLED:
            self._was_cancelled = True
        elif self._checkpoints.busy and not self._patience.isActive():
            self._show_progress()

    def _show_progress(self) -> None:
        done, total, what = self._checkpoints.progress
        words = what or "Reading the checkpoints"
        self.progress.show_progress(done, total, words, cancellable=self._checkpoints.cancellable)
        self.progress_card.show()
