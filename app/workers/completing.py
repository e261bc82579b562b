"""The completion worker, in the engine's thread.

Requests have a queue of their own, not Qt's: so a long job in this thread (a scorecard, for example) can let them be
answered in between, and a superseded request is skipped.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.values.completion import CompletionQuery, CompletionView, EditedFile, SourceView
from app.values.failures import failure_from
from app.workers.cancellation import CancelledTickets
from app.workers.jobs import JobWorker
from app.workers.open_device import OpenDevice

ALTERNATIVES = 3  # to a suggestion, at most
LEAST_TOKENS = 3  # of a line that is looked up in the repository: shorter ones are everywhere


class QueryLine(QObject):
    """Requests waiting for an answer.  Lives in the GUI thread; any thread may take."""

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


class CompletionWorker(JobWorker):
    """One request after the other."""

    piece = Signal(int, str)  # ticket, text
    completed = Signal(object)  # CompletionView
    failed = Signal(int, object)  # ticket, Failure

    def __init__(self, open_device: OpenDevice, line: QueryLine, tickets: CancelledTickets) -> None:
        super().__init__()
        self._open_device, self._line, self._tickets = open_device, line, tickets
        self._recent = None  # the engine's RecentFiles, made with the first edit

    @Slot(object)
    def note_edits(self, files: tuple[EditedFile, ...] | None) -> None:
        """Files that were edited; None: another repository was opened."""
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

    @Slot(object)
    def keep_memory(self, snapshot) -> None:
        """The repository's present memory; None when the folder is closed."""
        self._open_device.remember(snapshot)

    @Slot()
    def serve(self) -> None:
        """Answer all waiting requests."""
        answered = False
        while (query := self._line.take()) is not None:
            if self._tickets.is_cancelled(query.ticket):
                continue
            if not answered and self._open_device.session is None:
                self._open_device.show_activity("Completing", 0.0)
            answered = True
            try:
                self._answer(query)
            except Exception as error:
                self.failed.emit(query.ticket, failure_from(error))
            self._tickets.forget_until(query.ticket)
        if answered and self._open_device.session is None:
            self._open_device.show_activity("Idle", 0.0)

    def prepare(self, model: str, precision: str) -> None:
        """Load a model and let it write a token, so that the first request does not wait for it."""
        from engine.errors import CodecoilError
        from engine.generate.completer import CompletionRequest
        from engine.generate.options import Stops

        if self._open_device.session is not None:
            return  # its memory belongs to the run
        try:
            loaded = self._open_device.model(model, precision=precision)
            loaded.decode_at(precision)
            loaded.completer.complete(CompletionRequest("\n", stops=Stops(max_tokens=1)))
        except CodecoilError:
            return  # reported when a completion is really asked for

    @Slot()
    def close(self) -> None:
        """The last call: answer nothing more."""
        while self._line.take() is not None:
            pass

    def _answer(self, query: CompletionQuery) -> None:
        from engine.generate.completer import Piece

        loaded = self._open_device.model(query.model, query.second, query.blend, query.precision)
        loaded.decode_at(query.precision)
        memory = self._open_device.remembered
        remembers = loaded.remember(memory) and query.memory
        cancelled = False

        def is_cancelled() -> bool:
            nonlocal cancelled
            cancelled = cancelled or self._tickets.is_cancelled(query.ticket)
            return cancelled

        for item in loaded.completer.stream(self._request(query), is_cancelled):
            if isinstance(item, Piece):
                self.piece.emit(query.ticket, item.text)
            else:
                self.completed.emit(
                    _view(query, _with_sources(item, memory, query.path) if remembers else item, cancelled)
                )

    def _request(self, query: CompletionQuery):
        """With sampling: text as it is written.  Without: a line that is worth showing."""
        from engine.generate.requests import CompletionRequest, Offer

        recent = self._recent if query.context else None
        return CompletionRequest(
            query.prefix,
            query.suffix,
            query.path,
            query.sampling,
            query.stops,
            recent.choose(query.path, query.prefix) if recent is not None else (),
            memory=query.memory,
            offer=None if query.sampling.temperature > 0 else Offer(query.least_chance, ALTERNATIVES),
        )


def _with_sources(completion, memory, path: str):
    """An offer names its sources in the repository; for streamed text they are looked up here."""
    if completion.sources or completion.chance is not None:
        return completion
    ids = memory.tokenizer.encode(completion.text.strip("\n").split("\n")[0])
    if len(ids) < LEAST_TOKENS:
        return completion
    places = memory.places_of(ids, path)
    return replace(completion, sources=tuple(places[:1]), more_sources=max(0, len(places) - 1))


def _view(query: CompletionQuery, completion, cancelled: bool) -> CompletionView:
    return CompletionView(
        query.ticket,
        query.channel,
        query.model,
        completion.text,
        completion.reason,
        completion.note,
        completion.tokens,
        completion.prompt_tokens,
        completion.reused_tokens,
        completion.first_token_ms,
        completion.total_ms,
        completion.decode_tokens_per_second,
        completion.fim_used,
        cancelled,
        completion.chance,
        tuple(SourceView(place.path, place.line) for place in completion.sources),
        completion.more_sources,
        completion.alternatives,
        completion.silence,
        from_memory=bool(completion.sources),
    )
