"""One request, from its prompt to its last token.  What outlives a request is in `completer`."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import numpy as np

from engine.corpus.tokenizer import IncrementalDecoder, Tokenizer
from engine.generate import stops as reasons
from engine.generate.blanks import BlankTokens
from engine.generate.decoder import Cancelled, Decoder
from engine.generate.loops import LoopWatch
from engine.generate.prefix_states import PrefixState, PrefixStates
from engine.generate.prompt import Prompt
from engine.generate.requests import Completion, CompletionRequest, Piece
from engine.generate.sampling import Candidates, choose
from engine.generate.stops import StopWatch
from engine.generate.trimming import SuffixWatch


class Shown:
    """The text of the tokens so far, past everything that may hold it back."""

    def __init__(self, tokenizer: Tokenizer, request: CompletionRequest) -> None:
        self._loops = LoopWatch(
            lambda token: any(map(str.isalpha, tokenizer.token_bytes[token].decode("utf-8", "ignore")))
        )
        self._characters = IncrementalDecoder(tokenizer)
        self._stops = StopWatch(request.stops, request.prefix)
        self._join = SuffixWatch(request.prefix, request.suffix)
        self.text = ""

    def feed(self, token: int, hidden: int = 0) -> str:
        """What may be shown now and was not yet; the first `hidden` characters of the token never are."""
        piece = self._join.feed(self._stops.feed(self._decoded(self._loops.feed(token))[hidden:]))
        self.text += piece
        return piece

    @property
    def reason(self) -> str | None:
        """Why the text is complete, once it is."""
        if self._join.joined:
            return reasons.JOINED
        return self._stops.reason or (reasons.LOOP if self._loops.looped else None)

    def finish(self) -> str:
        """What was held back and belongs to the text.  Half a character does not."""
        rest = "" if self._stops.reason else self._stops.feed(self._decoded(self._loops.finish()))
        rest += "" if self._stops.reason else self._stops.finish()
        piece = "" if self._join.joined else self._join.feed(rest) + self._join.finish()
        self.text += piece
        return piece

    def _decoded(self, tokens: list[int]) -> str:
        return "".join(map(self._characters.feed, tokens))


class Answering:
    """Iterate once: pieces, then the completion."""

    def __init__(
        self,
        decoder: Decoder,
        states: PrefixStates,
        tokenizer: Tokenizer,
        blanks: BlankTokens,
        prompt: Prompt,
        request: CompletionRequest,
        cancelled: Callable[[], bool] | None,
        progress: Callable[[int, int], None] | None,
        began: float,
    ) -> None:
        """`began`: when the request came, by `time.perf_counter`."""
        self._decoder, self._states, self._tokenizer = decoder, states, tokenizer
        self._blanks, self._prompt, self._request = blanks, prompt, request
        self._cancelled, self._progress, self._began = cancelled, progress, began
        self._tokens: list[int] = []
        self._reused = self._read = 0
        self._first = 0.0  # when the first token was known
        self._hidden = 0  # characters of that token that stand before the cursor already

    def __iter__(self) -> Iterator[Piece | Completion]:
        shown = Shown(self._tokenizer, self._request)
        try:
            scores = self._read_prompt()
        except Cancelled:
            yield self._completion("", reasons.CANCELLED)
            return
        reason = None
        for token in self._following(scores):
            if token in self._tokenizer.special_ids or token >= self._tokenizer.vocab_size:
                reason = reasons.END_OF_TEXT
                break
            self._tokens.append(token)
            if piece := shown.feed(token, 0 if len(self._tokens) > 1 else self._hidden):
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
        """The scores after the prompt, read from the nearest kept state on; states on the way are kept."""
        ids = self._prompt.ids
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

    # ---- generating

    def _following(self, scores: np.ndarray) -> Iterator[int]:
        """Tokens one after the other, without end; the one that was given last is not read yet."""
        sampling, recent = self._request.sampling, self._prompt.ids.tolist() if self._request.sampling.penalises else []
        token = self._first_token(scores, recent)
        self._first = time.perf_counter()
        for drawn in itertools.count(1):
            yield token
            recent.append(token)
            if sampling.greedy:
                (token,) = self._decoder.greedy(1, token).tolist()
            else:
                token = choose(self._candidates(token, recent), sampling, recent, drawn)

    def _first_token(self, scores: np.ndarray, recent: list[int]) -> int:
        """The first token that goes beyond the blanks before the cursor; those that only write them are read."""
        blanks = self._prompt.blanks
        while blanks:
            ids = self._blanks.allowed(blanks)
            if not len(ids):
                break
            token = choose(Candidates(scores[ids], ids), self._request.sampling, recent, 0)
            left = self._blanks.left_after(blanks, token)
            if not left and len(self._tokenizer.token_bytes[token]) > len(blanks):
                self._hidden = len(blanks)
                return token
            scores = self._decoder.step(token)
            blanks = left
        return choose(Candidates(scores), self._request.sampling, recent, 0)

    def _candidates(self, token: int, recent: list[int]) -> Candidates:
        """What may follow `token`, which is read now; `recent` ends with it."""
        count = self._request.sampling.candidates(recent)
        if not count or count >= self._decoder.model.config.vocab_size:
            return Candidates(self._decoder.step(token))
        ids, scores, _ = self._decoder.read_top([token], count)
        return Candidates.best(ids, scores)

    # ---- ending

    def _exhausted(self) -> str | None:
        if len(self._tokens) >= self._request.stops.max_tokens:
            return reasons.TOKEN_LIMIT
        if self._unwanted():
            return reasons.CANCELLED
        limit = self._request.stops.milliseconds
        return reasons.TIME_LIMIT if limit and (time.perf_counter() - self._first) * 1000 >= limit else None

    def _unwanted(self) -> bool:
        return self._cancelled is not None and self._cancelled()

    def _completion(self, text: str, reason: str) -> Completion:
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
        )


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if tokens > 0 and seconds > 0 else 0.0
