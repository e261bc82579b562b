"""Windows of code for a run: of everything, or of changed files with older ones mixed in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.batches.framing import Framing
from engine.corpus.batches.windows import FRAME_TOKENS, Batch, HeldOutWindows, Windows
from engine.corpus.corpus import Corpus
from engine.errors import InputError
from engine.model.model import Model
from engine.session.recitation.canaries import PlantedSource, canaries
from engine.train.options import TrainingOptions

HELD_OUT_BATCH = 8
HELD_OUT_WINDOWS = 64  # measured at each evaluation, at most, evenly spread
LARGE_SHARE, FEW_FILES = 0.2, 10  # of all tokens in one file, if there are more than a few files
FILE_WINDOWS = 8  # of one file, at most, to measure how well it is known

Report = Callable[[int, int], None]


class MixedWindows:
    """Batches of new and old windows: `old_share` of the rows, spread evenly, are old."""

    def __init__(self, new: Windows, old: Windows, old_share: float) -> None:
        self._new, self._old, self._share = new, old, old_share
        self._taken = 0

    def take(self) -> Batch:
        """The next batch, the new rows first."""
        rows, begin = self._new.batch, self._taken * self._new.batch
        old_rows = math.floor((begin + rows) * self._share) - math.floor(begin * self._share)
        self._taken += 1
        counts = ((self._new, rows - old_rows), (self._old, old_rows))
        parts = [windows.take(count) for windows, count in counts if count]
        return Batch(
            np.concatenate([part.tokens for part in parts]),
            tuple(starts for part in parts for starts in part.starts),
            np.concatenate([part.counted for part in parts]),
        )

    def state(self) -> dict[str, Any]:
        """The cursor, for JSON."""
        return {"new": self._new.state(), "old": self._old.state(), "taken": self._taken, "share": self._share}

    def restore(self, state: dict[str, Any]) -> str:
        """Continue where `state` was taken; returns a note if the files have changed."""
        if not isinstance(state.get("taken"), int) or not all(isinstance(state.get(k), dict) for k in ("new", "old")):
            raise InputError(
                "The saved position in the corpus is damaged, or from another version.", "Start a new run."
            )
        self._taken = state["taken"]
        notes = [self._new.restore(state["new"]), self._old.restore(state["old"])]
        return next(filter(None, notes), "")


def training_windows(
    corpus: Corpus, options: TrainingOptions, changed: Sequence[Document] = ()
) -> Windows | MixedWindows:
    """Windows of everything, or of `changed` with a share of the rest mixed in; with the canaries among what is new."""
    source = PlantedSource(corpus, canaries(options.seed, options.canaries))

    def windows(documents: Sequence[Document] | None = None) -> Windows:
        o = options
        return Windows(source, o.sequence_length, o.batch_size, o.seed, o.fim_share, documents=documents)

    if not changed:
        return windows()
    changed = (*changed, *source.planted)
    paths = {document.path for document in changed}
    rest = [document for document in corpus.learned_documents if document.path not in paths]
    if not rest or not options.replay_share:
        return windows(changed)
    return MixedWindows(windows(changed), windows(rest), options.replay_share)


def tokenizer_of_cursor(cursor: dict[str, Any]) -> str | None:
    """The digest of the tokenizer of a saved position; that of `MixedWindows` has two with the same."""
    return cursor.get("new", cursor).get("tokenizer")


def steps_for_epochs(options: TrainingOptions, documents: Sequence[Document], mixed: bool) -> int:
    """Steps for `options.epochs` passes over `documents`; `mixed`: with a `replay_share` of others."""
    tokens = sum(document.tokens + FRAME_TOKENS for document in documents)
    rows = options.batch_size * (1.0 - options.replay_share if mixed else 1.0)
    if not rows:
        return 1
    return max(1, math.ceil(options.epochs * tokens / options.sequence_length / rows))


def resolved(
    options: TrainingOptions, weights: int, documents: Sequence[Document], mixed: bool = False
) -> TrainingOptions:
    """Epochs as steps, and the learning rate for a model of so many weights if none was chosen."""
    if options.epochs:
        steps = steps_for_epochs(options, documents, mixed)
        options = options.changed(steps=min(steps, options.steps) if options.steps else steps)
    return options.changed(learning_rate=options.peak_rate_for(weights))


def large_file_note(documents: Sequence[Document]) -> str:
    """A note if one file is a large part of what is learned: it is often data."""
    if len(documents) <= FEW_FILES:
        return ""
    largest, tokens = max(documents, key=lambda each: each.tokens), sum(each.tokens for each in documents)
    share = largest.tokens / max(1, tokens)
    if share < LARGE_SHARE:
        return ""
    return f"{largest.path} is {100 * share:.0f} % of what is learned. If it is data rather than code, exclude it."


def measured_windows(corpus: Corpus, documents: Sequence[Document], options: TrainingOptions) -> HeldOutWindows:
    """Windows to measure `documents` on, evenly spread."""
    return HeldOutWindows(corpus, options.sequence_length, HELD_OUT_BATCH, limit=HELD_OUT_WINDOWS, documents=documents)


def occurring_tokens(corpus: Corpus, vocab_size: int, fills_in: bool = True) -> np.ndarray:
    """The ids of all tokens that occur in what is learned, including those that frame a document.

    `fills_in`: some documents are rearranged, so the tokens for that occur, too.
    """
    occurs = np.zeros(vocab_size, bool)
    framing = Framing(corpus.tokenizer)
    framing.prepare(document.path for document in corpus.learned_documents)
    for document in corpus.learned_documents:
        occurs[framing.document(document.path, corpus.document_tokens(document))] = True
    if fills_in and corpus.tokenizer.has_fim:
        occurs[list(corpus.tokenizer.special.fim)] = True
    return np.flatnonzero(occurs).astype(np.int32)


def file_losses(
    model: Model, corpus: Corpus, documents: Sequence[Document], length: int, report: Report | None = None
) -> dict[str, float]:
    """The mean loss of each document by path, from at most a few windows of each, evenly spread."""
    framing = Framing(corpus.tokenizer)
    framing.prepare(document.path for document in documents)
    sums, counts = np.zeros(len(documents)), np.zeros(len(documents))
    rows: list[tuple[int, np.ndarray]] = []

    def measure() -> None:
        tokens = np.zeros((HELD_OUT_BATCH, length + 1), np.int32)
        counted = np.zeros(HELD_OUT_BATCH, np.int32)
        for place, (_, window) in enumerate(rows):
            tokens[place, : window.size], counted[place] = window, window.size - 1
        losses = model.losses(tokens, counted).sum(axis=1, dtype=np.float64)
        for (owner, window), loss in zip(rows, losses, strict=False):
            sums[owner] += loss
            counts[owner] += window.size - 1
        rows.clear()

    for number, document in enumerate(documents):
        stream = framing.document(document.path, corpus.document_tokens(document))
        rows += [(number, window) for window in _spread_windows(stream, length)]
        while len(rows) >= HELD_OUT_BATCH:
            waiting = rows[HELD_OUT_BATCH:]
            del rows[HELD_OUT_BATCH:]
            measure()
            rows += waiting
        if report is not None:
            report(number + 1, len(documents))
    if rows:
        measure()
    return {document.path: sums[n] / counts[n] for n, document in enumerate(documents) if counts[n]}


def _spread_windows(stream: np.ndarray, length: int) -> Iterator[np.ndarray]:
    count = -(-(stream.size - 1) // length)
    chosen = min(count, FILE_WINDOWS)
    for place in range(chosen):
        start = (place * count // chosen) * length
        yield stream[start : start + length + 1]
