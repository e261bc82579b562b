"""The completion worker, in the engine's thread: lets the service answer what the window and editors ask for.

Requests wait in the service, not in Qt's queue: so a long job in this thread (a scorecard, for example) can let them be
answered in between, and a superseded request is skipped.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.values.completion import GHOST, CompletionQuery, CompletionView, EditedFile, ModelInUse, SourceView
from app.values.failures import failure_from
from app.workers.jobs import JobWorker
from app.workers.open_device import OpenDevice
from engine.generate.service.asking import Answer, Asking, Urgency
from engine.generate.service.service import CompletionService, Opened
from engine.generate.service.waiting import Asked

ALTERNATIVES = 3  # to a suggestion, at most


class QueryLine(QObject):
    """The window's requests on their way to the service, and back as signals.  Lives in the GUI thread."""

    added = Signal()  # something waits, from whichever thread
    piece = Signal(int, str)  # ticket, text
    completed = Signal(object)  # CompletionView
    failed = Signal(int, object)  # ticket, Failure

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.open_model: Callable[[Asking], Opened] | None = None  # set by the worker
        self.service = CompletionService(lambda asking: self.open_model(asking), self.added.emit)
        self._asked: dict[int, tuple[Asked, Callable]] = {}

    @Slot(object)
    def add(self, query: CompletionQuery) -> None:
        urgency = Urgency.EDITOR if query.channel == GHOST else Urgency.COMPARING
        asking = Asking(f"window, {query.channel}", urgency=urgency, model=query)

        def heard(item) -> None:
            self._on_heard(query, item)

        self._asked = {ticket: each for ticket, each in self._asked.items() if not each[0].is_over}
        self._asked[query.ticket] = self.service.ask(asking, heard), heard

    @Slot(int)
    def cancel(self, ticket: int) -> None:
        """End a request after the present token."""
        asked, heard = self._asked.pop(ticket, (None, None))
        if asked is not None:
            asked.leave(heard)

    def _on_heard(self, query: CompletionQuery, item) -> None:
        """From the engine's thread, or from this one where a newer request has replaced it."""
        if not isinstance(item, Answer):
            self.piece.emit(query.ticket, item.text)
        elif item.error is not None:
            self.failed.emit(query.ticket, failure_from(item.error))
        elif item.completion is not None:
            self.completed.emit(_view(query, item))


class CompletionWorker(JobWorker):
    """Opens the models that requests are for, and answers one after the other."""

    def __init__(self, open_device: OpenDevice, line: QueryLine) -> None:
        super().__init__()
        self._open_device, self._service = open_device, line.service
        line.open_model = self._opened
        self._recent = None  # the engine's RecentFiles, made with the first edit
        self._in_use = ModelInUse()
        self._shown = False  # whether the window was told that completions are being written

    @Slot(object)
    def use(self, in_use: ModelInUse) -> None:
        """The model that answers editors from now on."""
        self._in_use = in_use

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
        self._shown = False
        self._service.answer_waiting()
        if self._shown and self._open_device.session is None:
            self._open_device.show_activity("Idle", 0.0)

    def prepare(self, model: str, precision: str) -> None:
        """Load a model and let it complete something, so that the first request does not wait for it."""
        from engine.errors import CodecoilError
        from engine.generate.warming import warm_up

        if self._open_device.session is not None:
            return  # its memory belongs to the run
        try:
            loaded = self._open_device.model(model, precision=precision)
            loaded.decode_at(precision)
            loaded.remember(self._open_device.remembered)
            warm_up(loaded.completer)
        except CodecoilError:
            return  # reported when a completion is really asked for

    @Slot()
    def close(self) -> None:
        """The last call: answer nothing more."""
        self._service.close()

    def _opened(self, asking: Asking) -> Opened:
        """The model that a request of the window names, or the one in use for editors."""
        if not self._shown and self._open_device.session is None:
            self._open_device.show_activity("Completing", 0.0)
        self._shown = True
        query, in_use = asking.model, self._in_use
        named = query if query is not None else in_use
        loaded = self._open_device.model(named.model, named.second, named.blend, named.precision)
        loaded.decode_at(named.precision)
        loaded.remember(self._open_device.remembered)
        request = self._request(query) if query is not None else None
        return Opened(loaded.completer, named.model, request)

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


def _view(query: CompletionQuery, answer: Answer) -> CompletionView:
    completion = answer.completion
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
        chance=completion.chance,
        sources=tuple(SourceView(place.path, place.line) for place in completion.sources),
        more_sources=completion.more_sources,
        alternatives=completion.alternatives,
        silence=completion.silence,
        from_memory=bool(completion.sources),
    )
