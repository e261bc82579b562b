"""`.coil`: a checkpoint in one file, to hand to a colleague.  An uncompressed zip of its folder, without `resume/`.

The same checkpoint gives the same bytes. What is needed to resume the run is left out: without its data it is useless.

Reading is stricter than `zipfile`: few entries, stored as they are (so that a file cannot be larger than the archive),
plain files with plain names, none twice, one after the other from the first byte to the directory, with nothing
between, before or behind them. All of that is checked before anything is written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import stat
import struct
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.checkpoints.formats.output import export_file
from engine.checkpoints.store.manifest import (
    CARD_FILE,
    MANIFEST_FILE,
    MAX_BYTES,
    RESUME_FOLDER,
    FileRecord,
    Manifest,
    read_manifest,
)
from engine.checkpoints.store.progress import Report, Tally
from engine.checkpoints.store.trained_folder import without_path
from engine.checkpoints.store.writing import Disk, hold, in_words, need_space, remove_tree
from engine.errors import CheckpointError
from engine.safe_reading import DAMAGED, check_file_name, open_plain

SUFFIX = ".coil"
MOMENT = (1980, 1, 1, 0, 0, 0)  # the first that zip knows; a real one would change the bytes
CHUNK = 4 << 20
MOST_ENTRIES, MOST_DIRECTORY = 300, 128 << 10
UTF8_NAMES = 0x0800
END = struct.Struct("<4s4H2LH")
END64_AND_LOCATOR = struct.Struct("<4sQ2H2L4Q4sLQL")
LOCAL = struct.Struct("<4s5H3L2H")
WIDE = struct.Struct("<2H2Q")  # the extra field with sizes that do not fit into four bytes


# ---- writing


def write_bundle(
    out: Path, folder: Path, manifest: Manifest, report: Report | None = None, card: str | None = None
) -> int:
    """The checkpoint in `folder` as one file; its size.  Every file is checked against its hash on the way.

    Of the folder that it was trained on, the manifest in it has only the name.  `card`: the present one, in place of
    that in the folder.
    """
    kept = {name: record for name, record in manifest.files.items() if not name.startswith(f"{RESUME_FOLDER}/")}
    fresh = {} if card is None else {CARD_FILE: card.encode()}
    kept |= {name: FileRecord(hashlib.sha256(data).hexdigest(), len(data)) for name, data in fresh.items()}
    content = dataclasses.replace(without_path(manifest), files=kept).to_json()
    tally = Tally(sum(record.size for record in kept.values()), report)
    with export_file(out) as part:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_info(MANIFEST_FILE, len(content)), content)
            for name in sorted(kept):
                if name in fresh:
                    archive.writestr(_info(name, len(fresh[name])), fresh[name])
                    tally.add(len(fresh[name]))
                    continue
                _add(archive, folder / name, name, kept[name].size, kept[name].sha256, tally)
        return part.stat().st_size


def _info(name: str, size: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, MOMENT)
    info.create_system, info.external_attr, info.file_size = 3, 0o100644 << 16, size
    return info


def _add(archive: zipfile.ZipFile, path: Path, name: str, size: int, sha256: str, tally: Tally) -> None:
    found = hashlib.sha256()
    descriptor = open_plain(path)
    try:
        with archive.open(_info(name, size), "w", force_zip64=size >= zipfile.ZIP64_LIMIT) as entry:
            while chunk := os.read(descriptor, CHUNK):
                found.update(chunk)
                entry.write(chunk)
                tally.add(len(chunk))
    finally:
        os.close(descriptor)
    if found.hexdigest() != sha256:
        raise CheckpointError(f"{path} does not match its manifest: it is damaged.", "Verify the checkpoint.")


# ---- reading


def is_bundle(path: Path) -> bool:
    """Whether a file begins as a zip does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\3\4"
    except OSError:
        return False


class StrictZip:
    """The checked entries of an open archive, by name.  Whatever the bytes are, only CheckpointError comes out."""

    def __init__(self, file: BinaryIO, where: str) -> None:
        self._file, self._where = file, where
        with self._zip_errors():
            self.size = file.seek(0, os.SEEK_END)
            count = self._check_end()
            self._zip = zipfile.ZipFile(file)
            infos = self._zip.infolist()
            place = 0
            for info in sorted(infos, key=lambda one: one.header_offset):
                if info.header_offset != place:
                    raise self._bad("has entries that overlap, or bytes between them")
                place = self._check(info)
            if place != self._zip.start_dir or len(infos) != count:
                raise self._bad("has bytes that belong to no entry")
        self.entries = {info.filename: info for info in infos}
        if len({name.lower() for name in self.entries}) != len(infos):
            raise self._bad("holds a name twice")

    def read(self, name: str, most: int) -> bytes:
        """A small entry."""
        if self.entries[name].file_size > most:
            raise self._bad(f"has a {name} of {self.entries[name].file_size} bytes; the limit is {most}")
        return b"".join(self.chunks(name))

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of an entry; its checksum is checked at the end."""
        with self._zip_errors(), self._zip.open(self.entries[name]) as entry:
            while chunk := entry.read(CHUNK):
                yield chunk

    def _check_end(self) -> int:
        """How many entries the directory has, if it is of a size that a bundle's can be: `zipfile` reads all of it."""
        if self.size < END.size:
            raise self._bad("is not a bundle: it is too short")
        signature, disk, first_disk, here, count, length, _, comment = END.unpack(self._bytes(self.size - END.size, 22))
        if signature != b"PK\5\6" or comment:
            raise self._bad("is not a bundle: it does not end like one")
        if disk or first_disk or here != count or count > MOST_ENTRIES or length > MOST_DIRECTORY:
            raise self._bad(f"claims {count} entries and a directory of {length} bytes")
        at = self.size - END.size - END64_AND_LOCATOR.size
        if at >= 0:  # in an archive beyond 4 GiB, zipfile takes these from another record
            wide = END64_AND_LOCATOR.unpack(self._bytes(at, END64_AND_LOCATOR.size))
            if wide[10] == b"PK\6\7" and (wide[0], *wide[6:9]) != (b"PK\6\6", count, count, length):
                raise self._bad("has a directory that contradicts itself")
        return count

    def _check(self, info: zipfile.ZipInfo) -> int:
        """Where the entry ends, if it is a plain file and its own header says the same as the directory."""
        name = info.filename
        check_file_name(info.orig_filename, "An entry of the bundle")
        if info.flag_bits & 1:
            raise self._bad(f"has {name!a} encrypted")
        if info.flag_bits & ~UTF8_NAMES or info.compress_type != zipfile.ZIP_STORED:
            raise self._bad(f"has {name!a} compressed; a bundle is not")
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise self._bad(f"has {name!a} as a link or a folder")
        _, _, flags, method, _, _, crc, packed, size, n, x = LOCAL.unpack(self._bytes(info.header_offset, LOCAL.size))
        rest = self._bytes(info.header_offset + LOCAL.size, n + x)
        if packed == size == 0xFFFFFFFF and x == WIDE.size:
            _, _, size, packed = WIDE.unpack(rest[n:])
        elif x:
            raise self._bad(f"has more about {name!a} than a bundle has")
        said = (rest[:n], flags, method, crc, size, packed)
        length = info.file_size
        known = (name.encode("ascii"), info.flag_bits, info.compress_type, info.CRC, length, info.compress_size)
        if said != known or size != packed or info.volume or info.comment:
            raise self._bad(f"contradicts itself about {name!a}")
        return info.header_offset + LOCAL.size + n + x + length

    def _bytes(self, at: int, count: int) -> bytes:
        self._file.seek(at)
        data = self._file.read(count)
        if len(data) != count:
            raise self._bad("is cut off")
        return data

    def _bad(self, words: str) -> CheckpointError:
        return CheckpointError(f"{self._where} {words}.", DAMAGED)

    @contextlib.contextmanager
    def _zip_errors(self) -> Iterator[None]:
        """What `zipfile` raises for damaged archives, as our error."""
        try:
            yield
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, OverflowError, RuntimeError, struct.error) as error:
            raise CheckpointError(f"{self._where} cannot be read: {error}.", DAMAGED) from error


@contextlib.contextmanager
def unpacked(path: Path, beside: Path, report: Report | None = None) -> Iterator[tuple[Path, Manifest]]:
    """A bundle as a folder, and its manifest, until the end of the `with`.  `beside`: where the folder is made.

    All names, sizes and the manifest are checked before the first file is written, all hashes before anything is given.
    """
    disk = Disk()
    with open(open_plain(path), "rb") as file:
        archive = StrictZip(file, str(path))
        manifest = _manifest(archive, str(path))
        with in_words(f"{path} cannot be unpacked"):
            need_space(beside, archive.size, f"{path} cannot be unpacked")
            folder = beside / uuid.uuid4().hex
            lock = folder.with_name(f"{folder.name}.lock")  # so that a clean-up of the store knows that this is in use
            held = hold(disk, lock)
            try:
                _unpack(archive, manifest, folder, disk, path, report)
                yield folder, manifest
            finally:
                remove_tree(disk, folder)
                os.close(held)
                remove_tree(disk, lock)


def _manifest(archive: StrictZip, where: str) -> Manifest:
    if MANIFEST_FILE not in archive.entries:
        raise CheckpointError(f"{where} holds no {MANIFEST_FILE}.", "Choose a file that Codecoil exported.")
    manifest = read_manifest(archive.read(MANIFEST_FILE, MAX_BYTES), f"{MANIFEST_FILE} in {where}")
    found = {name: entry.file_size for name, entry in archive.entries.items() if name != MANIFEST_FILE}
    said = {name: record.size for name, record in manifest.files.items()}
    if found != said:
        name = min(set(found.items()) ^ set(said.items()))[0]
        raise CheckpointError(f"{where}: the manifest and the bundle disagree about {name!a}.", DAMAGED)
    return manifest


def _unpack(
    archive: StrictZip, manifest: Manifest, folder: Path, disk: Disk, path: Path, report: Report | None
) -> None:
    tally = Tally(sum(record.size for record in manifest.files.values()), report)
    disk.make_folder(folder)
    for name, record in manifest.files.items():
        found = hashlib.sha256()
        descriptor = disk.create(folder / name)
        try:
            for chunk in archive.chunks(name):
                found.update(chunk)
                view = memoryview(chunk)
                while view:
                    view = view[disk.write(descriptor, view) :]
                tally.add(len(chunk))
        finally:
            os.close(descriptor)
        if found.hexdigest() != record.sha256:
            raise CheckpointError(f"{path}: {name} does not have the hash in its manifest.", DAMAGED)
