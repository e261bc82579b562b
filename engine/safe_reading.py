"""Reading files that others wrote: every size, name and nesting is checked before anything is allocated for it.

Whatever the bytes are, only `CheckpointError` comes out of here.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import unicodedata
from pathlib import Path
from typing import Any

from engine.errors import CheckpointError

MAX_NAME, MAX_NAME_BYTES = 120, 240
SURELY_SHALLOW = 256  # brackets that cannot be nested deep enough to do harm; measured after reading, not before
DAMAGED = "The file is damaged or malicious: do not use it."
_READ_ONLY = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK"):  # without the last, opening a pipe would wait for a writer
    _READ_ONLY |= getattr(os, _flag, 0)
_FORBIDDEN = frozenset('<>:"/\\|?*')
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)\Z", re.IGNORECASE)
# Strings, ended or not, and runs of brackets. Possessive, so that no text takes longer than its length.
_NESTING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?|[\[{]+|[\]}]+', re.DOTALL)


# ---- names


def check_name(name: Any, what: str = "The name") -> str:
    """Return the name if every system allows it for a file or folder; refuse it otherwise."""
    if not isinstance(name, str) or not name:
        raise CheckpointError(f"{what} is empty.", "Give it a name.")
    if len(name) > MAX_NAME or len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        raise CheckpointError(f"{what} is longer than {MAX_NAME} characters.", "Choose a shorter one.")
    for character in name:
        if character in _FORBIDDEN or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise CheckpointError(
                f"{what} contains {character!a}, which is not allowed in names.", "Choose another one."
            )
    if name[0].isspace() or name[-1].isspace() or name[-1] == "." or name.startswith(".."):
        raise CheckpointError(f"{what} begins or ends with a character that some systems drop.", "Choose another one.")
    if _DEVICE.match(name.split(".")[0].strip()):
        raise CheckpointError(f"{what} is {name!r}, which is a device name on some systems.", "Choose another one.")
    return name


def check_file_name(name: Any, what: str = "The file") -> str:
    """`check_name` for names inside a checkpoint or a bundle, which are plain ASCII and not hidden."""
    check_name(name, what)
    if not name.isascii() or name.startswith("."):
        raise CheckpointError(f"{what} is called {name!a}, which is not allowed in a checkpoint.", DAMAGED)
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
                f"{path} is a link; links are not followed.", "Copy the file itself there."
            ) from error
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a zero byte in the path
        raise CheckpointError(f"{str(path)!r} is not a valid path.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CheckpointError(f"{path} is not a regular file.", "Copy the file itself there.")
    return descriptor


def read_plain(path: Path, most: int) -> bytes:
    """All of a regular file that holds at most `most` bytes."""
    descriptor = open_plain(path)
    try:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise CheckpointError(f"{path} has {size} bytes; the limit is {most}.", DAMAGED)
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
        raise CheckpointError(f"{where} has {len(data)} bytes; the limit is {most_bytes}.", DAMAGED)
    brackets = data.count(b"{") + data.count(b"[")
    if brackets > SURELY_SHALLOW:
        _check_depth(data, where, most_depth)
    try:
        content = json.loads(
            data.decode("utf-8"), object_pairs_hook=_no_key_twice, parse_constant=_no_constant, parse_float=_finite
        )
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
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number
