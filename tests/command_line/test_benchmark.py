"""`codecoil benchmark`: on the real engine with tiny programs, interrupted, refused."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
from functools import partial
from pathlib import Path

import pytest

from app.command_line import INTERRUPTED, REFUSED, main
from engine.benchmark import run
from engine.errors import DeviceError
from engine.graph.fused_kernels import FUSED
from engine.graph.kernels import KERNELS
from tests.benchmark.conftest import SIZES, WORKLOADS, hurried  # noqa: F401  (fixture)


@pytest.fixture
def tiny(hurried, monkeypatch):  # noqa: F811  (a fixture)
    monkeypatch.setattr(run, "measure", partial(run.measure, workloads=WORKLOADS[:2], sizes=SIZES))


def test_it_prints_a_text_for_an_issue(tiny, capsys):
    assert main(["benchmark", "--device", "cpu"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("```text\nCodecoil") and printed.err == ""
    assert all(f" {kernel} " in printed.out for kernel in set(KERNELS) - FUSED)


def test_nothing_private_is_in_the_text(tiny, capsys, data_folder):
    assert main(["benchmark", "--device", "cpu", "--json"]) == 0
    printed = capsys.readouterr().out
    json.loads(printed)
    private = [str(data_folder), str(Path.cwd()), str(Path.home()), platform.node()]
    assert [word for word in private if len(word) > 2 and word in printed] == []
    words = set(printed.replace('"', " ").split())
    assert getpass.getuser() not in words


def test_json_has_every_kernel(tiny, capsys):
    assert main(["benchmark", "--device", "cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["kernel"] for row in found["kernels"]} == set(KERNELS) - FUSED and found["finished"]


def test_seconds_and_the_ceiling_of_the_settings_are_passed_on(monkeypatch, data_folder):
    asked = []
    monkeypatch.setattr(run, "measure", lambda name, **options: asked.append((name, options)))
    data_folder.mkdir()
    (data_folder / "settings.json").write_text(json.dumps({"memory_ceiling": 700 << 20}))
    assert main(["benchmark", "--device", "cpu", "--seconds", "7"]) == 0
    ((name, options),) = asked
    assert (name, options["seconds"], options["ceiling"]) == ("cpu", 7, 700 << 20)


def test_ctrl_c_ends_it_with_what_was_measured(tiny, capsys, monkeypatch):
    before, whole = signal.getsignal(signal.SIGINT), run.measure

    def measure(name, *, report, look, **options):
        def reported(result, done, total, what):
            report(result, done, total, what)
            if what.endswith("gate measured"):
                os.kill(os.getpid(), signal.SIGINT)

        return whole(name, report=reported, look=look, **options)

    monkeypatch.setattr(run, "measure", measure)
    assert main(["benchmark", "--device", "cpu"]) == INTERRUPTED
    printed = capsys.readouterr()
    assert " rmsnorm " in printed.out and " top_k " not in printed.out
    assert "cancelled" in printed.out and "Interrupted" in printed.err
    assert signal.getsignal(signal.SIGINT) is before


def test_a_device_that_fails_is_a_message_and_a_remedy(monkeypatch, capsys):
    def fails(*arguments, **options):
        raise DeviceError("The adapter went away.", "Open it again.")

    monkeypatch.setattr(run, "open_device", fails)
    assert main(["benchmark", "--device", "cpu"]) == REFUSED
    assert capsys.readouterr().err == "codecoil: The adapter went away.\n  Open it again.\n"


def test_too_short_a_time_is_refused(capsys):
    assert main(["benchmark", "--seconds", "0"]) == REFUSED
    assert "at least" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal(tiny, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["benchmark", "--device", "cpu"]) == 0
    assert "part 2 of " in capsys.readouterr().err
