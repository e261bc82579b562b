"""Noticing changed files in a folder.  No Qt: the watcher is notified by a call from another thread.

    watchdog's thread ─▶ FolderWatch.notice ─▶ Gathering ─▶ wake() ─▶ the watcher ─▶ take() when `due_in` is 0

Changes are gathered until no more come in, but not for long: an editor writes a file in several steps, switching a
branch writes thousands within a second.  Too many to name are reported as "many", and the whole folder is read again.
Where the system cannot watch (it is out of watches, or it is a network drive), `start` says so and the caller checks
periodically instead.  watchdog silently skips subfolders that it gets no watch for, so whether there are enough is
found by asking for one more.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

QUIET = 0.4  # seconds without a change after which they are reported
LONGEST = 3.0  # seconds after the first change after which they are reported in any case
MOST_NAMED = 500  # paths; beyond that the whole folder is read again
UNSEEN = frozenset({".git", ".hg", ".svn", ".jj"})  # changes by version control are not edits
ONE_MORE = "codecoil-watch-"  # prefix of the folder that one more watch is asked for


@dataclass(frozen=True)
class Changes:
    """Paths that changed, absolute; `many`: too many to name, so everything has to be read."""

    paths: frozenset[str]
    many: bool = False


class Gathering:
    """Collects changes until no more come in.  Any thread may add; tests pass in the clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._first = self._last = 0.0

    def add(self, path: str) -> bool:
        """Note a change; True if it is the first since the last `take`."""
        now = self._clock()
        with self._lock:
            first = not self._paths
            if first:
                self._first = now
            self._last = now
            if len(self._paths) <= MOST_NAMED:
                self._paths.add(path)
            return first

    def due_in(self) -> float | None:
        """Seconds until the changes are to be taken, 0 if now; None if there are none."""
        now = self._clock()
        with self._lock:
            if not self._paths:
                return None
            return max(0.0, min(self._last + QUIET, self._first + LONGEST) - now)

    def take(self) -> Changes:
        """Remove and return all changes so far."""
        with self._lock:
            paths, self._paths = self._paths, set()
        many = len(paths) > MOST_NAMED
        return Changes(frozenset() if many else frozenset(paths), many)


class FolderWatch:
    """Watches a folder with everything in it."""

    def __init__(self, root: Path, wake: Callable[[], None]) -> None:
        """`wake` is called from another thread at the first change after a `take`."""
        self.root = str(root)
        self.gathering = Gathering()
        self._wake = wake
        self._observer = None
        self._folders_came = False  # each takes a watch, and there may be none left

    def start(self) -> str:
        """Start watching; returns why the system cannot, or ""."""
        from watchdog import events
        from watchdog.observers import Observer

        kinds = [
            *(events.FileCreatedEvent, events.FileDeletedEvent, events.FileModifiedEvent, events.FileMovedEvent),
            *(events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent),
        ]
        handler = events.FileSystemEventHandler()
        handler.on_any_event = self._on_event
        observer = None
        try:
            observer = Observer()
            observer.schedule(handler, self.root, recursive=True, event_filter=kinds)
            observer.start()
            _watch_one_more(observer)
        except OSError as error:
            if observer is not None:
                observer.stop()  # releases the watches that it got
            return _cannot(error)
        self._observer = observer
        return ""

    def gap(self) -> str:
        """Why new folders may be unwatched; "" if there are none or all are watched.  Asks at most once."""
        if not self._folders_came or self._observer is None:
            return ""
        self._folders_came = False
        try:
            _watch_one_more(self._observer)
        except OSError as error:
            return _cannot(error)
        return ""

    def stop(self) -> None:
        """Stop watching; waits for the watching thread."""
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()

    def notice(self, path: str) -> None:
        """A path has changed."""
        inner = os.path.relpath(path, self.root) if path != self.root else ""
        parts = Path(inner).parts
        if UNSEEN.intersection(parts) or any(part.startswith(ONE_MORE) for part in parts):
            return
        if self.gathering.add(path):
            self._wake()

    def _on_event(self, event) -> None:
        self._folders_came |= event.is_directory and event.event_type != "deleted"
        for path in (event.src_path, event.dest_path):
            if path:
                self.notice(os.fsdecode(path))


def _watch_one_more(observer) -> None:
    """Raise OSError if the system has no watch left; only Linux limits them."""
    if not sys.platform.startswith("linux"):
        return
    from watchdog.events import FileSystemEventHandler

    with tempfile.TemporaryDirectory(prefix=ONE_MORE) as folder:
        observer.unschedule(observer.schedule(FileSystemEventHandler(), folder, recursive=False))


def _cannot(error: OSError) -> str:
    return f"the system cannot watch the folder ({error.strerror or error})"
