"""Which changed files are worth learning: those that the model does not predict well already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from engine.corpus.corpus import Corpus
from engine.corpus.documents import Document
from engine.errors import CorpusError
from engine.model.model import Model
from engine.session.batches import file_losses, measured_windows
from engine.train.evaluation import Evaluation
from engine.train.options import TrainingOptions

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

    A file is known well where its loss is below `skip_below` of the mean loss of held-out code.
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
        rest = [document for document in corpus.held_out_documents if document.path not in paths]
        evaluation = Evaluation(model, [measured_windows(corpus, rest or corpus.held_out_documents, options)])
        while not evaluation.advance():
            pass
        limit = options.skip_below * evaluation.measured[0].loss

        def report(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total, "Measuring changed files")

        losses = file_losses(model, corpus, documents, options.sequence_length, report)
        skipped = [path for path, loss in losses.items() if loss < limit]
    known = set(skipped)
    return Selection(tuple(d for d in documents if d.path not in known), tuple(skipped), unseen, paths)
