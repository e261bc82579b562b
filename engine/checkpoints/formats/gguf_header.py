"""The header of a GGUF file: its keys, and where each tensor is.  The weights themselves are not read.

    magic, version, counts │ key, type, value … │ name, shape, type, offset … │ padding │ data

The `gguf` library reads headers too, but makes NumPy objects of every token of the vocabulary: seconds for each file,
too many for a folder full of them.  Every length is checked against the file before anything is allocated for it;
arrays together may have `MOST_ENTRIES` entries.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import CheckpointError
from engine.safe_reading import DAMAGED, open_plain

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 1 << 22  # the largest vocabularies have 2^18 tokens and twice as many merges
MOST_NAME = 1 << 10  # bytes of the name of a key or a tensor
MOST_DIMENSIONS = 4
STRING, ARRAY = 8, 9
NUMBERS = dict(enumerate("BbHhIif?", start=0)) | {10: "Q", 11: "q", 12: "d"}  # GGUF's types as struct writes them
ALIGNMENT = 32


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor is.  `shape` from the innermost dimension on, as GGUF lists it; `start` in the file, in bytes."""

    name: str
    shape: tuple[int, ...]
    tensor_type: Any  # gguf.GGMLQuantizationType
    start: int
    nbytes: int


@dataclass(frozen=True)
class Header:
    path: Path
    keys: dict[str, Any]
    tensors: dict[str, StoredTensor]

    def data(self, name: str) -> np.ndarray:
        """A tensor, mapped: rows of float32 or float16, or the bytes of rows of any other type."""
        from gguf.quants import quant_shape_to_byte_shape

        tensor = self.tensors[name]
        shape = tuple(reversed(tensor.shape))
        kind = {"F32": np.float32, "F16": np.float16}.get(tensor.tensor_type.name)
        if kind is None:
            kind, shape = np.uint8, quant_shape_to_byte_shape(shape, tensor.tensor_type)
        return np.memmap(self.path, np.dtype(kind).newbyteorder("<"), "r", tensor.start, shape)


def read_header(path: Path) -> Header:
    """The header of a file; one that is cut off, contradicts itself or asks for too much is refused."""
    descriptor = open_plain(path.resolve())
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if not size:
            raise CheckpointError(f"{path} is empty.", DAMAGED)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            try:
                return _Cursor(mapped).header(path, size)
            except (struct.error, ValueError, KeyError) as error:  # past the end, no UTF-8, a type that does not exist
                raise CheckpointError(f"{path} is not a GGUF file that can be read: {error}.", DAMAGED) from error


class _Cursor:
    """Reads one value after another; `struct` refuses to read past the end."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped, self._at, self._entries = mapped, 0, 0

    def header(self, path: Path, size: int) -> Header:
        if self._bytes(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin with GGUF")
        if (version := self._number("I")) not in VERSIONS:
            raise ValueError(f"its version is {version}; known are {' and '.join(map(str, VERSIONS))}")
        tensor_count, key_count = self._number("Q"), self._number("Q")
        keys: dict[str, Any] = {}
        for _ in range(key_count):
            name = self._name(keys)
            keys[name] = self._value(self._number("I"))
        infos: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for _ in range(tensor_count):
            name = self._name(infos)
            if (dimensions := self._number("I")) > MOST_DIMENSIONS:
                raise ValueError(f"{name} has {dimensions} dimensions")
            shape = tuple(self._number("Q") for _ in range(dimensions))
            infos[name] = shape, self._number("I"), self._number("Q")
        alignment = keys.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise ValueError(f"its alignment is {alignment}")
        start = -(-self._at // alignment) * alignment
        return Header(path, keys, {name: _tensor(name, *info, start, size) for name, info in infos.items()})

    def _bytes(self, count: int) -> bytes:
        found = self._mapped[self._at : self._at + count]
        if len(found) != count:
            raise ValueError("it is cut off")
        self._at += count
        return found

    def _number(self, kind: str) -> Any:
        (value,) = struct.unpack_from(f"<{kind}", self._mapped, self._at)
        self._at += struct.calcsize(f"<{kind}")
        return value

    def _string(self) -> str:
        return self._bytes(self._number("Q")).decode("utf-8")

    def _name(self, known: dict[str, Any]) -> str:
        length = self._number("Q")
        if length > MOST_NAME or len(known) > MOST_ENTRIES:
            raise ValueError("a name is too long, or there are too many")
        name = self._bytes(length).decode("utf-8")
        if name in known:
            raise ValueError(f"{name!r} appears twice")
        return name

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._number(NUMBERS[kind])
        kind, count = self._number("I"), self._number("Q")
        self._entries += count
        if self._entries > MOST_ENTRIES:
            raise ValueError(f"its lists have more than {MOST_ENTRIES} entries")
        if kind == STRING:
            return [self._string() for _ in range(count)]
        data = self._bytes(count * struct.calcsize(f"<{NUMBERS[kind]}"))
        return list(struct.unpack(f"<{count}{NUMBERS[kind]}", data))


def _tensor(name: str, shape: tuple[int, ...], kind: int, offset: int, start: int, size: int) -> StoredTensor:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    tensor_type = GGMLQuantizationType(kind)
    block, block_bytes = GGML_QUANT_SIZES[tensor_type]
    if not shape or not all(shape) or shape[0] % block:
        raise ValueError(f"{name} has the shape {shape}, of which {tensor_type.name} makes no rows")
    nbytes = math.prod(shape) // block * block_bytes
    if start + offset + nbytes > size:
        raise ValueError(f"{name} lies past the end")
    return StoredTensor(name, shape, tensor_type, start + offset, nbytes)
