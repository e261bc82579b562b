#!/usr/bin/env python3
"""Builds the wheel, installs it into an environment of its own, and tests it:  python3 packaging/check_wheel.py

    --keep FOLDER   leave the wheel there
    --no-tour       skip the tour, which takes some minutes

The wheel must hold every file of the packages and nothing else; then each of the three ways to start the program is
tested from another folder, with an empty environment and no network.  Standard library only.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

import program_facts as facts
from checks import CheckFailed, Checks, Program, check, check_desktop, without_network
from quiet_command import run_quietly

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("app", "engine", "shaders", "resources")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--no-tour", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codecoil-wheel-") as place:
        try:
            test_wheel(Path(place), arguments.keep, not arguments.no_tour)
        except CheckFailed as problem:
            print(f"Failed: {problem}", file=sys.stderr)
            return 1
    print("The wheel is complete and works.")
    return 0


def test_wheel(place: Path, keep: Path | None, with_tour: bool) -> None:
    """Build, compare, install, run."""
    environment = place / "environment"
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    suffix = ".exe" if sys.platform == "win32" else ""
    python = str(scripts / f"python{suffix}")
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    print("Building the wheel…", flush=True)
    if run_quietly([*pip, "wheel", "--no-deps", "--wheel-dir", place, ROOT]):
        raise CheckFailed("pip could not build the wheel; its output is above")
    wheel = next(place.glob("*.whl"))
    if difference := sorted(files_in(wheel) ^ files_of(ROOT)):
        raise CheckFailed(f"The wheel's files differ from those of the packages; only in one of them: {difference}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(files_in(wheel))} files", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, keep)
    print("Installing it…", flush=True)
    if run_quietly([*pip, "install", wheel]):
        raise CheckFailed("pip could not install the wheel; its output is above")

    with without_network():
        test_installed(scripts, python, suffix, with_tour)


def test_installed(scripts: Path, python: str, suffix: str, with_tour: bool) -> None:
    """As a command, as a module, and by its desktop command."""
    command, desktop = (str(scripts / f"{name}{suffix}") for name in ("codecoil", "codecoil-desktop"))
    module = (python, "-m", "app")
    print("As a command:", flush=True)
    tour = (python, str(ROOT / "packaging" / "take_tour.py")) if with_tour else ()
    check(Program((command,), (desktop,), facts.VERSION, tour), with_webgpu=with_tour)
    print("As a module:", flush=True)
    with tempfile.TemporaryDirectory(prefix="codecoil-check-") as folder:
        checks = Checks(Program(module, module, facts.VERSION), Path(folder))
        for part in ("elsewhere", "data"):
            (checks.place / part).mkdir()
        with checks.timed("selftest"):
            checks.run("selftest", "--device", "cpu")
        check_desktop(checks)


def files_of(root: Path) -> set[str]:
    """What the wheel must contain: every file of the four packages."""
    return {
        path.relative_to(root).as_posix()
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def files_in(wheel: Path) -> set[str]:
    """What a wheel contains, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


if __name__ == "__main__":
    sys.exit(main())
