"""The licences that go with a frozen build: a line for every library, and the files that it brings."""

from __future__ import annotations

import importlib
import importlib.metadata
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def licences(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING))
    return importlib.import_module("licences")


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """An environment with three libraries that say what they are under in three ways."""
    folder = tmp_path / "site"
    about = {
        "modern": "License-Expression: MIT",
        "old": "License: BSD\n    in many words",
        "oldest": "Classifier: License :: OSI Approved :: Apache Software License",
        "silent": "Summary: says nothing",
        "pip": "License-Expression: MIT",
    }
    for name, line in about.items():
        own = folder / f"{name}-1.0.dist-info"
        (own / "licenses").mkdir(parents=True)
        (own / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n{line}\n")
        (own / "licenses" / "COPYING.txt").write_text(f"the words of {name}")
        record = [f"{own.name}/METADATA,,", f"{own.name}/licenses/COPYING.txt,,", f"{own.name}/licenses/NOTICE,,"]
        (own / "RECORD").write_text("\n".join(record))  # the last file is named, but is not there
    (tmp_path / "LICENSE.txt").write_text("the words of Python")
    monkeypatch.setattr("sys.base_prefix", str(tmp_path))
    found = list(importlib.metadata.distributions(path=[str(folder)]))
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: found)


def test_every_library_has_a_line_and_its_files(licences, libraries, monkeypatch, tmp_path):
    monkeypatch.setattr(licences, "COMMON", tmp_path / "nothing")
    monkeypatch.setattr(licences, "system_package", lambda name: "glib:amd64")
    built = tmp_path / "built" / "_internal"
    built.mkdir(parents=True)
    (built / "libglib-2.0.so.0").touch()
    (built / "libpart.so").symlink_to("elsewhere")
    table = licences.gather(tmp_path / "licences", built.parent)
    assert table[0].endswith(": PSF-2.0")
    assert table[1:5] == [
        "modern 1.0: MIT",
        "old 1.0: BSD",
        "oldest 1.0: Apache Software License",
        "silent 1.0: see its files",
    ]
    assert [line.strip() for line in table if ".so" in line] == ["libglib-2.0.so.0 glib:amd64"]
    copied = {path.relative_to(tmp_path / "licences").as_posix() for path in (tmp_path / "licences").rglob("*.txt")}
    of_libraries = {f"{name}-1.0/COPYING.txt" for name in ("modern", "old", "oldest", "silent")}
    assert copied == {"Python/LICENSE.txt", *of_libraries}
