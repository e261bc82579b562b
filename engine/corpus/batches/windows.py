"""Batches of token windows for the trainer, from the documents of a corpus (`documents.DocumentSource`).

An epoch is one pass over all documents in an order drawn from the seed, in blocks of about 2 Mi tokens:

    documents ── shuffled ──▶ blocks ── joined ──▶ one stream per block ── cut ──▶ windows ── shuffled ──▶ batches

Windows overlap by one token, so that each token is a target once per epoch. The last window of a block wraps around to
the block's beginning, and so does a corpus that is smaller than a window. A block depends only on the seed, the epoch
and its documents: a cursor is three numbers, and restoring it builds one block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.corpus.batches.documents import Document, DocumentSource, documents_digest
from engine.corpus.batches.fim import cut, draw, sections
from engine.corpus.batches.framing import Framing
from engine.errors import ConfigError, CorpusError, InputError, TokenizerError
from engine.option_info import check_number

BLOCK_TOKENS = 1 << 21  # most repositories are one block; with 2^18, a run could see one large file for many steps
FRAME_TOKENS = 16  # roughly what path and separators take, to distribute documents over blocks
SHORTEST_SECTION = 64
CURSOR_VERSION = 1


@dataclass(frozen=True)
class Batch:
    """tokens (b, l + 1) int32; starts: the places in each row where documents begin; counted (b,) int32: how many of a
    row's targets count, from the left (all of them, except at the end of held-out windows)."""

    tokens: np.ndarray
    starts: tuple[np.ndarray, ...]
    counted: np.ndarray

    @property
    def inputs(self) -> np.ndarray:
        """(b, l)."""
        return self.tokens[:, :-1]

    @property
    def targets(self) -> np.ndarray:
        """(b, l), -1 where a target does not count."""
        place = np.arange(self.tokens.shape[1] - 1)
        return np.where(place < self.counted[:, None], self.tokens[:, 1:], np.int32(-1))


@dataclass(frozen=True)
class _Stream:
    """Concatenated documents: tokens (t,), and begins (t,) bool, True at the first token of each document."""

    tokens: np.ndarray
    begins: np.ndarray

    @staticmethod
    def join(parts: list[np.ndarray]) -> _Stream:
        tokens = np.concatenate(parts).astype(np.int32)
        begins = np.zeros(len(tokens), bool)
        begins[np.cumsum([0, *map(len, parts[:-1])])] = True
        return _Stream(tokens, begins)

    def batch(self, windows: Sequence[int], seq_len: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """tokens (len(windows), seq_len + 1) and the starts of each; past its end, the stream wraps around."""
        places = (np.asarray(windows)[:, None] * seq_len + np.arange(seq_len + 1)) % len(self.tokens)
        return self.tokens[places], [np.flatnonzero(row).astype(np.int32) for row in self.begins[places]]


class Windows:
    """An endless stream of training batches of (batch, seq_len + 1) tokens; the same seed gives the same batches.

    `fim_share` of the documents, drawn anew in each epoch, is rearranged for fill-in-the-middle (`framing.fill_in`); a
    document longer than `fim_section` tokens (default: half a window; 0: never) is first cut at line ends, and each
    section is rearranged separately.  `documents` replaces all learned ones.  `block_tokens`: over how many tokens the
    windows of a document are spread; with more, successive batches are less similar and a block takes longer to build.
    """

    def __init__(
        self,
        source: DocumentSource,
        seq_len: int,
        batch: int,
        seed: int,
        fim_share: float = 0.5,
        *,
        fim_section: int | None = None,
        documents: Sequence[Document] | None = None,
        block_tokens: int | None = None,
    ) -> None:
        _check_sizes(seq_len, batch)
        check_number("fim_share", fim_share, 0.0, 1.0)
        if fim_section is not None and fim_section < 0:
            raise ConfigError(f"fim_section is {fim_section}; it is a number of tokens, or 0 for whole documents.")
        self._source, self._framing = source, Framing(source.tokenizer)
        self._documents = tuple(source.learned_documents if documents is None else documents)
        if not self._documents:
            raise CorpusError("There is nothing to learn: all files are left out or held out.", "Include some files.")
        self.seq_len, self.batch, self.seed = seq_len, batch, seed
        self.fim_share = float(fim_share) if source.tokenizer.has_fim else 0.0
        self.fim_section = max(SHORTEST_SECTION, seq_len // 2) if fim_section is None else fim_section
        self.block_tokens = BLOCK_TOKENS if block_tokens is None else block_tokens
        self.delivered = 0
        self._documents_digest = documents_digest(self._documents)
        self._begin(0)

    def take(self, rows: int | None = None) -> Batch:
        """The next batch, of `rows` windows instead of `batch` if a trainer had to shrink its batches."""
        rows = self.batch if rows is None else rows
        _check_sizes(self.seq_len, rows)
        tokens, starts = [], []
        while (left := rows - len(starts)) > 0:
            if self._window == len(self._order):
                self._next_block()
            chosen = self._order[self._window : self._window + left]
            more, begins = self._stream.batch(chosen, self.seq_len)
            tokens.append(more)
            starts += begins
            self._window += len(chosen)
        self.delivered += rows
        return Batch(np.concatenate(tokens), tuple(starts), np.full(rows, self.seq_len, np.int32))

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        return self.take()

    @property
    def progress(self) -> float:
        """Epochs so far, by tokens (blocks differ in size): 2.5 in the middle of the third."""
        sizes = [sum(document.tokens + FRAME_TOKENS for document in block) for block in self._blocks]
        behind = sum(sizes[: self._block]) + sizes[self._block] * self._window / len(self._order)
        return self.epoch + behind / sum(sizes)

    def state(self) -> dict[str, Any]:
        """The cursor, for JSON."""
        return self._identity() | {
            "epoch": self.epoch,
            "block": self._block,
            "window": self._window,
            "delivered": self.delivered,
        }

    def restore(self, state: dict[str, Any]) -> str:
        """Continue from `state`, with exactly the batches that an uninterrupted run would have had; returns "".

        If the corpus or the settings have changed, starts the next epoch and returns a note that says so. The batch
        size may be another one.
        """
        numbers = [state.get(key) for key in ("version", "epoch", "block", "window", "delivered")]
        if not all(type(number) is int and number >= 0 for number in numbers) or numbers[0] != CURSOR_VERSION:
            raise InputError("The saved position in the corpus is damaged or from another version.", "Start a new run.")
        _, epoch, block, window, delivered = numbers
        identity = self._identity()
        changed = [key for key, value in identity.items() if state.get(key) != value]
        if "tokenizer" in changed:
            raise TokenizerError(
                "The saved position in the corpus belongs to another tokenizer.", "Resume with the model of that run."
            )
        if changed:
            self.delivered = delivered
            self._begin(epoch + 1)
            cause = "The files to learn have" if "documents" in changed else f"Settings ({', '.join(changed)}) have"
            return f"{cause} changed since the run was saved: it continues with a new pass over all files."
        before = self.epoch, self._block, self._window
        self._begin(epoch, block)
        if block >= len(self._blocks) or window > len(self._order):
            self._begin(*before[:2])
            self._window = before[2]
            raise InputError("The saved position in the corpus is damaged: it is past the end.", "Start a new run.")
        self._window, self.delivered = window, delivered
        return ""

    def _identity(self) -> dict[str, Any]:
        """What must not change for a cursor to be valid."""
        return {
            "version": CURSOR_VERSION,
            "tokenizer": self._source.tokenizer.digest,
            "documents": self._documents_digest,
            "seed": self.seed,
            "seq_len": self.seq_len,
            "fim_share": self.fim_share,
            "fim_section": self.fim_section,
            "block_tokens": self.block_tokens,
        }

    def _begin(self, epoch: int, block: int = 0) -> None:
        """Distribute the documents of an epoch over blocks, and build one block."""
        self.epoch = epoch
        drawn = sorted((draw(self.seed, epoch, each.path).order, place) for place, each in enumerate(self._documents))
        self._blocks: list[list[Document]] = []
        room = 0
        for _, place in drawn:
            document = self._documents[place]
            if room <= 0:
                self._blocks.append([])
                room = self.block_tokens
            self._blocks[-1].append(document)
            room -= document.tokens + FRAME_TOKENS
        self._build(block)

    def _next_block(self) -> None:
        if self._block + 1 < len(self._blocks):
            self._build(self._block + 1)
        else:
            self._begin(self.epoch + 1)

    def _build(self, block: int) -> None:
        self._block, self._window = block, 0
        documents = self._blocks[block] if block < len(self._blocks) else []
        parts = self._arranged(documents)
        self._stream = _Stream.join(parts) if parts else _Stream(np.empty(0, np.int32), np.empty(0, bool))
        count = -(-len(self._stream.tokens) // self.seq_len)
        self._order = _shuffled(count, draw(self.seed, self.epoch, "", block + 1).order)

    def _arranged(self, documents: list[Document]) -> list[np.ndarray]:
        """The tokens of `documents` with path and separators, some of them rearranged for fill-in-the-middle."""
        tokenizer, framing = self._source.tokenizer, self._framing
        framing.prepare(document.path for document in documents)
        # The tokenizer is called once, for all parts of all rearranged documents.
        plain: list[np.ndarray | None] = []
        owners: list[str] = []
        texts: list[str] = []
        for document in documents:
            content = self._source.document_tokens(document)
            if draw(self.seed, self.epoch, document.path).fim >= self.fim_share:
                plain.append(framing.document(document.path, content))
                continue
            parts = sections(tokenizer.decode(content), tokenizer.byte_lengths[content], self.fim_section)
            for number, section in enumerate(parts):
                plain.append(None)
                owners.append(document.path)
                texts += cut(section, draw(self.seed, self.epoch, document.path, number).cuts)
        ids = iter(tokenizer.encode_batch(texts))
        filled = iter([framing.fill_in(path, next(ids), next(ids), next(ids)) for path in owners])
        return [next(filled) if part is None else part for part in plain]


class HeldOutWindows:
    """Held-out documents in path order, never rearranged; every iteration gives the same batches.

    Every token but the first is counted as a target exactly once.  All batches have `batch` rows; rows that fill up the
    last one do not count.  `limit`: use only this many windows, evenly spread, for a quick measurement.  `documents`
    replaces everything held out.
    """

    def __init__(
        self,
        source: DocumentSource,
        seq_len: int,
        batch: int,
        *,
        limit: int | None = None,
        documents: Sequence[Document] | None = None,
    ) -> None:
        _check_sizes(seq_len, batch)
        self.seq_len, self.batch = seq_len, batch
        framing = Framing(source.tokenizer)
        documents = source.held_out_documents if documents is None else documents
        framing.prepare(document.path for document in documents)
        parts = [framing.document(document.path, source.document_tokens(document)) for document in documents]
        self._stream = _Stream.join(parts) if parts else _Stream(np.empty(0, np.int32), np.empty(0, bool))
        self._targets = max(0, len(self._stream.tokens) - 1)
        count = -(-self._targets // seq_len)
        chosen = count if limit is None else min(limit, count)
        self.chosen = tuple(place * count // chosen for place in range(chosen))
        """The numbers of the windows used: window n has the targets n * seq_len + 1 and on of all documents joined."""

    def __len__(self) -> int:
        """Batches."""
        return -(-len(self.chosen) // self.batch)

    def __iter__(self) -> Iterator[Batch]:
        for begin in range(0, len(self.chosen), self.batch):
            chosen = self.chosen[begin : begin + self.batch]
            missing = self.batch - len(chosen)
            counted = [min(self.seq_len, self._targets - window * self.seq_len) for window in chosen] + [0] * missing
            tokens, starts = self._stream.batch([*chosen, *[chosen[0]] * missing], self.seq_len)
            yield Batch(tokens, tuple(starts), np.array(counted, np.int32))


def _check_sizes(seq_len: int, batch: int) -> None:
    if seq_len < 1 or batch < 1:
        raise ConfigError(f"Windows of {seq_len} tokens in batches of {batch} are impossible.", "Use at least 1.")


def _shuffled(count: int, key: int) -> np.ndarray:
    """0 to count - 1 in an order that depends only on `key` (splitmix64 of each, sorted)."""
    with np.errstate(over="ignore"):
        mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")
