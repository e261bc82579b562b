"""Detects a completion that repeats itself over and over: it ends after the second time.

Small models fall into loops when they always take the most likely token ("Buoyyyyyyyy"). Loops are detected in tokens,
where they have a strict period. Numbers, lines of dashes and rows of brackets repeat in good code too, so a loop must
contain a letter. A repetition that may become a loop is held back: what was shown is never retracted.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 20  # tokens of the repeated part
REPEATS, LEAST_TOKENS = 3, 8  # this many repeats, and tokens in total, make a loop


class LoopWatch:
    """Reads tokens as they come: `feed` returns those that may be shown; once `looped`, it is over."""

    def __init__(self, has_letter: Callable[[int], bool]) -> None:
        self._has_letter = has_letter
        self._tokens: list[int] = []
        self._given = 0
        self._alike = [0] * (LONGEST + 1)  # by period: how many tokens at the end equal the one a period earlier
        self.looped = False

    def feed(self, token: int) -> list[int]:
        """The tokens that may be shown now and have not been yet."""
        self._tokens.append(token)
        count = end = len(self._tokens)
        for period in range(1, min(LONGEST, count - 1) + 1):
            if self._tokens[-1 - period] != token:
                self._alike[period] = 0
                continue
            self._alike[period] += 1
            if self._alike[period] < period:
                continue
            repeated = self._alike[period] + period
            unit = self._tokens[count - period :]
            if any(map(self._has_letter, unit)):
                end = min(end, count - repeated + (2 * period if period > 1 else 1))
                self.looped = self.looped or repeated >= max(REPEATS * period, LEAST_TOKENS)
        return self._give(end)

    def finish(self) -> list[int]:
        """What was held back and turned out not to be a loop."""
        return [] if self.looped else self._give(len(self._tokens))

    def _give(self, end: int) -> list[int]:
        given, self._given = self._tokens[self._given : end], max(end, self._given)
        return given
