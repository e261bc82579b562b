"""What build.py asks of the machine that it builds on, and of what it built, before it is tried."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="shared libraries of Linux")
PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def build(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(PACKAGING), *sys.path])
    yield importlib.import_module("build")
    for name in ("build", "checks", "contents", "licences", "program_facts", "library_installing"):
        sys.modules.pop(name, None)


def lacking(build, monkeypatch, *files: str) -> None:
    """As if these libraries were not on this machine, and all others were."""
    monkeypatch.setattr(build.system, "loads", lambda file: file not in files)


def test_a_library_that_only_a_screen_needs_is_asked_for_before_building(build, monkeypatch):
    monkeypatch.setattr(build.library_installing, "install", lambda missing: False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    lacking(build, monkeypatch, "libxcb-icccm.so.4", "libwayland-cursor.so.0", "libvulkan.so.1")
    with pytest.raises(build.CheckFailed, match=r"Missing: libxcb-icccm\.so\.4, libwayland-cursor\.so\.0\."):
        build.need_libraries_here()
    lacking(build, monkeypatch, "libvulkan.so.1")
    build.need_libraries_here()


def test_what_could_be_installed_is_no_fault(build, monkeypatch):
    asked = []

    def install(missing) -> bool:
        asked.extend(library.file for library in missing)
        lacking(build, monkeypatch)
        return True

    monkeypatch.setattr(build.library_installing, "install", install)
    lacking(build, monkeypatch, "libxcb-keysyms.so.1")
    build.need_libraries_here()
    assert asked == ["libxcb-keysyms.so.1"]


def test_a_program_that_could_open_no_window_does_not_pass(build, tmp_path):
    inside = tmp_path / "_internal"
    inside.mkdir()
    for library in build.system.LIBRARIES:
        (inside / library.file).touch()
    (inside / "libX11.so.6").unlink()  # the graphics driver's: taken from the user's machine
    build.need_libraries_inside(tmp_path)
    (inside / "libxcb-cursor.so.0").unlink()
    with pytest.raises(build.CheckFailed, match=r"libxcb-cursor\.so\.0"):
        build.need_libraries_inside(tmp_path)
