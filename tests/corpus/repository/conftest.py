"""Makes the helpers beside the tests importable; a repository and a data folder for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def root(tmp_path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path) -> Path:
    return tmp_path / "data"


class Opened(list):
    """Paths that this process has opened since `clear`."""

    def below(self, folder: Path) -> list[str]:
        lead = f"{folder}/"
        return [path for path in self if path.startswith(lead)]


_watching: list[Opened] = []


def _hook(event: str, arguments: tuple) -> None:
    if event == "open" and _watching and isinstance(arguments[0], str | bytes | Path):
        path = arguments[0]
        _watching[-1].append(path.decode(errors="replace") if isinstance(path, bytes) else str(path))


@pytest.fixture(scope="session")
def _audit_hook():
    # It cannot be removed again, so there is one for all tests.
    sys.addaudithook(_hook)


@pytest.fixture
def files_opened(_audit_hook):
    """Every file that is opened, by whatever function."""
    opened = Opened()
    _watching.append(opened)
    yield opened
    _watching.remove(opened)
