"""`codecoil handoff`, and `codecoil checkpoints import` of what comes back."""

from __future__ import annotations

import json
import os

import pytest

from app.command_line import main
from app.command_line.handoff import NOT_HANDED_OFF
from app.command_line.train_options import OF_A_NEW_RUN
from engine.train.options import OPTIONS
from tests.handoff.other_machine import trained_elsewhere

SMALL = ["--base", "tiny", "--mode", "wsla", "--steps", "6", "--batch-size", "2", "--sequence-length", "32"]
SMALL += ["--learning-rate", "0.01", "--warm-up", "1"]


def test_from_the_folder_to_a_checkpoint(repository, tiny_base, cpu, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["handoff", str(repository), "--to", str(out), *SMALL]) == 0
    words = capsys.readouterr().out
    assert "accelerate launch --num_processes 1 train.py" in words and "is your code" in words
    assert "Nothing was sent anywhere" in words and "codecoil checkpoints import" in words
    trained_elsewhere(out, cpu)
    assert main(["checkpoints", "import", str(out), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["new"] and made["name"] == "shop #1" and made["mode"] == "wsla" and made["parents"] == [tiny_base.id]
    assert main(["checkpoints", "import", str(out / "result")]) == 0
    words = capsys.readouterr().out
    assert "Already imported" in words and f"codecoil score {repository} --checkpoint {made['id'][:8]}" in words


def test_for_programs(repository, tiny_base, tmp_path, capsys):
    assert main(["handoff", str(repository), "--to", str(tmp_path / "out"), *SMALL, "--memory", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"] == str(tmp_path / "out") and found["base"] == "tiny" and found["rows"] == 12
    assert found["options"]["mode"] == "wsla" and found["trained_parameters"] > 0 and found["held_out_rows"] > 0
    assert sum(len(lines) for lines in found["commands"].values()) == 6 and len(found["leaves"]) == 5


def test_a_refusal_says_why_and_what_to_do(repository, tiny_base, capsys):
    assert main(["handoff", str(repository), "--to", str(repository / "out"), *SMALL]) == 2
    error = capsys.readouterr().err
    assert "inside the repository" in error and "Choose a folder outside" in error
    assert not (repository / "out").exists()


def test_ctrl_c_leaves_nothing(repository, tiny_base, tmp_path, capsys, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.handoff.training_data.write_held_out", interrupted)
    place = tmp_path / "place"
    assert main(["handoff", str(repository), "--to", str(place / "out"), *SMALL]) == 130
    assert os.listdir(place) == [] and "Interrupted" in capsys.readouterr().err


def test_the_help_has_the_options_that_mean_something_elsewhere(capsys):
    with pytest.raises(SystemExit):
        main(["handoff", "--help"])
    words = capsys.readouterr().out
    assert set(NOT_HANDED_OFF) < set(OPTIONS)
    for name in OPTIONS:
        assert (f"{OF_A_NEW_RUN[name]} " in words) == (name not in NOT_HANDED_OFF), name
