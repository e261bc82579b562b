"""Teaching fill-in-the-middle to a base that was never trained to do it.

It learns on three control tokens that nothing uses (`taught_fim`), in every mode: their embedding rows are trained
besides what the mode trains. Its result gets the tokenizer with these roles, and thereby completions that fill in, only
if a trial on held-out code (`fim_trial`) says that this is better; the manifest has the figures either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.corpus import Corpus
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.model import Model
from engine.session.fim_trial import FimTrial

NOISE = 0.15  # of the size of a row's numbers: tokens that were never seen have nearly the same row
SEED = 0
WITHOUT = "Completions with this checkpoint use the text before the cursor only."


@dataclass(frozen=True)
class FimOutcome:
    """The tokenizer of a result, what its manifest says about filling in, and a note for people."""

    tokenizer: Tokenizer
    facts: dict[str, Any]
    note: str


class FimTeaching:
    """What a run teaches of filling in: nothing, if the base knows it, cannot learn it or is not to."""

    def __init__(self, corpus: Corpus, wanted: bool) -> None:
        """What an earlier run has taught is taught further, and tried again, whatever is wanted."""
        self.corpus = corpus  # with the tokenizer that has the roles
        self._without: Tokenizer | None = None  # the tokenizer without them; None if nothing is taught
        self._trial: FimTrial | None = None
        tokenizer = corpus.tokenizer
        if tokenizer.has_taught_fim:
            self._without = tokenizer.without_taught_fim()
        elif wanted and (taught := tokenizer.with_taught_fim()) is not None:
            self.corpus, self._without = corpus.with_tokenizer(taught), tokenizer

    @property
    def is_active(self) -> bool:
        return self._without is not None

    @property
    def ids(self) -> np.ndarray:
        """The ids of the tokens that are taught, ascending."""
        return np.array(sorted(self.corpus.tokenizer.special.fim) if self.is_active else [], np.int32)

    def initialise(self, model: Model, trained: np.ndarray) -> None:
        """Make the rows of the tokens differ; those that were `trained` before stay as they are."""
        if not np.setdiff1d(self.ids, trained).size:
            return
        name = model.config.embedding_name
        table = model.parameters[name]
        self.make_rows_differ(table, trained)
        model.parameters[name] = table

    def make_rows_differ(self, table: np.ndarray, trained: np.ndarray) -> None:
        """`initialise` on an embedding (v, m), in place."""
        new = np.setdiff1d(self.ids, trained)
        if new.size:
            size = np.sqrt(np.mean(np.square(table[new], dtype=np.float64)))
            table[new] += np.random.default_rng(SEED).normal(0.0, NOISE * size, table[new].shape).astype(np.float32)

    def try_out(self, model: Model, documents: Sequence[Document], length: int) -> bool:
        """Measure one batch of held-out `documents`, in rows of `length` tokens; True once nothing is left."""
        if not self.is_active:
            return True
        if self._trial is None:
            self._trial = FimTrial(model, self.corpus, documents, length)
        if not self._trial.finished:
            self._trial.advance()
        return self._trial.finished

    def outcome(self) -> FimOutcome | None:
        """For the result of the run; None if nothing was taught.  Filling in that was not tried is not used."""
        if self._without is None:
            return None
        if self._trial is None or not self._trial.finished:
            return not_measured(self.corpus.tokenizer, "the run was stopped")
        facts, verdict = facts_of(self.corpus.tokenizer), self._trial.verdict()
        if verdict.helps:
            return FimOutcome(self.corpus.tokenizer, facts | {"used": True} | verdict.facts, verdict.words)
        return FimOutcome(self._without, facts | verdict.facts, f"{verdict.words} {WITHOUT}")


def facts_of(taught: Tokenizer) -> dict[str, Any]:
    """For a manifest: which tokens of a tokenizer were taught, and that they are not used."""
    return {"used": False, "tokens": " ".join(taught.without_taught_fim().token(one) for one in taught.special.fim)}


def not_measured(taught: Tokenizer, why: str) -> FimOutcome:
    """Of a run without a trial."""
    note = f"Fill-in-the-middle was not measured, because {why}. {WITHOUT}"
    return FimOutcome(taught.without_taught_fim(), facts_of(taught) | {"reason": "not measured"}, note)
