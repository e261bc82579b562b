#!/usr/bin/env python3
"""Builds the program as one folder that needs no Python, and tests it:  python3 packaging/build.py [--out FOLDER]

    --out FOLDER   where the folder (on macOS the bundle) goes; default: dist
    --no-checks    build only
    --only-checks  test an earlier build

The build environment is build/environment, separate from .venv: what is not installed there cannot get into the program
by accident.  A build is for this kind of system; on Linux it needs a C library at least as new as this one, so build on
an old system.  The system libraries that Qt's windows need are included: one that is missing here is installed if you
are root, otherwise named.  Standard library only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import library_installing
import licences
import program_facts as facts
from checks import CheckFailed, Program, check, hiding, without_network
from library_installing import system
from quiet_command import run_quietly

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build"
ENVIRONMENT = BUILD / "environment"
MOST_BYTES = 600 * 10**6  # installed, with everything
WINDOWS, MACOS = sys.platform == "win32", sys.platform == "darwin"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], add_help=True)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("--no-checks", action="store_true")
    parser.add_argument("--only-checks", action="store_true")
    arguments = parser.parse_args()
    out = arguments.out.absolute()
    try:
        if not arguments.only_checks:
            build(out)
        report_size(built_folder(out))
        need_libraries_inside(built_folder(out))
        if not arguments.no_checks:
            test_elsewhere(built_folder(out))
    except (CheckFailed, subprocess.CalledProcessError) as problem:
        print(f"Failed: {problem}", file=sys.stderr)
        return 1
    print(f"Codecoil {facts.VERSION} is in {built_folder(out)}")
    return 0


def built_folder(out: Path) -> Path:
    """What is distributed."""
    return out / f"{facts.NAME}.app" if MACOS else out / facts.COMMAND


def executable(folder: Path, desktop: bool = False) -> Path:
    """The executable in it; on Windows the desktop has its own."""
    if MACOS:
        return folder / "Contents" / "MacOS" / facts.COMMAND
    return folder / (f"{facts.COMMAND}{'-desktop' if desktop else ''}.exe" if WINDOWS else facts.COMMAND)


# ---- building


def build(out: Path) -> None:
    """The environment, the icons, PyInstaller, and the files next to the program."""
    need_libraries_here()
    python = make_environment()
    icons = BUILD / "icons"
    run(python, HERE / "icons.py", icons)
    say("Building with PyInstaller (a few minutes)…")
    run(
        *(python, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"),
        *("--distpath", out, "--workpath", BUILD / "pyinstaller", HERE / "codecoil.spec"),
        CODECOIL_ICONS=str(icons),
    )
    folder = built_folder(out)
    notes = folder / "Contents" / "Resources" if MACOS else folder
    shutil.copy(ROOT / "LICENSE", notes / "LICENSE.txt")
    run(python, HERE / "licences.py", notes / licences.FOLDER, notes)
    if MACOS:  # PyInstaller signed the bundle before these files were added
        run("codesign", "--force", "--deep", "--sign", "-", folder)
    if not WINDOWS and not MACOS:
        place_desktop_files(folder, icons)


def need_libraries_here() -> None:
    """The libraries that Qt's windows are linked against: PyInstaller only warns about those it does not find."""
    missing = missing_for_windows()
    if missing and library_installing.install(missing):
        missing = missing_for_windows()
    if missing:
        raise CheckFailed(system.advice(missing, system.package_manager()))


def missing_for_windows() -> list[system.Library]:
    return [each for each in system.missing_libraries(every_screen=True) if each.purpose != system.VULKAN]


def make_environment() -> Path:
    """A virtual environment with the program's libraries and the build tools; returns its Python."""
    python = ENVIRONMENT / ("Scripts/python.exe" if WINDOWS else "bin/python")
    if not python.exists():
        say("Creating the build environment in build/environment…")
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
    say("Installing the program's libraries and the build tools…")
    pip = (python, "-m", "pip", "install", "--disable-pip-version-check")
    for what in (["pip>=25.1"], ["--upgrade", ROOT, "--group", f"{ROOT / 'pyproject.toml'}:build"]):  # 25.1: --group
        if run_quietly([*pip, *what], cwd=ROOT):
            raise CheckFailed("pip failed; its output is above")
    return python


def place_desktop_files(folder: Path, icons: Path) -> None:
    """Menu entry, description and icons in their standard folders, and the script that installs them."""
    share = folder / "share"
    shutil.rmtree(share, ignore_errors=True)
    for source, target in (
        ("codecoil.desktop", "applications/codecoil.desktop"),
        ("codecoil.metainfo.xml", f"metainfo/{facts.IDENTIFIER}.metainfo.xml"),
    ):
        (share / target).parent.mkdir(parents=True)
        shutil.copyfile(HERE / "linux" / source, share / target)
    for drawn in [*icons.glob("*/codecoil.png"), icons / "scalable" / "codecoil.svg"]:
        target = share / "icons" / "hicolor" / drawn.parent.name / "apps" / drawn.name
        target.parent.mkdir(parents=True)
        shutil.copyfile(drawn, target)
    shutil.copy(HERE / "linux" / "add-to-menu.sh", folder / "add-to-menu.sh")


# ---- testing


def report_size(folder: Path) -> None:
    """Print the size on disk; fails if it is too large."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    say(f"{size / 1e6:.0f} MB on disk (at most {MOST_BYTES / 1e6:.0f})")
    if size > MOST_BYTES:
        raise CheckFailed(f"the build has {size / 1e6:.0f} MB, more than the limit of {MOST_BYTES / 1e6:.0f}")


def need_libraries_inside(folder: Path) -> None:
    """On Linux, whether a window could open on a bare system with a screen: the offscreen checks would not notice."""
    if not sys.platform.startswith("linux"):
        return
    sys.path.append(str(HERE / "frozen"))
    import contents

    brought = [each.file for each in system.LIBRARIES if not contents.of_the_system(each.file)]
    if missing := [file for file in brought if not (folder / "_internal" / file).exists()]:
        raise CheckFailed(f"it lacks {', '.join(missing)}: it might open no window on a screen")


def test_elsewhere(folder: Path) -> None:
    """Run all checks on a copy elsewhere: nothing may depend on where it was built."""
    with tempfile.TemporaryDirectory(prefix="codecoil-built-") as place:
        began = time.monotonic()
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy, symlinks=True)
        hidden = hiding(ROOT)
        tree = "no source tree" if hidden else "the source tree visible (it cannot be hidden on this system)"
        say(f"Testing a copy in {copy} with an empty environment, no network and {tree}:")
        console, desktop = str(executable(copy)), str(executable(copy, desktop=True))
        with without_network():
            check(Program((*hidden, console), (*hidden, desktop), facts.VERSION))
        say(f"All checks passed ({time.monotonic() - began:.0f} s).")


def run(*command: str | Path, **variables: str) -> None:
    subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **variables}, check=True)


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
