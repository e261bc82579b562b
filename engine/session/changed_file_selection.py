"""Which changed files are worth learning: those that the model does not predict well already.

What counts as well depends on the kind of file: prose and tables are hard to predict, code is easy. A file is compared
with the median loss of held-out files of its kind, and of its language if there are enough of them. With one mean over
everything, a new function counted as known because a manual page was held out.
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

ENOUGH_FILES = 2  # of one language, to compare with
MOST_PEERS = 16  # held-out files that are measured per kind or language, evenly spread

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Selection:
    """The changed files of an incremental run: learned, skipped because the model knows them, and not requested."""

    learned: tuple[Document, ...] = ()
    skipped: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    paths: frozenset[str] = frozenset()  # of all that changed

    @property
    def note(self) -> str:
        if not self.skipped:
            return ""
        if not self.learned:
            return "The model already predicts every changed file well: there is nothing new to learn."
        total = len(self.skipped) + len(self.learned)
        return f"{len(self.skipped)} of {total} changed files are skipped: the model already predicts them well."

    def to_json(self) -> dict[str, Any]:
        return {
            "changed": [document.path for document in self.learned],
            "skipped": list(self.skipped),
            "unseen": list(self.unseen),
            "paths": sorted(self.paths),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any], corpus: Corpus) -> Selection:
        """The same files as they are now, without those that were deleted."""
        wanted = set(content["changed"])
        learned = tuple(document for document in corpus.learned_documents if document.path in wanted)
        if wanted and not learned:
            raise CorpusError("The changed files of this run are deleted or left out now.", "Start a new run.")
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

    A file is known well if its loss is below `skip_below` times the median loss of its peers (`_peers`).
    """
    wanted, paths = set(asked), frozenset({*asked, *news})
    unseen = tuple(path for path in news if path not in wanted)
    documents = [document for document in corpus.learned_documents if document.path in wanted]
    if not documents:
        raise CorpusError(
            "No changed file can be learned: none has changed, or those that have are held out or left out.",
            "`codecoil scan` lists what is learned. Change something, or train on everything.",
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
    """The median loss of each document's peers, by path; 0 if it has none, so that it is learned."""
    peers = {document.path: _peers(document, corpus, changed) for document in documents}
    measured = {peer.path: peer for group in peers.values() for peer in group}
    losses = file_losses(model, corpus, list(measured.values()), options.sequence_length)
    usual = {}
    for path, group in peers.items():
        known = [losses[peer.path] for peer in group if peer.path in losses]
        usual[path] = statistics.median(known) if known else 0.0
    return usual


def _peers(document: Document, corpus: Corpus, changed: Collection[str]) -> list[Document]:
    """Held-out files to compare a file with: of its kind and language, or of its kind; unchanged ones if possible.

    Only validation files: those that score a model decide nothing.
    """
    own = corpus.by_path[document.path]
    alike = [each for each in corpus.validation_documents if corpus.by_path[each.path].kind is own.kind]
    alike = [each for each in alike if each.path not in changed] or alike
    same = [each for each in alike if corpus.by_path[each.path].language == own.language]
    found = same if len(same) >= ENOUGH_FILES else alike
    return found[:: max(1, -(-len(found) // MOST_PEERS))]
