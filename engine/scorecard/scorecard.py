"""The scores of one model on one material, and the difference between two."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import InputError
from engine.generate.completer import Completer
from engine.generate.fits import fit_for
from engine.memory.snapshot import MemorySnapshot
from engine.model.model import Model
from engine.option_info import check_number
from engine.scorecard.breakdown import FileLines, lines_by_file, samples_by_language
from engine.scorecard.intervals import Difference, Measure, Samples, difference, measure, percentile
from engine.scorecard.line_measures import LineResult, line_samples, measure_lines, waits_of
from engine.scorecard.material import Material
from engine.scorecard.token_measures import Cancelled, Progress, measure_tokens


@dataclass(frozen=True)
class ScoreOptions:
    """How much is measured.  The defaults take about a minute for a model of the starter's size."""

    cursors: int = 200  # or as many as there are
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
            check_number(name, getattr(self, name), low, high, whole=True)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model to score, under the name it is shown by; with a memory of the repository, or alone."""

    name: str
    model: Model
    tokenizer: Tokenizer
    memory: MemorySnapshot | None = None
    precision: str = "float32"  # that the weights are read in

    def __post_init__(self) -> None:
        if self.memory is not None and self.memory.tokenizer.digest != self.tokenizer.digest:
            raise InputError(
                f"The memory was built with another tokenizer than that of {self.name}.",
                "Build it with the model's tokenizer.",
            )


@dataclass(frozen=True)
class _Kind:
    name: str
    words: str
    better: int
    unit: str = ""
    scale: Callable | None = None


SPEED = "decode_tokens_per_second"
KINDS = (
    _Kind("loss", "Loss per token", -1),
    _Kind("perplexity", "Perplexity per token", -1, scale=np.exp),
    _Kind("bits_per_byte", "Bits per byte", -1),
    _Kind("top_1", "Next token correct", +1, "%"),
    _Kind("top_5", "Next token in the top five", +1, "%"),
    _Kind("next_line_exact", "Next line exact match", +1, "%"),
    _Kind("shown", "Lines suggested", 0, "%"),
    _Kind("taken_of_shown", "Suggested lines that are exact", +1, "%"),
    _Kind("edit_similarity", "Next line similarity", +1, "%"),
    _Kind("keystrokes_saved_by_line", "Keystrokes saved by line", +1, "%"),
    _Kind("keystrokes_saved_by_word", "Keystrokes saved by word", +1, "%"),
    _Kind("brackets_balance", "Brackets balanced correctly", +1, "%"),
    _Kind(SPEED, "Tokens per second", +1),
)
BY_TOKEN = ("loss", "top_1", "top_5")
SOURCE = {"perplexity": "loss"}  # computed from the samples of another measure


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Everything about one model, by measure."""

    name: str
    measures: dict[str, Measure]
    file_losses: dict[str, float]  # by path
    cursors: int
    characters: int
    seed: int
    tokenizer: str  # digest: measures per token cannot be compared across tokenizers
    samples: dict[str, Samples] = field(repr=False, default_factory=dict)
    by_language: dict[str, dict[str, Measure]] = field(repr=False, default_factory=dict)  # most text first
    lines_by_file: dict[str, FileLines] = field(repr=False, default_factory=dict)  # by path
    notes: tuple[str, ...] = ()
    memory: bool = False  # whether the model had one
    precision: str = "float32"

    def to_json(self) -> dict[str, Any]:
        """For scripts; null where nothing could be measured."""
        return {
            "name": self.name,
            "memory": self.memory,
            "precision": self.precision,
            "cursors": self.cursors,
            "characters": self.characters,
            "seed": self.seed,
            "notes": list(self.notes),
            "measures": _plain_measures(self.measures),
            "by_language": {language: _plain_measures(found) for language, found in self.by_language.items()},
            "files": {path: _plain(loss) for path, loss in self.file_losses.items()},
            "lines_by_file": {path: lines.to_json() for path, lines in self.lines_by_file.items()},
        }


def score(
    subject: Subject,
    material: Material,
    options: ScoreOptions,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Scorecard:
    """The whole card; raises ScoreCancelledError if it was cancelled.

    The subject's memory is used without the files that are measured.
    """
    memory = subject.memory.without(material.unknown_paths) if subject.memory is not None else None
    mixing = fit_for(subject.model).mixing if memory is not None else None
    tokens = measure_tokens(
        subject.model, subject.tokenizer, material, progress, cancelled, memory, mixing, subject.precision
    )
    samples = tokens.samples()
    lines: list[LineResult] = []
    if material.cursors:
        completer = Completer(subject.model, subject.tokenizer, precision=subject.precision)
        completer.memory = memory
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
    measures = _measures(samples, options.seed)
    waits = waits_of(lines)
    if len(waits):
        for share in (50, 95):
            name, words = f"first_token_ms_p{share}", f"First token, {'median' if share == 50 else '95th percentile'}"
            measures[name] = percentile(name, words, waits, share, options.seed, "ms")
    losses = {
        text.path: float(tokens.nats[i] / tokens.tokens[i]) for i, text in enumerate(material.texts) if tokens.tokens[i]
    }
    return Scorecard(
        subject.name,
        measures,
        losses,
        len(material.cursors),
        material.characters,
        options.seed,
        subject.tokenizer.digest,
        samples,
        by_language={
            language: _measures(found, options.seed)
            for language, found in samples_by_language(material, samples).items()
        },
        lines_by_file=lines_by_file(material, lines),
        notes=material.notes,
        memory=memory is not None,
        precision=subject.precision,
    )


def _measures(samples: dict[str, Samples], seed: int) -> dict[str, Measure]:
    found = {}
    for kind in KINDS:
        counts = samples.get(SOURCE.get(kind.name, kind.name))
        if counts is not None:
            found[kind.name] = measure(kind.name, kind.words, counts, seed, kind.better, kind.unit, kind.scale)
    return found


def differences(first: Scorecard, second: Scorecard) -> dict[str, Difference]:
    """The second compared with the first, by measure; both must have been scored on the same material."""
    found = {}
    for kind in KINDS:
        source = SOURCE.get(kind.name, kind.name)
        if not kind.better:
            continue  # more of it is neither better nor worse
        if source == SPEED or source not in first.samples or source not in second.samples:
            continue
        if source in BY_TOKEN and first.tokenizer != second.tokenizer:
            continue
        found[kind.name] = difference(
            kind.name, first.samples[source], second.samples[source], first.seed, kind.better, kind.scale
        )
    return found


def kept_measures(before: Scorecard, after: Scorecard) -> dict[str, float]:
    """What a checkpoint's manifest keeps of its own scorecard and that of its base: every measure but the speeds."""
    return {
        f"score_{kind.name}{end}": float(card.measures[kind.name].value)
        for card, end in ((before, "_before"), (after, ""))
        for kind in KINDS
        if kind.name != SPEED and kind.name in card.measures and math.isfinite(card.measures[kind.name].value)
    }


def _plain_measures(measures: dict[str, Measure]) -> dict[str, Any]:
    return {m.name: {"value": _plain(m.value), "low": _plain(m.low), "high": _plain(m.high)} for m in measures.values()}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
