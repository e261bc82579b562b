"""The command line: what it prints, how it exits, and what it does not load."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from app import VERSION
from engine.errors import DeviceError

ROOT = Path(__file__).parents[2]


def start(python, *arguments, **variables):
    environment = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
    for name in [name for name, value in variables.items() if value is None]:
        environment.pop(name, None)
    command = [python, "-m", "app", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


def test_the_version_is_that_of_the_package():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_version_loads_neither_qt_nor_what_computes(python):
    done = subprocess.run(
        [python, "-X", "importtime", "-m", "app", "--version"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.stdout == f"codecoil {VERSION}\n"
    for package in ("PySide6", "numpy", "numba", "wgpu", "tokenizers"):  # of the engine, only its tables of options
        assert f" {package}\n" not in done.stderr


def test_devices_prints_the_list_and_why(run_program, fake_engine, capsys):
    assert run_program(["devices"]) == 0
    printed = capsys.readouterr().out
    assert "* cpu  A processor" in printed
    assert "  webgpu:0  A <b>graphics</b> card" in printed
    assert "kind     discrete (graphics card)" in printed
    assert "max buffer 1 GiB" in printed
    last = printed.splitlines()[-1]
    assert "auto" in last and "cpu" in last and "no WebGPU adapter" in last


def test_devices_as_json(run_program, fake_engine, capsys):
    assert run_program(["devices", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert [device["name"] for device in listing["devices"]] == ["cpu", "webgpu:0"]
    assert listing["devices"][1]["limits"] == {"max-buffer-size": 2**30}
    assert listing["auto"] == {"name": "cpu", "reason": "the processor: no WebGPU adapter was found"}


def test_devices_loads_no_qt(python):
    code = "import sys; from app.command_line import main; main(['devices']); sys.exit('PySide6' in sys.modules)"
    assert subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, timeout=600).returncode == 0


def test_selftest_fails_with_the_name_of_the_kernel(run_program, fake_engine, capsys):
    fake_engine.wrong = {"matmul_nt": 0.5}
    assert run_program(["selftest"]) == 1
    printed = capsys.readouterr()
    assert "matmul_nt  error 5.0e-01  limit 2.0e-05   1.5 ms  FAILED" in printed.out
    assert "1 of 4" in printed.err and "matmul_nt" in printed.err and "cpu" in printed.err


def test_selftest_checks_the_device_it_is_told(run_program, fake_engine, capsys):
    assert run_program(["selftest", "--device", "webgpu:0"]) == 0
    assert fake_engine.checked == ["webgpu:0"]
    assert capsys.readouterr().out.splitlines()[-1].startswith("All 4 kernels are within their limits (")


def test_selftest_shows_progress_on_a_terminal(run_program, fake_engine, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run_program(["selftest"]) == 0
    assert "\r3 of 4 kernels, 0.0 s" in capsys.readouterr().err


def test_an_error_for_people_is_a_message_and_a_remedy(run_program, fake_engine, capsys):
    assert run_program(["selftest", "--device", "webgpu:7"]) == 2
    assert capsys.readouterr().err == "codecoil: There is no device 'webgpu:7'.\n  Choose one of: auto, cpu.\n"


def test_a_defect_is_not_dressed_up(run_program, fake_engine):
    fake_engine.error = ValueError("a defect")
    with pytest.raises(ValueError, match="a defect"):
        run_program(["selftest"])


def test_interrupting_exits_130(run_program, fake_engine, capsys):
    fake_engine.error = KeyboardInterrupt()
    assert run_program(["selftest"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_an_unknown_device_from_outside(python):
    done = start(python, "selftest", "--device", "webgpu:99")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "webgpu:99" in done.stderr


def test_no_screen_is_a_message(python):
    done = start(python, QT_QPA_PLATFORM=None, DISPLAY=None, WAYLAND_DISPLAY=None)
    assert done.returncode == 2
    assert done.stderr.startswith("codecoil: There is no display") and "codecoil --help" in done.stderr


def test_a_screen_that_does_not_answer_is_a_message(python):
    done = start(python, QT_QPA_PLATFORM=None, DISPLAY=":4711", WAYLAND_DISPLAY=None)
    assert done.returncode == 2
    assert done.stderr.startswith(("codecoil: The display :4711", "codecoil: No window can be opened on X11"))


def test_a_data_folder_that_cannot_be_made_is_a_message(python, tmp_path):
    (tmp_path / "file").write_text("")
    done = start(python, "--data-dir", str(tmp_path / "file" / "below"))
    assert done.returncode == 2
    assert "--data-dir" in done.stderr and "Traceback" not in done.stderr


def test_the_desktop_starter_is_the_same_program(capsys):
    from app.desktop import main

    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"codecoil {VERSION}\n"


def test_errors_are_told_apart_by_type(run_program, fake_engine, capsys):
    fake_engine.listing_error = DeviceError("The driver is broken.")
    assert run_program(["devices"]) == 2
    assert capsys.readouterr().err == "codecoil: The driver is broken.\n"


def test_interrupting_the_desktop_exits_130(python):
    """Ctrl-C in the terminal that the desktop was started from."""
    code = (
        "import os, signal, sys, threading\n"
        "from app.command_line import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may have it ignored in the background
        "threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "sys.exit(main([]))\n"
    )
    done = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
