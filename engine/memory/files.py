"""A segment on disk, memory-mapped: written completely under a new name, then pointed to.

    memory.json            which segment is valid, its documents, and a checksum of every file and of itself
    <name>.tokens          the arrays of `Segment`
    <name>.order
    <name>.followers
    <name>.names           one line per name: in how many documents, and the name

A killed writer leaves the old segment or the new one; the next writer removes files that nothing points to. If a file
is missing, truncated or damaged, the whole segment counts as missing and is rebuilt from the token cache.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from engine.atomic_file import replace_file
from engine.corpus.reading.disk import is_read_only, locked, refused
from engine.memory.names import Names
from engine.memory.segment import Entry, Segment

MANIFEST = "memory.json"
VERSION = 1
PARTS = ("tokens", "order", "followers")
KEPT_FOR = 600.0  # seconds before files that nothing points to are removed: another program may be writing them


def save_segment(folder: Path, segment: Segment, names: Mapping[bytes, int]) -> str:
    """Make this the folder's segment.  Returns why a read-only folder could not be written to, or ""."""
    name = uuid.uuid4().hex
    try:
        with locked(folder):
            sums = {}
            for part in PARTS:
                array = getattr(segment, part)
                path = folder / f"{name}.{part}"
                array.tofile(path)
                sums[part] = [len(array), array.dtype.str, zlib.crc32(np.ascontiguousarray(array))]
            content = b"".join(b"%d %s\n" % (count, one) for one, count in names.items())
            (folder / f"{name}.names").write_bytes(content)
            sums["names"] = [len(content), "bytes", zlib.crc32(content)]
            entries = [[entry.path, entry.digest, entry.start, entry.count] for entry in segment.entries]
            manifest = {"version": VERSION, "segment": name, "files": sums, "entries": entries}
            manifest["checksum"] = _checksum(manifest)
            replace_file(folder / MANIFEST, json.dumps(manifest), durable=False)
            _sweep(folder, name)
    except OSError as error:
        if not is_read_only(error):
            raise refused(error, folder, "the memory") from error
        return f"The memory could not be saved for next time: {folder} cannot be written to ({error.strerror})."
    return ""


def open_segment(folder: Path) -> tuple[Segment, Names] | None:
    """The folder's segment, mapped; None where there is none, or it is damaged."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes().decode("utf-8", "surrogatepass"))
        if manifest["version"] != VERSION:
            return None
        name, sums = manifest["segment"], manifest["files"]
        arrays = []
        for part in PARTS:
            count, dtype, checksum = sums[part]
            array = np.memmap(folder / f"{name}.{part}", np.dtype(dtype), mode="r").view(np.ndarray)
            if len(array) != count or zlib.crc32(array) != checksum:
                return None
            arrays.append(array)
        entries = tuple(Entry(*entry) for entry in manifest["entries"])
        content = (folder / f"{name}.names").read_bytes()
        if zlib.crc32(content) != sums["names"][2] or _checksum(manifest) != manifest["checksum"]:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing or damaged: it is rebuilt
    return Segment(*arrays, entries), Names(lambda: _names(content))


def size_on_disk(folder: Path) -> int:
    """Bytes of all files in the folder."""
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0


def _checksum(manifest: dict) -> int:
    """Checksum of a whole manifest: a wrong position of a document would otherwise go unnoticed."""
    said = [manifest[key] for key in ("version", "segment", "files", "entries")]
    return zlib.crc32(json.dumps(said).encode("utf-8", "surrogatepass"))


def _names(content: bytes) -> dict[bytes, int]:
    pairs = (line.split(b" ", 1) for line in content.split(b"\n") if line)
    return {name: int(count) for count, name in pairs}


def _sweep(folder: Path, kept: str) -> None:
    """Remove the files of other segments, unless they are so new that another program may be writing them."""
    for path in folder.iterdir():
        if path.suffix[1:] in (*PARTS, "names") and path.stem != kept:
            with contextlib.suppress(OSError):  # mapped elsewhere on Windows: the next writer tries again
                if time.time() - path.stat().st_mtime > KEPT_FOR:
                    path.unlink()
