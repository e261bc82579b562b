"""A completion that has begun to say the same over and over: it ends after the second time.

Small models fall into loops when they take the most likely token ("Buoyyyyyyyy"). A loop is looked for among tokens,
where it has a strict period. Numbers, rules of dashes and rows of brackets do repeat in good code, so a loop is only
what has a letter in it. While a repetition may become a loop it is held back: what was shown is never taken back.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 20  # tokens of what is repeated
REPEATS, LEAST_TOKENS = 3, 8  # so often, and so many tokens in all, make a loop


class LoopWatch:
    """Reads tokens as they come: `feed` gives those that may be shown; once `looped`, nothing more is wanted."""

    def __init__(self, has_letter: Callable[[int], bool]) -> None:
        self._has_letter = has_letter
        self._tokens: list[int] = []
        self._given = 0
        self._alike = [0] * (LONGEST + 1)  # by period: how many tokens at the end are as the one a period before
        self.looped = False

    def feed(self, token: int) -> list[int]:
        """The tokens that may be shown now and were not yet."""
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
        """What was held back and has turned out to be no loop."""
        return [] if self.looped else self._give(len(self._tokens))

    def _give(self, end: int) -> list[int]:
        given, self._given = self._tokens[self._given : end], max(end, self._given)
        return given
