"""Writes tokens one after another: first the text already typed, then what model and memory predict."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from engine.generate.decoder import Decoder
from engine.generate.drawing import is_drawn_by_device
from engine.generate.few_scores import FewScores
from engine.generate.foresight import Foresight
from engine.generate.healing import TypedTokens
from engine.generate.options import Sampling
from engine.generate.sampling import Candidates, choose
from engine.generate.word_guard import LOOKED_AT, WordGuard
from engine.memory.recall import Recall


@dataclass(frozen=True, slots=True)
class Written:
    """A token.  `chance`: its probability among those that fit the typed text (1 where not asked for).  `is_first`: the
    first one beyond the typed text.
    """

    token: int
    chance: float = 1.0
    is_first: bool = False


class Writer:
    """Continues from the state of a decoder, for one request."""

    def __init__(
        self,
        decoder: Decoder,
        sampling: Sampling,
        typed_tokens: TypedTokens,
        recall: Recall | None = None,
        guard: WordGuard | None = None,
        *,
        chances: bool = False,
        content_first: bool = False,
    ) -> None:
        """`recall`: the memory at the cursor; `guard`: what the word under the cursor may become; `chances`: the
        probability of each token is wanted even without a memory; `content_first`: something must be written before
        the line may end.
        """
        self._decoder, self._sampling, self._typed_tokens = decoder, sampling, typed_tokens
        self._recall, self._guard, self._chances = recall, guard, chances or recall is not None
        self._content_first = content_first
        self._ready: deque[int] = deque()  # tokens that the device has chosen beyond the last one yielded
        self._alone_until = 0  # how many tokens must be chosen before the device chooses several again

    def tokens(
        self, scores: np.ndarray, prompt: np.ndarray, typed: bytes = b"", avoid: Collection[int] = ()
    ) -> Iterator[Written]:
        """Endless, unless `avoid` leaves no token; the decoder may have read further than what was yielded.  `scores`
        (v,) follow `prompt`, and `typed` is the text between it and the cursor.  `avoid`: tokens that may not be the
        first one beyond that.
        """
        foresight = self._foresight()
        self._ready.clear()
        self._alone_until = 0
        recent = prompt.tolist() if self._sampling.penalises else []
        ids: list[int] = []
        done, begun = b"", False
        for drawn in itertools.count():
            if not begun or (self._guard is not None and not self._guard.is_over(done)):
                scores = self._decoder.step(ids[-1]) if ids else scores
                written = self._weighed(scores, typed, done, ids, recent, drawn, () if begun else avoid)
                if written is None:
                    return
            elif self._sampling.greedy and self._chances:
                written = Written(*self._best(ids, foresight))
            elif self._chances:
                written = self._weighed(self._decoder.step(ids[-1]), typed, done, ids, recent, drawn, ())
            else:
                written = Written(self._quick(ids[-1], recent, drawn))
            yield written
            ids.append(written.token)
            recent.append(written.token)
            done += self._typed_tokens.bytes_of(written.token)
            begun = begun or written.is_first

    def _foresight(self) -> Foresight | None:
        """For one text, where the memory helps to write it."""
        return Foresight(self._decoder, self._recall, self._typed_tokens.bytes_of) if self._recall is not None else None

    def _best(self, ids: list[int], foresight: Foresight | None) -> tuple[int, float]:
        """The best token after `ids` and its probability, by model and memory."""
        if foresight is not None:
            return foresight.after(ids)
        best, scores, log_sum = self._decoder.read_top([ids[-1]], 1)
        return int(best[0]), math.exp(float(scores[0]) - log_sum)

    def continued(self, ids: list[int]) -> Iterator[tuple[int, float]]:
        """The best tokens after `ids` with their probabilities, one after another; the decoder has read all of `ids`
        but the last.
        """
        foresight, ids = self._foresight(), list(ids)
        while True:
            token, chance = self._best(ids, foresight)
            yield token, chance
            ids.append(token)

    def _quick(self, token: int, recent: list[int], drawn: int) -> int:
        """The token after `token`, reading as little as possible back from the device."""
        if not self._ready and drawn >= self._alone_until and (count := self._decoder.run) > 1:
            if self._sampling.greedy:
                self._ready.extend(self._decoder.greedy(count, token).tolist())
            elif is_drawn_by_device(self._sampling):
                self._ready.extend(self._decoder.draw(count, token, self._sampling, recent, drawn).tolist())
                if len(self._ready) < count:
                    self._alone_until = drawn + 2 * count  # text as open as this would stop the next run, too
        if self._ready:
            return self._ready.popleft()
        if self._sampling.greedy:
            return int(self._decoder.greedy(1, token)[0])
        count = self._sampling.candidates(recent)
        if not count or count >= self._decoder.model.config.vocab_size:
            return choose(Candidates(self._decoder.step(token)), self._sampling, recent, drawn)
        ids, scores, _ = self._decoder.read_top([token], count)
        return choose(Candidates.best(ids, scores), self._sampling, recent, drawn)

    def chances(self, scores: np.ndarray, ids: list[int], typed: bytes) -> list[Written]:
        """`ids` as if they had been written: those beyond the typed text.  `scores` (v,) are the model's before the
        first of them; the decoder stands there, and reads all but the last.
        """
        found: list[Written] = []
        done, few, row = b"", None, 0
        wanted = np.unique(ids).astype(np.int32)
        for number, token in enumerate(ids):
            if number:
                row += 1
                if few is None or row == len(few.best):
                    few, row = self._read_next(ids[number - 1 : -1], wanted), 0
            if found and self._recall is not None and (self._guard is None or self._guard.is_over(done)):
                log_sum, _, best_score = few.best_of(row)
                score = float(few.of(row, np.array([token]))[0])
                shares = math.exp(score - log_sum), math.exp(best_score - log_sum)
                found.append(Written(token, self._recall.chance_of(token, *shares, ids[:number])))
            elif len(done) + len(self._typed_tokens.bytes_of(token)) > len(typed):
                before = scores if few is None else few.whole()[row]
                probabilities = self._distribution(before, typed, done, ids[:number])
                found.append(Written(token, float(probabilities[token]), not found))
            done += self._typed_tokens.bytes_of(token)
        return found

    def _read_next(self, ids: list[int], wanted: np.ndarray) -> FewScores:
        """Read as many of `ids` as go through one pass."""
        part = ids[: self._decoder.room_ahead]
        return self._decoder.read_ahead(part, wanted, certain=len(part))

    def mixed(self, scores: np.ndarray, ids: list[int]) -> np.ndarray:
        """Probabilities (v,) of the token after `ids`, by model and memory; `scores` (v,) are the model's."""
        if self._recall is not None:
            return self._recall.mixed(scores, ids)
        shares = np.exp(scores.astype(np.float64) - scores.max())
        return shares / shares.sum()

    def _weighed(self, scores, typed: bytes, done: bytes, ids: list[int], recent, drawn: int, avoid) -> Written | None:
        """A token with its probability; None where all that fit are to be avoided."""
        probabilities = self._distribution(scores, typed, done, ids)
        token = self._chosen(probabilities, recent, drawn)
        if token in avoid and self._goes_beyond(token, typed, done):
            probabilities = probabilities.copy()
            probabilities[list(avoid)] = 0.0
            if not probabilities.any():
                return None
            token = self._chosen(probabilities, recent, drawn)
        is_first = len(done) <= len(typed) and self._goes_beyond(token, typed, done)
        return Written(token, float(probabilities[token]), is_first)

    def _goes_beyond(self, token: int, typed: bytes, done: bytes) -> bool:
        return len(typed) < len(done) + max(1, len(self._typed_tokens.bytes_of(token)))

    def _distribution(self, scores: np.ndarray, typed: bytes, done: bytes, ids: list[int]) -> np.ndarray:
        """Probabilities (v,) among the tokens that fit the typed text and form a word that exists."""
        probabilities = self.mixed(scores, ids)
        left = typed[len(done) :]
        if left and len(allowed := self._typed_tokens.allowed(left)):
            fitting = np.zeros_like(probabilities)
            fitting[allowed] = np.maximum(probabilities[allowed], 1e-30)
            probabilities = fitting / fitting.sum()
        if self._content_first and len(done) <= len(typed):
            probabilities = self._with_content(probabilities, left)
        if self._guard is not None:
            probabilities = self._guard.pass_over(probabilities, self._typed_tokens, done)
        return probabilities

    def _with_content(self, probabilities: np.ndarray, left: bytes) -> np.ndarray:
        """Without the likely tokens that would put white space after the typed text, or end the text."""
        kept = probabilities.copy()
        for token in np.argpartition(-probabilities, min(LOOKED_AT, len(probabilities)) - 1)[:LOOKED_AT].tolist():
            data = self._typed_tokens.bytes_of(token)
            if not data or data[len(left) :][:1] in (b" ", b"\t", b"\r", b"\n"):
                kept[token] = 0.0
        return kept / kept.sum() if kept.any() else probabilities

    def _chosen(self, probabilities: np.ndarray, recent: list[int], drawn: int) -> int:
        if self._sampling.greedy:
            return int(np.argmax(probabilities))
        ids = np.flatnonzero(probabilities)
        candidates = Candidates(np.log(probabilities[ids]), ids)
        return choose(candidates, self._sampling, recent, drawn)
