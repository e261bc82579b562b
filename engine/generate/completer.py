"""The completer: a cursor in, a stream of text out.

    request ─▶ prompt ─▶ nearest kept state ─▶ read the rest ─▶ choose ─▶ stops, trimming ─▶ pieces
                              ▲                     │             ▲  │
                              └── states on the way ┘             └──┘ one token

What it has read it keeps (`prefix_states`): typing at the end costs the new tokens, and a cursor that comes back costs
nothing. One request at a time: another thread waits for its turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from engine.corpus.tokenizer import Tokenizer
from engine.errors import InputError
from engine.generate.answering import Answering
from engine.generate.blanks import BlankTokens
from engine.generate.decoder import Decoder
from engine.generate.prefix_states import PrefixStates
from engine.generate.prompt import PromptBuilder, PromptLimits
from engine.generate.requests import Completion, CompletionRequest, Piece
from engine.model.model import Model

__all__ = ["Completer", "Completion", "CompletionRequest", "Piece"]

CACHE_BYTES = 64 << 20

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
        """`cache_bytes`: of states kept for later requests. `limits`: how much around the cursor the model is shown."""
        if not tokenizer.fits(model.config.vocab_size):
            raise InputError(
                f"The tokenizer has {tokenizer.vocab_size} entries; the model was made for {model.config.vocab_size}.",
                "Choose the tokenizer that belongs to the model.",
            )
        self.model, self.tokenizer = model, tokenizer
        self._prompts = PromptBuilder(tokenizer, limits)
        self._blanks = BlankTokens(tokenizer)
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

        `cancelled` is asked before every token and every chunk of the prompt; when it says yes, the completion ends
        with what there is. `progress` hears how much of the prompt has been read, of how much.
        """
        self._take_turn()
        try:
            began = time.perf_counter()
            prompt = self._prompts.build(request.prefix, request.suffix, request.path, request.context)
            yield from Answering(
                self._decoder,
                self._states,
                self.tokenizer,
                self._blanks,
                prompt,
                request,
                cancelled,
                progress,
                began,
            )
        finally:
            self._thread = 0
            self._lock.release()

    def complete(self, request: CompletionRequest) -> Completion:
        """The whole answer."""
        *_, completion = self.stream(request)
        return completion

    def weights_changed(self) -> None:
        """Forget what was read: the model has taken a training step, or was blended."""
        self._take_turn()
        try:
            self._states.clear()
            self._decoder.refresh()
        finally:
            self._thread = 0
            self._lock.release()

    def close(self) -> None:
        """Give all memory back."""
        self._states.clear()
        self._decoder.close()

    def _take_turn(self) -> None:
        if self._lock.locked() and self._thread == threading.get_ident():
            raise InputError(
                "The model is still answering an earlier request of this thread.",
                "Read that one to its end, or close it.",
            )
        self._lock.acquire()
        self._thread = threading.get_ident()
