"""Tokens that may be wrong: the part of a decoder that reads them, and goes back to before those that were.

    state ──save──▶ read: certain, guess, guess ──▶ one was right ──▶ bring back, read: certain, right, certain, ...

A cache forgets rows. A recurrent state is saved on the device before the first guess. If some were wrong, it is brought
back at the beginning of the next pass, which reads those that were right once more: a pass costs hardly more for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.devices.interface import Executable
from engine.errors import InputError
from engine.generate.few_scores import FewScores
from engine.generate.programs import BEST, PLAIN, RETURN, SAVE, WANTED, DecodeState
from engine.graph.kernels import FEW_TOKENS
from engine.graph.tensor import READ_BACK

AT_ONCE = 4  # rows for which the products of both devices read a weight once


class ReadingAhead:
    """What `Decoder` adds to the rest of itself."""

    position: int
    _state: DecodeState
    _since_saved: list[int]  # tokens that were read, and were right, since the recurrent state was saved
    _is_saved: bool  # by the last pass, or one before that has to be read again
    _must_return: bool  # the recurrent state is past them: it has read tokens that were wrong

    def prepare(self) -> None:
        """Make the programs that read ahead, so that no suggestion waits for one."""
        for tokens in range(1, FEW_TOKENS + 1):
            for start in (PLAIN, SAVE, RETURN) if self._state.is_recurrent else (PLAIN,):
                self._ahead(tokens, start)

    def _ahead(self, tokens: int, start: str) -> Executable:
        largest = self._executable("ahead", FEW_TOKENS, PLAIN)
        return self._executable("ahead", tokens, start, beside=largest)

    @property
    def room_ahead(self) -> int:
        """How many tokens the next `read_ahead` takes at most."""
        room = FEW_TOKENS - (len(self._since_saved) if self._must_return else 0)
        return min(room, self._state.context - self.position) if self._state.has_cache else room

    @property
    def worth_reading_ahead(self) -> int:
        """How many tokens go through the next pass while it reads every weight once."""
        return min(self.room_ahead, AT_ONCE - (len(self._since_saved) if self._must_return else 0))

    def read_ahead(self, ids: Sequence[int], wanted: np.ndarray, certain: int = 1) -> FewScores:
        """Read `ids`, of which all but the first `certain` are guesses: `keep` then says how many of them are right.

        Gives the scores after each of them: of the best token, and of those `wanted` (m,), in rising order.
        """
        flat = self._checked(ids)
        if len(flat) > self.room_ahead:
            self._return()
            self._refuse_too_many(len(flat))
        before = list(self._since_saved) if self._must_return else []
        self.position -= len(before)
        start = SAVE if certain < len(flat) and self._state.is_recurrent else PLAIN
        start = RETURN if self._must_return else start
        self._is_saved = start != PLAIN
        together = np.concatenate([np.array(before, flat.dtype), flat])
        executable = self._ahead(len(together), start)
        padded = np.zeros(WANTED, np.int32)
        padded[: len(wanted[:WANTED])] = wanted[:WANTED]
        self._run(executable, together, {"wanted": padded})
        self._since_saved, self._must_return = together.tolist(), False
        numbers, tokens = executable.read_later(READ_BACK)(), len(together)
        best, few = numbers[: tokens * BEST].reshape(tokens, BEST), numbers[tokens * BEST :].reshape(tokens, WANTED)
        own = slice(len(before), tokens)
        return FewScores(best[own], wanted[:WANTED], few[own], lambda: executable.read("logits")[own])

    def keep(self, count: int, of: int) -> None:
        """Only the first `count` of the `of` tokens that were just read ahead were right."""
        wrong = of - count
        if wrong:
            if self._state.is_recurrent and not self._is_saved:
                raise InputError("Tokens that were read as certain cannot be undone.")
            self.position -= wrong
            self._since_saved = self._since_saved[:-wrong]
            self._must_return = self._state.is_recurrent

    def _return(self) -> None:
        """Have the recurrent state be where the right tokens end."""
        if self._must_return:
            again, self._must_return = np.array(self._since_saved, np.int32), False
            self.position -= len(again)
            executable = self._executable("again", len(again), beside=self._ahead(FEW_TOKENS, PLAIN))
            if len(again):
                self._run(executable, again)
            else:
                executable.run({})
