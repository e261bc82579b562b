"""The decision about each file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.corpus.overrides import Overrides
from engine.corpus.verdict import FileVerdict, SecretFinding
from engine.corpus.walk import Entry

RULES_VERSION = 1
"""Goes up when the same file may get another verdict: what is remembered under another number is worth nothing."""


class SecretPolicy(StrEnum):
    MASK = "mask"
    LEAVE_OUT = "leave_out"


class HeldOutBy(StrEnum):
    PATH = "path"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True)
class ScanSettings:
    max_bytes: int = 1 << 20
    secret_policy: SecretPolicy = SecretPolicy.MASK
    languages_off: frozenset[str] = frozenset({"csv", "tsv", "svg"})
    near_duplicate_threshold: float = 0.85
    held_out_by: HeldOutBy = HeldOutBy.PATH
    held_out_share: float = 0.10
    held_out_min_files: int = 2
    held_out_min_token_share: float = 0.02

    def key(self) -> str:
        """The same text for equal settings, in every process: for caches."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading one file gave.  `text` is what is learned (notebook cells, secrets masked), None if nothing is;
    a Reading made from a cache has `text=None` too.  `signature` is for `settle_duplicates`, empty if not judged."""

    entry: Entry
    verdict: FileVerdict
    text: str | None = None
    signature: bytes = b""
    secrets: tuple[SecretFinding, ...] = ()


def decide_by_path(entry: Entry, settings: ScanSettings, overrides: Overrides) -> FileVerdict | None:
    """The verdict if the entry alone decides it, None if the file must be read.  Touches no disk."""
    raise NotImplementedError


def decide(entry: Entry, data: bytes, settings: ScanSettings, overrides: Overrides) -> Reading:
    """The verdict by content (before duplicates), for an entry for which decide_by_path gave None."""
    raise NotImplementedError


def read(root: Path, entry: Entry, settings: ScanSettings, overrides: Overrides) -> Reading:
    """decide_by_path, then the file, then decide.  Never raises for a bad file."""
    raise NotImplementedError


def read_all(
    root: Path, entries: Iterable[Entry], settings: ScanSettings, overrides: Overrides, *,
    cancelled: Callable[[], bool] | None = None,
) -> Iterator[Reading]:
    """`read` for many entries, on all cores, in their order.  Stops early when `cancelled()` is true."""
    raise NotImplementedError


def settle_duplicates(readings: Sequence[Reading], settings: ScanSettings, overrides: Overrides) -> list[FileVerdict]:
    """The final verdicts, in the same order: of files with the same bytes and of near-duplicates one is learned.

    Which one does not depend on the order given: no link before a link, then the first path in order.
    """
    raise NotImplementedError
