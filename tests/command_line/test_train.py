"""`codecoil train`: events as lines, words for people, interrupts, and exit codes."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.command_line import main, train
from engine.checkpoints.store.store import CheckpointStore
from engine.devices import open_device
from engine.errors import DeviceError
from engine.model.step import TrainingStep
from engine.session import interrupted_runs, resume_session
from engine.train.events import StepEvent

ROOT = Path(__file__).parents[2]
SHORT = ["--device", "cpu", "--batch-size", "2", "--sequence-length", "32", "--learning-rate", "0.01"]


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch):
    """Every kernel is prepared where it is first used; that takes less time than preparing all of them."""
    monkeypatch.setattr("engine.devices.single_kernel.warm_up", lambda device, report: None)


def lines_of(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def only(lines, event):
    (line,) = [line for line in lines if line["event"] == event]
    return line


def interrupt_at(monkeypatch, wanted) -> None:
    """Ctrl-C, as it were, when the first event that is `wanted` has been printed."""
    plain, sent = train.JsonLines.__call__, []

    def show(self, event):
        plain(self, event)
        if not sent and wanted(event):
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(train.JsonLines, "__call__", show)


def test_the_command_prints_one_event_a_line(repository, tiny_base, capsys):
    options = ["--mode", "lora", "--steps", "12", "--insight-interval", "5", "--json"]
    assert main(["train", str(repository), *SHORT, "--base", "tiny", *options]) == 0
    lines = lines_of(capsys)
    kinds = [line["event"] for line in lines]
    assert kinds[0] == "plan" and lines[0]["run"] and lines[0]["base"] == "tiny"
    assert set(kinds) == {"plan", "step", "evaluation", "layers", "finished", "checkpoint"}
    step = next(line for line in lines if line["event"] == "step")
    assert {"step", "loss", "tokens_per_second", "memory", "seconds_left", "progress"} <= step.keys()
    assert all("held_out_loss" in line for line in lines if line["event"] == "evaluation")
    assert kinds.count("evaluation") >= 11
    assert [line["step"] for line in lines if line["event"] == "layers"] == [5, 10]


def test_the_last_event_tells_the_loss_and_what_was_kept(repository, tiny_base, data_folder, capsys):
    options = ["--mode", "full", "--steps", "10", "--timeline", "2", "--json"]
    assert main(["train", str(repository), *SHORT, "--base", "tiny", *options]) == 0
    lines = lines_of(capsys)
    last, kept = lines[-1], [line for line in lines if line["event"] == "checkpoint"]
    assert last["event"] == "finished" and [line["timeline"] for line in kept] == [True, False]
    assert last["checkpoint"] == kept[-1]["checkpoint"] != kept[0]["checkpoint"]
    assert last["held_out_loss"] == last["held_out_after"] == kept[-1]["held_out_loss"] < last["held_out_before"]
    assert CheckpointStore(data_folder / "checkpoints").get(last["checkpoint"]).name == kept[-1]["name"]


def test_words_for_people_end_with_what_was_kept(repository, tiny_base, capsys):
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "10"]) == 0
    out = capsys.readouterr().out
    assert "mode full" in out and "held-out loss" in out and "best so far" in out
    assert "before," in out and "Saved as shop #1" in out


def test_a_terminal_shows_a_bar_with_all_that_is_worth_watching(repository, tiny_base, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "20"]) == 0
    lines = capsys.readouterr().out.replace("\r", "\n").splitlines()
    (half,) = [line for line in lines if " 10/20 " in line]
    assert half.startswith("[##########----------] 10/20  loss ")
    assert re.search(r"loss \d\.\d+  held-out \d\.\d+  [\d,]+ tokens/s  [\d.,]+ [KM]iB  .+ left", half)


def test_a_new_model_is_trained_in_full(repository, capsys):
    assert main(["train", str(repository), *SHORT, "--steps", "3", "--json"]) in (0, 1)
    assert lines_of(capsys)[0]["mode"] == "full"


def test_what_changed_is_learned_alone(repository, tiny_base, capsys):
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "10", "--json"]) == 0
    first = only(lines_of(capsys), "checkpoint")["name"]
    (repository / "new.py").write_text("".join(f"class C{i}:\n    depth = {i}\n\n\n" for i in range(60)))
    code = main(
        ["train", str(repository), *SHORT, "--changed-since", first, "--mode", "full", "--steps", "10", "--json"]
    )
    finished = only(lines_of(capsys), "finished")
    assert code in (0, 1) and finished["changed_files"] == 1
    assert finished["changed_before"] >= finished["changed_after"]
    assert finished["held_out_after"] <= finished["held_out_before"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "0"], "steps is 0"),
        (["--mode", "loud"], "'loud'"),
        (["--preset", "slow"], "'slow'"),
        (["--base", "nothing"], "nothing"),
        (["--duty-cycle", "0.01"], "duty_cycle is 0.01"),
        (["--warm-up", "-1"], "warm_up is -1"),
        (["--schedule", "steep"], "'steep'"),
        (["--changed-since", "nothing"], "nothing"),
        (["--timeline", "-1"], "timeline is -1"),
        (["--seed", "-1"], "seed is -1"),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words, repository, capsys):
    assert main(["train", str(repository), "--device", "cpu", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("run", ["abc", ""])
def test_a_run_that_is_not_there_cannot_go_on(run, capsys):
    assert main(["train", "--resume", run, "--device", "cpu"]) == 2
    assert run in capsys.readouterr().err


def test_no_folder_and_an_empty_one_say_what_to_do(tmp_path, capsys):
    for nothing in ([], [""]):  # the latter is what a script's unset variable gives: not the folder it happens to be in
        assert main(["train", *nothing]) == 2
        assert "--resume" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["train", str(tmp_path / "empty"), "--device", "cpu"]) == 2
    assert "codecoil" in capsys.readouterr().err


def test_a_run_that_makes_things_worse_keeps_nothing_and_has_a_code(repository, tiny_base, data_folder, capsys):
    """At once and at full rate: a longer run can find its way back to something better."""
    options = ["--mode", "full", "--steps", "3", "--warm-up", "0", "--learning-rate", "1"]
    assert main(["train", str(repository), *SHORT, "--base", "tiny", *options]) == 1
    assert "did not improve" in capsys.readouterr().out
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


def test_time_that_is_up_before_the_first_step_is_no_success(repository, tiny_base, data_folder, capsys):
    assert main(["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--minutes", "1e-9"]) == 1
    assert "--minutes" in capsys.readouterr().err
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


def test_ctrl_c_stops_and_keeps(repository, tiny_base, capsys, monkeypatch):
    interrupt_at(monkeypatch, lambda event: isinstance(event, StepEvent) and event.step == 5)
    before = signal.getsignal(signal.SIGINT)
    arguments = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "1000", "--json"]
    assert main(["train", str(repository), *arguments]) == 0
    lines = lines_of(capsys)
    finished = lines[-1]
    assert finished["reason"] == "stopped" and 5 <= finished["step"] <= 7
    assert finished["checkpoint"] == only(lines, "checkpoint")["checkpoint"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("event", ["plan", "evaluation"])  # before the first measurement, and after it
def test_ctrl_c_before_the_first_step_keeps_nothing_and_says_so(
    event, repository, tiny_base, data_folder, capsys, monkeypatch
):
    interrupt_at(monkeypatch, lambda each: each.event == event)
    arguments = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "1000", "--json"]
    assert main(["train", str(repository), *arguments]) == 130
    out, said = capsys.readouterr()
    assert train.NOTHING_KEPT in said and train.NOTHING_SAVED in said
    finished = json.loads(out.splitlines()[-1])
    assert finished["event"] == "finished" and finished["step"] == 0 and finished["checkpoint"] is None
    assert interrupted_runs(data_folder / "runs") == []
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"), [(["."], train.NOTHING_KEPT), (["--resume", "abc"], "codecoil train --resume abc")]
)
def test_ctrl_c_while_it_gets_ready_says_where_things_are(arguments, words, capsys, monkeypatch):
    def interrupted(device, report):
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.devices.single_kernel.warm_up", interrupted)
    assert main(["train", "--device", "cpu", *arguments]) == 130
    assert words in capsys.readouterr().err


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
    """In a process of its own, because it exits without cleaning up."""
    arguments = ["train", str(repository), *SHORT, "--base", "tiny", "--mode", "full", "--steps", "1000"]
    done = subprocess.run([sys.executable, "-c", TWICE, *arguments], capture_output=True, text=True, cwd=ROOT)
    (info,) = interrupted_runs(data_folder / "runs")
    assert done.returncode == 130 and f"codecoil train --resume {info.run}" in done.stderr
    session = resume_session(info.run, data_folder, lambda: open_device("cpu"))
    session.stop()
    assert list(session.run())[-1].event in ("finished", "checkpoint")
    session.close()
    session.device.close()


def test_a_reader_that_goes_away_costs_nothing(repository, tiny_base, data_folder, capsys, monkeypatch):
    """As in `codecoil train … --json | head`: the run is saved where it was, and and standard error says so."""

    def gone(self, event):
        if event.event == "step" and event.step == 4:
            raise BrokenPipeError

    options = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "10", "--json"]
    with monkeypatch.context() as patch:
        patch.setattr(train.JsonLines, "__call__", gone)
        assert main(["train", str(repository), *options]) == 3
    (info,) = interrupted_runs(data_folder / "runs")
    assert info.step == 4 and f"codecoil train --resume {info.run}" in capsys.readouterr().err
    assert main(["train", "--resume", info.run, "--device", "cpu", "--json"]) == 0
    assert [line["step"] for line in lines_of(capsys) if line["event"] == "step"] == [5, 6, 7, 8, 9, 10]


@pytest.mark.parametrize("words", [train.JsonLines, train.Report])
def test_ctrl_c_keeps_also_where_it_ends_the_reader(words, repository, tiny_base, data_folder, capsys, monkeypatch):
    """As in `codecoil train … | tee log`: both get the signal."""

    def gone(self, event):
        if event.event == "step" and event.step == 5:
            os.kill(os.getpid(), signal.SIGINT)
        elif event.step >= 5:
            raise BrokenPipeError

    monkeypatch.setattr(words, "__call__", gone)
    options = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "1000"]
    assert main(["train", str(repository), *options, *(["--json"] if words is train.JsonLines else [])]) == 0
    assert train.NOTHING_KEPT not in capsys.readouterr().err
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 2 and not interrupted_runs(data_folder / "runs")


def test_a_reader_that_goes_away_at_the_end_leaves_a_finished_run(
    repository, tiny_base, data_folder, capsys, monkeypatch
):
    def gone(self):
        raise BrokenPipeError

    monkeypatch.setattr(train.JsonLines, "end", gone)
    options = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "10", "--json"]
    assert main(["train", str(repository), *options]) == 0
    assert interrupted_runs(data_folder / "runs") == []
    assert len(CheckpointStore(data_folder / "checkpoints").list()) == 2


def test_a_full_disk_is_refused_before_the_first_step(repository, tiny_base, data_folder, capsys, monkeypatch):
    """As a quota refuses it: the space that the system reports as free says nothing about that."""

    def refuse(file, start, size):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    options = [*SHORT, "--base", "tiny", "--mode", "full", "--steps", "10", "--json"]
    assert main(["train", str(repository), *options]) == 2
    out, said = capsys.readouterr()
    assert out == "" and str(data_folder / "runs") in said and not interrupted_runs(data_folder / "runs")


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
