"""What can be set about a completion: how tokens are chosen, when it stops, and how the weights are read.

There is one table: `Sampling` and `Stops` refuse what it does not allow, and the command line, the settings and
the window take names, ranges, defaults and help from it. Nothing here loads NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from engine.model.storage import AUTO, PRECISIONS
from engine.option_info import OptionInfo


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen.  Temperature 0 takes the best one; top_k 0, top_p 1 and min_p 0 filter nothing.

    `min_p` keeps the tokens with at least this share of the best one's probability. `repetition_penalty` divides the
    score of every token among the last `repetition_window` ones, or multiplies it where it is below zero.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    repetition_window: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name, info in SAMPLING.items():
            info.check(name, getattr(self, name))

    @property
    def penalises(self) -> bool:
        return self.repetition_penalty > 1.0 and self.repetition_window > 0

    @property
    def greedy(self) -> bool:
        """Whether the next token is the best one by the model's own scores: no draw and no penalty."""
        return self.temperature == 0.0 and not self.penalises

    def candidates(self, recent: Sequence[int]) -> int:
        """How many of the best tokens suffice to choose from after `recent`; 0 where it takes all of them.

        A penalty only moves tokens down, and only those in its window.
        """
        best = 1 if self.temperature == 0.0 else self.top_k
        lowered = len(set(recent[-self.repetition_window :])) if self.penalises else 0
        return best + lowered if best else 0


@dataclass(frozen=True)
class Stops:
    """What ends a completion, besides the end of the text.

    `milliseconds` count from the first token: a large model may take longer than that to read the prompt, and would
    otherwise never write anything.

    `stop` strings and line ends are not part of the text. A block ends before the first non-blank line that is
    indented less than the cursor's line; where the cursor's line opens a block (the next line is indented more), that
    is the block, and the closing brackets at its end belong to it.
    """

    max_tokens: int = 64
    milliseconds: int = 0
    end_of_line: bool = False
    end_of_block: bool = False
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, info in STOPS.items():
            info.check(name, getattr(self, name))


def _row(kind: type, name: str, label: str, help: str, **more: Any) -> tuple[str, OptionInfo]:
    default = next(field.default for field in fields(kind) if field.name == name)
    more = {"low": None, "high": None, "whole": isinstance(default, int), "advanced": False} | more
    return name, OptionInfo(label, default=default, help=help, **more)


SAMPLING: dict[str, OptionInfo] = dict(
    [
        _row(
            Sampling, "temperature", "Temperature", "Higher gives more varied text.",
            low=0.0, high=5.0, step=0.05, zero="always the most likely token",
        ),
        _row(
            Sampling, "top_k", "Top-k", "Choose among this many of the most likely tokens.",
            low=0, high=1_000_000, step=5, zero="no limit",
        ),
        _row(
            Sampling, "top_p", "Top-p", "Choose among the most likely tokens that together have this probability.",
            low=0.0, high=1.0, step=0.05,
        ),
        _row(
            Sampling, "min_p", "Min-p", "Leave out tokens less likely than this share of the best one's probability.",
            low=0.0, high=1.0, step=0.05,
        ),
        _row(
            Sampling, "repetition_penalty", "Repetition penalty", "Makes recent tokens less likely; 1 is no penalty.",
            low=1.0, high=10.0, step=0.05,
        ),
        _row(
            Sampling, "repetition_window", "Repetition window", "How many tokens back the repetition penalty looks.",
            low=0, high=65_536, step=16, unit="tokens", advanced=True,
        ),
        _row(
            Sampling, "seed", "Seed", "The same seed gives the same text again.",
            low=0, high=2**31 - 1, step=1,
        ),
    ]
)  # fmt: skip

STOPS: dict[str, OptionInfo] = dict(
    [
        _row(
            Stops, "max_tokens", "Maximum length", "Stop after this many tokens, a few characters each.",
            low=1, high=65_536, step=8, unit="tokens",
        ),
        _row(
            Stops, "milliseconds", "Time limit", "Stop writing after this time.",
            low=0, high=3_600_000, step=250, unit="ms", zero="no limit",
        ),
        _row(Stops, "end_of_line", "Stop at end of line", "Complete one line at a time."),
        _row(Stops, "end_of_block", "Stop at end of block", "Stop before a line that is indented less."),
        _row(Stops, "stop", "Stop strings", "Stop before this text.", advanced=True),
    ]
)  # fmt: skip

OPTIONS = SAMPLING | STOPS

SUGGESTION_STOPS = Stops(max_tokens=48, milliseconds=2000, end_of_block=True)
"""For someone who is typing and waiting."""

PRECISION = OptionInfo(
    "Decoding precision",
    None,
    None,
    AUTO,
    "In how many bits the weights are read while a completion is written. Fewer are faster.",
    choices=(AUTO, *PRECISIONS),
)
