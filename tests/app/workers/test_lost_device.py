"""A graphics device that is destroyed while the program uses it: the window says so, and everything goes on."""

from __future__ import annotations

import pytest

from app.command_line.serve import open_model
from app.server.folder import ServedFolder
from app.workers.open_device import OpenDevice
from engine.devices import list_devices
from engine.generate.decoder import Decoder
from engine.generate.service.service import CompletionService, Opened
from engine.session import session as session_module
from engine.session.session import Session
from tests.generate.service.played import Client

GRAPHICS = next(info.name for info in list_devices() if info.name != "cpu")


@pytest.fixture
def on_webgpu(program, monkeypatch):
    """A program on a WebGPU device, whose kernels are checked by other tests."""
    monkeypatch.setattr(OpenDevice, "require_right_numbers", lambda self, look: None)
    one = program(start=False)
    one.state.settings.device = GRAPHICS
    one.state.start()
    one.until(lambda: one.state.engine.found is not None and one.state.checkpoints.listed)
    return one


def test_a_run_goes_on(on_webgpu, repository, tiny, monkeypatch):
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


@pytest.fixture
def answering(folder, tiny):
    """A device with a model, and a client whose questions it answers."""
    bench = OpenDevice(folder)
    bench.choose(GRAPHICS, 1 << 30)
    yield bench, Client(CompletionService(lambda asking: Opened(bench.model(tiny).completer)))
    bench.close()


def test_a_model_is_loaded_again_and_answers(answering):
    bench, client = answering
    client.ask("def step_")
    client.service.answer_waiting()
    before = bench.device
    before.gpu.destroy()
    client.ask("def step_1")
    client.service.answer_waiting()
    assert [answer.error for answer in client.answers] == [None, None]
    assert bench.device is not before and before.ledger.total == 0
    assert bench.device.ledger.total > 0


@pytest.fixture
def lost_while_writing(monkeypatch):
    """Devices that go away when a suggestion's second token is about to be read; only the first one does."""
    gone, passes = [], []

    def losing(name):
        plain = getattr(Decoder, name)

        def method(decoder, *arguments):
            passes.append(name)
            if len(passes) == 2 and not gone:
                gone.append(decoder.model.device)
                decoder.model.device.gpu.destroy()
            return plain(decoder, *arguments)

        monkeypatch.setattr(Decoder, name, method)

    for name in ("step", "read_ahead", "read_top", "greedy"):
        losing(name)
    return gone


def test_an_answer_on_its_way_comes_from_the_device_opened_anew(answering, lost_while_writing):
    bench, client = answering
    client.ask("def step_")
    client.service.answer_waiting()
    assert [answer.error for answer in client.answers] == [None]
    assert [device for device in lost_while_writing if device is not bench.device] != []
    assert lost_while_writing[0].ledger.total == 0


def test_the_window_gets_an_answer_that_was_on_its_way(on_webgpu, tiny, lost_while_writing):
    completion, views, problems = on_webgpu.state.completion, [], []
    completion.completed.connect(lambda ticket, view: views.append((ticket, view)))
    completion.failed.connect(lambda ticket, failure: problems.append(failure))
    completion.choose_model(tiny)
    ticket = completion.request("def step_", "", "shelf_1.py")
    on_webgpu.until(lambda: any(found == ticket for found, _ in views) or problems)
    assert problems == [] and on_webgpu.failures == []
    assert len(lost_while_writing) == 1


def test_a_model_that_is_held_is_not_closed_beneath_its_user(folder, tiny):
    bench = OpenDevice(folder)
    bench.choose(GRAPHICS, 1 << 30)
    try:
        with bench.held(tiny) as loaded:
            device = bench.device
            device.gpu.destroy()
            with pytest.raises(Exception, match="was lost"):
                loaded.model.logits([[1, 2, 3]])
            assert bench.device is device
        assert bench.device is not device
    finally:
        bench.close()


def test_a_served_folder_answers_from_the_device_opened_anew(repository, tiny, folder, qtbot):
    served = ServedFolder(repository, folder, lambda: open_model("tiny", repository, GRAPHICS))
    try:
        served.start(lambda done, total, words: None)
        client, first = Client(served.service), served.chosen
        first.device.gpu.destroy()
        client.ask("def step_")
        qtbot.waitUntil(lambda: bool(client.answers))
        assert client.answers[0].error is None
        assert served.chosen is not first and first.device.ledger.total == 0
    finally:
        served.stop()
