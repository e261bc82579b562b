"""How well a model predicts held-out text, token by token: alone, or with a memory that does not know the text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CodecoilError
from engine.generate.decoder import Decoder
from engine.memory.evidence import Counter
from engine.memory.fitting import losses, observe
from engine.memory.mixing import Mixing
from engine.memory.snapshot import MemorySnapshot
from engine.model.model import Model
from engine.scorecard.intervals import Samples
from engine.scorecard.material import Material

LONGEST, SHORTEST = 1024, 64  # tokens of a window; a shorter end of a file gets the next power of two
MOST_LOGITS = 2**24  # numbers that come back from the device at once
TINIEST = 1e-300  # probability whose logarithm is still finite

Progress = Callable[[int, int, str], None]
Cancelled = Callable[[], bool]


class ScoreCancelledError(CodecoilError):
    """Scoring was cancelled."""


def ask_cancelled(cancelled: Cancelled | None) -> None:
    if cancelled is not None and cancelled():
        raise ScoreCancelledError("Scoring was cancelled.", "")


@dataclass(frozen=True, eq=False)
class TokenMeasures:
    """Sums by file: nats, tokens, bytes, and how often the right token was first or in the top five (unknown with a
    memory, which gives only the probability of the right token).
    """

    nats: np.ndarray
    tokens: np.ndarray
    bytes: np.ndarray
    first: np.ndarray | None
    first_five: np.ndarray | None

    def samples(self) -> dict[str, Samples]:
        """By measure."""
        files = np.arange(len(self.nats))
        found = {
            "loss": Samples(self.nats, self.tokens, files),
            "bits_per_byte": Samples(self.nats / math.log(2.0), self.bytes, files),
        }
        if self.first is not None:
            found["top_1"] = Samples(self.first, self.tokens, files)
            found["top_5"] = Samples(self.first_five, self.tokens, files)
        return found


@dataclass(frozen=True, eq=False)
class _Window:
    file: int
    ids: np.ndarray  # (n + 1,): inputs and, shifted by one, targets
    counted: np.ndarray  # (n,) which targets are content of the file
    first: int  # index in the content of the first target that counts


def measure_tokens(
    model: Model,
    tokenizer: Tokenizer,
    material: Material,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    memory: MemorySnapshot | None = None,
    mixing: Mixing | None = None,
    precision: str = "float32",
) -> TokenMeasures:
    """Every token of the counted part of every file; its path comes first, as in training, and does not count.

    `memory` must not know the files; `mixing`: how it is mixed in. Only what is before a token is known, nothing after.
    """
    sums = np.zeros((5, len(material.texts)))
    lengths = tokenizer.byte_lengths
    contents = tokenizer.encode_batch([text.counted for text in material.texts])
    chances = [np.zeros((2, len(content))) for content in contents] if memory is not None else []
    windows = sorted(_windows(tokenizer, material, contents), key=lambda window: len(window.ids))
    done, total = 0, sum(len(window.counted) for window in windows)
    for group, logits in _with_logits(model, windows, precision):
        ask_cancelled(cancelled)
        for window, rows in zip(group, logits, strict=True):
            targets = window.ids[1:][window.counted]
            scores = rows[: len(window.counted)][window.counted]
            nats, ranks = _losses_and_ranks(scores, targets)
            if memory is not None:
                part = slice(window.first, window.first + len(targets))
                chances[window.file][:, part] = np.exp(-nats), _highest_chances(scores)
            sums[:, window.file] += (
                nats.sum(),
                len(targets),
                lengths[targets].sum(),
                np.count_nonzero(ranks < 1),
                np.count_nonzero(ranks < 5),
            )
        done += sum(len(window.counted) for window in group)
        if progress is not None:
            progress(done, total, "Predicting tokens of held-out code")
    if memory is None:
        return TokenMeasures(*sums)
    counter = Counter(tokenizer.vocab_size, tokenizer.special.end_of_text)
    done, total = 0, sum(map(len, contents))
    for file, (text, content) in enumerate(zip(material.texts, contents, strict=True)):
        ask_cancelled(cancelled)
        sums[0, file] = _mixed_nats(counter, memory, mixing, text.path, content, chances[file], lengths)
        done += len(content)
        if progress is not None:
            progress(done, total, "Mixing in the memory")
    return TokenMeasures(*sums[:3], None, None)


def _with_logits(
    model: Model, windows: list[_Window], precision: str
) -> Iterator[tuple[list[_Window], Iterable[np.ndarray]]]:
    """Windows, several together, with the scores (n, v) of each.  Below float32 they are those of a decoder."""
    if precision == "float32":
        for group in _batches(windows, model.config.vocab_size):
            ids = np.zeros((len(group), _padded(len(group[0].counted))), np.int32)
            for row, window in enumerate(group):
                ids[row, : len(window.counted)] = window.ids[:-1]
            yield group, model.logits(ids)
        return
    decoder = Decoder(model, precision=precision)
    try:
        for window in windows:
            decoder.reset()
            yield [window], [decoder.read_each(window.ids[:-1])]
    finally:
        decoder.close()


def _mixed_nats(
    counter: Counter,
    memory: MemorySnapshot,
    mixing: Mixing,
    path: str,
    content: np.ndarray,
    chances: np.ndarray,
    lengths: np.ndarray,
) -> float:
    """Of one file.  chances (2, n): the model's probability of the right token, and its highest of any."""
    if not len(content):
        return 0.0
    first = -math.log(max(chances[0, 0], TINIEST))  # nothing is before it: the model alone
    if len(content) == 1:
        return first
    right, best = np.maximum(chances[0], TINIEST), chances[1]
    none = np.empty(0, np.int64)
    sizes = lengths[content]
    seen = observe(counter, memory.sources(path), content, none, right, best, sizes, see_after=False)
    return first + float(losses(seen, mixing).sum())


def _highest_chances(scores: np.ndarray) -> np.ndarray:
    """(n,) of rows of scores."""
    if not len(scores):
        return np.zeros(0)
    return 1.0 / np.exp(scores - scores.max(axis=1, keepdims=True)).sum(axis=1, dtype=np.float64)


def _losses_and_ranks(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nats per row, and how many tokens rank before the right one (of equals, the lower id)."""
    if not len(targets):
        return np.zeros(0), np.zeros(0, np.int64)
    highest = logits.max(axis=1, keepdims=True)
    right = np.take_along_axis(logits, targets[:, None], axis=1)
    sums = np.exp(logits - highest).sum(axis=1, dtype=np.float64)
    losses = np.log(sums) - (right - highest)[:, 0].astype(np.float64)
    earlier = np.arange(logits.shape[1])[None, :] < targets[:, None]
    ranks = np.count_nonzero((logits > right) | ((logits == right) & earlier), axis=1)
    return losses, ranks


def _windows(tokenizer: Tokenizer, material: Material, contents: list[np.ndarray]) -> Iterator[_Window]:
    framing = Framing(tokenizer)
    for file, (text, content) in enumerate(zip(material.texts, contents, strict=True)):
        header = framing.header(text.path)
        ids = np.concatenate([header, content]).astype(np.int64)
        for first in range(0, len(ids) - 1, LONGEST):
            part = ids[first : first + LONGEST + 1]
            counted = np.arange(first + 1, first + len(part)) >= len(header)
            yield _Window(file, part, counted, max(0, first + 1 - len(header)))


def _batches(windows: list[_Window], vocabulary: int) -> Iterator[list[_Window]]:
    """Windows of one padded length together, limited by the logits that they return."""
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
