"""The completer: a cursor in, a stream of text out.

    request ─▶ prompt ─▶ nearest kept state ─▶ read the rest ─▶ choose ─▶ stops, trimming ─▶ pieces
                              ▲                     │             ▲  │
                              └── states on the way ┘             └──┘ one token

States along the way are kept (`prefix_states`): typing at the end costs only the new tokens, and a cursor that comes
back costs nothing. One request at a time: another thread waits for its turn.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import InputError
from engine.generate.completion_run import CompletionRun, Job
from engine.generate.decoder import Decoder
from engine.generate.fits import fit_for
from engine.generate.healing import TypedTokens, half_word, without_typed
from engine.generate.offering import MOST_TOKENS, Offering
from engine.generate.options import Sampling
from engine.generate.prefix_states import PrefixStates
from engine.generate.prompt import PromptBuilder, PromptLimits
from engine.generate.requests import Completion, CompletionRequest, Piece
from engine.generate.text_tokens import KeptTokens, TextTokens
from engine.generate.word_guard import WordGuard
from engine.generate.writing import Writer
from engine.memory.evidence import Counter
from engine.memory.names import Names, count_names
from engine.memory.neighbours import CursorLine, Neighbour, Neighbours
from engine.memory.recall import Recall
from engine.memory.snapshot import MemorySnapshot
from engine.model.model import Model

__all__ = ["Completer", "Completion", "CompletionRequest", "Piece"]

CACHE_BYTES = 64 << 20
MOST_AFTER = 1 << 18  # characters after the cursor that the memory sees
LEADING_WORD = re.compile(r"\A\w+")

Progress = Callable[[int, int], None]


class Completer:
    """Completes with one model and its tokenizer.  Use it from the model's thread; `close` it before the model."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        *,
        precision: str = "float32",
        cache_bytes: int = CACHE_BYTES,
        limits: PromptLimits | None = None,
    ) -> None:
        """`cache_bytes`: for states kept for later requests. `limits`: how much text around the cursor is used."""
        if not tokenizer.fits(model.config.vocab_size):
            raise InputError(
                f"The tokenizer has {tokenizer.vocab_size} entries; the model was made for {model.config.vocab_size}.",
                "Choose the tokenizer that belongs to the model.",
            )
        self.model, self.tokenizer = model, tokenizer
        self._prompts = PromptBuilder(tokenizer, limits)
        self._typed_tokens = TypedTokens(tokenizer)
        self._counter = Counter(tokenizer.vocab_size, tokenizer.special.end_of_text)
        self.memory: MemorySnapshot | None = None
        fit = fit_for(model)
        # What was taught here has the roles only if it was measured to be better with them.
        self.fit = replace(fit, fill_in=True) if tokenizer.has_taught_fim else fit
        self.without: frozenset[str] = frozenset()  # parts of the memory to leave out, for ablations
        self._before, self._after = TextTokens(tokenizer), TextTokens(tokenizer)
        self._lines, self._neighbours = TextTokens(tokenizer), Neighbours(tokenizer)
        self._nearby = KeptTokens(tokenizer)
        self._states = PrefixStates(cache_bytes)
        self._decoder = Decoder(model, precision=precision)
        self._lock, self._thread = threading.Lock(), 0

    def stream(
        self,
        request: CompletionRequest,
        cancelled: Callable[[], bool] | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Piece | Completion]:
        """The text in pieces, then the `Completion`.

        `cancelled` is called before every token and every chunk of the prompt; when it returns True, the completion
        ends with what there is. `progress` is called with how many of how many prompt tokens have been read.
        """
        self._take_turn()
        try:
            job = self._job(request, cancelled, progress)
            yield from Offering(job) if request.offer is not None else CompletionRun(job)
        finally:
            self._thread = 0
            self._lock.release()

    def complete(self, request: CompletionRequest) -> Completion:
        *_, completion = self.stream(request)
        return completion

    def prepare(self) -> None:
        """Make programs before a request needs them."""
        self._take_turn()
        try:
            self._decoder.prepare()
        finally:
            self._thread = 0
            self._lock.release()

    def weights_changed(self) -> None:
        """Drop the kept states: the model has taken a training step, or was blended."""
        self._take_turn()
        try:
            self._states.clear()
            self._decoder.refresh()
        finally:
            self._thread = 0
            self._lock.release()

    def close(self) -> None:
        """Free all memory."""
        self._states.clear()
        self._decoder.close()

    def _job(self, request: CompletionRequest, cancelled, progress) -> Job:
        began = time.perf_counter()
        fit = self.fit
        if request.offer is not None:
            stops = replace(request.stops, end_of_line=True, end_of_block=False, max_tokens=MOST_TOKENS)
            request = replace(request, sampling=Sampling(), stops=stops)
        asked = self._prompts.build(request.prefix, request.suffix, request.path, request.context, fill_in=fit.fill_in)
        kept, _ = without_typed(request.prefix)
        recall = None
        names: tuple[Names, ...] = ()
        if request.memory:
            before, after = self._before.ids_of(kept), self._after.ids_of(request.suffix[:MOST_AFTER])
            sources = self.memory.sources(request.path) if self.memory is not None else ()
            nearby = tuple(self._nearby.ids_of(chunk.text) for chunk in request.nearby)
            recall = Recall(self._counter, fit.mixing, sources, before, after, self.without, nearby)
        word = half_word(request.prefix)
        if request.memory or word:
            text = request.prefix[: len(request.prefix) - len(word)] + "\n" + LEADING_WORD.sub("", request.suffix)
            texts = [text, *(chunk.text for chunk in request.nearby)]
            names = (Names(lambda: count_names(each.encode("utf-8", "surrogatepass") for each in texts)),)
            if request.memory and self.memory is not None:
                names += (self.memory.names_beside(request.path),)
        guard = None
        if word and "healing" not in self.without:
            guard = WordGuard(asked.typed, word.encode("utf-8", "surrogatepass"), names)
        offered = request.offer is not None
        line_begins = not request.prefix[request.prefix.rfind("\n") + 1 :].strip()
        writer = Writer(
            self._decoder, request.sampling, self._typed_tokens, recall, guard,
            chances=offered, content_first=offered and line_begins,
        )  # fmt: skip
        return Job(
            self._decoder, self._states, self.tokenizer, writer, asked, request, cancelled, progress, began,
            fit, recall, self.memory if request.memory else None, names,
            self._neighbours_of(request) if request.memory and "neighbours" not in self.without else None,
        )  # fmt: skip

    def _neighbours_of(self, request: CompletionRequest) -> Callable[[int], list[Neighbour]]:
        """Finds lines of the file and the repository whose surroundings resemble the cursor's."""

        def find(most: int) -> list[Neighbour]:
            begin = request.prefix.rfind("\n") + 1
            line = request.prefix[begin:]
            typed = line.lstrip()
            after = request.suffix[:MOST_AFTER].partition("\n")
            place = CursorLine(
                self._lines.ids_of(request.prefix[:begin]),
                self._after.ids_of(after[1] + after[2]),
                len(line) - len(typed),
                typed.encode("utf-8", "surrogatepass"),
            )
            sources = self.memory.sources(request.path) if self.memory is not None else ()
            return self._neighbours.find(place, () if "repository" in self.without else sources, most)

        return find

    def _take_turn(self) -> None:
        if self._lock.locked() and self._thread == threading.get_ident():
            raise InputError(
                "The model is still answering an earlier request from this thread.",
                "Read that one to its end, or close it.",
            )
        self._lock.acquire()
        self._thread = threading.get_ident()
