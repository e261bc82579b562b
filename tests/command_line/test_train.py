"""`codecoil train`: events as lines, words for people, interrupts, and exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.command_line import main, train
from engine.checkpoints.store import CheckpointStore
from engine.devices import open_device
from engine.errors import DeviceError
from engine.model.step import TrainingStep
from engine.session import interrupted_runs, resume_session
from engine.train.events import StepEvent
from engine.train.options import PRESETS

QUICK = PRESETS["quick"].steps
ROOT = Path(__file__).parents[2]
SHORT = ["--device", "cpu", "--batch-size", "2", "--sequence-length", "32", "--learning-rate", "0.01"]


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch):
    """Every kernel is prepared where it is first used; that takes less time than preparing all of them."""
    monkeypatch.setattr("engine.devices.single_kernel.warm_up", lambda device, report: None)


def lines_of(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_command_prints_one_event_a_line(repository, tiny_base, capsys):
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "lora", "--steps", "12", "--json"]) == 0
    lines = lines_of(capsys)
    assert [line for line in lines if line["event"] == "note"] == []
    kinds = [line["event"] for line in lines]
    assert kinds[0] == "plan" and lines[0]["run"] and lines[0]["base"] == "tiny" and kinds[-1] == "checkpoint"
    assert set(kinds) == {"plan", "step", "evaluation", "finished", "checkpoint"}
    step = next(line for line in lines if line["event"] == "step")
    assert {"step", "loss", "tokens_per_second", "memory", "seconds_left", "progress"} <= step.keys()
    assert all("held_out_loss" in line for line in lines if line["event"] == "evaluation")
    assert kinds.count("evaluation") >= 11


def test_words_for_people_end_with_what_was_kept(repository, tiny_base, capsys):
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "10"]) == 0
    out = capsys.readouterr().out
    assert "mode full" in out and "held-out loss" in out and "best so far" in out
    assert "before," in out and "Saved as shop #1" in out


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        (["--steps", "7"], (7, 0, 0)),
        (["--minutes", "0.5"], (0, 0, 0.5)),
        (["--epochs", "2"], (0, 2, 0)),
        (["--steps", "7", "--minutes", "1"], (7, 0, 1)),
        ([], (QUICK, 0, 0)),
        (["--changed-since", "tiny"], (QUICK, 4, 0)),
    ],
)
def test_a_length_that_is_given_takes_the_place_of_the_presets(arguments, limits, repository, tiny_base, monkeypatch):
    plans = []
    monkeypatch.setattr("engine.session.Session", lambda plan, *more: plans.append(plan))
    monkeypatch.setattr(train, "train", lambda session, show: 0)
    assert main(["train", str(repository), "--device", "cpu", "--base", "tiny", *arguments]) == 0
    options = plans[0].options
    assert (options.steps, options.epochs, options.minutes) == limits


def test_a_new_model_is_trained_in_full(repository, capsys):
    assert main(["train", str(repository), *SHORT, "--steps", "3", "--json"]) in (0, 1)
    assert lines_of(capsys)[0]["mode"] == "full"


def test_what_changed_is_learned_alone(repository, tiny_base, capsys):
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "10", "--json"]) == 0
    first = lines_of(capsys)[-1]["name"]
    (repository / "new.py").write_text("".join(f"class C{i}:\n    depth = {i}\n\n\n" for i in range(60)))
    code = main(
        ["train", str(repository), *SHORT, "--changed-since", first, "--mode", "full", "--steps", "10", "--json"]
    )
    lines = lines_of(capsys)
    finished = next(line for line in lines if line["event"] == "finished")
    assert code in (0, 1) and finished["changed_files"] == 1
    assert finished["changed_before"] >= finished["changed_after"]
    assert finished["held_out_after"] <= finished["held_out_before"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "0"], "steps is 0"),
        (["--mode", "loud"], "mode is 'loud'; it must be one of: full, wsla, lora, vocabulary"),
        (["--preset", "slow"], "no preset 'slow'"),
        (["--base", "nothing"], "nothing"),
        (["--duty-cycle", "0.01"], "duty_cycle is 0.01; it must be a number from 0.1 to 1"),
        (["--resume", "abc"], "no interrupted run abc"),
        (["--changed-since", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words, repository, capsys):
    assert main(["train", str(repository), "--device", "cpu", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_no_folder_and_an_empty_one_say_what_to_do(tmp_path, capsys):
    assert main(["train"]) == 2
    assert "--resume" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["train", str(tmp_path / "empty"), "--device", "cpu"]) == 2
    assert "codecoil" in capsys.readouterr().err


def test_a_run_that_makes_things_worse_keeps_nothing_and_has_a_code(repository, tiny_base, data_folder, capsys):
    options = ["--mode", "full", "--steps", "40", "--batch-size", "1", "--sequence-length", "8", "--learning-rate", "1"]
    assert main(["train", str(repository), "--device", "cpu", "--base", "tiny", *options]) == 1
    assert "starting weights are back" in capsys.readouterr().out
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


def test_ctrl_c_stops_and_keeps(repository, tiny_base, capsys, monkeypatch):
    def interrupt(plain):
        def show(event):
            plain(event)
            if isinstance(event, StepEvent) and event.step == 5:
                os.kill(os.getpid(), signal.SIGINT)

        return show

    monkeypatch.setattr(train, "print_json", interrupt(train.print_json))
    before = signal.getsignal(signal.SIGINT)
    arguments = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "1000", "--json"]
    assert main(["train", str(repository), *arguments]) == 0
    lines = lines_of(capsys)
    finished = next(line for line in lines if line["event"] == "finished")
    assert finished["reason"] == "stopped" and 5 <= finished["step"] <= 7 and lines[-1]["event"] == "checkpoint"
    assert signal.getsignal(signal.SIGINT) is before


TWICE = """
import os, signal, sys
from pathlib import Path
from app.command_line import main, train
from engine.session import bases, interrupted_runs
bases.starter_folder = lambda: None

class Twice(train.Report):
    def __call__(self, event):
        runs = Path(os.environ["CODECOIL_DATA"]) / "runs"
        if event.event == "step" and event.step >= 4 and interrupted_runs(runs):  # its first saving is on disk
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

train.Report = Twice
main(sys.argv[1:])
"""


def test_a_second_ctrl_c_quits_at_once_and_the_run_goes_on_later(repository, tiny_base, data_folder, capsys):
    """In a process of its own, since it ends without a word to anybody."""
    arguments = ["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "1000"]
    done = subprocess.run([sys.executable, "-c", TWICE, *arguments], capture_output=True, text=True, cwd=ROOT)
    (info,) = interrupted_runs(data_folder / "runs")
    assert done.returncode == 130 and f"codecoil train --resume {info.run}" in done.stderr
    session = resume_session(info.run, data_folder, lambda: open_device("cpu"))
    session.stop()
    assert list(session.run())[-1].event in ("finished", "checkpoint")
    session.close()
    session.device.close()


def test_a_device_that_fails_says_how_to_go_on(repository, tiny_base, data_folder, capsys, monkeypatch):
    plain, calls = TrainingStep.run, []

    def fail(self, *arguments, **more):
        calls.append(1)
        if len(calls) == 4:
            raise DeviceError("The adapter gave up.", "Look at it.")
        return plain(self, *arguments, **more)

    monkeypatch.setattr(TrainingStep, "run", fail)
    options = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "10"]
    assert main(["train", str(repository), *options]) == 3
    said = capsys.readouterr().err
    (info,) = interrupted_runs(data_folder / "runs")
    assert "gave up" in said and f"codecoil train --resume {info.run}" in said
    monkeypatch.setattr(TrainingStep, "run", plain)
    assert main(["train", "--resume", info.run, "--device", "cpu"]) == 0
    assert "Saved as shop #1" in capsys.readouterr().out
    assert interrupted_runs(data_folder / "runs") == []


def test_the_help_names_every_exit_code(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    out = capsys.readouterr().out
    assert all(f"  {code}  " in out for code in (0, 1, 2, 3, 130)) and "--changed-since" in out
