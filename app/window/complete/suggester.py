"""Between the editor and the completion controller: when to ask, what comes back, what the user does with it.

key ─▶ pause (pace) ─▶ request ─▶ pieces ─▶ ghost ─▶ accepted, typed along, dismissed, or superseded by the next key
"""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.state.completion import CompletionController
from app.state.settings import Settings
from app.values.completion import GHOST, CompletionView
from app.values.events import Failure
from app.window.complete.channel import Channel, CursorText
from app.window.complete.editor import CodeEditor
from app.window.complete.ghost import Ghost
from app.window.complete.keys import ALL
from app.window.complete.pace import Pace, delay

THINKING = 300  # milliseconds without text before the status says that the model is working
LIVE = 90  # milliseconds: a slider asks once it stops moving

IDLE, WAITING, ASKING, WRITING, SHOWN, NOTHING, DISMISSED, FAILED = (
    *("idle", "waiting", "asking", "writing", "shown"),
    *("nothing", "dismissed", "failed"),
)


class Suggester(QObject):
    """Manages the ghost text of one editor."""

    state_changed = Signal(str)  # idle, waiting, asking, writing, shown, nothing, dismissed or failed
    thinking_changed = Signal(bool)
    suggestion_changed = Signal(str)  # all of it so far, including what was already typed along
    answered = Signal(object)  # CompletionView
    failed = Signal(object)  # Failure
    left = Signal()  # the cursor moved or the text changed
    settled = Signal(object)  # CursorText: the ghost is complete, others may be asked now

    def __init__(self, editor: CodeEditor, completion: CompletionController, settings: Settings) -> None:
        super().__init__(editor)
        self._editor, self._completion, self._settings = editor, completion, settings
        self.path = ""
        self.state = IDLE
        self.here: CursorText | None = None  # where the ghost text belongs
        self.thinking = False
        self.answer: CompletionView | None = None  # of the ghost text; None until it is complete
        self.place = 0  # of the text shown: 0 is the answer itself, then its alternatives
        self._channel = Channel(completion, GHOST, self)
        self._pace = Pace()
        self._last_key = 0.0
        self._used = self._choices()
        self._due = self._timer(self.on_due)
        self._patience = self._timer(self.on_patience_over, THINKING)
        editor.edited.connect(self.on_edited)
        editor.moved.connect(self.on_moved)
        editor.typed_along.connect(self.on_typed_along)
        editor.accepted.connect(self.on_accepted)
        editor.dismissed.connect(self.on_dismissed)
        editor.other_wanted.connect(self.on_other_wanted)
        editor.ask_wanted.connect(self.on_ask_wanted)
        self._channel.piece_arrived.connect(self.on_piece)
        self._channel.answered.connect(self.on_completed)
        self._channel.failed.connect(self.on_failed)
        completion.changed.connect(self.on_choices_changed)
        settings.changed.connect(self.on_setting_changed)

    @property
    def enabled(self) -> bool:
        """Whether suggestions appear automatically."""
        return self._settings.completion_enabled

    @property
    def can_answer(self) -> bool:
        """Whether there is a model to ask."""
        return self._completion.choice(self._completion.model) is not None

    def wait(self) -> int:
        """Milliseconds from the next key to its request."""
        settings = self._settings
        return delay(self._pace, settings.completion_delay_least, settings.completion_delay_most)

    # ---- asking

    @Slot()
    def ask(self) -> None:
        """Ask now, whatever the settings say."""
        self._leave()
        self._request()

    @Slot()
    def on_ask_wanted(self) -> None:
        """The user has asked: also show what is less likely to be right."""
        self._leave()
        self._request(least_chance=0.0)

    @Slot()
    def ask_again(self) -> None:
        """After a change of model or sampling: ask again at the same cursor, soon, if something was asked there."""
        if self.here is not None or self.state in (SHOWN, FAILED):
            self._leave()
            self._due.start(LIVE)

    def stop(self) -> None:
        """Ask nothing more, and show nothing."""
        self._leave()

    @Slot()
    def on_due(self) -> None:
        if self._editor.textCursor().hasSelection():
            return
        if self.enabled:
            self._request()
        else:
            here = self._cursor_text()
            if here is not None:
                self.here = here
                self.settled.emit(here)

    def _request(self, least_chance: float | None = None) -> None:
        here = self._cursor_text()
        if here is None or not self.can_answer:
            self._enter(IDLE)
            return
        self.here = here
        self._editor.set_ghost(Ghost())
        self._enter(ASKING)
        self._patience.start()
        self._used = self._choices()
        self._channel.ask(here, least_chance=least_chance)

    def _cursor_text(self) -> CursorText | None:
        """The text around the cursor; None if there is none to continue."""
        prefix, suffix = self._editor.around_cursor()
        return CursorText(prefix, suffix, self.path) if prefix.strip() or suffix.strip() else None

    # ---- what comes back

    @Slot(str)
    def on_piece(self, text: str) -> None:
        if self._editor.ghost is None:
            return
        self._be_patient()
        self._show(self._editor.ghost.grown(text))
        self._enter(WRITING)

    @Slot(object)
    def on_completed(self, view: CompletionView) -> None:
        self._be_patient()
        self._pace = self._pace.answered(view.first_token_ms)
        ghost = self._editor.ghost
        self.answer, self.place = view, 0
        if ghost is not None:
            self._show(ghost.ended(view.text))
            self._enter(SHOWN if self._editor.ghost.rest else NOTHING)
        self.answered.emit(view)
        if ghost is not None and ghost.taken and self._editor.ghost.is_spent:
            self._next()  # all of it was typed along
        elif self.here is not None:
            self.settled.emit(self.here)

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self._be_patient()
        self._editor.set_ghost(None)
        self._enter(FAILED)
        self.failed.emit(failure)

    # ---- several suggestions for one place

    @property
    def texts(self) -> tuple[str, ...]:
        """The answer and those alternatives that continue what was accepted or typed along."""
        ghost = self._editor.ghost
        if self.answer is None or ghost is None:
            return ()
        taken = ghost.text[: ghost.taken]
        every = dict.fromkeys((self.answer.text, *self.answer.alternatives))
        return tuple(text for text in every if text.startswith(taken) and text[ghost.taken :].strip())

    @Slot(int)
    def on_other_wanted(self, step: int) -> None:
        """Show the next or previous one; wraps around."""
        ghost, texts = self._editor.ghost, self.texts
        if len(texts) < 2:
            return
        at = texts.index(ghost.text) if ghost.text in texts else 0
        text = texts[(at + step) % len(texts)]
        self.place = texts.index(text)
        self._editor.set_ghost(Ghost(text, ghost.taken, whole=True))
        self.state_changed.emit(self.state)

    def _show(self, ghost: Ghost) -> None:
        self._editor.set_ghost(ghost)
        self.suggestion_changed.emit(ghost.text)

    # ---- what the user does

    @Slot()
    def on_edited(self) -> None:
        now = time.perf_counter()
        self._pace = self._pace.typed((now - self._last_key) * 1000)
        self._last_key = now
        self._leave()
        self._wait(self.wait())

    @Slot()
    def on_moved(self) -> None:
        """Ask only when the cursor has stopped moving."""
        self._leave()
        self._wait(self._settings.completion_delay_most)

    @Slot()
    def on_typed_along(self) -> None:
        self._last_key = time.perf_counter()
        if self._editor.ghost is not None and self._editor.ghost.is_spent:
            self._next()

    @Slot(str)
    def on_accepted(self, action: str) -> None:
        self._pace = self._pace.taken()
        ghost = self._editor.ghost
        if action == ALL or ghost is None or ghost.is_spent:
            self._next()

    @Slot()
    def on_dismissed(self) -> None:
        self._pace = self._pace.dismissed()
        self._cancel()
        self._enter(DISMISSED)

    @Slot()
    def on_choices_changed(self) -> None:
        if self._used != self._choices():
            self._used = self._choices()
            self.ask_again()

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name in ("least_chance", "memory_on"):
            self.on_choices_changed()
        elif name == "completion_enabled":
            self._leave()
            if self.enabled:
                self._wait(LIVE)

    # ---- inside

    def _next(self) -> None:
        """All of the ghost text was used: ask for what follows."""
        self._leave()
        self._wait(self.wait())

    def _wait(self, milliseconds: int) -> None:
        self._enter(WAITING if self.enabled and self.can_answer else IDLE)
        self._due.start(milliseconds)

    def _leave(self) -> None:
        """Leave this place."""
        self._due.stop()
        self._cancel()
        self._editor.set_ghost(None)
        self._enter(IDLE)
        if self.here is not None:
            self.here = None
            self.left.emit()

    def _cancel(self) -> None:
        self._be_patient()
        self.answer = None
        self._channel.clear()

    @Slot()
    def on_patience_over(self) -> None:
        self.thinking = True
        self.thinking_changed.emit(True)

    def _be_patient(self) -> None:
        self._patience.stop()
        if self.thinking:
            self.thinking = False
            self.thinking_changed.emit(False)

    def _enter(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit(state)

    def _choices(self) -> tuple:
        completion = self._completion
        blended = (completion.second, completion.blend) if completion.blend else ()
        settings = (self._settings.least_chance, self._settings.memory_on)
        return (completion.model, blended, completion.sampling, completion.stops, settings)

    def _timer(self, slot, milliseconds: int = 0) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(slot)
        return timer
