"""A trial of an imported tokenizer: a regular expression with catastrophic backtracking is refused.

The library's expression engine (Oniguruma) runs without the GIL and cannot be interrupted, so the trial has a thread of
its own. After a time-out it can safely be abandoned: the engine gives up after 10 million steps at one position (less
than a second, then it panics), the texts are short, and the thread stops after its current text.
"""

from __future__ import annotations

import string
import threading
from typing import TYPE_CHECKING

from engine.errors import CodecoilError, TokenizerError

if TYPE_CHECKING:
    from engine.corpus.tokens.tokenizer import Tokenizer

SECONDS = 10.0  # for all texts; a sound tokenizer takes about a tenth of one
RUNS = (48, 1024)  # characters in a row: the shorter runs find exponential expressions, the longer ones polynomial ones
# What may follow a run: nothing, or every printable character, because an expression may require one of them.
ENDS = ("", string.printable)
SAMPLES = (
    "def f(x, y=0):\n    return [x ** 2 for x in range(10) if x != y]  # comment\n",
    "The quick brown fox jumps over the lazy dog; ",
    "someCamelCaseName = SOME_CONSTANT_NAME | other_name_2\n",
    "<div class='a b'>&nbsp;\u00e4\u00f6\u4e2d\U0001f600</div>\r\n",
    "0x1F, 1_000.50e-3, 127.0.0.1 // != === -> :: {}[]()\n\t",
)
REMEDY = "Choose another tokenizer."


def try_tokenizer(tokenizer: Tokenizer, seconds: float = SECONDS) -> None:
    """Raise unless `tokenizer` can encode a few hundred short texts in time."""
    if not tokenizer.uses_library:
        return
    abandoned, failures = threading.Event(), []

    def work() -> None:
        try:
            for text in _texts():
                if abandoned.is_set():
                    return
                tokenizer.encode(text)
        except CodecoilError as error:
            failures.append(error)

    thread = threading.Thread(target=work, name="tokenizer trial", daemon=True)
    thread.start()
    thread.join(seconds)
    abandoned.set()
    if failures:
        raise failures[0]
    if thread.is_alive():
        raise TokenizerError(f"{tokenizer.name} takes too long to split short texts.", REMEDY)


def _texts() -> list[str]:
    runs = [sign * length + end for length in RUNS for sign in string.printable for end in ENDS]
    return runs + [sample * (length // len(sample) + 1) for length in RUNS for sample in SAMPLES]
