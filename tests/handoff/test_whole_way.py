"""What is handed off, trained elsewhere and imported is what a run here would have made."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import open_device
from engine.handoff import HandoffPlan, hand_off, import_any
from engine.model.architectures.reading import config_from
from engine.session import Session, SessionPlan
from engine.session.fim_trial import FimTrial, FimVerdict
from engine.train.options import TrainingOptions
from tests.corpus.tokens import samples
from tests.corpus.tokens.test_taught_fim import SMOLLM
from tests.handoff.other_machine import trained_elsewhere
from tests.session.small_repository import OPTIONS, save_base

LLAMA = {
    "model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 320, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 24, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
    "max_position_embeddings": 512,
}  # fmt: skip
MAMBA2 = {
    "model_type": "mamba2", "hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 320, "expand": 2, "num_heads": 4,
    "head_dim": 8, "state_size": 8, "n_groups": 1, "conv_kernel": 4, "tie_word_embeddings": True,
}  # fmt: skip


def run_here(repository, data_folder, device, options: TrainingOptions, base: str):
    """The checkpoint and the events of the same run by a session."""
    session = Session(SessionPlan(repository, data_folder, options, base), device)
    try:
        events = list(session.run())
    finally:
        session.close()
    made = next(event for event in events if event.event == "checkpoint")
    return CheckpointStore(data_folder / "checkpoints").get(made.checkpoint), events


def values(store: CheckpointStore, id: str) -> dict[str, np.ndarray]:
    with store.load_parameters(id) as parameters:
        return {name: np.array(parameters[name]) for name in parameters}


def base_of_kind(kind: str, repository, data_folder) -> str:
    texts = [path.read_text() for path in sorted(repository.glob("*.py"))]
    config = config_from({"llama": LLAMA, "mamba2": MAMBA2}[kind])
    return save_base(data_folder, Tokenizer.train(texts, 320), kind, config=config).name


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("tiny", "full"),
        ("tiny", "wsla"),
        ("tiny", "lora"),
        ("tiny", "vocabulary"),
        ("llama", "qk"),
        ("llama", "lora"),
        ("mamba2", "wsla"),
    ],
)
def test_it_is_the_run_that_would_have_been_here(repository, data_folder, tiny_base, cpu, tmp_path, kind, mode):
    base = kind if kind == "tiny" else base_of_kind(kind, repository, data_folder)
    options = OPTIONS.changed(mode=mode, rank=2)
    done = hand_off(HandoffPlan(repository, data_folder, options, base), tmp_path / "out")
    result = trained_elsewhere(done.path, cpu)
    store = CheckpointStore(data_folder / "checkpoints")
    theirs = import_any(store, data_folder, result)
    ours, events = run_here(repository, data_folder, cpu, options, base)
    first, second = values(store, ours.id), values(store, theirs.id)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert not store.verify(theirs.id)
    assert theirs.delta == ours.delta and theirs.base == ours.base and theirs.parents == ours.parents
    assert theirs.data == ours.data and theirs.mode == ours.mode and theirs.step == ours.step
    assert theirs.metrics["held_out_loss"] == pytest.approx(ours.metrics["held_out_loss"], abs=1e-6)
    assert theirs.options | {"base_precision": ""} == ours.options | {"base_precision": ""}
    losses = [line["loss"] for line in store.history(theirs.id) if line["event"] == "step"]
    assert losses == [event.loss for event in events if event.event == "step"]


def test_a_run_continues_with_the_pairs_of_its_base(repository, data_folder, tiny_base, cpu, tmp_path):
    options = OPTIONS.changed(mode="lora", rank=2)
    before, _ = run_here(repository, data_folder, cpu, options, "tiny")
    more = options.changed(steps=3, learning_rate=1e-3)
    done = hand_off(HandoffPlan(repository, data_folder, more, before.id), tmp_path / "out")
    store = CheckpointStore(data_folder / "checkpoints")
    theirs = import_any(store, data_folder, trained_elsewhere(done.path, cpu))
    ours, _ = run_here(repository, data_folder, cpu, more, before.id)
    first, second = store.load_delta(ours.id).tensors, store.load_delta(theirs.id).tensors
    assert set(first) == set(second)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert theirs.base.id == tiny_base.id and theirs.parents == (before.id,)


@pytest.fixture
def taught(repository, data_folder, cpu, tmp_path):
    """A base without fill-in-the-middle, and the result of a hand-off that taught it."""
    data_folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer.load(samples.write_style(tmp_path, SMOLLM))
    config = config_from(LLAMA | {"vocab_size": tokenizer.vocab_size})
    base = save_base(data_folder, tokenizer, "without", config=config)
    options = OPTIONS.changed(mode="lora", rank=2)
    done = hand_off(HandoffPlan(repository, data_folder, options, base.name), tmp_path / "out")
    return base, options, trained_elsewhere(done.path, cpu)


def test_a_base_that_cannot_fill_in_is_taught_it(repository, data_folder, cpu, taught):
    """Its first rows differ from the base's; without a trial, the result does not use what it was taught."""
    base, options, result = taught
    store = CheckpointStore(data_folder / "checkpoints")
    theirs = import_any(store, data_folder, result)
    ours, _ = run_here(repository, data_folder, cpu, options, base.name)
    first, second = values(store, ours.id), values(store, theirs.id)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert theirs.data["fill_in_the_middle"]["reason"] == "not measured"
    assert "Fill-in-the-middle was not measured, because the run took place elsewhere." in theirs.note
    assert not Tokenizer.load(store.tokenizer_path(theirs.id)).has_fim


@pytest.mark.parametrize("loss", [1.8, 1.99])
def test_filling_in_is_tried_out_where_there_is_a_device(data_folder, taught, monkeypatch, loss):
    verdict = FimVerdict(40, 2.0, loss, 0.05)
    monkeypatch.setattr(FimTrial, "verdict", lambda self: verdict)
    store = CheckpointStore(data_folder / "checkpoints")
    made = import_any(store, data_folder, taught[2], open_device=lambda: closing(open_device("cpu")))
    assert made.data["fill_in_the_middle"]["used"] == verdict.helps and verdict.words in made.note
    assert Tokenizer.load(store.tokenizer_path(made.id)).has_fim == verdict.helps


def test_the_trial_is_the_one_after_a_run_here(repository, data_folder, cpu, taught):
    base, options, result = taught
    store = CheckpointStore(data_folder / "checkpoints")
    theirs = import_any(store, data_folder, result, open_device=lambda: closing(open_device("cpu")))
    ours, _ = run_here(repository, data_folder, cpu, options, base.name)
    expected = ours.data["fill_in_the_middle"]
    assert theirs.data["fill_in_the_middle"] == pytest.approx(expected, abs=1e-5)  # pairs are merged here


def test_without_the_repository_there_is_no_trial(repository, data_folder, taught):
    repository.rename(repository.with_name("moved"))
    store = CheckpointStore(data_folder / "checkpoints")
    made = import_any(store, data_folder, taught[2], open_device=lambda: closing(open_device("cpu")))
    assert made.data["fill_in_the_middle"]["reason"] == "not measured" and f"{repository} is not there" in made.note
