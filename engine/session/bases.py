"""The checkpoint that a run starts from.  What is not in the store yet is imported once, and recognised later."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.store import CheckpointStore, Facts, Manifest
from engine.corpus.corpus import Corpus
from engine.corpus.repository import Repository
from engine.corpus.tokens.own_tokenizer import own_tokenizer
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError, InputError
from engine.model.config import preset as size_preset
from engine.model.files import CONFIG_FILE
from engine.model.initialise import initial_parameters
from engine.model.starter import starter_folder
from engine.session.plan import SessionPlan, repository_name

Progress = Callable[[int, int, str], None]

STARTER = "starter"
NEW_MODEL_SIZE = "nano"  # of the model that is created if there is nothing to start from


def starter_is_there() -> bool:
    """Whether this program came with a model."""
    return starter_folder() is not None


def base_of(
    store: CheckpointStore, plan: SessionPlan, progress: Progress | None, cancelled: Callable[[], bool] | None
) -> Manifest:
    """The base of a run; where there is none, a new model with a tokenizer made from the repository."""
    base = find_base(store, plan.base or plan.changed_since)
    if base is not None:
        return base
    repository = Repository(plan.root, plan.data_folder)
    repository.list_files(progress, cancelled)
    return new_base(store, own_tokenizer(repository), plan.options.seed, repository_name(plan.root))


def corpus_for(
    store: CheckpointStore,
    base: Manifest,
    plan: SessionPlan,
    corpus: Corpus | None,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> Corpus:
    """The repository, tokenised for a base: `corpus` if it was read with the tokenizer of that base."""
    tokenizer = tokenizer_of(store, base)
    if corpus is not None and corpus.has_tokens and corpus.tokenizer.digest == tokenizer.digest:
        return corpus.with_tokenizer(tokenizer)
    return Repository(plan.root, plan.data_folder, tokenizer).scan(progress, cancelled)


def find_base(store: CheckpointStore, name: str) -> Manifest | None:
    """The checkpoint of that name or id; a Hugging Face folder or the starter model is imported into the store.

    None if nothing is named and there is no starter model.
    """
    if name in ("", STARTER) and (shipped := starter_folder()) is not None:
        return import_checkpoint(store, shipped, STARTER)
    if not name:
        return None
    if (Path(name) / CONFIG_FILE).is_file():
        return import_checkpoint(store, Path(name))
    try:
        return store.get(name)
    except CheckpointError as error:
        if Path(name).is_dir():
            raise InputError(
                f"The folder {name} is not a model: it has no {CONFIG_FILE}.",
                "Choose a folder in Hugging Face format, or a checkpoint.",
            ) from error
        raise


def new_base(store: CheckpointStore, tokenizer: Tokenizer, seed: int, repository: str) -> Manifest:
    """A new small model with this tokenizer, created once and kept in the store as the base of deltas."""
    made_of = {"tokenizer": tokenizer.digest, "size": NEW_MODEL_SIZE, "seed": seed}

    def same(known: Manifest) -> bool:
        return known.mode == "base" and known.data == made_of

    if known := next(filter(same, store.list()), None):
        return known
    config = size_preset(NEW_MODEL_SIZE, tokenizer.vocab_size)
    with tempfile.TemporaryDirectory(prefix="codecoil-") as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(path)
        facts = Facts(name=f"new model for {repository}", mode="base", tags=("base",), data=made_of)
        parameters = dict(initial_parameters(config, seed))
        return store.save(facts, config=config, parameters=parameters, tokenizer=path, same=same)


def tokenizer_of(store: CheckpointStore, base: Manifest) -> Tokenizer:
    """The tokenizer of a checkpoint; refused if it does not match the model."""
    path = store.tokenizer_path(base.id)
    if path is None:
        raise InputError(f"The checkpoint {base.name} has no tokenizer.", "Choose another, or import it with one.")
    tokenizer, config = Tokenizer.load(path), store.config(base.id)
    if not tokenizer.fits(config.vocab_size):
        raise InputError(
            f"The tokenizer of {base.name} has {tokenizer.vocab_size:,} tokens; its model has {config.vocab_size:,}.",
            "Choose a checkpoint that has the tokenizer of its model.",
        )
    return tokenizer
