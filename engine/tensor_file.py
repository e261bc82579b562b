"""safetensors files, both ways: the checked header, tensors mapped from the file, and the header of a new file.

Tensors are views of the mapped file: a page is loaded when it is first accessed. A large tensor is read in pieces of
rows (`pieces`), and the pages that were read are released.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from engine.errors import CheckpointError
from engine.safe_reading import DAMAGED, open_plain, parse_json, read_exactly

MAX_HEADER_BYTES = 16 << 20  # room for 100,000 tensors
MAX_TENSOR_NAME, MAX_DIMENSIONS, MAX_FILE_BYTES = 512, 8, 1 << 46
PIECE = 8 << 20  # bytes of a large tensor that are taken at once
PIECE_ROWS = 64  # a piece has a multiple of this many rows: it then begins at a place that a device can bind
# In the order in which the safetensors library lays tensors out: the widest first, so that every one is aligned.
DTYPES: dict[str, np.dtype] = {
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F16": np.dtype(np.float16),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_RANK = {name: rank for rank, name in enumerate(DTYPES)}
_NAME_OF_DTYPE = {dtype: name for name, dtype in DTYPES.items()}


# ---- pieces


class TensorSource(Mapping[str, np.ndarray]):
    """Tensors by name: whole, or in pieces of rows, so that a large one need not be in memory at once.

    `items()` releases the memory of a tensor when the next one is requested.
    """

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """The rows of a tensor in order; a piece may be invalid once the next one is requested."""
        yield from row_pieces(self[name])

    def forget(self, name: str) -> None:
        """Release the memory of a tensor; accessing it again reads the disk."""

    def items(self) -> ItemsView[str, np.ndarray]:
        return _PassingItems(self)


class _PassingItems(ItemsView[str, np.ndarray]):
    def __iter__(self) -> Iterator[tuple[str, np.ndarray]]:
        source = self._mapping
        for name in source:
            yield name, source[name]
            source.forget(name)


def pieces_of(tensors: Mapping[str, np.ndarray], name: str) -> Iterator[np.ndarray]:
    """The rows of a tensor in order, from a `TensorSource` or any other mapping."""
    return tensors.pieces(name) if isinstance(tensors, TensorSource) else row_pieces(tensors[name])


def row_pieces(array: np.ndarray) -> Iterator[np.ndarray]:
    """Views of `array` of about PIECE bytes, in order; all of it where it is small."""
    if array.nbytes <= PIECE:
        yield array
        return
    step = piece_rows(array.nbytes // len(array))
    for first in range(0, len(array), step):
        yield array[first : first + step]


def piece_rows(row_bytes: int) -> int:
    """How many rows of this size make up a piece."""
    return max(PIECE // max(row_bytes, 1) // PIECE_ROWS, 1) * PIECE_ROWS


def not_finite(array: np.ndarray) -> int:
    """How many values of `array` are NaN or infinite."""
    return sum(piece.size - int(np.count_nonzero(np.isfinite(piece))) for piece in row_pieces(array))


# ---- reading


@dataclass(frozen=True)
class TensorEntry:
    """A tensor in a file: safetensors' name of its type, its shape, and its bytes counted from the header's end."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class TensorHeader:
    """The checked header of a safetensors file; `data_start` is where the first tensor begins."""

    tensors: dict[str, TensorEntry]
    metadata: dict[str, str]
    data_start: int


def parse_header(start: bytes, file_size: int, where: str) -> TensorHeader:
    """The header of a safetensors file, from its first bytes (8 + the header's length) and the size of the file."""
    length = header_length(start[:8], file_size, where)
    content = parse_json(start[8 : 8 + length], f"The header of {where}", MAX_HEADER_BYTES, 4)
    if not isinstance(content, dict):
        raise CheckpointError(f"The header of {where} is not a JSON object.", DAMAGED)
    metadata = content.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"The header of {where} has metadata that is not text.", DAMAGED)
    tensors = {name: _entry(name, described, where) for name, described in content.items()}
    _check_coverage(tensors, file_size - 8 - length, where)
    return TensorHeader(tensors, metadata, 8 + length)


def header_length(first: bytes, file_size: int, where: str) -> int:
    """The length that the first 8 bytes claim, if the file can hold that much."""
    if len(first) < 8 or file_size < 8:
        raise CheckpointError(f"{where} is cut off: it has {file_size} bytes.", DAMAGED)
    length = int.from_bytes(first[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise CheckpointError(f"{where} claims a header of {length} bytes; the limit is {MAX_HEADER_BYTES}.", DAMAGED)
    if length < 2 or length > file_size - 8:
        raise CheckpointError(f"{where} claims a header of {length} bytes, but has {file_size}.", DAMAGED)
    return length


def _entry(name: str, described: Any, where: str) -> TensorEntry:
    if not name or len(name) > MAX_TENSOR_NAME or not name.isprintable():
        raise CheckpointError(f"{where} has a tensor with an invalid name: {ascii(name)[:80]}.", DAMAGED)
    if not isinstance(described, dict) or described.keys() != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"{where} does not describe its tensor {name!a}.", DAMAGED)
    dtype, shape, offsets = described["dtype"], described["shape"], described["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise CheckpointError(f"{where}: {name!a} has the unknown type {ascii(dtype)[:40]}.", DAMAGED)
    if not _whole_numbers(shape) or len(shape) > MAX_DIMENSIONS:
        raise CheckpointError(f"{where}: {name!a} has an impossible shape.", DAMAGED)
    if not _whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise CheckpointError(f"{where}: {name!a} has an impossible position.", DAMAGED)
    needed = DTYPES[dtype].itemsize * math.prod(shape)
    if needed != offsets[1] - offsets[0]:
        raise CheckpointError(
            f"{where}: {name!a} of shape {shape} needs {needed} bytes; it has {offsets[1] - offsets[0]}.", DAMAGED
        )
    return TensorEntry(dtype, tuple(shape), offsets[0], offsets[1])


def _whole_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int and 0 <= number <= MAX_FILE_BYTES for number in value)


def _check_coverage(tensors: dict[str, TensorEntry], size: int, where: str) -> None:
    """Tensors lie one after the other, from the header's end to the file's: no overlap, no gap, nothing beyond."""
    place = 0
    for name, entry in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != place:
            what = "overlaps the tensor before it" if entry.begin < place else "leaves a gap before it"
            raise CheckpointError(f"{where}: {name!a} {what}.", DAMAGED)
        place = entry.end
        if place > size:
            raise CheckpointError(f"{where} is cut off: {name!a} ends beyond the file.", DAMAGED)
    if place != size:
        raise CheckpointError(f"{where} has {size - place} bytes that belong to no tensor.", DAMAGED)


class TensorFile(TensorSource):
    """A safetensors file, mapped: `file[name]` is a read-only view.  bfloat16 and fp8 have the types of ml_dtypes.

    Views stay valid after `close`; the file is unmapped when the last of them is gone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        descriptor = open_plain(path)
        try:
            size = os.fstat(descriptor).st_size
            first = read_exactly(descriptor, min(size, 8), str(path))
            length = header_length(first, size, str(path))
            header = parse_header(first + read_exactly(descriptor, length, str(path)), size, str(path))
            self._map: mmap.mmap | None = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}.") from error
        finally:
            os.close(descriptor)
        self.header, self.size = header, size

    @property
    def metadata(self) -> dict[str, str]:
        return self.header.metadata

    @property
    def entries(self) -> dict[str, TensorEntry]:
        """Types and shapes, without touching a tensor."""
        return self.header.tensors

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self.header.tensors[name]
        if self._map is None:
            raise CheckpointError(f"{self.path} has been closed.")
        dtype = DTYPES[entry.dtype]
        start = self.header.data_start + entry.begin
        flat = np.frombuffer(self._map, dtype, math.prod(entry.shape), start) if entry.end > entry.begin else None
        return (np.empty(0, dtype) if flat is None else flat).reshape(entry.shape)

    def __contains__(self, name: object) -> bool:  # Mapping's own would read the tensor
        return name in self.header.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.header.tensors)

    def __len__(self) -> int:
        return len(self.header.tensors)

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        array, entry, at = self[name], self.header.tensors[name], 0
        for piece in row_pieces(array):
            yield piece
            self._give_back(entry.begin + at, entry.begin + at + piece.nbytes)
            at += piece.nbytes

    def forget(self, name: str) -> None:
        entry = self.header.tensors[name]
        self._give_back(entry.begin, entry.end)

    def _give_back(self, begin: int, end: int) -> None:
        """Let the system take back the pages of these bytes; looking at them again reads them again."""
        if self._map is None or not hasattr(self._map, "madvise"):
            return
        page = mmap.PAGESIZE
        first = -(-(self.header.data_start + begin) // page) * page
        last = (self.header.data_start + end) // page * page
        if last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def close(self) -> None:
        """Unmap, as soon as no view is left."""
        self._map = None

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- writing


@dataclass(frozen=True)
class NewFile:
    """What a file is to hold: the bytes before the first tensor, and the tensors' names in their order."""

    start: bytes
    order: list[str]
    nbytes: int  # of the whole file


def new_file(described: Mapping[str, tuple[str, tuple[int, ...]]], metadata: Mapping[str, str] | None) -> NewFile:
    """The header for tensors of these types (by safetensors' name) and shapes, as the safetensors library writes it."""
    order = sorted(described, key=lambda name: (_RANK[described[name][0]], name.encode()))
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    place = 0
    for name in order:
        dtype, shape = described[name]
        size = DTYPES[dtype].itemsize * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return NewFile(len(text).to_bytes(8, "little") + text, order, 8 + len(text) + place)


def type_name(name: str, dtype: np.dtype) -> str:
    """safetensors' name of a type; `name` is the tensor, for the message."""
    if dtype not in _NAME_OF_DTYPE:
        raise CheckpointError(f"{name} has the type {dtype}, which safetensors cannot hold.")
    return _NAME_OF_DTYPE[dtype]


def as_float32(array: np.ndarray) -> np.ndarray:
    """Floats of any width, or bfloat16 as uint16 bits, as float32; no copy if it is float32 already."""
    array = np.asarray(array)
    if array.dtype == np.uint16:
        array = array.view(DTYPES["BF16"])
    return array if array.dtype == np.float32 else array.astype(np.float32)
