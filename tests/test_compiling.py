"""Compiled functions that are kept on disk, and what makes them too old."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def answer(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-m", "parts.outer"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_change_in_another_file_of_the_package_is_seen(tmp_path):
    package = tmp_path / "parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "outer.py").write_text(OUTER)
    (package / "inner.py").write_text(INNER.format(1))
    assert answer(tmp_path) == "2 0"
    assert answer(tmp_path) == "2 1"  # kept
    (package / "inner.py").write_text(INNER.format(5))
    assert answer(tmp_path) == "6 0"
