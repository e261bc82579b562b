"""One channel of the completion controller: the text that a model writes at a cursor, so far."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from app.state.completion import CompletionController
from app.values.completion import CompletionView
from app.values.events import Failure

NONE, ASKING, DONE, FAILED = "none", "asking", "done", "failed"


@dataclass(frozen=True)
class CursorText:
    """A place to continue: the text before and after it."""

    prefix: str
    suffix: str
    path: str

    @property
    def line(self) -> str:
        """The cursor's line up to the cursor."""
        return self.prefix[self.prefix.rfind("\n") + 1 :]


class Channel(QObject):
    """One request at a time; a new one cancels the one before."""

    changed = Signal()  # text, state, is_stale
    piece_arrived = Signal(str)
    answered = Signal(object)  # CompletionView
    failed = Signal(object)  # Failure

    def __init__(self, completion: CompletionController, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self._completion, self.name = completion, name
        self._ticket = 0
        self.here: CursorText | None = None
        self.text = ""
        self.state = NONE
        self.is_stale = False  # the text belongs to an earlier cursor
        self.view: CompletionView | None = None
        self.failure: Failure | None = None
        completion.piece.connect(self.on_piece)
        completion.completed.connect(self.on_completed)
        completion.failed.connect(self.on_failed)

    def ask(self, here: CursorText, model: str = "", least_chance: float | None = None) -> None:
        """Ask for this cursor; what was written before is gone.

        `model`: another one than the channel's own.  `least_chance`: another one than that of the settings.
        """
        self._drop()
        self.here, self.text, self.state, self.failure, self.is_stale = here, "", ASKING, None, False
        self._ticket = self._completion.request(here.prefix, here.suffix, here.path, self.name, model, least_chance)
        self.changed.emit()

    def show(self, here: CursorText, text: str, done: bool) -> None:
        """Show a text that is already known."""
        self._drop()
        self.here, self.text, self.view, self.failure = here, text, None, None
        self.state, self.is_stale = DONE if done else ASKING, False
        self.changed.emit()

    def leave(self) -> None:
        """The cursor has moved on: the text stays under its own line, and is stale."""
        self._drop()
        if self.state == ASKING:
            self.state = NONE
        self.is_stale = bool(self.text)
        self.changed.emit()

    def clear(self) -> None:
        """Ask nothing, show nothing."""
        self._drop()
        self.here, self.text, self.state, self.is_stale, self.view, self.failure = None, "", NONE, False, None, None
        self.changed.emit()

    @Slot(int, str)
    def on_piece(self, ticket: int, text: str) -> None:
        if ticket == self._ticket:
            self.text += text
            self.changed.emit()
            self.piece_arrived.emit(text)

    @Slot(int, object)
    def on_completed(self, ticket: int, view: CompletionView) -> None:
        if ticket == self._ticket:
            self._ticket = 0
            self.text, self.view, self.state, self.is_stale = view.text, view, DONE, False
            self.changed.emit()
            self.answered.emit(view)

    @Slot(int, object)
    def on_failed(self, ticket: int, failure: Failure) -> None:
        if ticket == self._ticket:
            self._ticket = 0
            self.text, self.failure, self.state, self.is_stale = "", failure, FAILED, False
            self.changed.emit()
            self.failed.emit(failure)

    def _drop(self) -> None:
        ticket, self._ticket = self._ticket, 0
        if ticket:
            self._completion.cancel(ticket)
