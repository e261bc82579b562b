"""One model's numbers on one material, and two models' difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.corpus.tokenizer import Tokenizer
from engine.errors import InputError
from engine.generate.completer import Completer
from engine.model.model import Model
from engine.scorecard.intervals import Difference, Measure, Samples, difference, measure, percentile
from engine.scorecard.line_measures import line_samples, measure_lines, waits_of
from engine.scorecard.material import Material
from engine.scorecard.token_measures import Cancelled, Progress, measure_tokens


@dataclass(frozen=True)
class ScoreOptions:
    """How much is asked.  The defaults take about half a minute a model of the starter's size."""

    cursors: int = 100
    characters: int = 300_000  # of held-out text that is predicted token by token
    before: int = 4_000  # characters that the model is shown before a cursor
    after: int = 1_000  # and after its line
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("cursors", 0, 100_000),
            ("characters", 1_000, 10**9),
            ("before", 0, 10**6),
            ("after", 0, 10**6),
            ("seed", 0, 2**31 - 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"{name} is {value}; it must be between {low:,} and {high:,}.")


@dataclass(frozen=True, eq=False)
class Subject:
    """A model that is scored, under the name it is shown by."""

    name: str
    model: Model
    tokenizer: Tokenizer


@dataclass(frozen=True)
class _Kind:
    name: str
    words: str
    better: int
    unit: str = ""
    scale: Callable | None = None


KINDS = (
    _Kind("loss", "Loss per token", -1),
    _Kind("perplexity", "Perplexity per token", -1, scale=np.exp),
    _Kind("bits_per_byte", "Bits per byte", -1),
    _Kind("top_1", "Next token right", +1, "%"),
    _Kind("top_5", "Next token in the first five", +1, "%"),
    _Kind("next_line_exact", "Next line exactly right", +1, "%"),
    _Kind("edit_similarity", "Next line, likeness", +1, "%"),
    _Kind("keystrokes_saved_by_line", "Keystrokes saved, taking lines", +1, "%"),
    _Kind("keystrokes_saved_by_word", "Keystrokes saved, taking words", +1, "%"),
    _Kind("brackets_balance", "Brackets as they should be", +1, "%"),
    _Kind("decode_tokens_per_second", "Tokens a second", +1),
)
BY_TOKEN = ("loss", "top_1", "top_5")
SOURCE = {"perplexity": "loss"}  # shown from the counts of another measure


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Everything about one model, by name of the measure."""

    name: str
    measures: dict[str, Measure]
    file_losses: dict[str, float]  # by path: what the model does not know
    cursors: int
    characters: int
    seed: int
    tokenizer: str  # digest: what is counted by token says nothing across tokenizers
    samples: dict[str, Samples] = field(repr=False, default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """For a script: plain numbers, null where nothing could be measured."""
        return {
            "name": self.name,
            "cursors": self.cursors,
            "characters": self.characters,
            "seed": self.seed,
            "measures": {
                m.name: {"value": _plain(m.value), "low": _plain(m.low), "high": _plain(m.high)}
                for m in self.measures.values()
            },
            "files": {path: _plain(loss) for path, loss in self.file_losses.items()},
        }


def score(
    subject: Subject,
    material: Material,
    options: ScoreOptions,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Scorecard:
    """The whole card; raises ScoreCancelledError where somebody asked for an end."""
    tokens = measure_tokens(subject.model, subject.tokenizer, material, progress, cancelled)
    samples = tokens.samples()
    waits = np.zeros(0)
    if material.cursors:
        completer = Completer(subject.model, subject.tokenizer)
        try:
            lines = measure_lines(
                completer,
                material,
                before=options.before,
                after=options.after,
                progress=progress,
                cancelled=cancelled,
            )
        finally:
            completer.close()
        samples |= line_samples(lines)
        waits = waits_of(lines)
    measures = {}
    for kind in KINDS:
        counts = samples.get(SOURCE.get(kind.name, kind.name))
        if counts is not None:
            measures[kind.name] = measure(
                kind.name, kind.words, counts, options.seed, kind.better, kind.unit, kind.scale
            )
    if len(waits):
        for share in (50, 95):
            name, words = f"first_token_ms_p{share}", f"First token, {'half' if share == 50 else '95 %'} within"
            measures[name] = percentile(name, words, waits, share, options.seed, "ms")
    losses = {
        text.path: float(tokens.nats[i] / tokens.tokens[i]) for i, text in enumerate(material.texts) if tokens.tokens[i]
    }
    return Scorecard(
        subject.name,
        measures,
        losses,
        len(material.cursors),
        sum(len(text.text) for text in material.texts),
        options.seed,
        subject.tokenizer.digest,
        samples,
    )


def differences(first: Scorecard, second: Scorecard) -> dict[str, Difference]:
    """The second against the first, measure by measure; both must have been scored on the same material."""
    found = {}
    for kind in KINDS:
        source = SOURCE.get(kind.name, kind.name)
        if source == "decode_tokens_per_second" or source not in first.samples or source not in second.samples:
            continue
        if source in BY_TOKEN and first.tokenizer != second.tokenizer:
            continue
        found[kind.name] = difference(
            kind.name, first.samples[source], second.samples[source], first.seed, kind.better, kind.scale
        )
    return found


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
