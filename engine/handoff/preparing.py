"""What a session would train on, with which options: all that needs no device, so that the base may be of any size."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.batches.windows import HeldOutWindows, Windows
from engine.corpus.corpus import Corpus
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import ConfigError, CorpusError, InputError
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.own import OwnConfig
from engine.model.selection import selected_rows
from engine.session.bases import base_of, corpus_for
from engine.session.batches import measured_windows, resolved, training_windows
from engine.session.fim_teaching import FimTeaching
from engine.session.origin import Origin
from engine.session.plan import SessionPlan
from engine.session.results import Learned
from engine.session.trained_parts import tokens_to_train
from engine.train.options import TrainingOptions

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class HandoffPlan:
    """A folder to learn elsewhere, and how.

    `base`: as in `SessionPlan`.  `with_memory`: also write what the repository memory knows about held-out tokens.
    """

    root: Path
    data_folder: Path
    options: TrainingOptions
    base: str = ""
    with_memory: bool = False

    def __post_init__(self) -> None:
        if self.options.minutes:
            raise ConfigError(
                "A hand-off cannot end by minutes: how fast the other machine is, nobody knows here.",
                "Set steps or epochs.",
            )


@dataclass(frozen=True, eq=False)
class Prepared:
    """`options`: with steps and learning rate set.  `token_ids`: whose embedding rows are trained besides."""

    id: str
    plan: HandoffPlan
    store: CheckpointStore
    origin: Origin
    corpus: Corpus
    fim: FimTeaching
    options: TrainingOptions
    token_ids: np.ndarray | None
    windows: Windows
    held_out: HeldOutWindows

    @property
    def config(self) -> Architecture:
        return self.origin.config

    @property
    def tokenizer(self) -> Tokenizer:
        return self.corpus.tokenizer

    @property
    def document_end(self) -> int | None:
        """The token across which attention does not look; None where nothing attends."""
        return self.tokenizer.special.end_of_text if self.config.attends else None

    @property
    def learned(self) -> Learned:
        return Learned.from_corpus(self.plan.root, self.corpus)

    def first_embedding(self) -> np.ndarray | None:
        """The embedding as the run begins, if it is not the base's: rows of tokens that are to be taught differ."""
        if not np.setdiff1d(self.fim.ids, self.origin.trained_tokens).size:
            return None
        with self.store.load_parameters(self.origin.base.id) as parameters:
            table = np.array(parameters[self.config.embedding_name])
        self.fim.make_rows_differ(table, self.origin.trained_tokens)
        return table


def prepare(plan: HandoffPlan, held: ExitStack, progress: Progress) -> Prepared:
    """Read the folder, and decide all that a run decides before its first step.

    `held`: the base is not deleted until it is closed.
    """
    store = CheckpointStore(plan.data_folder / "checkpoints")
    session = SessionPlan(plan.root, plan.data_folder, plan.options, plan.base)
    id = uuid.uuid4().hex[:12]
    base = base_of(store, session, progress, None)
    held.enter_context(store.in_use(base.id, id))
    origin = Origin.of(store, base)
    _check_can_leave(origin.config, plan.options)
    corpus = corpus_for(store, base, session, None, progress, None)
    if not corpus.learned_documents:
        raise CorpusError(
            f"There is nothing to learn in {plan.root}.", "`codecoil scan` lists why each file is left out."
        )
    fim = FimTeaching(corpus, plan.options.fim_share > 0)
    options = resolved(plan.options, origin.config.parameter_count, corpus.learned_documents)
    token_ids = tokens_to_train(None, options, origin.config, fim)
    held_out = measured_windows(corpus, corpus.validation_code, options)
    if not held_out.chosen:
        raise InputError("There is no held-out code to measure.", "Choose a folder with more source code.")
    windows = training_windows(fim.corpus, options)
    return Prepared(id, plan, store, origin, corpus, fim, options, token_ids, windows, held_out)


def _check_can_leave(config: Architecture, options: TrainingOptions) -> None:
    """Refuse what another program could not train, or would train differently."""
    if isinstance(config, OwnConfig):
        raise InputError(
            f"transformers does not know {config.model_type} models, so no other program can train this one.",
            "Choose a base of a published family (`codecoil base list`).",
        )
    if config.balance_factor:
        raise InputError(
            "This mixture of experts is trained with a load-balancing term, which train.py does not compute.",
            "Adapt it here with `codecoil train`, or choose another base.",
        )
    selected_rows(config, options.mode, {})  # refuses a mode that has nothing to train in this model
