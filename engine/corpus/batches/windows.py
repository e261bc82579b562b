"""Batches of token windows for the trainer, from the documents of a corpus (`documents.DocumentSource`).

One pass over the corpus (an epoch) is all documents in an order drawn from the seed, in blocks of about 2 Mi tokens:

    documents ── shuffled ──▶ blocks ── joined ──▶ one stream a block ── cut ──▶ windows ── shuffled ──▶ batches

Windows overlap by one token, so each token is a target once a pass. The last window of a block goes on with the block's
beginning; so does a corpus that is smaller than a window. A block depends on nothing but the seed, the epoch and its
documents: a cursor is three numbers, and restoring it builds one block.
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

BLOCK_TOKENS = 1 << 21  # nearly every repository is one; with 2^18 a single large file was all that a run saw for long
FRAME_TOKENS = 16  # about what path and separators take; only for sharing documents out to blocks
SHORTEST_SECTION = 64
CURSOR_VERSION = 1


@dataclass(frozen=True)
class Batch:
    """tokens (b, l + 1) int32; starts: for each row, where in it documents begin; counted (b,) int32: how many of a
    row's targets count, from the left (all, but for the end of the held-out windows)."""

    tokens: np.ndarray
    starts: tuple[np.ndarray, ...]
    counted: np.ndarray

    @property
    def inputs(self) -> np.ndarray:
        """(b, l)."""
        return self.tokens[:, :-1]

    @property
    def targets(self) -> np.ndarray:
        """(b, l), -1 where a target counts for nothing."""
        place = np.arange(self.tokens.shape[1] - 1)
        return np.where(place < self.counted[:, None], self.tokens[:, 1:], np.int32(-1))


@dataclass(frozen=True)
class _Stream:
    """Documents one after the other: tokens (t,), and begins (t,) bool, True where a document does."""

    tokens: np.ndarray
    begins: np.ndarray

    @staticmethod
    def join(parts: list[np.ndarray]) -> _Stream:
        tokens = np.concatenate(parts).astype(np.int32)
        begins = np.zeros(len(tokens), bool)
        begins[np.cumsum([0, *map(len, parts[:-1])])] = True
        return _Stream(tokens, begins)

    def batch(self, windows: Sequence[int], seq_len: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """tokens (len(windows), seq_len + 1) and the starts of each; past its end the stream begins again."""
        places = (np.asarray(windows)[:, None] * seq_len + np.arange(seq_len + 1)) % len(self.tokens)
        return self.tokens[places], [np.flatnonzero(row).astype(np.int32) for row in self.begins[places]]


class Windows:
    """Training windows without end: a batch is (batch, seq_len + 1) tokens; the same seed gives the same batches.

    `fim_share` of the documents is rearranged (`framing.fill_in`), each epoch others; a document longer than
    `fim_section` tokens (half a window unless told, 0 for never) is cut at line ends first and each section rearranged
    by itself.  `documents` takes the place of all learned ones.  `block_tokens`: the windows of a document are spread
    over so many tokens; more makes neighbouring batches less alike, and building a block takes longer.
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
        """The next batch; `rows` windows instead of `batch` where a trainer had to make its batches smaller."""
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
        """Passes over the corpus so far, by tokens (blocks differ in size): 2.5 in the middle of the third."""
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
        """Goes on where `state` was taken: the batches are those of a run that never stopped.

        Gives "" then.  On another corpus, or with other settings, it starts the next epoch and gives a note that says
        so.  The size of a batch may change freely.
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
            cause = "The files to learn changed" if "documents" in changed else f"Other settings ({', '.join(changed)})"
            return f"{cause} since the run was saved: it goes on with a new pass over all of them."
        before = self.epoch, self._block, self._window
        self._begin(epoch, block)
        if block >= len(self._blocks) or window > len(self._order):
            self._begin(*before[:2])
            self._window = before[2]
            raise InputError("The saved position in the corpus is damaged: it is past the end.", "Start a new run.")
        self._window, self.delivered = window, delivered
        return ""

    def _identity(self) -> dict[str, Any]:
        """What has to be the same for a cursor to be exact."""
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
        """Shares the documents of an epoch out to blocks, and builds one."""
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
        """The tokens of `documents` with their frames, some of them rearranged."""
        tokenizer, framing = self._source.tokenizer, self._framing
        framing.prepare(document.path for document in documents)
        # One call to the tokenizer for all parts of all rearranged documents.
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
    """Held-out documents in path order, never rearranged; iterating gives the same batches every time.

    Each token but the very first is a counted target exactly once.  Batches all have `batch` rows: what is missing at
    the end counts for nothing.  `limit` takes that many windows, evenly spread, for a quick measure.  `documents` takes
    the place of everything held out.
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
        self._windows = [place * count // chosen for place in range(chosen)]

    def __len__(self) -> int:
        """Batches."""
        return -(-len(self._windows) // self.batch)

    def __iter__(self) -> Iterator[Batch]:
        for begin in range(0, len(self._windows), self.batch):
            chosen = self._windows[begin : begin + self.batch]
            missing = self.batch - len(chosen)
            counted = [min(self.seq_len, self._targets - window * self.seq_len) for window in chosen] + [0] * missing
            tokens, starts = self._stream.batch([*chosen, *[chosen[0]] * missing], self.seq_len)
            yield Batch(tokens, tuple(starts), np.array(counted, np.int32))


def _check_sizes(seq_len: int, batch: int) -> None:
    if seq_len < 1 or batch < 1:
        raise ConfigError(f"Windows of {seq_len} tokens in batches of {batch} are impossible.", "Use at least 1.")


def _shuffled(count: int, key: int) -> np.ndarray:
    """0 to count - 1 in an order that follows from `key` alone (splitmix64 of each, sorted)."""
    with np.errstate(over="ignore"):
        mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")
