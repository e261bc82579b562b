"""The wheel: every file of the packages is in it, nothing else is, and the repository stays small."""

from __future__ import annotations

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 40 * 10**6
FOLDERS = ("app", "engine", "shaders", "resources", "tests", "packaging")


@pytest.fixture
def check_wheel(monkeypatch):
    """The script, with its own folder on the path, as when it is run."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return importlib.import_module("check_wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built by the same back end as everywhere, without an environment of its own, which would have to be fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=120)
    yield next(folder.glob("*.whl"))
    for file in folder.iterdir():
        file.unlink()


def test_the_wheel_holds_the_packages_and_nothing_else(check_wheel, wheel):
    held, wanted = check_wheel.files_in(wheel), check_wheel.files_of(ROOT)
    assert not wanted - held
    assert not held - wanted


def test_what_is_easily_lost_is_in_it(check_wheel, wheel):
    held = check_wheel.files_in(wheel)
    for name in (
        "resources/sample_repository/.gitignore",
        "resources/sample_repository/board/src/board.ts",
        "resources/sample_repository/vendor/smallclock/smallclock.py",
        "resources/fonts/Inter-Regular.otf",
        "resources/icons/codecoil.svg",
        "resources/help/privacy.md",
        "shaders/lib/grid.wgsl",
        "shaders/rmsnorm.wgsl",
    ):
        assert name in held


def test_it_starts_by_both_names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        entries = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        words = archive.read(entries).decode()
    assert "[console_scripts]\ncodecoil = app.command_line:main" in words
    assert "[gui_scripts]\ncodecoil-desktop = app.desktop:main" in words


def test_it_names_every_licence_of_what_is_in_it(wheel):
    """The program's own, and that of the fonts beside it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    assert "License-Expression: MIT AND OFL-1.1\n" in metadata
    held = {name.partition(".dist-info/licenses/")[2] for name in names if ".dist-info/licenses/" in name}
    fonts = {path.relative_to(ROOT).as_posix() for path in (ROOT / "resources" / "fonts").glob("*-OFL.txt")}
    assert len(fonts) == 2 and held == {"LICENSE"} | fonts


def test_a_file_that_is_missing_would_be_seen(check_wheel, tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".hidden").touch()
    (tmp_path / "app" / "__pycache__").mkdir()
    (tmp_path / "app" / "__pycache__" / "a.pyc").touch()
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("app/a.py", "")
        archive.writestr("a-1.dist-info/RECORD", "")
    assert check_wheel.files_of(tmp_path) == {"app/.hidden"}
    assert check_wheel.files_in(tmp_path / "a.whl") == {"app/a.py"}


def test_the_repository_is_small():
    files = [path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    largest = sorted(files, key=lambda path: path.stat().st_size)[-5:]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES, [str(path) for path in largest]
