"""A simulated programmer at each cursor, who is offered lines and accepts what is right.

The programmer knows the wanted line. The offer at its beginning shows whether the line was predicted exactly, and how
similar it is. Then the line is typed: an offer stays as long as the typed letters agree with it, and the first one that
differs asks for a new offer, as in the editor. An offer is a whole line or nothing; whether the editor would have shown
it is counted separately (`shown`), so that models are compared on every line, not only on those they are sure of. Two
habits are counted in one pass, since both see the same offers: accepting whole lines only (one key for the rest of the
line), and also accepting single words (one key each).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.generate.completer import Completer, CompletionRequest
from engine.generate.requests import Offer
from engine.scorecard.intervals import Samples
from engine.scorecard.material import Cursor, Material
from engine.scorecard.token_measures import Cancelled, Progress, ask_cancelled

BRACKETS = {")": "(", "]": "[", "}": "{"}
WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")


@dataclass(frozen=True)
class LineResult:
    """What happened at one cursor."""

    file: int
    offered: str
    wanted: str
    keys_by_line: int  # pressed when only whole lines are accepted
    keys_by_word: int
    tokens: int
    decode_seconds: float
    first_token_ms: tuple[float, ...]  # of every offer that was asked for
    shown: bool  # whether the first offer was sure enough for the editor to show

    @property
    def exact(self) -> bool:
        return self.offered == self.wanted

    @property
    def taken(self) -> bool:
        """Whether it was shown and can be accepted as it is."""
        return self.shown and self.exact

    @property
    def similarity(self) -> float:
        """1 for the same line, 0 for nothing in common."""
        return edit_similarity(self.offered, self.wanted)


def measure_lines(
    completer: Completer,
    material: Material,
    *,
    before: int,
    after: int,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> list[LineResult]:
    """One result per cursor; `before` and `after`: how many characters the model is shown.

    The completer's memory is used if it has one; it must not know the material.
    """
    results = []
    for number, cursor in enumerate(material.cursors):
        ask_cancelled(cancelled)
        results.append(_write_line(completer, material, cursor, before, after))
        if progress is not None:
            progress(number + 1, len(material.cursors), "Completing lines")
    return results


def line_samples(results: Sequence[LineResult]) -> dict[str, Samples]:
    """By measure."""
    files = [result.file for result in results]
    ones = [1.0] * len(results)
    lengths = [len(result.wanted) for result in results]
    by_line = [len(result.wanted) - result.keys_by_line for result in results]
    by_word = [len(result.wanted) - result.keys_by_word for result in results]
    return {
        "next_line_exact": Samples.of([result.exact for result in results], ones, files),
        "shown": Samples.of([result.shown for result in results], ones, files),
        "taken_of_shown": Samples.of([r.taken for r in results], [r.shown for r in results], files),
        "edit_similarity": Samples.of([result.similarity for result in results], ones, files),
        "keystrokes_saved_by_line": Samples.of(by_line, lengths, files),
        "keystrokes_saved_by_word": Samples.of(by_word, lengths, files),
        "brackets_balance": Samples.of([brackets_like(r.offered, r.wanted) for r in results], ones, files),
        "decode_tokens_per_second": Samples.of([r.tokens for r in results], [r.decode_seconds for r in results], files),
    }


def edit_similarity(a: str, b: str) -> float:
    """Twice the characters in common, as a diff finds them, over all characters."""
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def brackets_like(offered: str, wanted: str) -> bool:
    """Whether an offer leaves the same brackets open as the real line.

    A line may open a bracket that a later line closes, so the offer is compared with the line, not with none.
    """
    return open_brackets(offered) == open_brackets(wanted)


def open_brackets(line: str) -> str:
    """The brackets that a line closes of earlier lines, then those it leaves open."""
    waiting: list[str] = []
    for letter in line:
        if letter in BRACKETS.values():
            waiting.append(letter)
        elif letter in BRACKETS:
            if waiting and waiting[-1] == BRACKETS[letter]:
                waiting.pop()
            else:
                waiting.append(letter)
    return "".join(waiting)


def keys_pressed(offer: str, rest: str) -> tuple[int, int, int]:
    """For one offer: how many characters it lasts, and the keys for them when accepting lines, and words.

    An offer that is the rest of the line is accepted with one key. Otherwise the line is typed up to and including the
    first letter that differs; who accepts words accepts those that are right.
    """
    if offer == rest:
        return len(rest), 1, 1
    agree = 0
    while agree < min(len(offer), len(rest)) and offer[agree] == rest[agree]:
        agree += 1
    by_word, at = 0, 0
    for word in WORD.finditer(offer):
        if word.end() > agree:
            break
        by_word += 1
        at = word.end()
    reach = min(agree + 1, len(rest))
    return reach, reach, by_word + reach - at


def _write_line(completer: Completer, material: Material, cursor: Cursor, before: int, after: int) -> LineResult:
    path = material.texts[cursor.file].path
    prefix, suffix = material.before(cursor, before), material.after(cursor, after)
    wanted = material.line(cursor)
    at = keys_by_line = keys_by_word = tokens = 0
    seconds, offered, shown, waits = 0.0, None, False, []
    while at < len(wanted):
        request = CompletionRequest(
            prefix=prefix + wanted[:at],
            suffix=suffix,
            path=path,
            memory=completer.memory is not None,
            offer=Offer(0.0),
        )
        answer = completer.complete(request)
        offer = answer.text.split("\n", 1)[0].rstrip()
        if offered is None:
            offered = offer
            shown = bool(offer) and answer.chance is not None and answer.chance >= completer.fit.least
        tokens += answer.tokens
        if answer.decode_tokens_per_second:
            seconds += answer.tokens / answer.decode_tokens_per_second
        waits.append(answer.first_token_ms)
        carried, by_line, by_word = keys_pressed(offer, wanted[at:])
        at, keys_by_line, keys_by_word = at + carried, keys_by_line + by_line, keys_by_word + by_word
    return LineResult(
        cursor.file,
        offered or "",
        wanted,
        keys_by_line,
        keys_by_word,
        tokens,
        seconds,
        tuple(waits),
        shown,
    )


def waits_of(results: Sequence[LineResult]) -> np.ndarray:
    """Milliseconds to the first token, of every offer."""
    return np.array([wait for result in results for wait in result.first_token_ms])
