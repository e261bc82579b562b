"""Where a run starts from: taken into the store once, whatever it was."""

import numpy as np
import pytest

import engine
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError, InputError
from engine.session import Session, SessionPlan, bases, starter_is_there
from tests.session.small_repository import OPTIONS, save_base

SMALL = {"hidden_size": 16, "num_hidden_layers": 2}


@pytest.fixture
def model_folder(tmp_path, repository, cpu):
    """A tiny model in Hugging Face format, with its tokenizer."""
    folder = tmp_path / "published"
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    tokenizer = Tokenizer.train(texts, 320)
    model = engine.create_model({**SMALL, "vocab_size": tokenizer.vocab_size}, seed=3, device=cpu)
    model.save(folder)
    model.close()
    tokenizer.save(folder / "tokenizer.json")
    return folder


def opened(repository, data_folder, device, base=""):
    """Base and weights of a session that is opened and closed."""
    session = Session(SessionPlan(repository, data_folder, OPTIONS, base), device)
    try:
        return session.base, session.model.parameters["backbone.norm_f.weight"], session.model.config
    finally:
        session.close()


def test_a_folder_is_taken_in_once(repository, data_folder, model_folder, cpu):
    first, _, config = opened(repository, data_folder, cpu, str(model_folder))
    second, _, _ = opened(repository, data_folder, cpu, str(model_folder))
    assert first.id == second.id and first.name == "published" and config.hidden_size == 16
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


def test_a_folder_without_a_model_is_called_one(repository, data_folder, cpu):
    with pytest.raises(InputError, match=rf"{repository}.*config\.json"):
        opened(repository, data_folder, cpu, str(repository))


def test_a_new_model_is_made_once(repository, data_folder, cpu):
    first, _, _ = opened(repository, data_folder, cpu)
    assert opened(repository, data_folder, cpu)[0].id == first.id
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


def test_the_starter_model_is_the_default_where_there_is_one(repository, data_folder, model_folder, cpu, monkeypatch):
    assert not starter_is_there()
    monkeypatch.setattr(bases, "starter_folder", lambda: model_folder)
    assert starter_is_there()
    first, _, _ = opened(repository, data_folder, cpu)
    assert first.name == "starter" and opened(repository, data_folder, cpu, "starter")[0].id == first.id
    model = engine.load_model(model_folder, cpu)  # a later version of the program has another one
    model.parameters["backbone.norm_f.weight"] = np.full(16, 2.0)
    model.save(model_folder)
    model.close()
    second, weights, _ = opened(repository, data_folder, cpu)
    assert second.id != first.id and np.all(weights == 2.0)


def test_a_folder_whose_tokenizer_does_not_fit_is_refused_and_not_kept(repository, data_folder, model_folder, cpu):
    Tokenizer.train(["abc = 1\n" * 50, "for x in y: pass\n" * 50], 400).save(model_folder / "tokenizer.json")
    larger = engine.create_model({**SMALL, "vocab_size": 270}, device=cpu)
    larger.save(model_folder)
    larger.close()
    with pytest.raises((InputError, CheckpointError), match="tokenizer"):
        opened(repository, data_folder, cpu, str(model_folder))
    assert CheckpointStore(data_folder / "checkpoints").list() == []
    assert cpu.ledger.total == 0


def test_a_checkpoint_whose_tokenizer_does_not_fit_is_refused_by_name(repository, data_folder, cpu):
    data_folder.mkdir()
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    base = save_base(data_folder, Tokenizer.train(texts, 320), "narrow", vocab_size=300)
    with pytest.raises(InputError, match=r"narrow has \d+ .* 300"):
        opened(repository, data_folder, cpu, base.id)


def test_a_checkpoint_without_a_tokenizer_is_refused_by_name(repository, data_folder, model_folder, cpu):
    (model_folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="published has no tokenizer"):
        opened(repository, data_folder, cpu, str(model_folder))
