"""The completion worker: answers cursors with text, in the engine's thread.

Requests stand in a line of their own, not in Qt's: so whatever runs in this thread for long (a scorecard, say) can let
them be answered in between, and one that was overtaken is passed over without being begun.
"""

from __future__ import annotations

import threading
from collections import deque

from PySide6.QtCore import QObject, Signal, Slot

from app.values.completion import CompletionQuery, CompletionView, EditedFile
from app.workers.cancellation import CancelledTickets
from app.workers.failures import failure_from
from app.workers.workbench import Workbench


class QueryLine(QObject):
    """Requests that wait.  Lives in the GUI thread; any thread may take."""

    added = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._waiting: deque[CompletionQuery] = deque()

    @Slot(object)
    def add(self, query: CompletionQuery) -> None:
        with self._lock:
            self._waiting.append(query)
        self.added.emit()

    def take(self) -> CompletionQuery | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None


class CompletionWorker(QObject):
    """One request after the other."""

    piece = Signal(int, str)  # ticket, text
    completed = Signal(object)  # CompletionView
    failed = Signal(int, object)  # ticket, Failure
    prepared = Signal(str)  # model

    def __init__(self, workbench: Workbench, line: QueryLine, tickets: CancelledTickets) -> None:
        super().__init__()
        self._workbench, self._line, self._tickets = workbench, line, tickets
        self._recent = None  # the engine's RecentFiles, made with the first edit

    @Slot(object)
    def note_edits(self, files: tuple[EditedFile, ...] | None) -> None:
        """Files that were edited; None: another repository, whose edits are not known yet."""
        from engine.generate.context import RecentFiles

        if files is None:
            self._recent = None
            return
        self._recent = self._recent or RecentFiles()
        for file in files:
            if file.text is None:
                self._recent.forget(file.path)
            else:
                self._recent.note(file.path, file.text)

    @Slot()
    def serve(self) -> None:
        """Answer all that waits."""
        answered = False
        while (query := self._line.take()) is not None:
            if self._tickets.is_cancelled(query.ticket):
                continue
            if not answered and self._workbench.session is None:
                self._workbench.tell("Completing", 0.0)
            answered = True
            try:
                self._answer(query)
            except Exception as error:
                self.failed.emit(query.ticket, failure_from(error))
            self._tickets.forget_until(query.ticket)
        if answered and self._workbench.session is None:
            self._workbench.tell("Idle", 0.0)

    @Slot(str)
    def prepare(self, model: str) -> None:
        """Load a model and let it write a word, so that the first request does not wait for it."""
        from engine.errors import CodecoilError
        from engine.generate.completer import CompletionRequest
        from engine.generate.stops import Stops

        if self._workbench.session is not None:
            return  # its memory belongs to the run
        try:
            self._workbench.model(model).completer.complete(CompletionRequest("\n", stops=Stops(max_tokens=1)))
        except CodecoilError:
            return  # told when a completion is really asked for
        self.prepared.emit(model)

    @Slot()
    def close(self) -> None:
        """The last call: answer nothing more."""
        while self._line.take() is not None:
            pass

    def _answer(self, query: CompletionQuery) -> None:
        from engine.generate.completer import CompletionRequest, Piece
        from engine.generate.sampling import Sampling
        from engine.generate.stops import Stops

        loaded = self._workbench.model(query.model, query.second, query.blend)
        recent = self._recent if query.context else None
        request = CompletionRequest(
            query.prefix,
            query.suffix,
            query.path,
            Sampling(**vars(query.sampling)),
            Stops(**vars(query.stops)),
            recent.choose(query.path, query.prefix) if recent is not None else (),
        )
        cancelled = False

        def is_cancelled() -> bool:
            nonlocal cancelled
            cancelled = cancelled or self._tickets.is_cancelled(query.ticket)
            return cancelled

        for item in loaded.completer.stream(request, is_cancelled):
            if isinstance(item, Piece):
                self.piece.emit(query.ticket, item.text)
                continue
            self.completed.emit(
                CompletionView(
                    query.ticket,
                    query.channel,
                    query.model,
                    item.text,
                    item.reason,
                    item.note,
                    item.tokens,
                    item.prompt_tokens,
                    item.reused_tokens,
                    item.first_token_ms,
                    item.total_ms,
                    item.decode_tokens_per_second,
                    item.fim_used,
                    cancelled,
                )
            )
