"""A completer that a test plays, and a client that notes what it hears."""

from __future__ import annotations

from dataclasses import replace

from engine.generate.requests import Completion, CompletionRequest, Offer, Piece
from engine.generate.service.asking import Answer, Asking
from engine.generate.service.service import CompletionService, Opened
from tests.generate.small import tokenizer

EMPTY = Completion("", 0, "silent", False, "", 10, 0, 0.0, 0.0, 0.0, 0.0)


class PlayedCompleter:
    """Says the same text at every cursor.  `during` is called while it reads, before it looks whether to go on."""

    def __init__(self, text: str = "answer", during=lambda request: None) -> None:
        self.text, self._during = text, during
        self.memory, self.tokenizer = None, tokenizer()
        self.requests: list[CompletionRequest] = []
        self.alternatives: tuple[str, ...] = ()

    def stream(self, request: CompletionRequest, cancelled, progress=None):
        self.requests.append(request)
        self._during(request)
        if cancelled():
            yield replace(EMPTY, reason="cancelled")
            return
        if self.text:
            yield Piece(self.text)
        silence = "" if self.text else "Not sure."
        yield replace(EMPTY, text=self.text, tokens=2, silence=silence, alternatives=self.alternatives)


class Client:
    """Asks, and keeps what it hears."""

    def __init__(self, service: CompletionService, name: str = "vim") -> None:
        self.service, self.name, self.heard = service, name, []

    def ask(self, prefix: str = "x = ", **options):
        request = CompletionRequest(prefix, options.pop("suffix", "\n"), options.pop("path", ""), offer=Offer())
        return self.service.ask(Asking(self.name, request, **options), self.heard.append)

    @property
    def answers(self) -> list[Answer]:
        return [item for item in self.heard if isinstance(item, Answer)]

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.heard if isinstance(item, Piece))


def service_with(completer: PlayedCompleter) -> CompletionService:
    return CompletionService(lambda asking: Opened(completer, "played"))
