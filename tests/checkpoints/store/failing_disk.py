"""Disks that fail: at one operation, in one way.

A kill is simulated by an exception that nothing may swallow; from then on the disk does nothing any more, so that no
clean-up runs that a killed process could not have run. A power cut also takes what was written and not yet flushed.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.checkpoints.store.writing import Disk

OPERATIONS = (
    "make_folder", "create", "open_lock", "write", "flush", "flush_folder", "rename", "remove", "remove_folder",
)  # fmt: skip
GROWING = ("make_folder", "create", "write", "flush", "flush_folder", "rename")  # what a full disk refuses


class Killed(BaseException):
    """The end of the process."""


class CountingDisk(Disk):
    """Counts operations and flushes nothing: the tests look at what the system shows, which needs no flush."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self._unflushed: dict[int, set[int]] = {}  # inode of each descriptor that was written to
        self.unflushed: set[int] = set()

    def create(self, path: Path) -> int:
        descriptor = super().create(path)
        self._unflushed[descriptor] = {os.fstat(descriptor).st_ino}
        return descriptor

    def write(self, descriptor: int, data: memoryview) -> int:
        self.unflushed |= self._unflushed[descriptor]
        return super().write(descriptor, data)

    def flush(self, descriptor: int) -> None:
        self.unflushed -= self._unflushed[descriptor]

    def flush_folder(self, path: Path) -> None:
        pass

    def begins(self, name: str) -> None:
        self.done.append(name)

    def ends(self, name: str) -> None:
        pass


class KillingDisk(CountingDisk):
    """Ends the process before, after or in the middle of operation number `at`."""

    def __init__(self, at: int, moment: str) -> None:
        super().__init__()
        self._at, self._moment, self.dead = at, moment, False

    def begins(self, name: str) -> None:
        if self.dead:
            raise Killed
        self.done.append(name)
        if len(self.done) > self._at and (self._moment == "before" or (self._moment == "middle" and name != "write")):
            self._die()

    def write(self, descriptor: int, data: memoryview) -> int:
        middle = len(self.done) > self._at and self._moment == "middle"
        written = super().write(descriptor, data[: len(data) // 2] if middle else data)
        if middle:
            self._die()
        return written

    def ends(self, name: str) -> None:
        if len(self.done) > self._at and self._moment == "after":
            self._die()

    def _die(self) -> None:
        self.dead = True
        raise Killed

    def cut_power(self, folder: Path) -> None:
        """Take half of every file that was not flushed."""
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_ino in self.unflushed:
                os.truncate(path, path.stat().st_size // 2)


class RefusingDisk(CountingDisk):
    """Says `error` at operation number `at`, once or, for what makes files grow, from then on."""

    def __init__(self, at: int, error: int, for_ever: bool) -> None:
        super().__init__()
        self._at, self._error, self._for_ever, self.refused = at, error, for_ever, False

    def begins(self, name: str) -> None:
        self.done.append(name)
        again = self._for_ever and self.refused and name in GROWING
        if len(self.done) == self._at + 1 or again:
            self.refused = True
            raise OSError(self._error, os.strerror(self._error), "somewhere")


def _announced(name: str):
    def operation(self, *arguments):
        self.begins(name)
        result = getattr(super(self.__class__, self), name)(*arguments)
        self.ends(name)
        return result

    return operation


def armed(kind: type[CountingDisk]) -> type[CountingDisk]:
    """A disk class whose operations are all announced to `begins` and `ends`."""
    return type(f"Armed{kind.__name__}", (kind,), {name: _announced(name) for name in OPERATIONS})


ArmedCountingDisk, ArmedKillingDisk, ArmedRefusingDisk = map(armed, (CountingDisk, KillingDisk, RefusingDisk))
