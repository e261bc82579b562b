"""One request, from its prompt to its last token.  What outlives a request is in `completer`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.corpus.tokens.tokenizer import IncrementalDecoder, Tokenizer
from engine.generate import stops as reasons
from engine.generate.decoder import Cancelled, Decoder
from engine.generate.fits import Fit
from engine.generate.loops import LoopWatch
from engine.generate.prefix_states import PrefixState, PrefixStates
from engine.generate.prompt import Prompt
from engine.generate.requests import Completion, CompletionRequest, Piece
from engine.generate.stops import StopWatch
from engine.generate.trimming import SuffixWatch
from engine.generate.writing import Writer
from engine.memory.names import Names
from engine.memory.neighbours import Neighbour
from engine.memory.recall import Recall
from engine.memory.snapshot import MemorySnapshot


class Shown:
    """The text of the tokens so far, after everything that may hold some of it back."""

    def __init__(self, tokenizer: Tokenizer, request: CompletionRequest, hidden: int) -> None:
        """`hidden`: how many characters of the tokens are already before the cursor."""
        self._loops = LoopWatch(
            lambda token: any(map(str.isalpha, tokenizer.token_bytes[token].decode("utf-8", "ignore")))
        )
        self._characters = IncrementalDecoder(tokenizer)
        self._stops = StopWatch(request.stops, request.prefix)
        self._join = SuffixWatch(request.prefix, request.suffix)
        self._hidden = hidden  # characters still to come that are already before the cursor
        self.text = ""

    def feed(self, token: int) -> str:
        """What may be shown now and has not been yet."""
        piece = self._join.feed(self._stops.feed(self._decoded(self._loops.feed(token))))
        self.text += piece
        return piece

    @property
    def reason(self) -> str | None:
        """Why the text is complete; None while it is not."""
        if self._join.joined:
            return reasons.JOINED
        return self._stops.reason or (reasons.LOOP if self._loops.looped else None)

    def finish(self) -> str:
        """What was held back and belongs to the text, except half a character."""
        rest = "" if self._stops.reason else self._stops.feed(self._decoded(self._loops.finish()))
        rest += "" if self._stops.reason else self._stops.finish()
        piece = "" if self._join.joined else self._join.feed(rest) + self._join.finish()
        self.text += piece
        return piece

    def _decoded(self, tokens: list[int]) -> str:
        text = "".join(map(self._characters.feed, tokens))
        shown = text[self._hidden :]
        self._hidden -= len(text) - len(shown)
        return shown


@dataclass(frozen=True, eq=False)
class Job:
    """Everything an answer is made from.  `began`: when the request arrived, by `time.perf_counter`."""

    decoder: Decoder
    states: PrefixStates
    tokenizer: Tokenizer
    writer: Writer
    prompt: Prompt
    request: CompletionRequest
    cancelled: Callable[[], bool] | None
    progress: Callable[[int, int], None] | None
    began: float
    fit: Fit
    recall: Recall | None = None
    memory: MemorySnapshot | None = None
    names: tuple[Names, ...] = ()
    neighbours: Callable[[int], list[Neighbour]] | None = None


class CompletionRun:
    """Iterate once: pieces, then the completion."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._decoder, self._states, self._tokenizer = job.decoder, job.states, job.tokenizer
        self._writer, self._prompt, self._request = job.writer, job.prompt, job.request
        self._progress, self._began = job.progress, job.began
        self._tokens: list[int] = []
        self._reused = self._read = 0
        self._first = 0.0  # when the first token beyond the typed text was known

    def __iter__(self) -> Iterator[Piece | Completion]:
        typed = self._prompt.typed
        shown = Shown(self._tokenizer, self._request, len(typed.decode("utf-8", "surrogatepass")))
        try:
            scores = self._read_prompt()
        except Cancelled:
            yield self._completion("", reasons.CANCELLED)
            return
        reason, begun = None, False
        for written in self._writer.tokens(scores, self._prompt.ids, typed):
            if written.is_first:
                self._first = time.perf_counter()
            if written.token in self._tokenizer.special_ids or written.token >= self._tokenizer.vocab_size:
                reason = reasons.END_OF_TEXT
                break
            begun = begun or written.is_first
            if begun:
                self._tokens.append(written.token)
            if piece := shown.feed(written.token):
                yield Piece(piece)
            reason = shown.reason or self._exhausted()
            if reason:
                break
        assert reason is not None
        if piece := shown.finish():
            yield Piece(piece)
        yield self._completion(shown.text, shown.reason or reason)

    # ---- reading

    def _read_prompt(self) -> np.ndarray:
        """The scores after the prompt, read from the nearest kept state; states along the way are kept."""
        ids = self._prompt.ids
        if self._decoder.keeps_every_prefix:
            self._reused = self._decoder.return_to(ids)
            self._read = len(ids) - self._reused
            return self._decoder.read(ids[self._reused :], self._progress_from(self._reused), self._unwanted)
        found = self._states.find(ids)
        if found is None:
            self._decoder.reset()
        else:
            self._decoder.restore(found.snapshot)
        self._reused = at = found.position if found else 0
        scores = found.scores if found else None
        for mark in self._prompt.marks:
            if mark > at:
                scores = self._decoder.read(ids[at:mark], self._progress_from(at), self._unwanted)
                self._read += mark - at
                at = mark
                self._states.keep(
                    ids, PrefixState(at, self._decoder.snapshot(), scores.copy() if at == len(ids) else None)
                )
        assert scores is not None
        return scores

    def _progress_from(self, at: int) -> Callable[[int, int], None] | None:
        if self._progress is None:
            return None
        total = len(self._prompt.ids) - self._reused
        return lambda done, _: self._progress(at - self._reused + done, total)

    # ---- ending

    def _exhausted(self) -> str | None:
        """Why writing must stop, or None.  Text that was already typed counts towards neither limit."""
        if len(self._tokens) >= self._request.stops.max_tokens:
            return reasons.TOKEN_LIMIT
        if self._unwanted():
            return reasons.CANCELLED
        if not self._tokens:
            return None
        limit = self._request.stops.milliseconds
        return reasons.TIME_LIMIT if limit and (time.perf_counter() - self._first) * 1000 >= limit else None

    def _unwanted(self) -> bool:
        return self._job.cancelled is not None and self._job.cancelled()

    def _completion(self, text: str, reason: str, **of_offer: Any) -> Completion:
        now = time.perf_counter()
        first = self._first or now
        return Completion(
            text=text,
            tokens=len(self._tokens),
            reason=reason,
            fim_used=self._prompt.fim_used,
            note=self._prompt.note,
            prompt_tokens=len(self._prompt.ids),
            reused_tokens=self._reused,
            prefill_tokens_per_second=_rate(self._read, first - self._began),
            decode_tokens_per_second=_rate(len(self._tokens) - 1, now - first),
            first_token_ms=(first - self._began) * 1000,
            total_ms=(now - self._began) * 1000,
            **of_offer,
        )


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if tokens > 0 and seconds > 0 else 0.0
