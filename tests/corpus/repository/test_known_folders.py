"""The list of folders that were read, and which of them belong together."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from sources import tokenizer

from engine.corpus.reading.known_folders import FILE_NAME, are_related, known_folder, known_folders
from engine.corpus.repository import Repository


def folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def work_tree(main: Path, path: Path, name: str = "second") -> Path:
    """A second work tree of `main`, as git lays it out."""
    tree = folder(main / ".git" / "worktrees" / name)
    (tree / "commondir").write_text("../..\n")
    folder(path)
    (path / ".git").write_text(f"gitdir: {tree}\n")
    return path


@pytest.mark.parametrize("inner", ["", "a", "a/b"])
def test_a_folder_is_related_to_what_is_in_it(tmp_path, inner):
    outer = folder(tmp_path / "outer")
    (outer / "a" / "b").mkdir(parents=True)
    assert are_related(outer, outer / inner) and are_related(outer / inner, outer)


def test_a_folder_beside_it_is_not(tmp_path):
    one, other = folder(tmp_path / "orbit"), folder(tmp_path / "orbit-api")
    assert not are_related(one, other)
    folder(one / ".git")
    folder(other / ".git")
    assert not are_related(one, other)


def test_work_trees_of_one_repository_are_related(tmp_path):
    main = folder(tmp_path / "main")
    folder(main / ".git")
    one, other = work_tree(main, tmp_path / "one", "one"), work_tree(main, tmp_path / "far" / "other", "other")
    assert are_related(main, one) and are_related(one, other)
    assert are_related(folder(one / "engine"), folder(other / "tests"))


def test_a_submodule_is_not_a_work_tree_of_what_it_is_in(tmp_path):
    main = folder(tmp_path / "main")
    folder(main / ".git" / "modules" / "part")
    part = folder(tmp_path / "elsewhere" / "part")
    (part / ".git").write_text(f"gitdir: {main}/.git/modules/part\n")
    assert not are_related(main, part)


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"nothing\n", b"\xff\x00", b"gitdir: /nowhere\n"])
def test_a_damaged_pointer_relates_nothing(tmp_path, content):
    main = folder(tmp_path / "main")
    folder(main / ".git")
    other = folder(tmp_path / "other")
    (other / ".git").write_bytes(content)
    assert not are_related(main, other) and are_related(other, other)


@pytest.mark.skipif(os.name == "nt", reason="links need a permission there")
def test_a_link_is_the_folder_that_it_points_to(tmp_path):
    outer = folder(tmp_path / "outer")
    (outer / "a").mkdir()
    (tmp_path / "link").symlink_to(outer / "a")
    assert are_related(tmp_path / "link", outer)


def test_what_was_read_is_listed_with_its_size(tmp_path):
    data, root = tmp_path / "data", folder(tmp_path / "orbit")
    (root / "a.py").write_text("def orbit(radius):\n    return radius * 2\n" * 20)
    repository = Repository(root, data, tokenizer())
    corpus = repository.scan()
    ((known, place),) = known_folders(data)
    size = corpus.totals.learned
    assert (known.root, known.files, known.nbytes, known.tokens) == (str(root), 1, size.bytes, size.tokens)
    assert place == repository.folder and known.read.endswith("+00:00")
    (root / "b.py").write_text("def transit(planet):\n    return planet.orbit() - 1\n" * 20)
    repository.update(["b.py"])
    assert known_folder(place).files == 2 and known_folder(place).tokens > size.tokens


def test_the_folder_read_last_comes_first(tmp_path):
    data = tmp_path / "data"
    for name, read in (("a", "2026-01-02"), ("b", "2026-03-01"), ("c", "2026-02-01")):
        place = folder(data / "repositories" / name)
        about = {"schema": 1, "root": f"/{name}", "files": 1, "nbytes": 1, "tokens": 1, "read": read}
        (place / FILE_NAME).write_text(json.dumps(about))
    assert [known.root for known, _ in known_folders(data)] == ["/b", "/c", "/a"]


GOOD = {"schema": 1, "root": "/a", "files": 1, "nbytes": 1, "tokens": 1, "read": "2026"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        json.dumps(GOOD | {"schema": 2}),
        json.dumps(GOOD | {"files": -1}),
        json.dumps(GOOD | {"files": True}),
        json.dumps(GOOD | {"root": 3}),
        json.dumps({name: value for name, value in GOOD.items() if name != "tokens"}),
    ],
)
def test_a_damaged_entry_is_not_listed_and_the_next_reading_repairs_it(tmp_path, content):
    data, root = tmp_path / "data", folder(tmp_path / "orbit")
    (root / "a.py").write_text("def orbit(radius):\n    return radius * 2\n" * 20)
    place = Repository(root, data, tokenizer()).folder
    place.mkdir(parents=True)
    (place / FILE_NAME).write_text(content)
    assert known_folders(data) == []
    Repository(root, data, tokenizer()).scan()
    assert [known.root for known, _ in known_folders(data)] == [str(root)]
