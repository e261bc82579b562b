"""The results of reading files, kept between scans: an unchanged file is not read again.

    repositories/<hash of the root>/files.journal   a record a file: length, checksum, its facts, its signature
    repositories/<hash of the root>/split.json      on which side of the held-out split every file is
    repositories/<hash of the root>/about.json      which folder this is, and how large: see `known_folders`

The journal is only appended to (a later record of a path wins) and rewritten as a whole when more than half of it is
out of date.  A damaged record is skipped, and the search for the next one continues after it.
`Reading`s from here have no text.
"""

from __future__ import annotations

import contextlib
import json
import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from engine.atomic_file import replace_file, sweep
from engine.corpus.reading.disk import is_read_only, locked, refused
from engine.corpus.reading.kinds import Kind
from engine.corpus.reading.known_folders import FILE_NAME as ABOUT
from engine.corpus.reading.known_folders import KnownFolder, folder_as_json
from engine.corpus.reading.rules import RULES_VERSION, Reading
from engine.corpus.reading.verdict import FileVerdict, Reason, SecretFinding
from engine.corpus.reading.walk import Entry

MAGIC = b"CkF1"
HEADER = struct.Struct("<4sIII")  # magic, bytes of facts, bytes of signature, checksum of both
NAMES = tuple(field.name for field in fields(FileVerdict) if field.name != "path")
REASON, MASKED, KIND = (NAMES.index(name) for name in ("reason", "masked_lines", "kind"))
LARGEST_FACTS = 16 << 20
MOST_STALE = 1000  # records out of date, beyond one a file, before the journal is rewritten
PART_NAMES = ("validation", "scoring")  # in split.json, of the held-out files
FORMAT = f"{RULES_VERSION}/{','.join(NAMES)}"


@dataclass(frozen=True, slots=True)
class Remembered:
    """A file as it was read: `stamp` is size, time and inode, `context` the settings and choices that applied."""

    stamp: tuple[int, int, int]
    context: str
    verdict: FileVerdict
    secrets: tuple[SecretFinding, ...]
    signature: bytes


def stamp_of(entry: Entry) -> tuple[int, int, int]:
    """Changes whenever a file's bytes do."""
    return entry.size, entry.mtime_ns, entry.inode


class VerdictCache:
    """The readings of one repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.note = ""
        self.files: dict[str, Remembered] = {}
        self._stale = 0  # records in the journal that a later one has replaced
        sweep(folder)
        try:
            self._take_in(self.journal.read_bytes())
        except OSError:
            self._stale = 0

    @property
    def journal(self) -> Path:
        return self.folder / "files.journal"

    def remember(self, readings: Iterable[Reading], context: Callable[[Entry, FileVerdict], str]) -> None:
        """Store what was just read, except unreadable files: they may become readable without a new time stamp."""
        records = []
        for reading in readings:
            path = reading.verdict.path
            if reading.verdict.reason is Reason.UNREADABLE:
                continue
            self._stale += path in self.files
            known = Remembered(
                stamp_of(reading.entry),
                context(reading.entry, reading.verdict),
                reading.verdict,
                reading.secrets,
                reading.signature,
            )
            self.files[path] = known
            records.append(_pack(path, known))
        if records:
            self._write(lambda: self._append(b"".join(records)))

    def forget(self, paths: Iterable[str]) -> None:
        """Drop deleted files."""
        gone = [path for path in paths if self.files.pop(path, None) is not None]
        self._stale += 2 * len(gone)
        if gone:
            self._write(lambda: self._append(b"".join(_pack(path, None) for path in gone)))

    def tidy(self) -> None:
        """Rewrite the journal if most of it is out of date."""
        if self._stale > MOST_STALE + len(self.files):
            self._write(self._rewrite)

    def load_sides(self, basis: str) -> tuple[dict[str, bool], dict[str, bool]]:
        """The side of every file (True: held out), and for those held out, whether they are used for scores only.

        Empty if the split was made another way, or is damaged. Before there was a scoring part, nothing was noted
        about it: `held_out_parts` decides then.
        """
        try:
            stored = json.loads((self.folder / "split.json").read_bytes())
            if stored["format"] != 1 or stored["basis"] != basis:
                return {}, {}
            sides = dict.fromkeys(map(str, stored["learned"]), False)
            sides.update(dict.fromkeys(map(str, stored["held_out"]), True))
            scoring = {str(path): side for side in (False, True) for path in stored.get(PART_NAMES[side], ())}
            return sides, scoring
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}, {}

    def save_sides(self, basis: str, sides: dict[str, bool], scoring: dict[str, bool]) -> None:
        stored = {
            "format": 1,
            "basis": basis,
            "held_out": [path for path, held_out in sides.items() if held_out],
            "learned": [path for path, held_out in sides.items() if not held_out],
        }
        for side, name in enumerate(PART_NAMES):
            stored[name] = [path for path, scores in scoring.items() if scores is bool(side) and sides.get(path)]
        self._write(lambda: replace_file(self.folder / "split.json", json.dumps(stored), durable=False))

    def save_about(self, known: KnownFolder) -> None:
        self._write(lambda: replace_file(self.folder / ABOUT, folder_as_json(known), mode=0o600, durable=False))

    def _write(self, write: Callable[[], None]) -> None:
        if self.note:
            return
        try:
            write()
        except OSError as error:
            if not is_read_only(error):
                raise refused(error, self.folder, "the list of files") from error
            self.note = f"The scan result is not saved: {self.folder} is not writable ({error.strerror})."

    def _append(self, content: bytes) -> None:
        with locked(self.folder), open(self.journal, "ab") as file:
            file.write(content)

    def _rewrite(self) -> None:
        with locked(self.folder):
            # Another process may have added to it; a record of its that is lost here is only read again.
            content = b"".join(_pack(path, known) for path, known in self.files.items())
            replace_file(self.journal, content, durable=False)
        self._stale = 0

    def _take_in(self, content: bytes) -> None:
        at = 0
        while (at := content.find(MAGIC, at)) >= 0 and at + HEADER.size <= len(content):
            _, facts, signature, checksum = HEADER.unpack_from(content, at)
            body = at + HEADER.size
            end = body + facts + signature
            if facts <= LARGEST_FACTS and end <= len(content) and zlib.crc32(content[body:end]) == checksum:
                with contextlib.suppress(ValueError, TypeError):  # whole, but of another version
                    self._take(content[body : body + facts], content[body + facts : end])
                at = end
            else:
                at += 1  # damaged: look for the next record behind it

    def _take(self, facts: bytes, signature: bytes) -> None:
        path, stored = json.loads(facts)
        self._stale += path in self.files
        if stored is None:
            self.files.pop(path, None)
            self._stale += 1
            return
        form, stamp, context, values, secrets = stored
        if form == FORMAT_KEY:
            values[REASON] = None if values[REASON] is None else Reason(values[REASON])
            values[MASKED] = tuple(values[MASKED])
            values[KIND] = None if values[KIND] is None else Kind(values[KIND])
            self.files[path] = Remembered(
                tuple(stamp),
                context,
                FileVerdict(path, *values),
                tuple(SecretFinding(*secret) for secret in secrets),
                signature,
            )


_encode = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps would make a new one every time
FORMAT_KEY = zlib.crc32(FORMAT.encode())


def _pack(path: str, known: Remembered | None) -> bytes:
    stored = None
    if known is not None:
        values = [getattr(known.verdict, name) for name in NAMES]
        secrets = [[getattr(secret, field.name) for field in fields(secret)] for secret in known.secrets]
        stored = [FORMAT_KEY, known.stamp, known.context, values, secrets]
    facts = _encode([path, stored]).encode()
    signature = known.signature if known is not None else b""
    return HEADER.pack(MAGIC, len(facts), len(signature), zlib.crc32(facts + signature)) + facts + signature
