"""One channel of the completion controller: the text that a model writes at a cursor, as far as it has come."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.state.completion import CompletionController
from app.values.completion import CompletionView
from app.values.events import Failure
from app.window.complete.suggester import CursorText

NONE, ASKING, DONE, FAILED = "none", "asking", "done", "failed"


class Channel(QObject):
    """`changed` whenever the text, the state or whether it is stale is another."""

    changed = Signal()

    def __init__(self, completion: CompletionController, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._completion, self.name = completion, name
        self._ticket = 0
        self.here: CursorText | None = None
        self.text = ""
        self.state = NONE
        self.is_stale = False  # the text belongs to a cursor that was left
        self.view: CompletionView | None = None
        self.failure: Failure | None = None
        completion.piece.connect(self.on_piece)
        completion.completed.connect(self.on_completed)
        completion.failed.connect(self.on_failed)

    def ask(self, here: CursorText, model: str = "") -> None:
        """Ask for this cursor; `model`: another one than the channel's own.  What was written before is gone."""
        self._drop()
        self.here, self.text, self.state, self.failure, self.is_stale = here, "", ASKING, None, False
        self._ticket = self._completion.request(here.prefix, here.suffix, here.path, self.name, model)
        self.changed.emit()

    def show(self, here: CursorText, text: str, done: bool) -> None:
        """Take a text that is known already."""
        self._drop()
        self.here, self.text, self.view, self.failure = here, text, None, None
        self.state, self.is_stale = DONE if done else ASKING, False
        self.changed.emit()

    def leave(self) -> None:
        """The cursor is elsewhere: what was written stays under its own line, and is no longer true."""
        self._drop()
        if self.state == ASKING:
            self.state = NONE
        self.is_stale = bool(self.text)
        self.changed.emit()

    def clear(self) -> None:
        """Nothing is asked here."""
        self._drop()
        self.here, self.text, self.state, self.is_stale, self.view, self.failure = None, "", NONE, False, None, None
        self.changed.emit()

    @Slot(int, str)
    def on_piece(self, ticket: int, text: str) -> None:
        if ticket == self._ticket:
            self.text += text
            self.changed.emit()

    @Slot(int, object)
    def on_completed(self, ticket: int, view: CompletionView) -> None:
        if ticket == self._ticket:
            self._ticket = 0
            self.text, self.view, self.state, self.is_stale = view.text, view, DONE, False
            self.changed.emit()

    @Slot(int, object)
    def on_failed(self, ticket: int, failure: Failure) -> None:
        if ticket == self._ticket:
            self._ticket = 0
            self.text, self.failure, self.state, self.is_stale = "", failure, FAILED, False
            self.changed.emit()

    def _drop(self) -> None:
        ticket, self._ticket = self._ticket, 0
        if ticket:
            self._completion.cancel(ticket)
