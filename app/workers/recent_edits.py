"""Recently edited files, for a completion to use.

Only files that are learned anyway: one that the rules or the user exclude is not shown to the model here either, nor
is one in which a secret was found.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.values.completion import EditedFile

MOST_BYTES = 256 * 1024  # of one file
MOST_FILES = 32


def edited_files(corpus, paths: Iterable[str]) -> tuple[EditedFile, ...]:
    """The files of `paths` (absolute), the latest last; without text if a file was deleted or is excluded."""
    secret = {finding.path for finding in corpus.secrets}
    found = []
    for path in paths:
        try:
            name = Path(path).relative_to(corpus.root).as_posix()
        except ValueError:
            continue
        verdict = corpus.by_path.get(name)
        allowed = verdict is not None and verdict.learn and name not in secret
        text, when = _read(Path(path)) if allowed else (None, 0.0)
        found.append((when, EditedFile(name, text)))
    return tuple(each for _, each in sorted(found, key=lambda one: (one[0], one[1].path))[-MOST_FILES:])


def _read(path: Path) -> tuple[str | None, float]:
    from engine.corpus.reading.safe_opening import read_file

    try:
        return read_file(path, MOST_BYTES).decode("utf-8", "replace"), path.stat().st_mtime
    except OSError:
        return None, 0.0
