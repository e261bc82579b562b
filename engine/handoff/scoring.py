"""What a result is measured on: what was held out when it was handed off, as far as it is still the same.

The folder may have moved on since: its newest commits choose other files to hold out, some of which the run has
learned. So the split is the one of then, not that of today.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from engine.checkpoints.store.manifest import Manifest
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.corpus import Corpus
from engine.corpus.repository import Cancelled, corpus_at
from engine.errors import CorpusError
from engine.generate.precision import decode_precision
from engine.handoff.record import Record
from engine.scorecard import Scorecard, ScoreOptions, Subject, held_out_material, kept_measures, score
from engine.session.bases import tokenizer_of
from engine.session.recitation.audit import OpenModel

LEAST_SHARE = 0.5  # of the documents that were reserved for scores
KEPT_PRECISION = "float16"  # in which a large model is kept meanwhile: 16 bits lose nothing measurable
SCORED = "score_loss"  # the metric that every scorecard has

Progress = Callable[[int, int, str], None]


def score_result(
    store: CheckpointStore,
    manifest: Manifest,
    data_folder: Path,
    open_model: OpenModel,
    *,
    known: Corpus | None = None,
    options: ScoreOptions = ScoreOptions(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Scorecard, Scorecard]:
    """The scorecards of an imported result's base and of itself; their figures are kept with it.

    `open_model`: of large models at most KEPT_PRECISION is needed.  `known`: a folder that was read before.
    ScanCancelledError or ScoreCancelledError is raised once `cancelled` answers true.
    """
    ids = manifest.parents[0], manifest.id
    record, tokenizer = Record.load(data_folder, manifest.run), tokenizer_of(store, store.get(ids[0]))
    corpus = corpus_at(folder_of(record), data_folder, tokenizer, known, progress, cancelled)
    corpus = as_handed_off(corpus, record)
    material = held_out_material(corpus, options.cursors, options.seed, options.characters)
    cards = []
    for id in ids:
        name = store.get(id).name
        with open_model(id) as (model, own):
            subject = Subject(name, model, own, precision=decode_precision("float32", model))
            cards.append(score(subject, material, options, _under(name, progress), cancelled))
    store.keep_scores(manifest.id, kept_measures(*cards))
    return cards[0], cards[1]


def is_scored(manifest: Manifest) -> bool:
    """Whether the figures of a scorecard are kept with it."""
    return SCORED in manifest.metrics


def _under(name: str, progress: Progress | None) -> Progress | None:
    """`progress` with the model's name in front."""
    return None if progress is None else lambda done, total, words: progress(done, total, f"{name}: {words}")


def folder_of(record: Record) -> Path:
    """The folder of a hand-off; raises if it is gone."""
    root = record.learned.root
    if not root.is_dir():
        raise CorpusError(f"{root} is not there any more.")
    return root


def as_handed_off(corpus: Corpus, record: Record) -> Corpus:
    """The split of the hand-off, of the documents that are still as they were; all others count as learned.

    Raises if too little is left of what was reserved for scores.
    """
    there = sorted({*corpus.learned_documents, *corpus.held_out_documents}, key=lambda each: (each.path, each.digest))
    held_out = {*record.validation, *record.scoring}
    scoring = tuple(document for document in there if document.digest in record.scoring)
    if len(scoring) < LEAST_SHARE * len(set(record.scoring)):
        raise CorpusError(
            f"{corpus.root} has changed too much since: of {len(set(record.scoring))} files that were reserved for "
            f"scores, {len(scoring)} are still the same."
        )
    return dataclasses.replace(
        corpus,
        learned_documents=tuple(document for document in there if document.digest not in held_out),
        validation_documents=tuple(document for document in there if document.digest in record.validation),
        scoring_documents=scoring,
    )
