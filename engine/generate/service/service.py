"""The service itself: takes the most urgent request, finds out what it is about, lets the model answer.

    asking ─▶ which file, what stands around the window ─▶ completer.stream ─▶ pieces ─▶ answer, or why there is none

One thread answers; any may ask. A request that is not ready in time is answered with nothing and read to its end while
nobody else waits, so that the next key finds the state.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.generate.service.asking import LATE, NO_TEXT, SUPERSEDED, Answer, Asking, Urgency
from engine.generate.service.waiting import Asked, Heard, WaitingLine

if TYPE_CHECKING:
    from engine.generate.completer import Completer
    from engine.generate.requests import Completion, CompletionRequest
    from engine.generate.service.placing import Placing

MOST_CLIENTS = 16  # whose last place is remembered


@dataclass(frozen=True, eq=False)
class Opened:
    """A model that is ready: its completer (with the repository's memory, if there is one) and its name."""

    completer: Completer
    name: str = ""


class CompletionService:
    """Answers with whatever model `open_model` returns for a request."""

    def __init__(self, open_model: Callable[[Asking], Opened], wake: Callable[[], None] | None = None) -> None:
        """`open_model` is called in the answering thread; `wake`, from any thread, when there is something to do."""
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

    def answer_waiting(self, most_urgent_only: bool = False) -> int:
        """Answer what is waiting; returns how many there were.  `most_urgent_only`: leave comparisons for later."""
        count = 0
        while (asked := self._line.take()) is not None:
            if most_urgent_only and asked.asking.urgency > Urgency.WARM_UP:
                self._line.finished()
                self._line.put_back(asked)
                break
            count += 1
            try:
                self._answer(asked)
            except Exception as error:  # handed to whoever asked: they report it
                asked.close(self._failed(asked, error))
            finally:
                self._line.finished()
        return count

    def _answer(self, asked: Asked) -> None:
        asking = asked.asking
        if asked.is_late:
            asked.end(LATE)
            return
        if asking.is_window and not (asking.request.prefix.strip() or asking.request.suffix.strip()):
            asked.end(NO_TEXT)
            return
        opened = self._open_model(asking)
        began = time.perf_counter()
        request, indent = self._placed(asking, opened.completer)
        made_way = False

        def unwanted() -> bool:
            nonlocal made_way
            made_way = made_way or (not asked.has_spoken and self._line.has_more_urgent(asked))
            return asked.is_over or asked.is_late or made_way

        completion = None
        for item in opened.completer.stream(request, unwanted):
            if hasattr(item, "reason"):
                completion = item
            elif asking.request.offer is None:
                asked.say(item)
        if made_way:
            self._line.put_back(asked)
            return
        waited, total = (began - asked.began) * 1000, (time.perf_counter() - asked.began) * 1000
        if asked.is_late and not completion.text:
            asked.close(Answer("", LATE, request.path, opened.name, waited, total, completion))
            self._read_on(asking)
            return
        text, reached = self._text_of(asking, completion, opened.completer, indent)
        if text and asking.request.offer is not None:
            asked.say(type_of_piece()(text))
        why = "" if text else completion.silence or completion.reason
        asked.close(Answer(text, why, request.path, opened.name, waited, total, completion, None, reached))

    def _placed(self, asking: Asking, completer: Completer) -> tuple[CompletionRequest, str]:
        """The request with its file, the text around the window, and the indentation that belongs to the answer."""
        from engine.generate.service.indentation import indentation_at
        from engine.generate.service.placing import Placing

        request = asking.request
        if asking.is_window:
            placing = self._places.setdefault(asking.client, Placing())
            self._places.move_to_end(asking.client)
            while len(self._places) > MOST_CLIENTS:
                self._places.popitem(last=False)
            request = placing.placed(request, completer.memory)
        if asking.chunks:
            request = replace(request, nearby=asking.chunks)
        indent = ""
        if asking.adds_indent and request.prefix.endswith("\n") and not request.suffix.split("\n", 1)[0].strip():
            indent = indentation_at(request.prefix, request.suffix)
            request = replace(request, prefix=request.prefix + indent)
        return request, indent

    def _text_of(
        self, asking: Asking, completion: Completion, completer: Completer, indent: str
    ) -> tuple[str, bool]:
        """The text with its indentation, not longer than asked for; and whether it was cut."""
        if not completion.text or asking.request.offer is None:
            return completion.text, False
        most = asking.request.stops.max_tokens
        lines = completion.text.split("\n")
        while len(lines) > 1 and len(completer.tokenizer.encode("\n".join(lines))) > most:
            lines.pop()
        text = "\n".join(lines)
        ids = completer.tokenizer.encode(text)
        if len(ids) > most:
            return indent + completer.tokenizer.decode(ids[:most]).rstrip("\ufffd"), True
        return indent + text.rstrip(), len(lines) <= completion.text.count("\n")

    def _read_on(self, asking: Asking) -> None:
        """Read the rest of the prompt when there is time: the next request begins where this one ended."""
        if asking.urgency is Urgency.EDITOR and not self._closed:
            quiet = replace(asking, client=f"{asking.client} (reading on)", urgency=Urgency.WARM_UP, seconds=0.0)
            self._line.add(quiet, _nobody)

    def _failed(self, asked: Asked, error: Exception) -> Answer:
        took = (time.perf_counter() - asked.began) * 1000
        words = getattr(error, "message", "") or f"{type(error).__name__}"
        return Answer(why_empty=words, total_ms=took, error=error)


def type_of_piece() -> Any:
    """Imported late: the queue is there before the engine is loaded."""
    from engine.generate.requests import Piece

    return Piece


def _nobody(_item: Any) -> None:
    """Nobody listens: what was read is what counts."""
