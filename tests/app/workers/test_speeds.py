"""How long a planned run would take: measured now where that can be, and said how it is known."""

from types import SimpleNamespace

import pytest

from app.values.training import SpeedBasis
from app.workers.speeds import LARGEST_TRIAL, Speed, Speeds
from engine.devices import open_device
from engine.model.architectures.reading import config_from
from engine.model.config import ModelConfig
from engine.train.trial import trial_speed

SMALL = ModelConfig(hidden_size=16, num_hidden_layers=1, vocab_size=64)
DEVICE = SimpleNamespace(description="a device")


@pytest.fixture
def trials(monkeypatch):
    """What trials were asked for; each gives 100 tokens per second."""
    asked = []

    def trial(config, device, mode, rows, length, *, seconds):
        asked.append((config, mode, rows, length))
        return 100.0

    monkeypatch.setattr("engine.train.trial.trial_speed", trial)
    return asked


def test_a_step_is_measured_rather_than_taken_from_an_idle_day(tmp_path, trials):
    """A plan promised 8 minutes by an earlier run, on a machine that was busy now: it took 28."""
    speeds = Speeds(tmp_path)
    speeds.keep(Speed(DEVICE.description, "full", SMALL.parameter_count, 400.0))
    assert speeds.now(SMALL, DEVICE, "full", 4, 256) == (100.0, SpeedBasis.MEASURED)
    assert trials == [(SMALL, "full", 4, 256)]


def test_the_same_plan_is_not_measured_again_at_once(tmp_path, trials):
    speeds = Speeds(tmp_path)
    for _ in range(3):
        speeds.now(SMALL, DEVICE, "full", 4, 256)
    speeds.now(SMALL, DEVICE, "lora", 4, 256)
    assert [mode for _, mode, _, _ in trials] == ["full", "lora"]


def test_a_large_step_is_cut(tmp_path, trials):
    Speeds(tmp_path).now(SMALL, DEVICE, "full", 64, 1024)
    assert trials == [(SMALL, "full", 2, 1024)]


LARGE_KEYS = {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 5504}
LARGE = config_from({**LARGE_KEYS, "model_type": "llama", "vocab_size": 500})


def test_a_large_model_goes_by_earlier_runs_or_by_a_few_of_its_layers(tmp_path, trials, monkeypatch):
    asked = []
    monkeypatch.setattr("engine.train.trial.layered_speed", lambda config, *_, **__: asked.append(config) or 60.0)
    assert LARGE.parameter_count > LARGEST_TRIAL
    speeds = Speeds(tmp_path)
    for _ in range(2):
        assert speeds.now(LARGE, DEVICE, "full", 4, 256) == (60.0, SpeedBasis.FEW_LAYERS)
    assert asked == [LARGE] and trials == []
    speeds.keep(Speed(DEVICE.description, "full", LARGE.parameter_count, 7.0))
    assert speeds.now(LARGE, DEVICE, "full", 4, 256) == (7.0, SpeedBasis.EARLIER_RUNS)


@pytest.mark.parametrize("mode", ["full", "wsla", "lora", "vocabulary"])
def test_a_trial_is_a_real_step_and_leaves_nothing_behind(mode):
    device = open_device("cpu")
    assert trial_speed(SMALL, device, mode, 2, 16, seconds=0.0) > 0.0
    assert device.ledger.total == 0
    device.close()


def test_without_memory_for_a_trial_nothing_is_promised(tmp_path):
    device = open_device("cpu", ceiling=1000)
    assert Speeds(tmp_path).now(SMALL, device, "full", 2, 16) == (0.0, SpeedBasis.UNKNOWN)
    assert device.ledger.total == 0
    device.close()
