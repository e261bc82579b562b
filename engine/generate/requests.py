"""What is asked of a completer and what it answers, as frozen values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from engine.generate.context import ContextChunk
from engine.generate.sampling import Sampling
from engine.generate.stops import Stops


@dataclass(frozen=True)
class CompletionRequest:
    """A cursor between `prefix` and `suffix` in the file `path` (relative to its repository, posix), and how to go on.

    `context`: pieces of other files, the most similar one last.
    """

    prefix: str
    suffix: str = ""
    path: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    stops: Stops = field(default_factory=Stops)
    context: tuple[ContextChunk, ...] = ()


@dataclass(frozen=True)
class Piece:
    """Some more of the text, whole characters only; joined, the pieces are the completion's text."""

    text: str


@dataclass(frozen=True)
class Completion:
    """The whole answer: `tokens` counts what was generated, `reason` says why it ended, `note` what the user should
    know.  `reused_tokens` of the `prompt_tokens` were known from an earlier request and not read again.
    """

    text: str
    tokens: int
    reason: str
    fim_used: bool
    note: str
    prompt_tokens: int
    reused_tokens: int
    prefill_tokens_per_second: float
    decode_tokens_per_second: float
    first_token_ms: float
    total_ms: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
