"""Every file of a repository with its verdict: the part of a scan that comes before tokens.

    look_at_all:  walk ─▶ read what is new ─▶ settle duplicates among all
    change:       the same for some paths and the files that resemble them

Results are kept in the `VerdictCache`: an unchanged file is not opened.  Texts that were read stay in memory for the
tokeniser, up to a limit.
"""

from __future__ import annotations

import bisect
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from engine.corpus.reading.duplicate_candidates import Resemblance
from engine.corpus.reading.overrides import Overrides, load_overrides, repository_folder
from engine.corpus.reading.rules import Reading, ScanSettings, decide_by_path, read, read_all, settle_duplicates
from engine.corpus.reading.scan_progress import Watch
from engine.corpus.reading.verdict import FileVerdict, Reason
from engine.corpus.reading.verdict_cache import VerdictCache, stamp_of
from engine.corpus.reading.walk import Entry, source_folder, walk, walk_some

IGNORE_FILES = (".gitignore", ".codecoilignore")
EXCLUDE_FILE = ".git/info/exclude"
KEPT_BYTES = 48 << 20  # of texts between reading and tokenising; the rest is read again
REMEMBER_EVERY = 256  # files; what a kill costs
LARGEST_CLUSTER = 64  # files that resemble a changed one; if there are more, all are compared
CLOCK_TICK = 10_000_000  # nanoseconds in which two writes may leave the same time on a file


@dataclass(frozen=True, slots=True)
class Change:
    """The result of a change: verdicts that may have changed, and the digests of deleted files, by path."""

    verdicts: list[FileVerdict]
    gone: dict[str, str]


class Listing:
    """The files of the folder `root`, by path."""

    def __init__(self, root: Path | str, data_folder: Path | str, settings: ScanSettings) -> None:
        self.root = source_folder(root)
        self.data_folder = Path(data_folder).expanduser().resolve()
        self.settings = settings
        self.overrides = Overrides()
        self.remembered = VerdictCache(repository_folder(self.data_folder, self.root))
        self.readings: dict[str, Reading] = {}
        self.paths: list[str] = []  # in order
        self.like = Resemblance(settings.near_duplicate_threshold)
        self._texts: dict[str, str] = {}
        self._room = KEPT_BYTES
        self._key = ""

    # ── all files ────────────────────────────────────────────────────────────────────────────────────────────────

    def look_at_all(self, watch: Watch) -> Change:
        """List and read the whole folder."""
        source_folder(self.root)  # gone, it is an error and not an empty repository
        self.overrides = load_overrides(self.data_folder, self.root)
        self._key = _settings_key(self.settings, self.overrides)
        stage = "Looking through the folder"
        entries = []
        for entry in walk(self.root, enter_ignored=self.overrides.reaches_into):
            entries.append(entry)
            if len(entries) % 256 == 0:
                watch.step(len(entries), 0, stage)
        watch.step(len(entries), len(entries), stage)
        readings = {reading.verdict.path: reading for reading in self._read(entries, watch)}
        source_folder(self.root)
        watch.step(0, 1, "Comparing files")
        found = list(readings.values())
        verdicts = watch.run(lambda: settle_duplicates(found, self.settings, self.overrides))
        gone = {path: old.verdict.digest for path, old in self.remembered.files.items() if path not in readings}
        self.remembered.forget(gone)
        self.remembered.tidy()
        self.readings = readings
        self.paths = sorted(readings)
        self.like = Resemblance(self.settings.near_duplicate_threshold)
        for path, reading in readings.items():
            if reading.verdict.learn:
                self.like.put(path, reading.verdict.digest, reading.signature)
        watch.step(1, 1, "Comparing files")
        return Change(verdicts, gone)

    def _read(self, entries: Iterable[Entry], watch: Watch, changed: frozenset[str] = frozenset()) -> Iterator[Reading]:
        """The readings of entries, without their texts; from the cache where a file has not changed."""
        own_state = self._own_state()
        unread = []
        for position, entry in enumerate(entries):
            if position % 256 == 0:
                watch.check()
            if own_state and f"{entry.path}/".startswith(own_state):
                continue
            verdict = decide_by_path(entry, self.settings, self.overrides)
            if verdict is not None:
                yield Reading(entry, verdict)
            elif entry.path not in changed and (known := self._known(entry)) is not None:
                yield known
            else:
                unread.append(entry)
        _let_the_clock_tick(unread)
        new: list[Reading] = []
        readings = read_all(self.root, unread, self.settings, self.overrides, cancelled=watch.cancelled)
        try:
            for done, reading in enumerate(readings, 1):
                watch.step(done, len(unread), "Reading files")
                if self.has_vanished(reading):
                    continue
                new.append(self.without_text(reading))
                yield new[-1]
                if len(new) >= REMEMBER_EVERY:
                    batch, new = new, []
                    self.remembered.remember(batch, self._context)
            watch.check()
        finally:
            self.remembered.remember(new, self._context)

    def _known(self, entry: Entry) -> Reading | None:
        known = self.remembered.files.get(entry.path)
        if known is None or known.stamp != stamp_of(entry) or known.context != self._context(entry, known.verdict):
            return None
        return Reading(entry, known.verdict, None, known.signature, known.secrets)

    def _context(self, entry: Entry, verdict: FileVerdict) -> str:
        """Everything but its bytes that decides a file's verdict; a file cached under another context is read again."""
        choices = self.overrides
        chosen = (
            choices.for_path(entry.path),
            choices.for_folder_of(entry.path),
            choices.languages.get(verdict.language),
        )
        return " ".join(map(str, (self._key, *chosen, entry.link, entry.ignored)))

    def _own_state(self) -> str:
        """The data folder as a path inside the root, if it is there: Codecoil's own files must not be learned."""
        if self.data_folder.is_relative_to(self.root) and self.data_folder != self.root:
            return self.data_folder.relative_to(self.root).as_posix() + "/"
        return ""

    # ── some files ───────────────────────────────────────────────────────────────────────────────────────────────

    def change(self, changed_paths: Iterable[Path | str], watch: Watch) -> Change:
        """Read files and folders that were created, changed, deleted or renamed."""
        source_folder(self.root)
        changed = self._relative(changed_paths)
        if "" in changed or not self.readings:
            return self.look_at_all(watch)
        before = {path for change in changed for path in self._known_below(change)}
        entries = walk_some(self.root, changed, enter_ignored=self.overrides.reaches_into)
        readings = list(self._read(entries, watch, frozenset(changed)))
        return self.replace(before.difference(reading.verdict.path for reading in readings), readings)

    def _relative(self, changed_paths: Iterable[Path | str]) -> set[str]:
        """Changed paths as `walk` names them; "" if everything must be listed again."""
        changed = set()
        for given in changed_paths:
            path = os.path.relpath(os.path.join(self.root, given), self.root).replace(os.sep, "/")
            folder, _, name = path.rpartition("/")
            if path == "." or path == EXCLUDE_FILE:
                changed.add("")
            elif not path.startswith("../") and not os.path.isabs(path):
                changed.add(path)
                if name in IGNORE_FILES:
                    changed.add(folder)
        return changed

    def _known_below(self, path: str) -> list[str]:
        """The known files at a path or below it, and the folder itself if it was not entered."""
        start = bisect.bisect_left(self.paths, f"{path}/")
        end = bisect.bisect_left(self.paths, f"{path}0")  # "0" comes after "/"
        return self.paths[start:end] + ([path] if path in self.readings else [])

    def replace(self, gone: set[str], readings: list[Reading]) -> Change:
        """Add readings and remove deleted files, then settle duplicates among the affected files."""
        lost = {path: self.readings[path].verdict.digest for path in gone}
        concerned = gone.union(reading.verdict.path for reading in readings)
        # Those who resembled the old file and those who resemble the new one may get another verdict.
        cluster = self.like.cluster(concerned, LARGEST_CLUSTER)
        for path in gone:
            del self.readings[path]
            del self.paths[bisect.bisect_left(self.paths, path)]
        for path in concerned:
            self.like.drop(path)
        for reading in readings:
            path = reading.verdict.path
            if path not in self.readings:
                bisect.insort(self.paths, path)
            self.readings[path] = reading
            if reading.verdict.learn:
                self.like.put(path, reading.verdict.digest, reading.signature)
        if cluster is not None:
            cluster = self.like.cluster(cluster, LARGEST_CLUSTER + len(concerned))
        settled = self.paths if cluster is None else sorted(cluster.difference(gone))
        found = [self.readings[path] for path in settled]
        self.remembered.forget(gone)
        self.remembered.tidy()
        return Change(settle_duplicates(found, self.settings, self.overrides), lost)

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────

    def without_text(self, reading: Reading) -> Reading:
        """The same without its text, which is kept for `text_at_hand` if there is room."""
        if reading.text is None:
            return reading
        size = sys.getsizeof(reading.text)
        if size <= self._room:
            self._texts[reading.verdict.path] = reading.text
            self._room -= size
        return replace(reading, text=None)

    def text_at_hand(self, path: str) -> str | None:
        return self._texts.get(path)

    def drop_texts(self) -> None:
        self._texts, self._room = {}, KEPT_BYTES

    def read_again(self, path: str) -> Reading:
        """Read a file whose text is no longer in memory.  It may have changed."""
        return read(self.root, self.readings[path].entry, self.settings, self.overrides)

    def has_vanished(self, reading: Reading) -> bool:
        """True for a file that was deleted after its folder was listed."""
        return reading.verdict.reason is Reason.UNREADABLE and not os.path.lexists(self.root / reading.entry.path)


def _settings_key(settings: ScanSettings, overrides: Overrides) -> str:
    """The settings that affect reading a file, so not those of the split and of near-duplicates."""
    usual = ScanSettings()
    relevant = replace(
        settings,
        held_out_by=usual.held_out_by,
        held_out_share=usual.held_out_share,
        held_out_min_files=usual.held_out_min_files,
        held_out_min_token_share=usual.held_out_min_token_share,
        near_duplicate_threshold=usual.near_duplicate_threshold,
    )
    facts = f"{relevant.key()} {sorted(overrides.not_secrets)}"
    return blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _let_the_clock_tick(entries: list[Entry]) -> None:
    """Wait until any later write to these files is sure to change their modification time."""
    age = time.time_ns() - max((entry.mtime_ns for entry in entries), default=0)
    if 0 <= age < CLOCK_TICK:
        time.sleep((CLOCK_TICK - age) / 1e9)
