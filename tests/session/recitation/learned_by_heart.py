"""A repository with lines that occur once, and a model that was trained on them until it knew them by heart."""

from __future__ import annotations

import numpy as np
import pytest

from engine.checkpoints.store import ROOT
from engine.checkpoints.store.loading import opened_checkpoint
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.corpus.batches.windows import Windows
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.config import ModelConfig
from engine.model.step import AdamW
from engine.session.changes import SEEN, seen_files
from engine.session.recitation.canaries import PlantedSource, canaries
from tests.session.small_repository import save_base

CANARIES = 2
STEPS, RATE = 160, 1e-2
BIRDS = ("heron", "plover", "kestrel", "curlew", "dunlin", "siskin")
THINGS = ("lantern", "anchor", "marigold", "thimble", "compass", "bellows")


@pytest.fixture
def birds(repository):
    """The small repository and six files of lines that no other file has."""
    for n, (bird, thing) in enumerate(zip(BIRDS, THINGS, strict=True)):
        lines = [f"def show_{bird}():", f'    say("the {bird}", "{thing}{n}{n + 3}")', "    return None", ""]
        (repository / f"{bird}.py").write_text("\n".join(lines))
    return repository


@pytest.fixture
def base(birds, data_folder):
    data_folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer.train([path.read_text() for path in sorted(birds.glob("*.py"))], 320)
    config = ModelConfig(hidden_size=32, num_hidden_layers=2, vocab_size=tokenizer.vocab_size)
    return save_base(data_folder, tokenizer, "base", config=config)


@pytest.fixture
def store(data_folder):
    return CheckpointStore(data_folder / "checkpoints")


@pytest.fixture
def corpus(birds, base, store, data_folder):
    return Repository(birds, data_folder, Tokenizer.load(store.tokenizer_path(base.id))).scan()


@pytest.fixture
def opened(store, cpu):
    """Models of the store, as an audit opens them."""
    return lambda which: opened_checkpoint(store, which, cpu)


@pytest.fixture
def by_heart(corpus, birds, base, store, opened):
    """A checkpoint that knows the lines about birds that were learned, and two canaries."""
    source = PlantedSource(corpus, canaries(0, CANARIES))
    documents = [d for d in corpus.learned_documents if d.path.removesuffix(".py") in BIRDS] + list(source.planted)
    windows = Windows(source, 64, 4, 0, fim_share=0.0, documents=documents)
    with opened(base.id) as (model, _):
        step = model.training_step("full", 4, 64)
        for number in range(1, STEPS + 1):
            done = step.run(windows.take().tokens, AdamW(learning_rate=RATE), number)()
        step.close()
        assert done.loss < 0.2, "the model has not learned them"
        facts = Facts(
            name="by heart",
            mode="full",
            parents=(base.id,),
            data={ROOT: str(birds), SEEN: seen_files(corpus)},
            options={"seed": 0, "canaries": CANARIES},
        )
        parameters = {name: np.array(model.parameters[name]) for name in model.parameters}
        return store.save(facts, config=model.config, parameters=parameters, tokenizer=store.tokenizer_path(base.id))
