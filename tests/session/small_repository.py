"""A small repository and a tiny base to adapt to it: a run over them takes a fraction of a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.checkpoints.store.store import CheckpointStore, Facts, Manifest
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.architectures.architecture import Architecture
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters
from engine.session import bases
from engine.train.options import TrainingOptions

__all__ = ["no_starter", "repository", "tiny_base"]

OPTIONS = TrainingOptions(
    mode="full", steps=6, batch_size=2, sequence_length=32, learning_rate=1e-2, warm_up=1, evaluations=3
)
FUNCTION = '''
def {name}_{i}(items, limit={i}):
    """Sum of the first {i} {name}."""
    total = 0
    for item in items[:limit]:
        total += item.{name}
    return total

'''


def write_file(folder: Path, name: str) -> None:
    """A file of code that resembles the others, so that there is something to learn."""
    text = f'"""Sums of {name}."""\n' + "".join(FUNCTION.format(name=name, i=i) for i in range(1, 12))
    (folder / f"{name}.py").write_text(text)


def save_base(
    data_folder: Path,
    tokenizer: Tokenizer,
    name: str,
    vocab_size: int = 0,
    seed: int = 1,
    config: Architecture | None = None,
) -> Manifest:
    """A tiny model with random weights in the store."""
    config = config or ModelConfig(hidden_size=16, num_hidden_layers=2, vocab_size=vocab_size or tokenizer.vocab_size)
    path = data_folder / "tokenizer.json"
    tokenizer.save(path)
    parameters = dict(initial_parameters(config, seed))
    store = CheckpointStore(data_folder / "checkpoints")
    return store.save(Facts(name, "base"), config=config, parameters=parameters, tokenizer=path)


@pytest.fixture(autouse=True)
def no_starter(monkeypatch):
    """The built-in model is too large for a test, and may not be there."""
    monkeypatch.setattr(bases, "starter_folder", lambda: None)


@pytest.fixture
def repository(tmp_path):
    """Nine files."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("price", "weight", "stock", "age", "rank", "size", "cost", "tax", "share"):
        write_file(folder, name)
    return folder


@pytest.fixture
def tiny_base(repository, data_folder) -> Manifest:
    """A tiny model for it."""
    data_folder.mkdir(exist_ok=True)
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    return save_base(data_folder, Tokenizer.train(texts, 320), "tiny")
