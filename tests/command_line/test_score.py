"""`codecoil score` from the shell: a table, JSON, and clear refusals."""

from __future__ import annotations

import json

import pytest

from app.command_line import main
from engine.checkpoints.store import CheckpointStore, Facts
from engine.corpus.tokenizer import Tokenizer
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A repository and two checkpoints that pass for a base and what was made of it."""
    root = tmp_path / "code"
    root.mkdir()
    for number in range(24):
        body = "".join(f"def function_{number}_{i}(x):\n    return x + {i * number}\n" for i in range(6))
        (root / f"module_{number}.py").write_text(f'"""Module {number}."""\n{body}')
    data = tmp_path / "data"
    monkeypatch.setenv("CODECOIL_DATA", str(data))
    tokenizer = tmp_path / "tokenizer.json"
    made = Tokenizer.train([path.read_text() for path in root.iterdir()], 400)
    made.save(tokenizer)
    config = ModelConfig(vocab_size=made.vocab_size, hidden_size=16, num_hidden_layers=1, state_size=4)
    store = CheckpointStore(data / "checkpoints")
    for seed, name, mode in ((1, "base", "base"), (2, "code #1", "full")):
        parameters = dict(initial_parameters(config, seed))
        store.save(Facts(name=name, mode=mode), config=config, parameters=parameters, tokenizer=tokenizer)
    return root


def test_a_table_with_verdicts(folder, capsys):
    arguments = ["score", str(folder), "--checkpoint", "base", "--checkpoint", "code #1"]
    assert main([*arguments, "--cursors", "2", "--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    assert "Bits per byte" in printed
    assert "2 cursors" in printed
    assert "no difference" in printed or "better" in printed or "worse" in printed


def test_json_names_every_measure_with_its_interval(folder, capsys):
    assert main(["score", str(folder), "--cursors", "1", "--json", "--device", "cpu"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (model,) = answer["models"]
    assert model["name"] == "code #1"
    assert set(model["measures"]["bits_per_byte"]) == {"value", "low", "high"}
    assert answer["differences"] == []
    assert model["files"]


def test_a_folder_without_a_checkpoint_of_its_own_is_told_so(folder, capsys):
    other = folder.rename(folder.parent / "other")
    assert main(["score", str(other), "--cursors", "1", "--json", "--device", "cpu"]) == 0
    said = capsys.readouterr().err
    assert "There is no checkpoint of other yet: this measures code #1, the newest there is." in said
    assert f"`codecoil train {other}`" in said


def test_an_unknown_checkpoint_is_refused_by_name(folder, capsys):
    assert main(["score", str(folder), "--checkpoint", "nobody", "--device", "cpu"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_replay_without_history_is_refused(folder, capsys):
    assert main(["score", str(folder), "--replay", "3", "--device", "cpu"]) == 2
    assert "commits" in capsys.readouterr().err
