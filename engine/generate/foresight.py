"""The best tokens by model and memory, several from one pass of the model.

The memory alone often knows how the text continues. What it takes for likely is read together with the token that is
certain, in one pass that reads every weight once; then each of those tokens is compared with what the mixture says in
its place, and the text continues where they part. So it is the text that single tokens would have given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from engine.generate.decoder import Decoder
from engine.memory.few_tokens import union
from engine.memory.recall import Recall

LEAST_SHARE = 0.2  # that the memory alone gives a token; reading what is less likely takes longer than it saves


class Foresight:
    """Of one text that is being written."""

    def __init__(self, decoder: Decoder, recall: Recall, bytes_of: Callable[[int], bytes]) -> None:
        """`bytes_of`: what a token stands for; nothing is guessed beyond the end of a line."""
        self._decoder, self._recall, self._bytes_of = decoder, recall, bytes_of
        self._ready: deque[tuple[int, float]] = deque()

    def after(self, ids: list[int]) -> tuple[int, float]:
        """The best token after `ids`, and its probability.

        Of `ids` the decoder has not read the last, or that token was given by the call before. It may have read
        further than `ids`.
        """
        if not self._ready:
            self._look(ids)
        return self._ready.popleft()

    def _look(self, ids: list[int]) -> None:
        read, places = [ids[-1]], [self._recall.few_tokens(ids)]
        room = self._decoder.worth_reading_ahead
        while len(read) < room:
            token, share = places[-1].guess()
            if share < LEAST_SHARE or b"\n" in self._bytes_of(read[-1]):
                break
            read.append(token)
            places.append(self._recall.few_tokens(ids + read[1:]))
        few = self._decoder.read_ahead(read, union(*(place.tokens for place in places)))
        for row, place in enumerate(places):
            token, chance = place.best(few.of(row, place.tokens), *few.best_of(row))
            self._ready.append((token, chance))
            if read[row + 1 : row + 2] != [token]:
                break
        self._decoder.keep(len(self._ready), len(read))
