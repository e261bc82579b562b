#!/usr/bin/env python3
"""Sets up the project in .venv and runs it:  python3 packaging/dev.py run|test|setup [arguments]

    run    open the program; without a screen, take a tour of it offscreen and save pictures
           --base smollm2: fetch SmolLM2-135M first (93 MB, once) and import it as a base model
    test   ruff, import-linter, then pytest with the arguments given
           --real-model: fetch SmolLM2-135M first and also run the tests that need a real model
    setup  only set up

Later calls take next to no time: a stamp in .venv says what it was set up for.  The stamp reads "unfinished" during a
set-up, so that an interrupted one starts over.  Standard library only, and no syntax newer than Python 3.8: an old
Python must get as far as the message that it is too old.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import library_installing
import real_model
from library_installing import system
from quiet_command import run_quietly

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "codecoil-setup.txt"
PICTURES = ROOT / "build" / "tour"
MODELS = ROOT / "build" / "models"
LEAST_PYTHON = (3, 11)
WHOLE_RUN = ("-q", "--numprocesses=2", "--dist=loadfile")  # a file stays with one process, for its fixtures
SETUP_VERSION = 1  # raise it when the set-up below changes what it installs
UNFINISHED = "unfinished"
SETUP_FAILED = 2


def stop(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
    raise SystemExit(SETUP_FAILED)


def say(message: str) -> None:
    print(message, flush=True)


def program(name: str) -> Path:
    """A program of the virtual environment."""
    return VENV / "Scripts" / f"{name}.exe" if os.name == "nt" else VENV / "bin" / name


# ---- checks


def version_message(version: tuple[int, ...], newer: str | None = None) -> str:
    """What to do if this Python is too old; "" if it is not."""
    if tuple(version[:2]) >= LEAST_PYTHON:
        return ""
    wanted, found = (".".join(str(part) for part in v) for v in (LEAST_PYTHON, version[:3]))
    remedy = f"Run:  {newer} packaging/dev.py …" if newer else "Install a newer one and run this file with it."
    return f"Codecoil needs Python {wanted} or newer; this is Python {found}. {remedy}"


def check_python() -> None:
    names = (f"python3.{minor}" for minor in range(LEAST_PYTHON[1] + 5, LEAST_PYTHON[1] - 1, -1))
    message = version_message(sys.version_info[:3], next((name for name in names if shutil.which(name)), None))
    if message:
        stop(message)


def essential(missing: list[system.Library], command: str) -> list[system.Library]:
    """Those that `command` cannot do without.

    The program has a CPU device and computes in one thread at a time; the tests need Vulkan and Numba's threads, but
    no screen.
    """
    purposes = {system.BASE, system.VENV}
    if command == "test":
        purposes |= {system.VULKAN, system.THREADS}
    elif command == "run" and has_screen():
        screens = system.screen_kinds()
        if screens <= {library.purpose for library in missing}:  # one working kind of screen is enough
            purposes |= screens
    return [library for library in missing if library.purpose in purposes]


def check_system(command: str, keep: bool, fresh: bool) -> None:
    """Install or name missing libraries.  Once set up, only those that this command needs matter."""

    def find() -> list[system.Library]:
        importlib.invalidate_caches()
        no_pip = not keep and importlib.util.find_spec("ensurepip") is None
        missing = system.missing_libraries() + ([system.ENSUREPIP] if no_pip else [])
        return essential(missing, command) if fresh else missing

    missing = find()
    if missing and library_installing.install(missing):
        missing = find()
    if missing:
        say(system.advice(missing, system.package_manager()))
    if essential(missing, command):
        stop("Codecoil needs them." if len(missing) > 1 else "Codecoil needs it.")


def has_screen() -> bool:
    if os.environ.get("CI"):
        return False
    return not sys.platform.startswith("linux") or bool(system.screen_kinds())


# ---- the virtual environment


def place() -> str:
    """What a virtual environment depends on: the Python, and its folder (its scripts contain the path)."""
    return f"python {sys.version_info[0]}.{sys.version_info[1]} in {ROOT}"


def stamp_text() -> str:
    """Where the environment is, and a hash of what it was set up for."""
    parts = (ROOT / "pyproject.toml").read_bytes(), str(SETUP_VERSION).encode()
    return f"{place()}\n{hashlib.sha256(b'|'.join(parts)).hexdigest()}\n"


def read_stamp() -> str | None:
    return STAMP.read_text(encoding="utf-8") if STAMP.is_file() else None


def python_works() -> bool:
    """Whether .venv has a Python of this version, with pip, that starts."""
    question = "import sys, importlib.util as u; print(*sys.version_info[:2], u.find_spec('pip') is not None)"
    try:
        answer = subprocess.run([program("python"), "-c", question], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return answer.split() == [*(str(part) for part in sys.version_info[:2]), "True"]


def usable() -> bool:
    """Whether .venv can be kept: made here, complete and working.  One without a stamp was made by hand and counts."""
    stamp = read_stamp()
    return (stamp is None or stamp.startswith(f"{place()}\n")) and python_works()


def make_environment() -> None:
    say("Setting up: creating a virtual environment in .venv…")
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        program("python").unlink(missing_ok=True)  # first: half a folder must not pass for a working one
        shutil.rmtree(VENV)
    VENV.mkdir()
    STAMP.write_text(UNFINISHED, encoding="utf-8")
    base = getattr(sys, "_base_executable", None) or sys.executable  # not the one in the deleted folder
    if run_quietly([base, "-m", "venv", VENV]):
        stop("The virtual environment could not be created; the output above says why.")


def install_project() -> None:
    stamp = stamp_text()  # before installing: an edit to pyproject.toml meanwhile counts as a change
    STAMP.write_text(UNFINISHED, encoding="utf-8")
    pip = [program("python"), "-m", "pip", "install", "--disable-pip-version-check"]
    for phase, what in (
        ("updating pip…", ["pip>=25.1"]),  # the first version with --group
        ("installing Codecoil and its test tools (about a minute)…", ["--editable", ".", "--group", "test"]),
    ):
        say(f"Setting up: {phase}")
        if run_quietly([*pip, *what], cwd=ROOT):
            STAMP.unlink()  # pip failed cleanly: the next call continues from here
            stop("pip failed; its output is above. Fix the cause and run the same command again.")
    STAMP.write_text(stamp, encoding="utf-8")


def set_up(command: str) -> None:
    check_python()
    keep = usable()
    fresh = keep and read_stamp() == stamp_text()
    check_system(command, keep, fresh)
    if not keep:
        make_environment()
    if not fresh:
        install_project()


# ---- the commands


def fetch_real_model() -> Path:
    try:
        return real_model.model_file(program("python"), MODELS, say)
    except real_model.RealModelError as error:
        stop(str(error))
        raise


def import_base(name: str, arguments: list[str]) -> None:
    """Import the model into the store that the program will use, unless it is there already."""
    if name != real_model.NAME:
        stop(f"There is no base {name!r} to set up; known is {real_model.NAME}.")
    stored = real_model.SMOLLM2.name
    command = [program("python"), "-P", "-m", "app", "base", "import", fetch_real_model(), "--name", stored]
    if "--data-dir" in arguments:
        command += ["--data-dir", *arguments[arguments.index("--data-dir") + 1 :][:1]]
    say(f"Setting up: importing {name}…")
    if run_quietly(command):
        stop("The model could not be imported; the output above says why.")


def run(arguments: list[str]) -> int:
    """Open the program in the caller's folder, or take its tour where there is no screen to open it on."""
    if arguments[:1] == ["--base"]:
        import_base("".join(arguments[1:2]), arguments[2:])
        arguments = arguments[2:]
    environment = dict(os.environ)
    command = [program("python"), "-P", "-m", "app", *arguments]  # -P: `app` is ours, not a folder of the caller's
    if not has_screen():
        environment.setdefault("QT_QPA_PLATFORM", "offscreen")
        if not arguments:
            say("No screen here: taking a tour of the program offscreen, which takes some minutes.")
            command = [program("python"), ROOT / "packaging" / "take_tour.py", "--out", PICTURES]
    code = subprocess.run([str(word) for word in command], env=environment, check=False).returncode
    return code if code >= 0 else 128 - code  # ended by a signal: the exit code that a shell would give


def test(arguments: list[str]) -> int:
    """Run every check, even after a failure; returns the exit code of the first one.  pytest's summary comes last."""
    environment = {"QT_QPA_PLATFORM": "offscreen", **os.environ}
    if "--real-model" in arguments:
        arguments = [word for word in arguments if word != "--real-model"]
        environment[real_model.VARIABLE] = str(fetch_real_model())
    checks = {
        "ruff check": [program("ruff"), "check"],
        "ruff format": [program("ruff"), "format", "--check"],
        "lint-imports": [program("lint-imports")],
        "pytest": [program("python"), "-m", "pytest", *(arguments or WHOLE_RUN)],
    }
    failed: dict[str, int] = {}
    for name, command in checks.items():
        say(f"Checking: {name}")
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if code:
            failed[name] = code
            if name != "pytest":
                say(f"Failed: {name}")
    if failed and not os.environ.get("CI"):
        say(f"Failed: {', '.join(failed)}")
    return next(iter(failed.values()), 0)


def main(arguments: list[str]) -> int:
    commands = {"run": run, "test": test, "setup": lambda _: say("Codecoil is set up.") or 0}
    if not arguments or arguments[0] not in commands:
        say(str(__doc__).split("\n\nCalling")[0])
        return 0 if arguments[:1] in (["-h"], ["--help"]) else SETUP_FAILED
    try:
        set_up(arguments[0])
        return commands[arguments[0]](arguments[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
