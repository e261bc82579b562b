"""A graphics device that is destroyed while the program uses it: the window says so, and everything goes on."""

from __future__ import annotations

import pytest

from app.command_line.serve import open_model
from app.server.folder import ServedFolder
from app.values.completion import IN_TRAINING
from app.workers.open_device import OpenDevice
from app.workers.training import TrainingWorker
from engine.devices import list_devices
from engine.session import session as session_module
from engine.session.session import Session
from tests.generate.service.played import Client


@pytest.fixture
def on_webgpu(program, monkeypatch):
    """A program on a WebGPU device, whose kernels are checked by other tests."""
    monkeypatch.setattr(OpenDevice, "require_right_numbers", lambda self, look: None)
    one = program(start=False)
    one.state.settings.device = next(info.name for info in list_devices() if info.name != "cpu")
    one.state.start()
    one.until(lambda: one.state.engine.found is not None and one.state.checkpoints.listed)
    return one


def destroy(worker) -> None:
    worker._open_device.device.gpu.destroy()


def completed(one, model: str) -> str:
    with one.qtbot.waitSignal(one.state.completion.completed) as answered:
        one.state.completion.request("def step_", "", "shelf_1.py", model=model)
    return answered.args[1].reason


def test_a_run_and_completions_go_on(on_webgpu, repository, tiny, monkeypatch):
    one, training, left = on_webgpu, on_webgpu.state.training, []
    monkeypatch.setattr(session_module, "SAVE_SECONDS", 0.0)
    plain = Session.advance

    def advance(self):
        if self.trainer.step == 5 and not left:
            self._writer.wait()
            left.append(self.device)
            self.device.gpu.destroy()
        return plain(self)

    monkeypatch.setattr(Session, "advance", advance)
    one.open(repository)
    one.small_options(tiny)
    one.run_to_end()
    assert training.phase == "finished" and one.failures == [] and left[0].ledger.total == 0
    assert list(training.history.step) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert any("stopped working" in note.words and "continues" in note.words for note in training.history.notes)
    result = training.finished.checkpoint
    one.until(lambda: one.state.completion.choice(result))
    assert completed(one, result)
    one.ask_worker(TrainingWorker, destroy)
    assert completed(one, result) and one.failures == []


def test_a_completion_of_the_model_in_training_comes_again_after_the_loss(
    on_webgpu, repository, tiny, monkeypatch, held_run
):
    one = on_webgpu
    one.open(repository)
    one.small_options(tiny)
    one.state.training.start()
    one.until(lambda: one.state.training.step >= 5)
    assert completed(one, IN_TRAINING)
    one.ask_worker(TrainingWorker, destroy)
    held_run.set()
    one.until(lambda: not one.state.training.active)
    assert one.state.training.phase == "finished" and one.failures == []
    assert completed(one, one.state.training.finished.checkpoint)


def test_a_served_folder_answers_from_the_device_opened_anew(repository, tiny, folder, qtbot):
    served = ServedFolder(repository, folder, lambda: open_model("tiny", repository, "webgpu"))
    try:
        served.start(lambda done, total, words: None)
        client, first = Client(served.service), served.chosen
        first.device.gpu.destroy()
        client.ask("def step_")
        qtbot.waitUntil(lambda: client.answers)
        assert client.answers[0].error is None
        assert served.chosen is not first and first.device.ledger.total == 0
    finally:
        served.stop()
