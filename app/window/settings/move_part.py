"""Moving the data folder: what would be moved, the progress, and what is left to do."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.state.storage import StorageController
from app.values.events import Failure
from app.values.words import counted, nbytes
from app.window.parts import ErrorCard, FileDialog, InlineMessage, PlainButton, ProgressLine, label

HERE = "Codecoil keeps everything here, and nothing in your repository."
WORKING = {
    "planning": "Measuring what there is",
    "undoing": "Deleting the copy",
    "deleting": "Deleting the old folder",
}


class MovePart(QWidget):
    """Below the path of the folder; `button` goes beside the path."""

    moved = Signal()  # disk use has changed

    def __init__(self, storage: StorageController) -> None:
        super().__init__()
        self._storage = storage
        self.dialog: FileDialog | None = None
        self.button = PlainButton("Move…", "Choose another folder; nothing is moved before you confirm")
        self.words = label("", "label", wrap=True)
        self.offer = InlineMessage(closable=False)
        self.copy_button = self.offer.add_button("Move", primary=True)
        self.decline_button = self.offer.add_button("Not now")
        self.progress = ProgressLine("Moving the data folder")
        self.note = InlineMessage(closable=False)
        self.undo_button = self.note.add_button("Undo", help_words="Keep using the current folder and delete the copy")
        self.delete_button = self.note.add_button("Delete the old folder", help_words="Permanently")
        self.error_card = ErrorCard()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        for part in (self.words, self.offer, self.progress, self.note, self.error_card):
            column.addWidget(part)
        for signal, slot in (
            (self.button.clicked, self.on_button_clicked),
            (self.copy_button.clicked, storage.copy),
            (self.decline_button.clicked, storage.decline),
            (self.undo_button.clicked, storage.undo),
            (self.delete_button.clicked, storage.delete_old),
            (self.progress.cancelled, storage.cancel),
            (storage.changed, self.refresh),
            (storage.progressed, self.on_progressed),
            (storage.failed, self.on_failed),
        ):
            signal.connect(slot)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what belongs to the phase."""
        storage = self._storage
        self.button.setEnabled(not storage.decided and not storage.busy and not storage.waiting)
        self.words.setText(f"{HERE} {storage.decided}".rstrip())
        if storage.busy:
            self.error_card.put_away()
            self.on_progressed()
        else:
            self.progress.put_away()
            self.moved.emit()
        self._show_offer()
        self._show_note()

    def _show_offer(self) -> None:
        plan = self._storage.plan
        if plan is None or self._storage.busy:
            self.offer.put_away()
            return
        self.offer.say(
            f"{counted(plan.files, 'file')}, {nbytes(plan.nbytes)}, to {plan.target}, which has {nbytes(plan.free)} "
            "free. Files are copied and compared; the current folder stays until you delete it.",
            "Move everything?",
            "accent",
        )

    def _show_note(self) -> None:
        storage = self._storage
        self.undo_button.setVisible(storage.waiting)
        self.delete_button.setVisible(bool(storage.old))
        if storage.busy:
            self.note.put_away()
        elif storage.waiting:
            until = "Codecoil uses it from the next start, including all changes made until then."
            words = storage.problem or f"A complete copy is in {storage.move.target}. {until}"
            self.note.say(words, kind="warn" if storage.problem else "accent")
        elif storage.old:
            self.note.say(f"The old folder still exists: {storage.old}")
        else:
            self.note.put_away()

    @Slot()
    def on_progressed(self) -> None:
        done, total, what = self._storage.progress
        words = what or WORKING.get(self._storage.phase, "Copying")
        self.progress.show_progress(done, total, words, cancellable=self._storage.phase in ("copying", "deleting"))

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.error_card.show_failure(failure)

    @Slot()
    def on_button_clicked(self) -> None:
        """Ask for a folder."""
        self.error_card.put_away()
        self.dialog = FileDialog(self, "Move the data folder to", self._storage.folder.parent, "Choose")
        self.dialog.fileSelected.connect(self._storage.consider)
        self.dialog.ask_for_folder()
