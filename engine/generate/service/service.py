"""The service itself: takes the most urgent request, finds out what it is about, lets the model answer.

    asking ─▶ which file, what stands around the window ─▶ completer.stream ─▶ pieces ─▶ answer, or why there is none

One thread answers; any may ask. A request that is not ready in time is answered with nothing and read to its end while
nobody else waits, so that the next key finds the state.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.errors import DeviceLostError
from engine.generate.service.asking import LATE, SUPERSEDED, Answer, Asking, Urgency
from engine.generate.service.waiting import Asked, Heard, WaitingLine

if TYPE_CHECKING:
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.generate.completer import Completer
    from engine.generate.requests import Completion, CompletionRequest
    from engine.generate.service.placing import Placing
    from engine.memory.snapshot import MemorySnapshot

LEAST_TOKENS = 3  # of a line that is looked up in the repository: shorter ones are everywhere
MOST_CLIENTS = 16  # whose last place is remembered
CLOSES_ONLY = "Nothing but what the editor has closed already."


@dataclass(frozen=True, eq=False)
class Opened:
    """A model that is ready: its completer (with the repository's memory, if there is one) and its name.

    `request`: in place of that of the asking, which may leave it to the owner of the models. `progress` is called with
    how many of how many prompt tokens have been read.
    """

    completer: Completer
    name: str = ""
    request: CompletionRequest | None = None
    progress: Callable[[int, int], None] | None = None


class CompletionService:
    """Answers with whatever model `open_model` returns for a request."""

    def __init__(self, open_model: Callable[[Asking], Opened], wake: Callable[[], None] | None = None) -> None:
        """`open_model` is called in the answering thread, and opens a device anew that was lost; `wake`, from any
        thread, when there is something to do."""
        self._open_model, self._wake = open_model, wake
        self._line = WaitingLine()
        self._places: OrderedDict[str, Placing] = OrderedDict()  # by client
        self._something = threading.Event()
        self._closed = False

    # ---- from any thread

    def ask(self, asking: Asking, heard: Heard) -> Asked:
        """Ask for a completion.  `heard` gets each piece and then the answer, from whichever thread has it; it must
        return at once and not call the service."""
        asked = self._line.add(asking, heard)
        self._something.set()
        if self._wake is not None:
            self._wake()
        return asked

    def cancel(self, client: str) -> None:
        """End what a client waits for."""
        self._line.end_client(client, SUPERSEDED)

    def close(self) -> None:
        """Answer nothing more; `run` returns."""
        self._closed = True
        self._line.close()
        self._something.set()

    # ---- in the thread that owns the models

    def run(self) -> None:
        """Answer until `close`."""
        while not self._closed:
            self._something.wait()
            self._something.clear()
            self.answer_waiting()

    def answer_waiting(self) -> int:
        """Answer everything that waits; returns how many there were."""
        count = 0
        while (asked := self._line.take()) is not None:
            count += 1
            try:
                self._answer_once_more_if_lost(asked)
            except Exception as error:  # handed to whoever asked: they report it
                asked.close(self._failed(asked, error))
            finally:
                self._line.finished()
        return count

    def _answer_once_more_if_lost(self, asked: Asked) -> None:
        """A device that was lost on the way is opened anew by `open_model`; nobody has to ask again."""
        try:
            self._answer(asked)
        except DeviceLostError:
            if asked.has_spoken:
                raise
            self._answer(asked)

    def _answer(self, asked: Asked) -> None:
        from engine.generate.service.closing import met

        asking = asked.asking
        if asked.is_late:
            asked.end(LATE)
            return
        opened = self._open_model(asking)
        began = time.perf_counter()
        request, indent, closed = self._placed(asking, opened)
        is_offer = request.offer is not None
        made_way = False

        def unwanted() -> bool:
            nonlocal made_way
            made_way = made_way or (not asked.has_spoken and self._line.has_more_urgent(asked))
            return asked.is_over or asked.is_late or made_way

        *pieces, completion = self._spoken(opened.completer.stream(request, unwanted, opened.progress), asked, is_offer)
        if made_way:
            self._line.put_back(asked)
            return
        times = (began - asked.began) * 1000, (time.perf_counter() - asked.began) * 1000
        if asked.is_late and not completion.text:
            asked.close(Answer("", LATE, request.path, opened.name, *times, completion))
            self._read_on(asking)
            return
        completion = with_sources(completion, request, opened.completer.memory)
        text, reached = limited(completion.text, asking.most_tokens, opened.completer.tokenizer)
        replaces = 0
        if closed:
            text, replaces = met(request.prefix, text, closed, can_replace=asking.can_replace)
            others = (
                met(request.prefix, each, closed, can_replace=asking.can_replace) for each in completion.alternatives
            )
            same = tuple(other for other, count in others if other not in ("", text) and count == replaces)
            completion = replace(completion, alternatives=tuple(dict.fromkeys(same)))
        text = indent + text if text and is_offer else text
        if text and is_offer:
            asked.say(replace(pieces[0], text=text))
        why = "" if text else completion.silence or (CLOSES_ONLY if completion.text else completion.reason)
        asked.close(Answer(text, why, request.path, opened.name, *times, completion, None, reached, replaces))
        self._line.end_client(_quiet(asking.client), SUPERSEDED)

    @staticmethod
    def _spoken(items: Iterable[Any], asked: Asked, is_offer: bool) -> list[Any]:
        """All items.  An offer comes in one piece, which may still be cut; other text is passed on as it is written."""
        from engine.generate.requests import Piece

        every = []
        for item in items:
            every.append(item)
            if isinstance(item, Piece) and not is_offer:
                asked.say(item)
        return every

    def _placed(self, asking: Asking, opened: Opened) -> tuple[CompletionRequest, str, str]:
        """The request with its file, the text around the window and without what the editor has closed; the indentation
        that belongs to the answer; and what the editor has closed."""
        from engine.generate.service.closing import closed_behind
        from engine.generate.service.indentation import indentation_at
        from engine.generate.service.placing import Placing, known_path, new_chunks

        request = opened.request or asking.request
        if asking.is_window:
            placing = self._places.setdefault(asking.client, Placing())
            self._places.move_to_end(asking.client)
            while len(self._places) > MOST_CLIENTS:
                self._places.popitem(last=False)
            request = placing.placed(request, opened.completer.memory)
        elif request.path:
            request = replace(request, path=known_path(opened.completer.memory, request.path))
        if asking.chunks:
            request = replace(request, nearby=new_chunks(asking.chunks, request.prefix, request.suffix))
        indent = ""
        if asking.adds_indent and request.prefix.endswith("\n") and not request.suffix.split("\n", 1)[0].strip():
            indent = indentation_at(request.prefix, request.suffix)
            request = replace(request, prefix=request.prefix + indent)
        closed = closed_behind(request.prefix, request.suffix) if request.offer is not None else ""
        return replace(request, suffix=request.suffix[len(closed) :]), indent, closed

    def _read_on(self, asking: Asking) -> None:
        """Read the rest of the prompt when there is time: the next request begins where this one ended."""
        if asking.urgency is Urgency.EDITOR and not self._closed:
            self._line.add(replace(asking, client=_quiet(asking.client), urgency=Urgency.WARM_UP, seconds=0.0), _nobody)

    def _failed(self, asked: Asked, error: Exception) -> Answer:
        took = (time.perf_counter() - asked.began) * 1000
        words = getattr(error, "message", "") or f"{type(error).__name__}"
        return Answer(why_empty=words, total_ms=took, error=error)


def with_sources(completion: Completion, request: CompletionRequest, memory: MemorySnapshot | None) -> Completion:
    """An offer names its sources in the repository; for text that was passed on as it was written, they are looked up
    here."""
    if memory is None or not request.memory or request.offer is not None:
        return completion
    ids = memory.tokenizer.encode(completion.text.strip("\n").split("\n")[0])
    if len(ids) < LEAST_TOKENS:
        return completion
    places = memory.places_of(ids, request.path)
    return replace(completion, sources=tuple(places[:1]), more_sources=max(0, len(places) - 1))


def limited(text: str, most_tokens: int, tokenizer: Tokenizer) -> tuple[str, bool]:
    """As many whole lines as fit, else as much of the first one; and whether something was cut.  0: no limit."""
    lines = text.split("\n")
    while most_tokens and len(lines) > 1 and len(tokenizer.encode("\n".join(lines))) > most_tokens:
        lines.pop()
    shorter = "\n".join(lines)
    ids = tokenizer.encode(shorter) if most_tokens else ()
    if most_tokens and len(ids) > most_tokens:
        shorter = tokenizer.decode(ids[:most_tokens]).rstrip("\ufffd")
    return shorter, shorter != text


def _quiet(client: str) -> str:
    """The name under which a client's late request is read on."""
    return f"{client} (reading on)"


def _nobody(_item: Any) -> None:
    """Nobody listens: what was read is what counts."""
