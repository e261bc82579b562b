"""The user's own choices for one repository: learn this, leave that out, this is not a secret.

One JSON file in the data folder, keyed by the repository's path and replaced atomically. A damaged file is never
overwritten: it is renamed first, so that nothing is lost.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from engine.atomic_file import replace_file
from engine.errors import CorpusError

SCHEMA = 1
FILE_NAME = "overrides.json"


class Choice(StrEnum):
    LEARN = "learn"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Overrides:
    """The user's choices: by path, by folder ("a/b", "" for the root) and by language; `with_…` gives changed ones.

    A path takes precedence over its nearest folder, and a folder over the language. A path that the user chose is
    learned for as long as it is text, whatever the rules say; a folder overrides the rules about location, name and
    form, but not those about duplicates and secrets; a language only switches that language on or off.
    """

    paths: dict[str, Choice] = field(default_factory=dict)
    folders: dict[str, Choice] = field(default_factory=dict)
    languages: dict[str, Choice] = field(default_factory=dict)
    not_secrets: frozenset[str] = frozenset()
    """Fingerprints (`secrets.fingerprint`) of lines that the user marked as not a secret."""

    def for_path(self, path: str) -> Choice | None:
        """The choice for this very file or folder."""
        if path.endswith("/"):
            return self.folders.get(path[:-1])
        return self.paths.get(path)

    def for_folder_of(self, path: str) -> Choice | None:
        """The choice for the nearest folder above this path."""
        if not self.folders:
            return None
        folder = path.rstrip("/")
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self.folders:
                return self.folders[folder]
        return None

    def reaches_into(self, folder: str) -> bool:
        """True if something in this folder may be learned by the user's choice, so that a walk must enter it."""
        lead = folder + "/"
        for chosen in (self.paths, self.folders):
            if any(choice is Choice.LEARN and path.startswith(lead) for path, choice in chosen.items()):
                return True
        own = self.for_path(lead)
        return (own or self.for_folder_of(folder)) is Choice.LEARN

    def with_path(self, path: str, choice: Choice | None) -> Overrides:
        """A copy with another choice for one file, or a folder if the path ends with "/" ("./" is the root).

        None removes a choice.
        """
        if path.endswith("/"):
            return replace(self, folders=_changed(self.folders, "" if path == "./" else path[:-1], choice))
        return replace(self, paths=_changed(self.paths, path, choice))

    def with_language(self, language: str, choice: Choice | None) -> Overrides:
        """A copy with another choice for a language; None removes it."""
        return replace(self, languages=_changed(self.languages, language, choice))

    def with_not_secret(self, fingerprint: str, no_secret: bool = True) -> Overrides:
        """A copy in which a line is, or is no longer, marked as not a secret."""
        return replace(
            self, not_secrets=self.not_secrets | {fingerprint} if no_secret else self.not_secrets - {fingerprint}
        )

    def key(self) -> str:
        """A cache key: equal for equal choices, in every process."""
        return hashlib.sha256(_as_json(self).encode()).hexdigest()[:32]


def _changed(choices: dict[str, Choice], key: str, choice: Choice | None) -> dict[str, Choice]:
    rest = {name: value for name, value in choices.items() if name != key}
    return rest if choice is None else rest | {key: choice}


def repository_folder(data_folder: Path, root: Path) -> Path:
    """Where everything about the repository at `root` is stored: data_folder/repositories/<hash of the real path>."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return Path(data_folder) / "repositories" / name


def load_overrides(data_folder: Path, root: Path) -> Overrides:
    """The saved choices, or empty ones; CorpusError (with a remedy) if the file is damaged."""
    path = repository_folder(data_folder, root) / FILE_NAME
    try:
        stored = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Overrides()
    except OSError as error:
        raise CorpusError(
            f"Your choices for {root} cannot be read: {path}: {error.strerror}.",
            "Make the file readable, then try again.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, root, str(error)) from error
    if not isinstance(stored, dict) or not isinstance(stored.get("schema"), int):
        raise _damaged(path, root, "it contains no choices")
    if stored["schema"] > SCHEMA:
        raise CorpusError(
            f"Your choices for {root} were saved by a newer version of Codecoil ({path}).", "Update Codecoil."
        )
    try:
        return Overrides(
            *(
                {str(key): Choice(value) for key, value in stored[name].items()}
                for name in ("paths", "folders", "languages")
            ),
            frozenset(map(str, stored["not_secrets"])),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise _damaged(path, root, f"{type(error).__name__}: {error}") from error


def save_overrides(data_folder: Path, root: Path, overrides: Overrides) -> None:
    """Replace the saved choices atomically; a damaged file is renamed to overrides.json.damaged-N."""
    folder = repository_folder(data_folder, root)
    path = folder / FILE_NAME
    try:
        try:
            load_overrides(data_folder, root)
        except CorpusError:
            os.replace(path, _aside(path))
        replace_file(path, _as_json(overrides, str(root)), mode=0o600)
    except OSError as error:
        raise CorpusError(
            f"Your choices for {root} cannot be saved in {folder}: {error.strerror}.",
            "Free some space or make the folder writable. Your earlier choices are unchanged.",
        ) from error


def _aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside


def _damaged(path: Path, root: Path, why: str) -> CorpusError:
    return CorpusError(
        f"The file with your choices for {root} is damaged: {path}: {why}.",
        "Repair the file, or rename it to start without choices. Saving new choices keeps a copy of it.",
    )


def _as_json(overrides: Overrides, root: str = "") -> str:
    """JSON in ASCII: names that are not UTF-8 hold lone surrogates, which come back only when escaped."""
    document = {
        "schema": SCHEMA,
        "root": root,
        "paths": dict(sorted(overrides.paths.items())),
        "folders": dict(sorted(overrides.folders.items())),
        "languages": dict(sorted(overrides.languages.items())),
        "not_secrets": sorted(overrides.not_secrets),
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"
