"""What is asked of whoever completes for a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from app.language_server.documents import Chunk
from app.server.status import Status

MOST_BEFORE, MOST_AFTER = 1 << 18, 1 << 16  # characters of a file that are sent


@dataclass(frozen=True)
class Suggestion:
    """What to insert, "" for nothing; it stands for `replaces` characters after the cursor."""

    text: str = ""
    replaces: int = 0


Heard = Callable[[Suggestion], None]  # once, from any thread, and it must return at once
Cancel = Callable[[], None]


@dataclass(frozen=True)
class Question:
    """A cursor between two texts.  `edited`: what was edited lately in other files.

    `can_replace`: the suggestion may stand for brackets that the editor has closed behind the cursor.
    """

    prefix: str = field(repr=False)
    suffix: str = field(repr=False)
    path: Path
    edited: tuple[Chunk, ...] = field(default=(), repr=False)
    is_invoked: bool = False
    can_replace: bool = True


class Source(Protocol):
    """Completes for one folder."""

    def ask(self, question: Question, heard: Heard) -> Cancel:
        """The newest question ends those before it."""

    def status(self) -> Status: ...

    def end(self) -> None:
        """Begin to end, without waiting."""

    def join(self, seconds: float) -> None:
        """Wait for the end."""


def windows(prefix: str, suffix: str) -> tuple[str, str]:
    """As much as is sent of a very long file, in whole lines.  The beginning stays where it is while someone types."""
    begin = max(0, len(prefix) - MOST_BEFORE)
    if begin:
        begin = -(-begin // (MOST_BEFORE // 2)) * (MOST_BEFORE // 2)
        begin = prefix.find("\n", begin) + 1
    if len(suffix) > MOST_AFTER:
        suffix = suffix[: suffix.rfind("\n", 0, MOST_AFTER) + 1] or suffix[:MOST_AFTER]
    return prefix[begin:], suffix


def relative(path: Path, root: Path | None) -> str:
    """A path as the repository has it; the bare name of one that is elsewhere."""
    if root is not None and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return path.name
