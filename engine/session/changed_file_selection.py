"""Which changed files are worth learning: those that the model does not predict well already.

How well is well depends on what it is: prose and tables are hard to predict, code is easy. A file is held against the
usual loss of held-out files of its own kind, and of its own language where there are enough of those. One mean over
everything once called a new function known because a manual page was held out.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from engine.corpus.batches.documents import Document
from engine.corpus.corpus import Corpus
from engine.errors import CorpusError
from engine.model.model import Model
from engine.session.batches import file_losses
from engine.train.options import TrainingOptions

ENOUGH_FILES = 2  # of one language to be held against
MOST_PEERS = 16  # held-out files that are measured for one kind or language, evenly spread

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Selection:
    """The changed files of an incremental run: learned, known well and so skipped, and not asked for."""

    learned: tuple[Document, ...] = ()
    skipped: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    paths: frozenset[str] = frozenset()  # of all that changed

    @property
    def note(self) -> str:
        """What a person should know about it."""
        if not self.skipped:
            return ""
        if not self.learned:
            return "The model predicts every changed file well already: there is nothing new to learn."
        return (
            f"{len(self.skipped)} of {len(self.skipped) + len(self.learned)} changed files are predicted well already "
            "and are skipped."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "changed": [document.path for document in self.learned],
            "skipped": list(self.skipped),
            "unseen": list(self.unseen),
            "paths": sorted(self.paths),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any], corpus: Corpus) -> Selection:
        """The same files as they are now; those that are gone are left out."""
        wanted = set(content["changed"])
        learned = tuple(document for document in corpus.learned_documents if document.path in wanted)
        if wanted and not learned:
            raise CorpusError("None of the changed files of this run is learned any more.", "Start a new run.")
        return cls(learned, tuple(content["skipped"]), tuple(content["unseen"]), frozenset(content["paths"]))


def select_changed(
    model: Model,
    corpus: Corpus,
    asked: Sequence[str],
    news: Collection[str],
    options: TrainingOptions,
    progress: Progress | None = None,
) -> Selection:
    """Of the files `asked` for, those to learn; `news` is everything that changed.

    A file is known well where its loss is below `skip_below` of the usual loss of its peers (`_peers`).
    """
    wanted, paths = set(asked), frozenset({*asked, *news})
    unseen = tuple(path for path in news if path not in wanted)
    documents = [document for document in corpus.learned_documents if document.path in wanted]
    if not documents:
        raise CorpusError(
            "No file that changed is learned: there are none, or they are held out or left out.",
            "`codecoil scan` tells what is learned; change something, or train on everything.",
        )
    skipped: list[str] = []
    if options.skip_below:

        def report(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total, "Measuring changed files")

        losses = file_losses(model, corpus, documents, options.sequence_length, report)
        usual = _usual_losses(model, corpus, documents, paths, options)
        skipped = [path for path, loss in losses.items() if loss < options.skip_below * usual[path]]
    known = set(skipped)
    return Selection(tuple(d for d in documents if d.path not in known), tuple(skipped), unseen, paths)


def _usual_losses(
    model: Model, corpus: Corpus, documents: Sequence[Document], changed: Collection[str], options: TrainingOptions
) -> dict[str, float]:
    """For each document, by path, the middle one of its peers' losses; 0 where it has none, so that it is learned."""
    peers = {document.path: _peers(document, corpus, changed) for document in documents}
    measured = {peer.path: peer for group in peers.values() for peer in group}
    losses = file_losses(model, corpus, list(measured.values()), options.sequence_length)
    usual = {}
    for path, group in peers.items():
        known = [losses[peer.path] for peer in group if peer.path in losses]
        usual[path] = statistics.median(known) if known else 0.0
    return usual


def _peers(document: Document, corpus: Corpus, changed: Collection[str]) -> list[Document]:
    """Held-out files to hold a file against: of its kind and language, or of its kind; unchanged ones if there are any.

    Only validation: files that score decide nothing.
    """
    own = corpus.by_path[document.path]
    alike = [each for each in corpus.validation_documents if corpus.by_path[each.path].kind is own.kind]
    alike = [each for each in alike if each.path not in changed] or alike
    same = [each for each in alike if corpus.by_path[each.path].language == own.language]
    found = same if len(same) >= ENOUGH_FILES else alike
    return found[:: max(1, -(-len(found) // MOST_PEERS))]
