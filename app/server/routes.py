"""Which request goes where, and what is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from app.server.protocols import llama, openai
from app.server.protocols.shapes import DONE, compact, event
from app.server.protocols.wanted import Wanted, cut_at
from app.server.recorded import Recorded
from app.server.rules import Refused
from app.server.status import Status
from engine.generate.service.asking import Answer, Asking
from engine.generate.service.service import CompletionService

DEADLINE = 1.5  # seconds that a client waits at most: several of them would wait forever
STATUS_PATH = "/codecoil/status"  # for our own clients
READING_ON = "A warm-up: nothing was asked for."


@dataclass(frozen=True)
class Served:
    """What a server offers: the service, and what the requests have in common.

    `least_chance`: from which a suggestion is shown. `model_name`: for `/v1/models`. `is_ready`: whether there is a
    model; until then requests are answered with nothing. `model`: what the service is to be asked for. `status`: for
    our own clients, which then know whether this is the folder that they have open.
    """

    service: CompletionService
    least_chance: Callable[[], float]
    model_name: Callable[[], str] = lambda: openai.MODEL
    uses_memory: Callable[[], bool] = lambda: True
    model: Any = None
    recorded: Recorded = field(default_factory=Recorded)
    deadline: float = DEADLINE
    status: Callable[[], Status] = Status

    def asking(self, wanted: Wanted, client: str) -> Asking:
        """The request to the service."""
        from engine.generate.context import ContextChunk
        from engine.generate.options import Sampling, Stops
        from engine.generate.requests import CompletionRequest, Offer

        offer = Offer(self.least_chance(), wanted.alternatives) if wanted.fills_in else None
        sampling = Sampling() if offer else Sampling(wanted.temperature, top_p=wanted.top_p, seed=wanted.seed)
        milliseconds = 0 if offer else int(1000 * self.deadline)
        request = CompletionRequest(
            wanted.prefix,
            wanted.suffix,
            wanted.path,
            sampling,
            Stops(wanted.max_tokens, milliseconds, stop=wanted.stop),
            memory=self.uses_memory(),
            offer=offer,
        )
        chunks = tuple(ContextChunk(chunk.path, chunk.text) for chunk in wanted.chunks)
        return Asking(
            client,
            request,
            seconds=self.deadline,
            chunks=chunks,
            is_window=wanted.fills_in and not wanted.is_whole,
            adds_indent=wanted.adds_indent,
            can_replace=wanted.can_replace,
            most_tokens=wanted.max_tokens if wanted.fills_in else 0,
            model=self.model,
        )


@dataclass(frozen=True)
class Route:
    """How a request is read, and how its answer is written: as a whole, or as events."""

    read: Callable[[dict[str, Any]], Wanted]
    whole: Callable[[str, Answer, Wanted], dict[str, Any]]
    events: Callable[[Wanted], Events]


class Events:
    """The events of one streamed answer."""

    def piece(self, text: str) -> bytes:
        raise AssertionError("each protocol has its own")

    def end(self, answer: Answer) -> bytes:
        raise AssertionError("each protocol has its own")


class LlamaEvents(Events):
    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def piece(self, text: str) -> bytes:
        return event(llama.piece(text))

    def end(self, answer: Answer) -> bytes:
        return event(llama.content("", answer, self._wanted))


class OpenaiEvents(Events):
    def __init__(self, wanted: Wanted, *, as_chat: bool = False) -> None:
        self._wanted, self._as_chat, self._id = wanted, as_chat, openai.new_id()

    def piece(self, text: str) -> bytes:
        return event(openai.piece(text, self._wanted, self._id, None, as_chat=self._as_chat))

    def end(self, answer: Answer) -> bytes:
        reason = openai.finish_reason(answer)
        return event(openai.piece("", self._wanted, self._id, reason, as_chat=self._as_chat)) + DONE


def _openai_whole(text: str, answer: Answer, wanted: Wanted) -> dict[str, Any]:
    return openai.content(text, answer, wanted, openai.new_id())


COMPLETING: dict[str, Route] = {
    "/infill": Route(llama.read_infill, llama.content, LlamaEvents),
    "/completion": Route(llama.read_completion, llama.content, LlamaEvents),
    "/v1/completions": Route(openai.read_completions, _openai_whole, OpenaiEvents),
    "/v1/fim/completions": Route(openai.read_fim, _openai_whole, lambda wanted: OpenaiEvents(wanted, as_chat=True)),
}
COMPLETING["/fim/completions"] = COMPLETING["/v1/fim/completions"]  # Continue's base address may end before or after v1


def look_up(path: str, served: Served) -> dict[str, Any]:
    """The answer to a GET."""
    if path in ("/health", "/v1/health"):
        return {"status": "ok"}
    if path in ("/v1/models", "/models"):
        return openai.models((openai.MODEL, served.model_name()), llama.CONTEXT)
    if path == STATUS_PATH:
        return served.status().to_json()
    raise Refused(405 if path in COMPLETING else 404, "There is nothing at this address.")


def route_of(path: str) -> Route:
    """Of a POST."""
    if path not in COMPLETING:
        raise Refused(404, "There is nothing at this address.")
    return COMPLETING[path]


def whole_answer(route: Route, wanted: Wanted, items: Iterator[object]) -> tuple[bytes, Answer, str]:
    """The body of an answer that is not streamed, the answer, and its text."""
    *_, answer = items
    text = cut_at(answer.text, wanted.stop)
    return compact(route.whole(text, answer, wanted)), answer, text


def warm_up_answer(route: Route, wanted: Wanted) -> bytes:
    """Nobody reads it."""
    return compact(route.whole("", Answer(why_empty=READING_ON), wanted))
