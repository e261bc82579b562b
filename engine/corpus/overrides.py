"""The user's own choices for one repository."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Choice(StrEnum):
    LEARN = "learn"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Overrides:
    """The user's choices: by path, by folder ("a/b", "" for the root) and by language.  The nearest one wins."""

    paths: dict[str, Choice] = field(default_factory=dict)
    folders: dict[str, Choice] = field(default_factory=dict)
    languages: dict[str, Choice] = field(default_factory=dict)
    not_secrets: frozenset[str] = frozenset()
    """Fingerprints of lines that the user said hold no secret."""

    def for_path(self, path: str) -> Choice | None: ...
    def for_folder_of(self, path: str) -> Choice | None: ...
    def reaches_into(self, folder: str) -> bool: ...
    def key(self) -> str: ...


def repository_folder(data_folder: Path, root: Path) -> Path:
    """Where everything about the repository at `root` is kept: data_folder/repositories/<hash of the resolved root>."""
    raise NotImplementedError


def load_overrides(data_folder: Path, root: Path) -> Overrides:
    """The stored choices, none if nothing is stored; CorpusError (with a remedy) if the file is damaged."""
    raise NotImplementedError


def save_overrides(data_folder: Path, root: Path, overrides: Overrides) -> None:
    """Replace the stored choices, all at once."""
    raise NotImplementedError
