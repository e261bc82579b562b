"""The memory of the repository as the window shows it."""

from __future__ import annotations

from dataclasses import dataclass

READING, READY = "reading", "ready"


@dataclass(frozen=True)
class MemoryView:
    """What is remembered of the open repository."""

    tokens: int
    files: int
    bytes: int  # that it takes
    state: str  # READING while files are still being added, then READY
