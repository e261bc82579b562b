"""What a client asks for and what it gets, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.generate.context import ContextChunk
    from engine.generate.requests import Completion, CompletionRequest
    from engine.memory.snapshot import Place

SUPERSEDED = "A newer request replaced this one."
LATE = "It was not ready in time."
BUSY = "The model was busy for too long."
CLOSED = "The service has ended."


class Urgency(IntEnum):
    """Who goes first."""

    EDITOR = 0
    WARM_UP = 1
    COMPARING = 2


@dataclass(frozen=True)
class Asking:
    """A request of a client.  The newest of a client wins.

    `seconds`: from now on until the client no longer waits; 0: it waits forever. `chunks`: what it has edited lately.
    `is_window`: the texts around the cursor may be part of a file only; the rest, and the path if it was not sent, are
    looked up. `adds_indent`: the indentation of the cursor's blank line was not sent, and belongs to the answer.
    `can_replace`: the answer may take the place of brackets that the editor has closed behind the cursor. `most_tokens`
    of an offer: what is longer is cut; 0: no limit. `model`: whatever the owner of the models understands.
    `request`: None where that owner makes it.
    """

    client: str
    request: CompletionRequest | None = None
    urgency: Urgency = Urgency.EDITOR
    seconds: float = 0.0
    chunks: tuple[ContextChunk, ...] = ()
    is_window: bool = False
    adds_indent: bool = False
    can_replace: bool = False
    most_tokens: int = 0
    model: Any = None


@dataclass(frozen=True)
class Answer:
    """`why_empty`: in words, where there is no text. `path`: of the file, sent or found. `error`: what went wrong.
    `reached_limit`: the text was cut. `replaces`: characters after the cursor that the text stands for.

    `waited_ms`: before the model began; `total_ms`: from the request on. `completion` has the model's own figures; None
    where it was never asked.
    """

    text: str = ""
    why_empty: str = ""
    path: str = ""
    model: str = ""
    waited_ms: float = 0.0
    total_ms: float = 0.0
    completion: Completion | None = None
    error: Exception | None = field(default=None, repr=False)
    reached_limit: bool = False
    replaces: int = 0

    @property
    def chance(self) -> float | None:
        """That it is taken unchanged."""
        return self.completion.chance if self.completion is not None else None

    @property
    def sources(self) -> tuple[Place, ...]:
        """Where the repository has the line."""
        return self.completion.sources if self.completion is not None else ()
