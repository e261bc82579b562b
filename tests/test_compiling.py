"""Compiled functions that are kept on disk, and what makes them too old."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTER = """
from engine.compiling import compiled
from parts import inner

@compiled()
def outer(x):
    return inner.inner(x)

print(outer(1), sum(outer.stats.cache_hits.values()))
"""
INNER = """
from numba import njit

@njit
def inner(x):
    return x + {}
"""


WRITES_FAIL = """
import errno
from numba.core.caching import IndexDataCacheFile

def save(self, key, data):
    raise OSError(errno.ENOSPC, "No space left on device")

IndexDataCacheFile.save = save
"""


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]), **environment}
    if "NUMBA_CACHE_DIR" not in environment:
        environment["NUMBA_CACHE_DIR"] = ""
    command = [sys.executable, "-m", "parts.outer"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def answer(folder: Path, **environment: str) -> str:
    done = run(folder, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path):
    package = tmp_path / "parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(OUTER)
    (package / "inner.py").write_text(INNER.format(1))
    return package


def test_a_change_in_another_file_of_the_package_is_seen(package, tmp_path):
    assert answer(tmp_path) == "2 0"
    assert answer(tmp_path) == "2 1"  # kept
    (package / "inner.py").write_text(INNER.format(5))
    assert answer(tmp_path) == "6 0"


def test_where_nothing_can_be_written_it_compiles_and_says_so_once(package, tmp_path):
    """A file in place of each folder stops writing for root, too, whom permissions do not stop."""
    (package / "outer.py").write_text(OUTER + OUTER.replace("outer", "another").partition("\n\n")[2])
    (package / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "folder")
    done = run(tmp_path, XDG_CACHE_HOME=nowhere, HOME=nowhere, LOCALAPPDATA=nowhere, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert done.stdout.split("\n")[:2] == ["2 0", "2 0"]
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1


def test_a_disk_that_is_full_does_not_end_a_computation(package, tmp_path):
    (package / "outer.py").write_text(WRITES_FAIL + OUTER)
    done = run(tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "2 0")
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_is_compiled_again(package, tmp_path, kind):
    assert answer(tmp_path) == "2 0"
    for file in (package / "__pycache__").glob(f"*.{kind}"):
        file.write_bytes(b"\x80\x04nonsense")
    assert answer(tmp_path) == "2 0"
    assert answer(tmp_path) == "2 1"
