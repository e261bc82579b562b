"""The setting for the decoding precision reaches the decoder, and its held-out loss is measured on request."""

from __future__ import annotations

import pytest

from app.values.completion import IN_TRAINING
from app.workers.loaded_model import LoadedModel
from engine.generate.decode_losses import DecodeLosses
from engine.generate.decoder import Decoder
from engine.generate.options import PRECISIONS


@pytest.fixture
def made(monkeypatch):
    """The precisions of the decoders that are made, in order."""
    made, plain = [], Decoder.__init__

    def init(self, model, *, precision="float32", **more):
        made.append(precision)
        plain(self, model, precision=precision, **more)

    monkeypatch.setattr(Decoder, "__init__", init)
    return made


def ask(program, model: str) -> None:
    completion, answers = program.state.completion, []
    completion.completed.connect(lambda ticket, view: answers.append(ticket))
    ticket = completion.request("def put(self, name):\n    ", path="a.py", model=model)
    program.until(lambda: ticket in answers)


def test_the_setting_reaches_the_decoder(program, tiny, made):
    running = program()
    running.until(lambda: running.state.completion.choice(tiny))
    ask(running, tiny)
    assert made[-1] == "float16"  # automatic, for a small model
    for precision in PRECISIONS:
        running.state.settings.precision = precision
        ask(running, tiny)
        assert made[-1] == precision
    count = len(made)
    ask(running, tiny)
    assert len(made) == count  # kept until it changes


def test_a_model_in_training_is_read_as_it_is():
    loaded = LoadedModel(None, None, owned=False)
    loaded.decode_at("int8")
    assert loaded._precision == "float32"


def test_the_loss_at_every_precision_is_measured_and_kept(program, repository, tiny, folder, made):
    running = program()
    running.open(repository)
    ready = []
    running.state.checkpoints.decode_losses_ready.connect(ready.append)
    made.clear()
    running.state.checkpoints.measure_decoding(tiny)
    running.until(lambda: ready or running.failures)
    assert ready == [tiny] and not running.failures
    assert {*made, "float32"} == set(PRECISIONS)  # the model itself computes in float32, without a decoder
    kept = DecodeLosses(folder).of(tiny)
    assert set(kept) == set(PRECISIONS) and all(loss.repository == str(repository) for loss in kept.values())
    assert all(abs(loss.loss - kept["float32"].loss) < 0.05 for loss in kept.values())


def test_without_a_repository_nothing_is_measured(program, tiny):
    running = program()
    running.state.checkpoints.measure_decoding(tiny)
    running.until(lambda: running.failures)
    assert running.failures[0].job == "decode_losses"
    assert running.state.completion.choice(IN_TRAINING) is None
