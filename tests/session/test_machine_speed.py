"""What this machine would do with a model of which only the shapes are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import MemoryCeilingError
from engine.model.architectures.reading import config_from
from engine.model.config import ModelConfig
from engine.session import machine_speed
from engine.session.machine_speed import measure_speed, model_key
from engine.train import trial

DENSE = config_from(
    {
        "model_type": "llama",
        "hidden_size": 16,
        "num_hidden_layers": 9,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "vocab_size": 300,
    }
)
MAMBA = ModelConfig(hidden_size=16, num_hidden_layers=7, vocab_size=300)


class Enough(Exception):
    """The user has cancelled."""


@pytest.fixture
def brief(monkeypatch):
    """Few and short steps."""
    for name, value in {"CONTEXT": 8, "MOST_TOKENS": 2, "LEAST_TOKENS": 1, "SECONDS": 0.0, "CACHE_BYTES": 64}.items():
        monkeypatch.setattr(machine_speed, name, value)
    monkeypatch.setattr(trial.layered_speed, "__defaults__", (8,))


@pytest.mark.parametrize("config", [DENSE, MAMBA], ids=["dense", "mamba"])
def test_it_is_measured_on_a_few_layers_and_leaves_nothing_behind(device, config, brief):
    before = device.ledger.total
    speed = measure_speed(config, device)
    assert speed.decode > 0 and speed.adapt > 0
    assert (speed.layers, speed.of_layers) == (5, config.num_hidden_layers)
    assert device.ledger.total == before


def test_the_times_of_the_cuts_make_up_that_of_the_whole(device, monkeypatch):
    """0.25 s a layer of nine, 1 ms a token of 300, and 1 s besides."""

    def seconds(config, *_) -> float:
        return 1.0 + 0.25 * config.num_hidden_layers + 0.001 * config.vocab_size

    monkeypatch.setattr(machine_speed, "_token_seconds", seconds)
    monkeypatch.setattr(trial, "_step_times", lambda config, *_: [9.0, seconds(config)])
    speed = measure_speed(DENSE, device)
    assert speed.decode == pytest.approx(1 / 3.55) and speed.adapt == pytest.approx(trial.LAYERED_LENGTH / 3.55)


def test_the_precision_is_that_of_the_whole_model(device, brief, monkeypatch):
    seen = []
    plain = machine_speed.Decoder
    monkeypatch.setattr(machine_speed, "Decoder", lambda model, **more: seen.append(more) or plain(model, **more))
    measure_speed(DENSE, device)
    assert {each["precision"] for each in seen} == {"float16"}
    seen.clear()
    monkeypatch.setattr("engine.generate.precision.LARGE_MODEL", DENSE.parameter_count)
    measure_speed(DENSE, device)
    assert {each["precision"] for each in seen} == {"int8"}


@pytest.mark.parametrize("looks", [1, 2, 5, 9, 12])
def test_it_can_be_cancelled_before_any_step(device, brief, looks):
    left = iter(range(looks))

    def check() -> None:
        if next(left, None) is None:
            raise Enough

    before = device.ledger.total
    with pytest.raises(Enough):
        measure_speed(DENSE, device, check)
    assert device.ledger.total == before


def test_without_memory_it_is_refused_and_nothing_stays(device, brief):
    before, device.ledger.ceiling = device.ledger.ceiling, device.ledger.total + 1000
    try:
        with pytest.raises(MemoryCeilingError):
            measure_speed(DENSE, device)
        assert device.ledger.total == device.ledger.ceiling - 1000
    finally:
        device.ledger.ceiling = before


def test_models_are_the_same_by_their_shapes():
    keys = {**DENSE.described, "bos_token_id": 1, "transformers_version": "5"}
    assert model_key(config_from(keys)) == model_key(DENSE)
    others = [replace(DENSE, num_hidden_layers=8), replace(DENSE, num_attention_heads=4), MAMBA]
    assert len({model_key(each) for each in (DENSE, *others)}) == 4


def test_what_shapes_do_not_tell_is_told_apart():
    """Experts of a token, and groups of a state space: they change the time, and no shape."""
    keys = {
        "model_type": "granitemoehybrid", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "shared_intermediate_size": 48, "vocab_size": 50, "mamba_n_heads": 4,
        "mamba_d_head": 16, "mamba_d_state": 16, "num_local_experts": 8, "num_experts_per_tok": 2,
        "intermediate_size": 16, "layer_types": ["mamba", "attention"],
    }  # fmt: skip
    changed = ({}, {"num_experts_per_tok": 4}, {"mamba_n_groups": 2, "mamba_d_state": 8})
    configs = [config_from(keys | each) for each in changed]
    assert len({repr(config.parameter_shapes()) for config in configs}) == 1
    assert len({model_key(config) for config in configs}) == 3
