"""How well a model predicts held-out text, token by token."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.corpus.framing import Framing
from engine.corpus.tokenizer import Tokenizer
from engine.errors import CodecoilError
from engine.model.model import Model
from engine.scorecard.intervals import Samples
from engine.scorecard.material import Material

LONGEST, SHORTEST = 1024, 64  # tokens of a window; a shorter end of a file gets the next power of two
MOST_LOGITS = 2**24  # numbers that come back from the device at once

Progress = Callable[[int, int, str], None]
Cancelled = Callable[[], bool]


class ScoreCancelledError(CodecoilError):
    """Somebody asked the scoring to end."""


def ask_cancelled(cancelled: Cancelled | None) -> None:
    """Ends a scoring that nobody waits for any more."""
    if cancelled is not None and cancelled():
        raise ScoreCancelledError("The scoring was cancelled.", "")


@dataclass(frozen=True, eq=False)
class TokenMeasures:
    """Sums by file: nats, tokens, bytes and how often the right token was first, or among the first five."""

    nats: np.ndarray
    tokens: np.ndarray
    bytes: np.ndarray
    first: np.ndarray
    first_five: np.ndarray

    def samples(self) -> dict[str, Samples]:
        """By name of the measure."""
        files = np.arange(len(self.nats))
        return {
            "loss": Samples(self.nats, self.tokens, files),
            "bits_per_byte": Samples(self.nats / math.log(2.0), self.bytes, files),
            "top_1": Samples(self.first, self.tokens, files),
            "top_5": Samples(self.first_five, self.tokens, files),
        }


@dataclass(frozen=True, eq=False)
class _Window:
    file: int
    ids: np.ndarray  # (n + 1,): inputs and, one on, targets
    counted: np.ndarray  # (n,) which targets are content of the file


def measure_tokens(
    model: Model,
    tokenizer: Tokenizer,
    material: Material,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> TokenMeasures:
    """Every token of every file; its path is given in front, as in training, and not counted."""
    sums = np.zeros((5, len(material.texts)))
    lengths = tokenizer.byte_lengths
    windows = sorted(_windows(tokenizer, material), key=lambda window: len(window.ids))
    done, total = 0, sum(len(window.counted) for window in windows)
    for group in _batches(windows, model.config.vocab_size):
        ask_cancelled(cancelled)
        width = _padded(len(group[0].counted))
        ids = np.zeros((len(group), width), np.int32)
        for row, window in enumerate(group):
            ids[row, : len(window.counted)] = window.ids[:-1]
        logits = model.logits(ids)
        for row, window in enumerate(group):
            targets = window.ids[1:][window.counted]
            losses, ranks = _losses_and_ranks(logits[row, : len(window.counted)][window.counted], targets)
            sums[:, window.file] += (
                losses.sum(),
                len(targets),
                lengths[targets].sum(),
                np.count_nonzero(ranks < 1),
                np.count_nonzero(ranks < 5),
            )
        done += sum(len(window.counted) for window in group)
        if progress is not None:
            progress(done, total, "Predicting tokens of held-out code")
    return TokenMeasures(*sums)


def _losses_and_ranks(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nats per row, and how many tokens come before the right one (of equals, the lower id)."""
    if not len(targets):
        return np.zeros(0), np.zeros(0, np.int64)
    highest = logits.max(axis=1, keepdims=True)
    right = np.take_along_axis(logits, targets[:, None], axis=1)
    sums = np.exp(logits - highest).sum(axis=1, dtype=np.float64)
    losses = np.log(sums) - (right - highest)[:, 0].astype(np.float64)
    earlier = np.arange(logits.shape[1])[None, :] < targets[:, None]
    ranks = np.count_nonzero((logits > right) | ((logits == right) & earlier), axis=1)
    return losses, ranks


def _windows(tokenizer: Tokenizer, material: Material) -> Iterator[_Window]:
    framing = Framing(tokenizer)
    contents = tokenizer.encode_batch([text.text for text in material.texts])
    for file, (text, content) in enumerate(zip(material.texts, contents, strict=True)):
        header = framing.header(text.path)
        ids = np.concatenate([header, content]).astype(np.int64)
        for first in range(0, len(ids) - 1, LONGEST):
            part = ids[first : first + LONGEST + 1]
            yield _Window(file, part, np.arange(first + 1, first + len(part)) >= len(header))


def _batches(windows: list[_Window], vocabulary: int) -> Iterator[list[_Window]]:
    """Windows of one padded length together, as many as bring back a bearable number of logits."""
    batch: list[_Window] = []
    for window in windows:
        width = _padded(len(window.counted))
        most = max(1, MOST_LOGITS // (width * vocabulary))
        if batch and (len(batch) >= most or _padded(len(batch[0].counted)) != width):
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def _padded(length: int) -> int:
    return max(SHORTEST, 1 << (length - 1).bit_length())
