"""Reading what others wrote: every size, name and nesting is checked before anything is allocated for it.

Nothing but `CheckpointError` comes out of here, whatever the bytes are. Tensors are views of the mapped file: a page is
in memory only once it is looked at.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from engine.errors import CheckpointError, CodecoilError
from engine.model.config import ModelConfig

MAX_NAME, MAX_NAME_BYTES = 120, 240
MAX_HEADER_BYTES = 16 << 20  # of a safetensors file: room for 100,000 tensors
MAX_TENSOR_NAME, MAX_DIMENSIONS, MAX_FILE_BYTES = 512, 8, 1 << 46
MAX_LAYERS, MAX_SIZE = 4096, 1 << 31  # of a model, before its list of parameters is made
SURELY_SHALLOW = 256  # brackets that cannot be nested deep enough to do harm; measured after reading, not before
DAMAGED = "The file is damaged or was made to do harm: do not use it."
DTYPES: dict[str, np.dtype] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U64": np.dtype(np.uint64),
    "U32": np.dtype(np.uint32),
    "U16": np.dtype(np.uint16),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_READ_ONLY = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK"):  # without the last, opening a pipe would wait for a writer
    _READ_ONLY |= getattr(os, _flag, 0)
_FORBIDDEN = frozenset('<>:"/\\|?*')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)\Z", re.IGNORECASE)
# Strings, ended or not, and runs of brackets. Possessive, so that no text takes longer than its length.
_NESTING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]+|[\]}]+', re.DOTALL)


# ---- names


def check_name(name: Any, what: str = "The name") -> str:
    """A name that every system can use for one file or folder, given back; anything else is refused."""
    if not isinstance(name, str) or not name:
        raise CheckpointError(f"{what} is empty.", "Give it a name.")
    if len(name) > MAX_NAME or len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        raise CheckpointError(f"{what} is longer than {MAX_NAME} characters.", "Choose a shorter one.")
    for character in name:
        if character in _FORBIDDEN or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise CheckpointError(f"{what} holds {character!a}, which no name may hold.", "Choose another one.")
    if name[0].isspace() or name[-1].isspace() or name[-1] == "." or name.startswith(".."):
        raise CheckpointError(f"{what} begins or ends in a way that not every system keeps.", "Choose another one.")
    if _DEVICE.match(name.split(".")[0].strip()):
        raise CheckpointError(f"{what} is {name!r}, which is a device on some systems.", "Choose another one.")
    return name


def check_file_name(name: Any, what: str = "The file") -> str:
    """`check_name` for names inside a checkpoint or a bundle, which are plain ASCII and not hidden."""
    check_name(name, what)
    if not name.isascii() or name.startswith("."):
        raise CheckpointError(f"{what} has the name {name!a}, which no file of a checkpoint has.", DAMAGED)
    return name


# ---- files and JSON


def open_plain(path: Path) -> int:
    """A descriptor of a regular file, opened for reading; a link, a folder or a device is refused."""
    try:
        if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise OSError(errno.ELOOP, "")
        descriptor = os.open(path, _READ_ONLY)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise CheckpointError(
                f"{path} is a link; links are not followed.", "Copy the file to its place."
            ) from error
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a zero byte in the path
        raise CheckpointError(f"{str(path)!r} is no path.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CheckpointError(f"{path} is not a plain file.", "Copy the file to its place.")
    return descriptor


def read_plain(path: Path, most: int) -> bytes:
    """All of a regular file that holds at most `most` bytes."""
    descriptor = open_plain(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise CheckpointError(f"{path} has {size} bytes; at most {most} are read.", DAMAGED)
        return read_exactly(descriptor, size, str(path))
    finally:
        os.close(descriptor)


def read_exactly(descriptor: int, size: int, where: str) -> bytes:
    """The next `size` bytes of a file, or words if it has fewer."""
    parts, left = [], size
    try:
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise CheckpointError(f"{where} cannot be read: {error.strerror or error}.") from error
    if left:
        raise CheckpointError(f"{where} is cut off: {left} bytes are missing.", DAMAGED)
    return b"".join(parts)


def parse_json(data: bytes, where: str, most_bytes: int, most_depth: int) -> Any:
    """The value in JSON text: no deeper than `most_depth`, no key twice, nothing that UTF-8 cannot hold."""
    if len(data) > most_bytes:
        raise CheckpointError(f"{where} has {len(data)} bytes; at most {most_bytes} are read.", DAMAGED)
    brackets = data.count(b"{") + data.count(b"[")
    if brackets > SURELY_SHALLOW:
        _check_depth(data, where, most_depth)
    try:
        content = json.loads(data.decode("utf-8"), object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
        if b"\\u" in data:
            json.dumps(content, ensure_ascii=False).encode()  # a lone surrogate
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where} is not valid JSON: {str(error)[:200]}.", DAMAGED) from error
    if most_depth < brackets <= SURELY_SHALLOW and _depth(content) > most_depth:
        raise CheckpointError(f"{where} is nested deeper than {most_depth} levels.", DAMAGED)
    return content


def read_json(path: Path, most_bytes: int = 4 << 20, most_depth: int = 32) -> Any:
    """The value in a JSON file."""
    return parse_json(read_plain(path, most_bytes), str(path), most_bytes, most_depth)


def read_config(path: Path) -> ModelConfig:
    """The configuration in a `config.json`, with sizes that a model can have."""
    keys = read_json(path)
    if not isinstance(keys, dict):
        raise CheckpointError(f"{path} does not hold an object.", DAMAGED)
    return config_from_keys(keys, str(path))


def config_from_keys(keys: dict[str, Any], where: str) -> ModelConfig:
    """`ModelConfig.from_hugging_face` for keys from anywhere."""
    try:
        config = ModelConfig.from_hugging_face(keys)
    except CodecoilError as error:
        raise CheckpointError(f"{where}: {error.message}", error.remedy) from error
    except (TypeError, ValueError, OverflowError, AttributeError, ZeroDivisionError) as error:
        raise CheckpointError(f"{where} is no configuration of a model: {str(error)[:200]}.", DAMAGED) from error
    sizes = (config.hidden_size, config.vocab_size, config.state_size, config.conv_kernel, config.intermediate_size)
    if config.num_hidden_layers > MAX_LAYERS or max(*sizes, config.time_step_rank) > MAX_SIZE:
        raise CheckpointError(f"{where} describes a model of impossible size.", DAMAGED)
    return config


def _check_depth(data: bytes, where: str, most: int) -> None:
    """Measure the nesting from the text, before anything is made of it."""
    depth = 0
    for found in _NESTING.finditer(data):
        first = data[found.start()]
        if first in b"[{":
            depth += found.end() - found.start()
            if depth > most:
                raise CheckpointError(f"{where} is nested deeper than {most} levels.", DAMAGED)
        elif first in b"]}":
            depth -= found.end() - found.start()


def _depth(content: Any) -> int:
    level, depth = [content], 0
    while level := [value for value in level if type(value) in (dict, list)]:
        depth += 1
        level = [inner for value in level for inner in (value.values() if type(value) is dict else value)]
    return depth


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key appears twice")
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


# ---- safetensors


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
        raise CheckpointError(f"The header of {where} is no object.", DAMAGED)
    metadata = content.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"The header of {where} has metadata that are not text.", DAMAGED)
    tensors = {name: _entry(name, described, where) for name, described in content.items()}
    _check_coverage(tensors, file_size - 8 - length, where)
    return TensorHeader(tensors, metadata, 8 + length)


def header_length(first: bytes, file_size: int, where: str) -> int:
    """The length that the first 8 bytes claim, if the file can hold that much."""
    if len(first) < 8 or file_size < 8:
        raise CheckpointError(f"{where} is cut off: it has {file_size} bytes.", DAMAGED)
    length = int.from_bytes(first[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise CheckpointError(f"{where} claims a header of {length} bytes; {MAX_HEADER_BYTES} is the most.", DAMAGED)
    if length < 2 or length > file_size - 8:
        raise CheckpointError(f"{where} claims a header of {length} bytes, but has {file_size}.", DAMAGED)
    return length


def _entry(name: str, described: Any, where: str) -> TensorEntry:
    if not name or len(name) > MAX_TENSOR_NAME or not name.isprintable():
        raise CheckpointError(f"{where} has a tensor with the name {ascii(name)[:80]}.", DAMAGED)
    if not isinstance(described, dict) or described.keys() != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"{where} does not describe its tensor {name!a}.", DAMAGED)
    dtype, shape, offsets = described["dtype"], described["shape"], described["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise CheckpointError(f"{where}: {name!a} is of type {ascii(dtype)[:40]}, which is not known.", DAMAGED)
    if not _whole_numbers(shape) or len(shape) > MAX_DIMENSIONS:
        raise CheckpointError(f"{where}: {name!a} has a shape that cannot be.", DAMAGED)
    if not _whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise CheckpointError(f"{where}: {name!a} has a place that cannot be.", DAMAGED)
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


class TensorFile(Mapping[str, np.ndarray]):
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

    def __iter__(self) -> Iterator[str]:
        return iter(self.header.tensors)

    def __len__(self) -> int:
        return len(self.header.tensors)

    def forget(self, name: str) -> None:
        """Let the system take back the pages of a tensor that has been used; looking at it again reads them again."""
        entry = self.header.tensors[name]
        if self._map is None or not hasattr(self._map, "madvise"):
            return
        page = mmap.PAGESIZE
        first = -(-(self.header.data_start + entry.begin) // page) * page
        last = (self.header.data_start + entry.end) // page * page
        if last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def close(self) -> None:
        """Unmap, as soon as no view is left."""
        self._map = None

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
