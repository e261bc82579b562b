"""The entries of an uncompressed zip file, read more strictly than any zip library does.

Everything is checked before anything is taken out: few entries, stored as they are (so that a file cannot be larger
than the archive), not encrypted, plain files with plain names, none twice, one after the other from the first byte to
the directory, with nothing between, before or behind them. Whatever the bytes are, only `CheckpointError` comes out.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.errors import CheckpointError
from engine.safe_reading import DAMAGED, check_file_name

MOST_ENTRIES, MOST_DIRECTORY = 300, 128 << 10
CHUNK = 4 << 20
UTF8_NAMES, STORED, ZIP64 = 0x0800, 0, 0x0001
END = struct.Struct("<4s4H2LH")
END64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR = struct.Struct("<4sLQL")
CENTRAL = struct.Struct("<4s6H3L5H2L")
LOCAL = struct.Struct("<4s5H3L2H")


@dataclass(frozen=True)
class ZipEntry:
    """A file in the archive: its name, and where its bytes are."""

    name: str
    crc: int
    size: int
    header: int  # where its local header begins
    start: int = 0


class ZipEntries:
    """The checked entries of an open archive, by name."""

    def __init__(self, descriptor: int, where: str, check_name: Callable[[str], None]) -> None:
        """`check_name` refuses names that do not belong in this kind of archive."""
        self._descriptor, self._where = descriptor, where
        self.size = os.fstat(descriptor).st_size
        count, begin, end = self._end()
        entries = [self._located(entry, begin) for entry in self._directory(count, begin, end, check_name)]
        place = 0
        for entry in sorted(entries, key=lambda one: one.header):
            if entry.header != place:
                raise self._bad("has entries that overlap, or bytes between them")
            place = entry.start + entry.size
        if place != begin:
            raise self._bad("has bytes between its last entry and its directory")
        self.entries = {entry.name: entry for entry in entries}

    def read(self, name: str, most: int) -> bytes:
        """A small entry."""
        entry = self.entries[name]
        if entry.size > most:
            raise self._bad(f"has {entry.size} bytes of {name}; at most {most} are read")
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an entry; its checksum is checked at the end."""
        entry = self.entries[name]
        crc, at, end = 0, entry.start, entry.start + entry.size
        while at < end:
            chunk = self._bytes(at, min(CHUNK, end - at))
            crc, at = zlib.crc32(chunk, crc), at + len(chunk)
            yield chunk
        if crc != entry.crc:
            raise self._bad(f"is damaged: the checksum of {name} is not right")

    # ---- inside

    def _bad(self, words: str) -> CheckpointError:
        return CheckpointError(f"{self._where} {words}.", DAMAGED)

    def _bytes(self, at: int, count: int) -> bytes:
        try:
            os.lseek(self._descriptor, at, os.SEEK_SET)
            data = os.read(self._descriptor, count)
        except OSError as error:
            raise CheckpointError(f"{self._where} cannot be read: {error.strerror or error}.") from error
        if len(data) != count:
            raise self._bad("is cut off")
        return data

    def _end(self) -> tuple[int, int, int]:
        """Number of entries, and first and past-the-last byte of the directory."""
        at = self.size - END.size
        if at < 0:
            raise self._bad("is no bundle: it is too short")
        signature, disk, first_disk, here, count, length, begin, comment = END.unpack(self._bytes(at, END.size))
        if signature != b"PK\5\6":
            raise self._bad("is no bundle: it does not end as one")
        if comment or disk or first_disk or here != count:
            raise self._bad("has a comment or parts in other files")
        if count == 0xFFFF or 0xFFFFFFFF in (length, begin):
            at, count, length, begin = self._end64(at)
        if count > MOST_ENTRIES or length > MOST_DIRECTORY:
            raise self._bad(f"claims {count} entries and a directory of {length} bytes, which no checkpoint has")
        if begin + length != at:
            raise self._bad("has a directory that is not where it should be")
        return count, begin, at

    def _end64(self, end: int) -> tuple[int, int, int, int]:
        at = end - LOCATOR.size - END64.size
        if at < 0:
            raise self._bad("is cut off")
        signature, disk, place, disks = LOCATOR.unpack(self._bytes(at + END64.size, LOCATOR.size))
        if signature != b"PK\6\7" or disk or disks != 1 or place != at:
            raise self._bad("has a directory that is not where it should be")
        signature, size, _, _, disk, first, here, count, length, begin = END64.unpack(self._bytes(at, END64.size))
        if signature != b"PK\6\6" or size != END64.size - 12 or disk or first or here != count:
            raise self._bad("has a directory that cannot be")
        return at, count, length, begin

    def _directory(self, count: int, begin: int, end: int, check_name: Callable[[str], None]) -> Iterator[ZipEntry]:
        data, at, names = self._bytes(begin, end - begin), 0, set()
        for _ in range(count):
            if at + CENTRAL.size > len(data):
                raise self._bad("has a directory that is cut off")
            entry, used = self._central(data[at:])
            at += used
            check_name(entry.name)
            if entry.name.lower() in names:
                raise self._bad(f"holds {entry.name!a} twice")
            names.add(entry.name.lower())
            yield entry
        if at != len(data):
            raise self._bad("has bytes in its directory that belong to no entry")

    def _central(self, data: bytes) -> tuple[ZipEntry, int]:
        (signature, _, _, flags, method, _, _, crc, packed, size, n, x, c, disk, _, attributes, header) = (
            CENTRAL.unpack(data[: CENTRAL.size])
        )
        used = CENTRAL.size + n + x + c
        if signature != b"PK\1\2" or used > len(data) or disk:
            raise self._bad("has a directory that cannot be")
        name = self._name(data[CENTRAL.size : CENTRAL.size + n])
        self._check_kind(name, flags, method, attributes >> 16)
        extra = data[CENTRAL.size + n : CENTRAL.size + n + x]
        size, packed, header = self._wide(extra, [size, packed, header])
        if packed != size:
            raise self._bad(f"says two sizes of {name!a}")
        return ZipEntry(name, crc, size, header), used

    def _located(self, entry: ZipEntry, begin: int) -> ZipEntry:
        """An entry with the place of its bytes, if its own header says the same as the directory."""
        if entry.header + LOCAL.size > begin:
            raise self._bad(f"has {entry.name!a} outside of its file")
        signature, _, flags, method, _, _, crc, packed, size, n, x = LOCAL.unpack(self._bytes(entry.header, LOCAL.size))
        start = entry.header + LOCAL.size + n + x
        if signature != b"PK\3\4" or n > 1024 or start + entry.size > begin:
            raise self._bad(f"has {entry.name!a} outside of its file")
        rest = self._bytes(entry.header + LOCAL.size, n + x)
        size, packed = self._wide(rest[n:], [size, packed])
        said = (self._name(rest[:n]), crc, size, packed)
        if said != (entry.name, entry.crc, entry.size, entry.size):
            raise self._bad(f"says two things about {entry.name!a}")
        self._check_kind(entry.name, flags, method, 0)
        return ZipEntry(entry.name, entry.crc, entry.size, entry.header, start)

    def _check_kind(self, name: str, flags: int, method: int, mode: int) -> None:
        if flags & 1:
            raise self._bad(f"has {name!a} encrypted")
        if flags & ~UTF8_NAMES or method != STORED:
            raise self._bad(f"has {name!a} compressed; a bundle is not")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise self._bad(f"has {name!a} as a link or a folder")

    def _name(self, raw: bytes) -> str:
        try:
            return raw.decode("ascii")
        except UnicodeDecodeError as error:
            raise self._bad("has a name that no file of a checkpoint has") from error

    def _wide(self, extra: bytes, values: list[int]) -> list[int]:
        """`values` with those that did not fit into four bytes taken from the extra field, in their order."""
        if 0xFFFFFFFF not in values:
            return values
        at = 0
        while at + 4 <= len(extra):
            kind, length = struct.unpack_from("<2H", extra, at)
            if kind == ZIP64:
                field = extra[at + 4 : at + 4 + length]
                wide = [value for (value,) in struct.iter_unpack("<Q", field[: len(field) // 8 * 8])]
                if len(wide) < values.count(0xFFFFFFFF):
                    break
                return [wide.pop(0) if value == 0xFFFFFFFF else value for value in values]
            at += 4 + length
        raise self._bad("has a size that cannot be")


def plain_name(name: str) -> None:
    """Refuse what is no name of one plain file."""
    check_file_name(name, "An entry of the bundle")
