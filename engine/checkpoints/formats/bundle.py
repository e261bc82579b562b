"""`.coil`: a checkpoint in one file, to hand to a colleague.  An uncompressed zip of its folder, without `resume/`.

The same checkpoint gives the same bytes. What is needed to continue the run stays at home: nobody else has its data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

from engine.checkpoints.formats.output import export_file
from engine.checkpoints.formats.zip_entries import CHUNK, ZipEntries, plain_name
from engine.checkpoints.store.manifest import MANIFEST_FILE, MAX_BYTES, RESUME_FOLDER, Manifest, read_manifest
from engine.checkpoints.store.progress import Report, Tally
from engine.checkpoints.store.writing import Disk, hold, in_words, need_space, remove_tree
from engine.errors import CheckpointError
from engine.safe_reading import DAMAGED, open_plain

SUFFIX = ".coil"
MOMENT = (1980, 1, 1, 0, 0, 0)  # the first that zip knows; a real one would change the bytes


def write_bundle(out: Path, folder: Path, manifest: Manifest, report: Report | None = None) -> int:
    """The checkpoint in `folder` as one file; its size.  Every file is checked against its hash on its way."""
    kept = {name: record for name, record in manifest.files.items() if not name.startswith(f"{RESUME_FOLDER}/")}
    content = dataclasses.replace(manifest, files=kept).to_json()
    tally = Tally(sum(record.size for record in kept.values()), report)
    with export_file(out) as part:
        with zipfile.ZipFile(part, "x", zipfile.ZIP_STORED) as archive:
            archive.writestr(_info(MANIFEST_FILE, len(content)), content)
            for name in sorted(kept):
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
        raise CheckpointError(f"{path} is not what its manifest says.", "Verify the checkpoint; it is damaged.")


def is_bundle(path: Path) -> bool:
    """Whether a file begins as a zip does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\3\4"
    except OSError:
        return False


@contextlib.contextmanager
def unpacked(path: Path, beside: Path, report: Report | None = None) -> Iterator[tuple[Path, Manifest]]:
    """A bundle as a folder, and its manifest, until the end of the `with`.  `beside`: where the folder is made.

    All names, sizes and the manifest are checked before the first file is written, all hashes before anything is given.
    """
    disk = Disk()
    descriptor = open_plain(path)
    try:
        entries = ZipEntries(descriptor, str(path), plain_name)
        manifest = _manifest(entries, str(path))
        with in_words(f"{path} cannot be unpacked"):
            need_space(beside, entries.size, f"{path} cannot be unpacked")
            folder = beside / uuid.uuid4().hex
            lock = folder.with_name(f"{folder.name}.lock")  # tells a clean-up of the store that this is in use
            held = hold(disk, lock)
            try:
                _unpack(entries, manifest, folder, disk, path, report)
                yield folder, manifest
            finally:
                remove_tree(disk, folder)
                os.close(held)
                remove_tree(disk, lock)
    finally:
        os.close(descriptor)


def _manifest(entries: ZipEntries, where: str) -> Manifest:
    if MANIFEST_FILE not in entries.entries:
        raise CheckpointError(f"{where} holds no {MANIFEST_FILE}.", "Choose a file that Codecoil exported.")
    manifest = read_manifest(entries.read(MANIFEST_FILE, MAX_BYTES), f"{MANIFEST_FILE} in {where}")
    found = {name: entry.size for name, entry in entries.entries.items() if name != MANIFEST_FILE}
    said = {name: record.size for name, record in manifest.files.items()}
    if found != said:
        name = min(set(found.items()) ^ set(said.items()))[0]
        raise CheckpointError(f"{where}: the manifest and the bundle say different things of {name!a}.", DAMAGED)
    return manifest


def _unpack(
    entries: ZipEntries, manifest: Manifest, folder: Path, disk: Disk, path: Path, report: Report | None
) -> None:
    tally = Tally(sum(record.size for record in manifest.files.values()), report)
    disk.make_folder(folder)
    for name, record in manifest.files.items():
        found = hashlib.sha256()
        descriptor = disk.create(folder / name)
        try:
            for chunk in entries.chunks(name):
                found.update(chunk)
                view = memoryview(chunk)
                while view:
                    view = view[disk.write(descriptor, view) :]
                tally.add(len(chunk))
        finally:
            os.close(descriptor)
        if found.hexdigest() != record.sha256:
            raise CheckpointError(f"{path}: {name} does not have the hash that its manifest says.", DAMAGED)
