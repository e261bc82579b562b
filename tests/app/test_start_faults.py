"""Starting where something is missing: fonts, graphics.  A window all the same, or a message; never a traceback."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app import display, system_libraries
from app.display import interrupted_afterwards
from app.theme import fonts
from engine.errors import ConfigError

ROOT = Path(__file__).parents[2]
LEAVE = """
import sys
from PySide6.QtCore import QTimer
from app import desktop
plain = desktop.open_desktop
def opened(folder, root):
    one = plain(folder)
    def look():
        if one.state.engine.found is not None:
            one.application.exit(0)
    timer = QTimer(one.window)
    timer.timeout.connect(look)
    timer.start(50)
    return one
desktop.open_desktop = opened
from app.command_line import main
sys.exit(main([]))
"""


def test_without_graphics_and_without_fonts_of_the_system_there_is_a_window(python, tmp_path, data_folder):
    (tmp_path / "fonts.conf").write_text('<?xml version="1.0"?><fontconfig></fontconfig>')
    nothing = str(tmp_path / "nothing")
    environment = os.environ | {
        "FONTCONFIG_FILE": str(tmp_path / "fonts.conf"),
        **dict.fromkeys(("VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES"), nothing),
    }
    done = subprocess.run([python, "-c", LEAVE], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    log = (data_folder / "codecoil.log").read_text()
    devices = next(line for line in log.splitlines() if "Devices: " in line)
    assert "cpu (" in devices and "llvmpipe" not in devices
    assert "ERROR" not in log and log.splitlines()[-1].endswith("The window was closed")


def test_no_font_at_all_is_a_message(qapp, monkeypatch):
    monkeypatch.setattr(fonts, "_loaded", False)
    monkeypatch.setattr(fonts, "FILES", ("No-Such-Font.otf",))
    fonts.load_fonts()  # the system's stand in
    monkeypatch.setattr(fonts, "_loaded", False)
    monkeypatch.setattr(fonts.QFontDatabase, "families", staticmethod(list))
    with pytest.raises(ConfigError, match="font"):
        fonts.load_fonts()


@pytest.fixture
def no_cursor_library(monkeypatch):
    """As on a fresh Debian: Qt's library for cursors on X11 is not installed, and there is a screen."""
    plain = ctypes.CDLL

    def load(name, *arguments, **options):
        if "libqxcb" in str(name) or "libxcb-cursor" in str(name):
            raise OSError("libxcb-cursor.so.0: cannot open shared object file: No such file or directory")
        return plain(name, *arguments, **options)

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(display, "package_manager", lambda: "apt")
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":99")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 on Linux")
def test_a_missing_library_is_named_with_its_package_and_the_set_up(run_program, no_cursor_library, capsys):
    assert run_program([]) == 2
    said = capsys.readouterr().err
    assert "libxcb-cursor.so.0" in said and "apt-get install" in said and "libxcb-cursor0" in said
    assert f"python3 {ROOT / 'packaging' / 'dev.py'} run" in said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 on Linux")
def test_an_installed_program_does_not_name_a_set_up_that_it_does_not_have(no_cursor_library, monkeypatch, tmp_path):
    monkeypatch.setattr(display, "SETUP", tmp_path / "dev.py")
    assert "libxcb-cursor0" in display.library_remedy() and "dev.py" not in display.library_remedy()


def test_qt_that_cannot_be_loaded_is_a_message(run_program, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "PySide6.QtWidgets", None)  # importing it is an ImportError
    monkeypatch.setattr(system_libraries, "loads", lambda file: file != "libEGL.so.1")
    monkeypatch.setattr(display, "package_manager", lambda: "apt")
    monkeypatch.setattr(sys, "platform", "linux")
    assert run_program([]) == 2
    said = capsys.readouterr().err
    assert "PySide6.QtWidgets" in said and "apt-get install" in said and "libegl1" in said
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_qt_is_loaded_waits_for_its_end():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = []
    with pytest.raises(KeyboardInterrupt), interrupted_afterwards():
        signal.raise_signal(signal.SIGINT)
        done.append("loaded")
    assert done == ["loaded"]
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
