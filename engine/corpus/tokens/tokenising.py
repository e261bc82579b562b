"""Texts to tokens, in batches: one batch is encoded while the one before it is written and the next one gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from engine.corpus.batches.split import Portion, line_to_split_at
from engine.corpus.reading.scan_progress import Watch
from engine.corpus.reading.verdict import FileVerdict
from engine.corpus.tokens.token_cache import KEY_BYTES, TokenCache
from engine.corpus.tokens.tokenizer import Tokenizer

BATCH_CHARACTERS = 2 << 20  # several of what the tokenizer gives one core, and a tenth of a second


@dataclass(frozen=True, slots=True)
class Parts:
    """The keys under which the tokens of a file are kept; `held_out` only for a file that is split by lines."""

    learned: bytes
    held_out: bytes | None = None


def parts_of(verdict: FileVerdict, split_at_end: Portion | None = None) -> Parts:
    """The keys of a file that is learned: the hash of its text, or of the two parts that it is split into."""
    whole = bytes.fromhex(verdict.learned_digest)[:KEY_BYTES]
    if split_at_end is None:
        return Parts(whole)

    def key(part: str) -> bytes:
        return blake2b(f"{part} of {split_at_end}".encode(), key=whole, digest_size=KEY_BYTES).digest()

    return Parts(key("beginning"), key("end"))


def texts_of(text: str, parts: Parts, portion: Portion) -> list[tuple[bytes, str]]:
    """What to tokenise under which key.  A text too short to be split has an empty held-out part."""
    if parts.held_out is None:
        return [(parts.learned, text)]
    cut = line_to_split_at(text, portion)
    cut = len(text) if cut is None else cut
    return [(parts.learned, text[:cut]), (parts.held_out, text[cut:])]


def tokenise(
    texts: Iterable[tuple[bytes, str]],
    tokenizer: Tokenizer,
    cache: TokenCache,
    watch: Watch,
    done: Callable[[int], None],
) -> None:
    """Encode texts and put them into the cache.  `done` is called with the number of texts in each batch.

    When the scan is cancelled, finished batches are kept; the worker stops after the current one.
    """
    worker = ThreadPoolExecutor(1, "tokeniser")
    running: tuple[list[bytes], Future[list[np.ndarray]]] | None = None

    def take_in(batch: tuple[list[bytes], Future[list[np.ndarray]]] | None) -> None:
        if batch is not None:
            keys, future = batch
            cache.add(dict(zip(keys, watch.wait(future), strict=True)))
            done(len(keys))

    try:
        for keys, batch in _batches(texts):
            watch.check()
            before, running = running, (keys, worker.submit(tokenizer.encode_batch, batch))
            take_in(before)
        take_in(running)
    finally:
        worker.shutdown(wait=False, cancel_futures=True)


def _batches(texts: Iterable[tuple[bytes, str]]) -> Iterator[tuple[list[bytes], Sequence[str]]]:
    keys: list[bytes] = []
    batch: list[str] = []
    size = 0
    for key, text in texts:
        keys.append(key)
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield keys, batch
            keys, batch, size = [], [], 0
    if keys:
        yield keys, batch
