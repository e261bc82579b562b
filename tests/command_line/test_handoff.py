"""`codecoil handoff`, and `codecoil checkpoints import` of what comes back."""

from __future__ import annotations

import functools
import json
import os

import pytest

from app.command_line import main
from app.command_line.handoff import NOT_HANDED_OFF
from app.command_line.train_options import OF_A_NEW_RUN
from engine.handoff import score_result
from engine.scorecard import ScoreOptions
from engine.train.options import OPTIONS
from tests.handoff.other_machine import trained_elsewhere

SMALL = ["--base", "tiny", "--mode", "wsla", "--steps", "6", "--batch-size", "2", "--sequence-length", "32"]
SMALL += ["--learning-rate", "0.01", "--warm-up", "1"]


@pytest.fixture(autouse=True)
def few_lines(monkeypatch):
    """A scorecard of a few lines, so that it takes a second."""
    few = functools.partial(score_result, options=ScoreOptions(cursors=2, characters=1_000))
    monkeypatch.setattr("engine.handoff.score_result", few)


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
    assert [card["name"] for card in made["scorecards"]] == ["tiny", "shop #1"]
    assert made["metrics"]["score_loss"] == made["scorecards"][1]["measures"]["loss"]["value"]
    assert main(["checkpoints", "import", str(out / "result")]) == 0
    words = capsys.readouterr().out
    assert "Already imported" in words and "Already scored" in words and "Bits per byte" not in words
    assert main(["checkpoints", "show", made["id"]]) == 0 and "score_bits_per_byte_before" in capsys.readouterr().out


def test_without_a_score_or_with_one_that_was_cancelled_or_has_no_folder(
    repository, tiny_base, cpu, tmp_path, capsys, monkeypatch
):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    out = str(tmp_path / "out")
    assert main(["handoff", str(repository), "--to", out, *SMALL]) == 0
    trained_elsewhere(tmp_path / "out", cpu)
    capsys.readouterr()
    assert main(["checkpoints", "import", out, "--no-score"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("Imported: ") and "cored" not in words and "Bits per byte" not in words
    with monkeypatch.context() as patched:
        patched.setattr("engine.handoff.score_result", interrupted)
        assert main(["checkpoints", "import", out]) == 0
    words = capsys.readouterr().out
    assert "Not scored: it was cancelled." in words and f"codecoil checkpoints import {out}" in words
    assert main(["checkpoints", "import", out]) == 0
    words = capsys.readouterr().out
    assert "Already imported" in words and "Bits per byte" in words and "shop #1" in words
    repository.rename(repository.with_name("moved"))
    assert main(["checkpoints", "import", out, "--name", "again", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["new"] and "shop is not there any more." in made["score_problem"] and "scorecards" not in made


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
