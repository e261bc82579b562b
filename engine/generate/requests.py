"""Requests to a completer and its answers, as frozen values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from engine.generate.context import ContextChunk
from engine.generate.options import Sampling, Stops
from engine.memory.snapshot import Place
from engine.option_info import check_number


@dataclass(frozen=True)
class Offer:
    """A whole line, shown only if the probability that it is accepted unchanged is at least `least_chance`."""

    least_chance: float = 0.0
    alternatives: int = 0

    def __post_init__(self) -> None:
        check_number("least_chance", self.least_chance, 0.0, 1.0)
        check_number("alternatives", self.alternatives, 0, 16, whole=True)


@dataclass(frozen=True)
class CompletionRequest:
    """A cursor between `prefix` and `suffix` in the file `path` (relative to its repository, posix), and options.

    `context`: pieces of other files, the most similar one last.  `memory`: whether the repository's memory is used.
    `nearby`: what was edited lately; it counts as much as the open file, and is not in the prompt.
    With an `offer` the answer is a whole line (or several, if confident) or nothing; without, text until a stop.
    """

    prefix: str
    suffix: str = ""
    path: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    stops: Stops = field(default_factory=Stops)
    context: tuple[ContextChunk, ...] = ()
    memory: bool = True
    offer: Offer | None = None
    nearby: tuple[ContextChunk, ...] = ()


@dataclass(frozen=True)
class Piece:
    """The next part of the text, whole characters only; joined, the pieces are the completion's text."""

    text: str


@dataclass(frozen=True)
class Completion:
    """The whole answer: `tokens` were generated, `reason` is why it ended, `note` what the user should know.
    `reused_tokens` of the `prompt_tokens` were kept from an earlier request and not read again.

    Of an offer: `chance` that it is accepted unchanged, `sources` where the repository has the line (and in
    `more_sources` other places), alternatives, and why there is no suggestion (`silence`).
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
    chance: float | None = None
    sources: tuple[Place, ...] = ()
    more_sources: int = 0
    alternatives: tuple[str, ...] = ()
    silence: str = ""
    candidates: tuple = field(default=(), repr=False)  # of an offer, with the features they were ranked by

    def to_json(self) -> dict[str, Any]:
        content = asdict(replace(self, candidates=()))
        del content["candidates"]
        return content
