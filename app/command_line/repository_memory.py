"""The memory of a folder for one command: scanned, updated, and saved for the next time."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.command_line.scan import ProgressBar, plain
from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.corpus.corpus import Corpus
    from engine.corpus.repository import Repository
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.generate.requests import Completion
    from engine.memory import MemorySnapshot, RepositoryMemory


@dataclass(frozen=True, eq=False)
class ScannedFolder:
    """A folder, tokenized by one tokenizer."""

    repository: Repository
    corpus: Corpus


def scan_folder(root: Path, tokenizer: Tokenizer, progress: ProgressBar) -> ScannedFolder:
    from engine.corpus.repository import Repository

    repository = Repository(root, data_folder(), tokenizer)
    return ScannedFolder(repository, repository.scan(progress))


def memory_of(folder: ScannedFolder, progress: ProgressBar) -> tuple[RepositoryMemory, MemorySnapshot]:
    """The memory of the folder as it is now.  If it could not be saved, standard error says why."""
    from engine.memory import RepositoryMemory

    progress(0, 0, "Reading the memory")
    memory = RepositoryMemory(folder.repository.folder, folder.corpus.tokenizer)
    snapshot = memory.update(folder.corpus)
    if memory.needs_merge:
        snapshot = memory.merge(folder.corpus)
    if memory.note:
        progress.clear()
        print(f"codecoil: {memory.note}", file=sys.stderr)
    return memory, snapshot


def source_words(completion: Completion) -> str:
    """`as in src/x.py:41 and 3 more`; "" where the line is nowhere else."""
    if not completion.sources:
        return ""
    first, *others = completion.sources
    more = len(others) + completion.more_sources
    return f"as in {plain(first.path)}:{first.line}" + (f" and {more:,} more" if more else "")
