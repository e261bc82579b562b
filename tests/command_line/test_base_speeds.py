"""`codecoil base … --measure`: what this machine would do with a model, measured once and shown again."""

from __future__ import annotations

import json

import pytest

from app.command_line import main
from app.network.base_models import available
from engine.errors import MemoryCeilingError
from engine.session.machine_speed import MachineSpeed, model_key
from tests.checkpoints.formats.gguf_samples import written


@pytest.fixture
def measured(monkeypatch):
    """The models that were measured, by key; each completes 161 tokens per second."""
    keys = []

    def measure(config, device, check=None):
        keys.append(model_key(config))
        return MachineSpeed(161.0, 7.42, 5, config.num_hidden_layers)

    monkeypatch.setattr("engine.session.machine_speed.measure_speed", measure)
    return keys


@pytest.fixture(autouse=True)
def short_list(monkeypatch):
    """Two entries of the same shapes, and another one; their memory is not estimated."""
    names = ("smollm2-135m", "smollm2-135m-instruct", "mamba-130m")
    monkeypatch.setattr("app.command_line.base.available", lambda: [m for m in available() if m.name in names])
    monkeypatch.setattr("engine.session.inspection.memory_by_mode", lambda config, device: {"lora": 2**30})


def test_the_list_measures_each_shape_once_and_remembers_it(measured, capsys):
    assert main(["base", "list"]) == 0
    out = capsys.readouterr().out
    assert "tokens/s" not in out and "--measure" in out and not measured
    assert main(["base", "list", "--measure", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert out.count("completes 160 tokens/s, adapts 7.4 tokens/s") == 3 and "5 of 30 layers" in out
    assert len(measured) == 2
    assert main(["base", "list", "--device", "cpu"]) == 0
    assert capsys.readouterr().out == out and len(measured) == 2


def test_measuring_again_is_measuring(measured):
    for _ in range(2):
        assert main(["base", "list", "--measure", "--device", "cpu"]) == 0
    assert len(measured) == 4


def test_scripts_get_numbers_or_null(measured, capsys):
    assert main(["base", "list", "--json"]) == 0
    assert {entry["speed"] for entry in json.loads(capsys.readouterr().out)} == {None}
    assert main(["base", "list", "--json", "--measure", "--device", "cpu"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["speed"] == {"decode": 161.0, "adapt": 7.42, "layers": 5, "of_layers": 30}


def test_without_memory_for_it_the_rest_is_shown(monkeypatch, capsys):
    def measure(config, device, check=None):
        raise MemoryCeilingError("It needs more.")

    monkeypatch.setattr("engine.session.machine_speed.measure_speed", measure)
    assert main(["base", "list", "--measure", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "tokens/s" not in out and "mamba-130m" in out


def test_a_file_on_this_computer_is_measured_too(tmp_path, tokenizer_path, measured, capsys):
    path, config, _ = written(tmp_path, tokenizer_path, "llama", "f16")
    assert main(["base", "find", str(tmp_path)]) == 0
    assert "tokens/s" not in capsys.readouterr().out
    assert main(["base", "find", str(tmp_path), "--measure", "--device", "cpu"]) == 0
    assert "completes 160 tokens/s" in capsys.readouterr().out
    assert measured == [model_key(config)]
    assert main(["base", "import", str(path), "--device", "cpu"]) == 0
    assert "completes 160 tokens/s" in capsys.readouterr().out and len(measured) == 1  # remembered by its shapes


def test_a_real_measurement_of_a_small_model(tmp_path, tokenizer_path, capsys):
    path, config, _ = written(tmp_path, tokenizer_path, "llama", "f16")
    assert main(["base", "import", str(path), "--measure", "--device", "cpu", "--json"]) == 0
    speed = json.loads(capsys.readouterr().out)["speed"]
    assert speed["decode"] > 0 and speed["adapt"] > 0 and speed["of_layers"] == config.num_hidden_layers
