"""The engine's own jobs: the race, the device that is chosen, and models that make room for each other."""

from __future__ import annotations

import pytest

from app.values.completion import IN_TRAINING, STARTER
from app.workers.open_device import MOST_MODELS, OpenDevice
from engine.errors import CodecoilError
from tests.app.state.program import make_tiny_base


@pytest.fixture
def bench(folder, no_starter):
    one = OpenDevice(folder)
    one.choose("cpu", 1 << 30)
    yield one
    one.close()


def test_the_processor_races_against_nobody(program):
    one = program()
    engine = one.state.engine
    with one.qtbot.waitSignal(engine.race_ended) as ended:
        engine.race()
        assert engine.phase == "racing"
    line = ended.args[0].lines[0]
    assert (line.device, line.problem) == ("cpu", "") and line.tokens_per_second > 0
    assert engine.phase == "ready" and engine.race_lines == ended.args[0].lines


def test_a_race_can_be_cancelled(program):
    one = program()
    engine = one.state.engine
    with one.qtbot.waitSignal(engine.race_ended) as ended:
        engine.race()
        engine.cancel()
    assert ended.args[0].cancelled and engine.race_lines == ()


def test_a_device_that_fails_is_told_and_comes_last():
    from app.workers.race import race_one

    line = race_one("webgpu:99", lambda: None)
    assert "webgpu:99" in line.problem and line.tokens_per_second == 0


def test_an_error_that_nobody_knows_ends_a_device_and_not_the_race(program, monkeypatch, caplog):
    def broken(*arguments, **more):
        raise ZeroDivisionError("no time went by")

    monkeypatch.setattr("engine.train.trial.trial_speed", broken)
    one = program()
    engine = one.state.engine
    with caplog.at_level("ERROR"), one.qtbot.waitSignal(engine.race_ended) as ended:
        engine.race()
    (line,) = ended.args[0].lines
    assert "ZeroDivisionError: no time went by" in line.problem and line.description != line.device
    assert engine.phase == "ready" and "A job failed" in caplog.text


def test_models_make_room_for_each_other(bench, folder, repository):
    ids = [make_tiny_base(folder, repository, f"tiny {n}") for n in range(MOST_MODELS + 1)]
    one = bench.memory().total
    for id in ids:
        bench.model(id)
    full = bench.memory().total
    assert one == 0 < full and bench.model(ids[-1]) is bench.model(ids[-1])
    bench.choose("cpu", full)  # no room for anything more
    with bench.held(ids[-1]) as held:
        for id in ids[:-1]:
            bench.model(id)
        assert bench.model(ids[-1]) is held
    assert bench.memory().total <= full
    bench.release_models()
    assert bench.memory().total == 0


def test_a_model_that_does_not_fit_is_refused_in_words(bench, folder, repository):
    id = make_tiny_base(folder, repository)
    bench.choose("cpu", 1000)
    with pytest.raises(CodecoilError, match="needs"):
        bench.model(id)
    bench.choose("cpu", 1 << 30)
    assert bench.model(id)


def test_the_newest_checkpoint_stands_in_for_a_starter_that_is_not_there(bench, folder, repository):
    with pytest.raises(CodecoilError, match="no model yet"):
        bench.model(STARTER)
    id = make_tiny_base(folder, repository)
    assert bench.model(STARTER).model.config == bench.model(id).model.config


def test_a_large_model_is_kept_in_the_precision_that_it_is_decoded_in(bench, folder, repository, monkeypatch):
    id = make_tiny_base(folder, repository)
    small = bench.model(id, precision="auto")
    assert small.model.storage.precision == "float32"
    bench.release_models()
    bench._kept.clear()
    monkeypatch.setattr("engine.generate.precision.LARGE_MODEL", 1)
    assert bench.model(id, precision="auto").model.storage.precision == "int8"
    packed = bench.memory().total
    assert bench.model(id, precision="int8") is bench.model(id, precision="auto")
    bench.release_models()
    with bench.held(id) as whole:  # to be measured as it is
        assert whole.model.storage.precision == "float32" and bench.memory().total > 1.5 * packed


def test_a_large_model_completes_without_a_copy_of_its_weights(bench, folder, repository, monkeypatch):
    from engine.generate.requests import CompletionRequest

    monkeypatch.setattr("engine.generate.precision.LARGE_MODEL", 1)
    loaded = bench.model(make_tiny_base(folder, repository), precision="auto")
    loaded.decode_at("auto")
    loaded.completer.complete(CompletionRequest("def total("))
    assert loaded.completer._decoder._weights.slabs == []


def test_no_model_in_training(bench):
    with pytest.raises(CodecoilError, match="being trained"):
        bench.model(IN_TRAINING)


def test_another_ceiling_applies_at_once(program):
    one = program()
    one.state.settings.memory_ceiling = 1 << 30
    one.until(lambda: one.state.engine.memory.ceiling == 1 << 30)
