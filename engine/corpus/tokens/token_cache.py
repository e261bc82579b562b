"""Tokens on disk, by content: a text is tokenised once per tokenizer, whatever its path, branch or repository.

    tokens/<tokenizer digest>/0001.u16     the tokens of one text after the other, only ever appended to
    tokens/<tokenizer digest>/0001.index   40 bytes a text: key, place, length, checksum of the tokens, own checksum
    tokens/<tokenizer digest>/lock         held for the length of one append

Tokens are written before the record that points to them.  A kill therefore leaves unreferenced bytes, and at
worst a torn record, which the next writer pads.  A record or tokens whose checksum is wrong count as not there:
the text is tokenised again and the new record, being later, wins.  Indexed bytes are never cut off or moved, so that
other processes may keep them mapped.  Nothing is flushed to the platter: what a power cut takes, checksums notice.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.corpus.reading.disk import is_read_only, locked, refused
from engine.errors import CorpusError

KEY_BYTES = 16
MAGIC = 0x31586B54
RECORD = np.dtype(
    [
        ("magic", "<u4"),
        ("count", "<u4"),
        ("offset", "<u8"),
        ("key", f"V{KEY_BYTES}"),
        ("data_sum", "<u4"),
        ("own_sum", "<u4"),
    ]
)
SHARD_BYTES = 64 << 20  # then a new shard begins
MOST_SHARDS = 32  # then the oldest is dropped: 2 GiB a tokenizer


@dataclass(frozen=True, slots=True)
class Place:
    """Where the tokens of a text are; `offset` in bytes."""

    shard: int
    offset: int
    count: int
    data_sum: int


@dataclass(slots=True)
class Shard:
    """What this process knows of a shard: how much of its index is read, and the mapping of its tokens."""

    file: int = 0  # the inode of its index
    read: int = 0
    mapped: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))


class TokenCache:
    """The tokens of texts under 16-byte keys.  One thread adds; any may read."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        self.folder = Path(folder)
        self.dtype = np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")
        self.note = ""  # why nothing is written to disk, if so
        self._places: dict[bytes, Place] = {}
        self._shards: dict[int, Shard] = {}
        self._whole: set[bytes] = set()  # keys whose tokens have been checked
        self._memory: dict[bytes, np.ndarray] = {}  # for a data folder that cannot be written
        self.refresh()

    def count(self, key: bytes) -> int | None:
        """How many tokens a text has; None if they are not there or damaged."""
        kept = self._memory.get(key)
        if kept is not None:
            return len(kept)
        place = self._places.get(key)
        return place.count if place is not None and self._check(key) else None

    def tokens(self, key: bytes) -> np.ndarray | None:
        """The tokens of a text, mapped and read-only; None if they are not there or damaged."""
        kept = self._memory.get(key)
        if kept is not None:
            return kept
        place = self._places.get(key)
        return self._view(place) if place is not None and self._check(key) else None

    def add(self, texts: Mapping[bytes, np.ndarray]) -> None:
        """Keep the tokens of texts; those that another process has added meanwhile are not written twice."""
        if not texts:
            return
        if self.note:
            self._remember(texts)
            return
        try:
            with locked(self.folder):
                self.refresh()
                self._append({key: tokens for key, tokens in texts.items() if not self._check(key)})
        except OSError as error:
            if not is_read_only(error):
                raise refused(error, self.folder, "the tokens") from error
            self.note = f"Tokens are not cached: {self.folder} is not writable ({error.strerror})."
            self._remember(texts)

    def refresh(self) -> None:
        """Pick up what other processes have added or removed in the meantime."""
        numbers = self._numbers()
        for number in self._shards.keys() - set(numbers):
            self._forget(number)
        for number in numbers:
            self._read_index(number)

    def _remember(self, texts: Mapping[bytes, np.ndarray]) -> None:
        for key, tokens in texts.items():
            self._memory[key] = self._packed(tokens)
            self._memory[key].flags.writeable = False

    def _packed(self, tokens: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(tokens).astype(self.dtype)

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return sorted(int(name[:-6]) for name in names if name.endswith(".index") and name[:-6].isdigit())

    def _index_path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.index"

    def _shard_path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.u{8 * self.dtype.itemsize}"

    def _read_index(self, number: int) -> None:
        """Read the records that are new.  An index that was replaced or truncated is read from its start."""
        shard = self._shards.get(number)
        try:
            with open(self._index_path(number), "rb") as file:
                found = os.fstat(file.fileno())
                if shard is None or found.st_ino != shard.file or found.st_size < shard.read:
                    self._forget(number)
                    shard = self._shards[number] = Shard(found.st_ino)
                file.seek(shard.read)
                content = file.read(found.st_size - shard.read)
            room = os.stat(self._shard_path(number)).st_size
        except OSError:
            return
        whole = len(content) // RECORD.itemsize
        shard.read += whole * RECORD.itemsize
        item = self.dtype.itemsize
        records = np.frombuffer(content, RECORD, count=whole)
        for position, (magic, count, offset, key, data_sum, own_sum) in enumerate(records.tolist()):
            start = position * RECORD.itemsize
            if (
                magic == MAGIC
                and own_sum == zlib.crc32(content[start : start + RECORD.itemsize - 4])
                and offset % item == 0
                and offset + count * item <= room
            ):
                key = bytes(key)
                self._places[key] = Place(number, offset, count, data_sum)
                self._whole.discard(key)

    def _forget(self, number: int) -> None:
        gone = [key for key, place in self._places.items() if place.shard == number]
        for key in gone:
            del self._places[key]
        self._whole.difference_update(gone)
        self._shards.pop(number, None)

    def _check(self, key: bytes) -> bool:
        """True if the tokens are there and whole.  What is damaged is forgotten, so that it is written again."""
        place = self._places.get(key)
        if place is None:
            return False
        if key in self._whole:
            return True
        view = self._view(place)
        if view is None or zlib.crc32(view) != place.data_sum:
            self._places.pop(key, None)
            return False
        self._whole.add(key)
        return True

    def _view(self, place: Place) -> np.ndarray | None:
        end = place.offset + place.count * self.dtype.itemsize
        shard = self._shards.get(place.shard)
        if shard is None:
            return None
        mapped = shard.mapped
        if end > len(mapped):
            # The shard has grown since it was mapped; views of the old mapping stay good.
            try:
                mapped = np.memmap(self._shard_path(place.shard), np.uint8, mode="r").view(np.ndarray)
            except (OSError, ValueError):
                return None
            if end > len(mapped):
                return None
            shard.mapped = mapped
        return mapped[place.offset : end].view(self.dtype)

    def _append(self, texts: dict[bytes, np.ndarray]) -> None:
        """Write tokens, then their records.  The lock is held."""
        if not texts:
            return
        number = self._shard_to_write()
        records = np.zeros(len(texts), RECORD)
        chunks, offset = [], _end_of(self._shard_path(number))
        start = offset
        if padding := -offset % 8:
            chunks.append(bytes(padding))
            offset += padding
        for record, (key, tokens) in zip(records, texts.items(), strict=True):
            if len(key) != KEY_BYTES:
                raise ValueError(f"a key has {KEY_BYTES} bytes")
            packed = self._packed(tokens)
            record["magic"], record["count"], record["offset"] = MAGIC, len(packed), offset
            record["key"], record["data_sum"] = np.void(key), zlib.crc32(packed)
            record["own_sum"] = zlib.crc32(record.tobytes()[:-4])
            chunks.append(packed.tobytes())
            offset += packed.nbytes
        _append_or_undo(self._shard_path(number), b"".join(chunks), start)
        index_end = _end_of(self._index_path(number))
        # A killed writer may have left a torn record; the next ones must be at multiples of the record size.
        torn = bytes(-index_end % RECORD.itemsize)
        _append_or_undo(self._index_path(number), torn + records.tobytes(), index_end)
        self._read_index(number)
        self._whole.update(key for key in texts if key in self._places)

    def _shard_to_write(self) -> int:
        numbers = self._numbers() or [1]
        if _end_of(self._shard_path(numbers[-1])) < SHARD_BYTES:
            return numbers[-1]
        for oldest in numbers[: max(0, len(numbers) + 1 - MOST_SHARDS)]:
            self._forget(oldest)
            for path in (self._index_path(oldest), self._shard_path(oldest)):
                with contextlib.suppress(OSError):  # mapped elsewhere on Windows: the next writer tries again
                    path.unlink()
        return numbers[-1] + 1


def tokens_or_raise(cache: TokenCache, key: bytes, path: str) -> np.ndarray:
    """Tokens that must be in the cache after a scan."""
    tokens = cache.tokens(key)
    if tokens is None:
        raise CorpusError(f"The cached tokens of {path} are missing or damaged.", "Scan the repository again.")
    return tokens


def _end_of(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _append_or_undo(path: Path, content: bytes, end: int) -> None:
    """Append, and truncate again on a failure.  Nothing points beyond `end` yet, so no one is reading there."""
    try:
        with open(path, "ab", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
    except OSError:
        with contextlib.suppress(OSError):
            os.truncate(path, end)
        raise
