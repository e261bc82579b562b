"""A repository and a data folder for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "corpus" / "repository"))


@pytest.fixture
def root(tmp_path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path) -> Path:
    return tmp_path / "data"
