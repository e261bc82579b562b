"""The memory of one repository, kept up to date: a small segment has what the corpus has and the large one has not.

    corpus ─▶ large segment (on disk, mapped)         what was removed or changed since is marked dead
           └▶ small segment (built in milliseconds)   what was added or changed since

When the small one has grown, `merge` builds a new large one; nothing waits for it. Held-out documents are in the memory
too: they are held out for measuring, and left out then (`MemorySnapshot.without`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.corpus import Corpus
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.memory.files import MANIFEST, open_segment, save_segment, size_on_disk
from engine.memory.names import Names, count_names
from engine.memory.segment import Segment, build_segment
from engine.memory.snapshot import MemorySnapshot

FOLDER = "memory"  # in the folder of a repository
SMALL = 1 << 16  # tokens; a small segment of fewer is never worth a merge
SMALL_SHARE = 0.05  # of the large one: fewer are not worth it either
MOST_RECENT = 16  # files remembered as recently edited

Cancelled = Callable[[], bool]


class RepositoryMemory:
    """Belongs to one thread; its snapshots may be used by any."""

    def __init__(self, repository_folder: Path, tokenizer: Tokenizer) -> None:
        """`repository_folder`: where the data about the repository is (`Repository.folder`)."""
        self.folder = Path(repository_folder) / FOLDER / tokenizer.digest
        self.tokenizer = tokenizer
        self.note = ""  # why it could not be saved, if so
        self._large: Segment | None = None
        self._names: Names | None = None
        self._recent: tuple[str, ...] = ()
        self._paths: dict[str, tuple[str, ...]] = {}
        self._needs_merge = False

    @property
    def needs_merge(self) -> bool:
        """Whether enough has changed for `merge` to be worth its seconds."""
        return self._needs_merge

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return size_on_disk(self.folder)

    @property
    def age(self) -> float | None:
        """Seconds since the large segment was written; None where there is none."""
        try:
            return time.time() - (self.folder / MANIFEST).stat().st_mtime
        except OSError:
            return None

    def update(self, corpus: Corpus, cancelled: Cancelled | None = None) -> MemorySnapshot | None:
        """The memory of `corpus` as it is now; None if cancelled."""
        documents = [*corpus.learned_documents, *corpus.held_out_documents]
        self._note_edits(documents)
        if self._large is None:
            opened = open_segment(self.folder)
            if opened is None:
                return self.merge(corpus, cancelled)
            self._large, self._names = opened
        wanted = {(document.path, document.digest): document for document in documents}
        dead, gone = np.empty(0, np.uint8), []
        for entry in self._large.entries:
            if wanted.pop((entry.path, entry.digest), None) is None:
                if not len(dead):
                    dead = np.zeros(len(self._large.tokens), np.uint8)
                dead[entry.start : entry.start + entry.count + 1] = 1
                gone.append(self._large.tokens[entry.start : entry.start + entry.count])
        small = self._built(corpus, list(wanted.values()), None)
        self._needs_merge = small.count + sum(map(len, gone)) > max(SMALL, SMALL_SHARE * self._large.count)
        decode = self.tokenizer.decode_bytes
        come = [corpus.document_tokens(document) for document in wanted.values()]
        names = self._names.changed(map(decode, gone), map(decode, come))
        segments = (self._large, small) if small.entries else (self._large,)
        return MemorySnapshot(
            self.tokenizer, segments, (dead, np.empty(0, np.uint8))[: len(segments)], names, self._recent
        )

    def merge(self, corpus: Corpus, cancelled: Cancelled | None = None) -> MemorySnapshot | None:
        """Rebuild and save the large segment; None if cancelled."""
        documents = [*corpus.learned_documents, *corpus.held_out_documents]
        segment = self._built(corpus, documents, cancelled)
        if segment is None:
            return None
        counts = count_names(self.tokenizer.decode_bytes(corpus.document_tokens(document)) for document in documents)
        self.note = save_segment(self.folder, segment, counts)
        self._large, self._names, self._needs_merge = segment, Names(lambda: counts), False
        self._note_edits(documents)
        return MemorySnapshot(self.tokenizer, (segment,), (np.empty(0, np.uint8),), self._names, self._recent)

    def _built(self, corpus: Corpus, documents: list[Document], cancelled: Cancelled | None) -> Segment | None:
        content = [(each.path, each.digest, corpus.document_tokens(each)) for each in documents]
        return build_segment(content, self.tokenizer.vocab_size, cancelled)

    def _note_edits(self, documents: list[Document]) -> None:
        """Files that differ from the last update have been edited; the latest come first."""
        paths: dict[str, tuple[str, ...]] = {}  # a file split by lines has two digests
        for document in documents:
            paths[document.path] = (*paths.get(document.path, ()), document.digest)
        if self._paths:
            edited = [path for path, digests in paths.items() if self._paths.get(path) != digests]
            kept = [path for path in self._recent if path in paths and path not in edited]
            self._recent = (*edited, *kept)[:MOST_RECENT]
        self._paths = paths
