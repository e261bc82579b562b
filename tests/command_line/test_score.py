"""`codecoil score` from the shell: a table, JSON, and clear refusals."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from app.command_line import main, model_choice
from app.command_line.model_choice import STARTER, ChosenModel
from app.command_line.score import NAME_WIDTH, default_choice, heading, value_words
from app.data.data_folder import data_folder
from engine.checkpoints.store.loading import load_checkpoint
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.decode_losses import DecodeLosses
from engine.generate.decoder import Decoder
from engine.generate.options import PRECISIONS
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters
from engine.scorecard.intervals import Measure


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


def test_a_share_of_nothing_is_no_number():
    def said(*numbers):
        return value_words(Measure("precision", "Suggested lines that are exact", *numbers, 1, "%"))

    assert said(0.412, 0.38, 0.441) == "41.2 % (38.0-44.1)" and said(float("nan"), float("nan"), float("nan")) == "-"


def test_json_names_every_measure_with_its_interval(folder, capsys):
    assert main(["score", str(folder), "--cursors", "1", "--json", "--no-memory", "--device", "cpu"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (model,) = answer["models"]
    assert model["name"] == "code #1" and model["memory"] is False
    assert set(model["measures"]["bits_per_byte"]) == {"value", "low", "high"}
    assert answer["differences"] == []
    assert model["files"]


def test_losses_are_kept_by_precision(folder, capsys, monkeypatch):
    """Of the model alone, and close to each other: they are of the same weights."""
    made, plain = [], Decoder.__init__

    def init(self, model, *, precision="float32", **more):
        made.append(precision)
        plain(self, model, precision=precision, **more)

    monkeypatch.setattr(Decoder, "__init__", init)
    for precision in PRECISIONS:
        arguments = ["--cursors", "1", "--json", "--device", "cpu", "--precision", precision]
        made.clear()
        assert main(["score", str(folder), *arguments]) == 0
        assert set(made) == {precision}
        assert json.loads(capsys.readouterr().out)["models"][0]["precision"] == precision
    newest = next(one for one in CheckpointStore(data_folder() / "checkpoints").list() if one.name == "code #1")
    kept = DecodeLosses(data_folder()).of(newest.id)
    assert set(kept) == set(PRECISIONS) and {loss.repository for loss in kept.values()} == {str(folder)}
    assert all(abs(loss.loss - kept["float32"].loss) < 0.02 for loss in kept.values())
    assert kept["int8"].loss != kept["float32"].loss


def test_every_model_is_scored_with_the_memory_too(folder, capsys):
    arguments = ["score", str(folder), "--checkpoint", "base", "--checkpoint", "code #1", "--device", "cpu"]
    assert main([*arguments, "--cursors", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(model["name"], model["memory"]) for model in answer["models"]] == [
        ("base", False),
        ("base + memory", True),
        ("code #1", False),
        ("code #1 + memory", True),
    ]
    alone, remembering = (model["measures"] for model in answer["models"][:2])
    assert remembering["bits_per_byte"]["value"] < alone["bits_per_byte"]["value"]
    assert "top_1" in alone and "top_1" not in remembering
    assert [against["second"] for against in answer["differences"]] == ["base + memory", "code #1", "code #1 + memory"]
    assert answer["differences"][0]["measures"]["bits_per_byte"]["verdict"] == "better"


def test_a_table_says_who_had_a_memory(folder, capsys):
    assert main(["score", str(folder), "--checkpoint", "base", "--cursors", "1", "--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    assert "base + memory" in printed and "better" in printed
    card = SimpleNamespace(name="a model with a name beyond all measure + memory", memory=True)
    assert heading(card).startswith("a model with") and heading(card).endswith(" + memory")
    assert len(heading(card)) == NAME_WIDTH
    assert heading(SimpleNamespace(name=f"{STARTER} + memory", memory=True)) == f"{STARTER} + memory"


def test_without_any_checkpoint_the_built_in_model_is_scored(folder, data_folder, tmp_path, monkeypatch, capsys):
    store = CheckpointStore(data_folder / "checkpoints")

    def starter(device):
        return ChosenModel(*load_checkpoint(store, "base", device), STARTER)

    monkeypatch.setattr(model_choice, "open_starter", starter)
    monkeypatch.setattr(model_choice, "newest_for", lambda *_: None)
    monkeypatch.setattr("app.command_line.score.newest_for", lambda *_: None)
    assert main(["score", str(folder), "--cursors", "1", "--json", "--device", "cpu"]) == 0
    printed = capsys.readouterr()
    assert "built-in model" in printed.err
    names = [model["name"] for model in json.loads(printed.out)["models"]]
    assert names == [STARTER, f"{STARTER} + memory"]


def test_a_whole_checkpoint_is_held_against_its_parent(folder, data_folder):
    store = CheckpointStore(data_folder / "checkpoints")
    base = store.get("base")
    facts = Facts(name="code #2", mode="full", parents=(base.id,))
    parameters = store.load_parameters(base.id)
    newest = store.save(facts, config=store.config(base.id), parameters=parameters)
    parameters.close()
    assert default_choice(folder) == [base.id, newest.id]


def test_languages_and_files_are_told_apart(folder, capsys):
    for number in range(60):
        (folder / f"part_{number}.js").write_text(f"const value_{number} = {number};\n" * (5 + number))
    arguments = ["score", str(folder), "--checkpoint", "base", "--cursors", "4", "--device", "cpu"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "\nPython\n  Bits per byte" in printed and "\nJavaScript\n  Bits per byte" in printed
    assert main([*arguments, "--json"]) == 0
    model, _ = json.loads(capsys.readouterr().out)["models"]
    assert set(model["by_language"]) == {"python", "javascript"}
    assert sum(lines["cursors"] for lines in model["lines_by_file"].values()) == 4


def test_a_note_about_the_material_is_printed(folder, capsys):
    for number in range(2, 24):
        (folder / f"module_{number}.py").unlink()
    assert main(["score", str(folder), "--checkpoint", "base", "--cursors", "1", "--device", "cpu"]) == 0
    assert "Too little code is held out" in capsys.readouterr().out


def test_a_folder_without_a_checkpoint_of_its_own_is_told_so(folder, capsys):
    other = folder.rename(folder.parent / "other")
    assert main(["score", str(other), "--cursors", "1", "--json", "--device", "cpu"]) == 0
    said = capsys.readouterr().err
    assert "code #1" in said and f"codecoil train {other}" in said


def test_an_unknown_checkpoint_is_refused_by_name(folder, capsys):
    assert main(["score", str(folder), "--checkpoint", "nobody", "--device", "cpu"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_replay_without_history_is_refused(folder, capsys):
    assert main(["score", str(folder), "--replay", "3", "--device", "cpu"]) == 2
    assert "commits" in capsys.readouterr().err
