"""Saves the file in the editor; asks if it has changed on disk, and before unsaved edits are left."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.window.complete.editor_card import EditorCard
from app.window.complete.file_access import CHANGED, FAILED, GONE, SAVED, FileWriter, SaveOutcome
from app.window.parts import ErrorCard, InlineMessage

CHANGED_WORDS = "It has changed on disk since you opened it."
GONE_WORDS = "It was deleted or moved since you opened it."


class Saving(QObject):
    """The page places its `bars`; each is hidden until it has something to say."""

    refused = Signal(str)  # why nothing could be saved
    saved = Signal(str)  # path

    def __init__(self, card: EditorCard, parent: QObject) -> None:
        super().__init__(parent)
        self._card = card
        self._go_on: Callable[[], None] | None = None  # what the user was about to do
        self.writer = FileWriter(self)
        self.unsaved = InlineMessage(closable=False)
        self.cancel_button = self.unsaved.add_button("Cancel", help_words="Stay in this file")
        self.keep_button = self.unsaved.add_button("Keep unsaved", help_words="Your edits stay here for later")
        self.discard_button = self.unsaved.add_button("Discard", help_words="Drop your edits")
        self.save_button = self.unsaved.add_button("Save", primary=True)
        self.conflict = InlineMessage(closable=False)
        self.stop_button = self.conflict.add_button("Cancel", help_words="Change nothing, here or on disk")
        self.reload_button = self.conflict.add_button(
            "Reload", help_words="Load the version on disk; undo restores yours"
        )
        self.overwrite_button = self.conflict.add_button("Overwrite", help_words="Replace the file with your text")
        self.error_card = ErrorCard()
        self.bars = (self.error_card, self.conflict, self.unsaved)
        self.writer.written.connect(self.on_written)
        self.save_button.clicked.connect(self.save)
        self.discard_button.clicked.connect(self.on_discard)
        self.keep_button.clicked.connect(self.on_keep)
        self.cancel_button.clicked.connect(self.on_cancel)
        self.stop_button.clicked.connect(self.on_cancel)
        self.reload_button.clicked.connect(self.on_reload)
        self.overwrite_button.clicked.connect(self.on_overwrite)
        self.error_card.action_wanted.connect(self.save)
        card.opened.connect(self.on_opened)

    def leave(self, go_on: Callable[[], None], can_stay: bool = True) -> None:
        """Do something that replaces the file in the editor; if it has unsaved edits, ask first.

        `can_stay`: whether the user can cancel.
        """
        if not self._card.has_unsaved:
            self._put_away()
            go_on()
            return
        self._go_on = go_on
        self.cancel_button.setVisible(can_stay)
        self.conflict.put_away()
        self.unsaved.say(f"{self._card.path} has unsaved edits.", kind="warn")
        self.save_button.setFocus()

    @Slot()
    def save(self) -> None:
        self._save(is_forced=False)

    @Slot()
    def on_overwrite(self) -> None:
        self._save(is_forced=True)

    def _save(self, is_forced: bool) -> None:
        request = self._card.save_request(is_forced)
        if isinstance(request, str):
            self.refused.emit(request)
        else:
            self.writer.write(request)

    @Slot(object)
    def on_written(self, outcome: SaveOutcome) -> None:
        path = outcome.request.path
        is_shown = (outcome.request.root, path) == (self._card.root, self._card.path)
        if outcome.state != SAVED and not is_shown:
            self.refused.emit(f"{path} was not saved. Its edits are kept: open it and save again.")
        elif outcome.state in (CHANGED, GONE):
            self.error_card.put_away()
            self.unsaved.put_away()
            self.reload_button.setVisible(outcome.state == CHANGED)
            self.conflict.say(CHANGED_WORDS if outcome.state == CHANGED else GONE_WORDS, path, "warn")
        elif outcome.state == FAILED:
            self._put_away()
            self.error_card.show_failure(outcome.failure, "Try again", "Save the file again")
        else:
            self._card.take_saved(outcome)
            self.saved.emit(path)
            self._finish()

    @Slot()
    def on_discard(self) -> None:
        self._card.discard()
        self._finish()

    @Slot()
    def on_keep(self) -> None:
        self._finish()

    @Slot()
    def on_cancel(self) -> None:
        self._put_away()
        self._card.editor.setFocus()

    @Slot()
    def on_reload(self) -> None:
        self._put_away()
        self._card.on_revert()

    @Slot(str)
    def on_opened(self, _path: str) -> None:
        """Another text is open: questions about the previous one no longer apply."""
        self._put_away()

    def _finish(self) -> None:
        go_on = self._go_on
        self._put_away()
        self._card.editor.setFocus()
        if go_on is not None:
            go_on()

    def _put_away(self) -> None:
        self._go_on = None
        for bar in self.bars:
            bar.put_away()
