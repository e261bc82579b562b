"""The user's choices: which one counts, and that none is ever lost."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.corpus.reading import overrides as module
from engine.corpus.reading.overrides import Choice, Overrides, load_overrides, repository_folder, save_overrides
from engine.errors import CorpusError

LEARN, LEAVE = Choice.LEARN, Choice.LEAVE


def test_the_nearest_folder_counts():
    chosen = Overrides().with_path("a/", LEAVE).with_path("a/b/", LEARN).with_path("a/b/x.py", LEAVE)
    assert chosen.for_folder_of("a/b/c/y.py") is LEARN
    assert chosen.for_folder_of("a/z.py") is LEAVE
    assert chosen.for_folder_of("z.py") is None and chosen.for_folder_of("ab/z.py") is None
    assert chosen.for_path("a/b/x.py") is LEAVE and chosen.for_path("a/b/") is LEARN


def test_the_root_is_a_folder_too():
    assert Overrides().with_path("./", LEARN).for_folder_of("x.py") is LEARN
    assert Overrides().with_path(".github/", LEARN).folders == {".github": LEARN}


def test_which_ignored_folders_must_be_entered():
    chosen = Overrides().with_path("out/gen/x.py", LEARN).with_path("lib/", LEARN).with_path("lib/no/", LEAVE)
    assert chosen.reaches_into("out") and chosen.reaches_into("out/gen") and chosen.reaches_into("lib/a")
    assert not chosen.reaches_into("out/other") and not chosen.reaches_into("lib/no") and not chosen.reaches_into("o")


def test_a_choice_can_be_taken_back():
    chosen = Overrides().with_path("a.py", LEARN).with_language("json", LEAVE).with_not_secret("f")
    assert chosen.with_path("a.py", None).with_language("json", None).with_not_secret("f", False) == Overrides()


NAMES = st.text(st.characters(), max_size=8)
CHOICES = st.dictionaries(NAMES, st.sampled_from(Choice), max_size=4)


@given(CHOICES, CHOICES, CHOICES, st.frozensets(NAMES, max_size=3))
@settings(max_examples=40, deadline=None)
def test_stored_choices_come_back(tmp_path_factory, paths, folders, languages, not_secrets):
    folder = tmp_path_factory.mktemp("data")
    chosen = Overrides(paths, folders, languages, not_secrets)
    save_overrides(folder, folder, chosen)
    assert load_overrides(folder, folder) == chosen
    assert load_overrides(folder, folder).key() == chosen.key()


def test_names_that_are_not_utf8_come_back(tmp_path):
    chosen = Overrides().with_path(os.fsdecode(b"caf\xe9.py"), LEARN)
    save_overrides(tmp_path, tmp_path, chosen)
    assert load_overrides(tmp_path, tmp_path) == chosen


def test_nothing_stored_is_no_choice(tmp_path):
    assert load_overrides(tmp_path, tmp_path) == Overrides()


def test_every_repository_has_its_own(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("one")
    save_overrides(tmp_path, tmp_path / "one", Overrides().with_path("a.py", LEARN))
    assert load_overrides(tmp_path, tmp_path / "two") == Overrides()
    assert load_overrides(tmp_path, tmp_path / "link").paths == {"a.py": LEARN}


DAMAGE = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[]",
    b"{}",
    b'{"schema": 1}',
    b'{"schema": 1, "paths": {"a": "maybe"}}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("data", DAMAGE)
def test_a_damaged_file_is_said_so_and_kept(tmp_path, data):
    path = repository_folder(tmp_path, tmp_path) / "overrides.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    with pytest.raises(CorpusError) as raised:
        load_overrides(tmp_path, tmp_path)
    assert str(path) in raised.value.message and raised.value.remedy
    assert path.read_bytes() == data
    save_overrides(tmp_path, tmp_path, Overrides().with_path("a.py", LEARN))
    assert path.with_name("overrides.json.damaged-1").read_bytes() == data
    assert load_overrides(tmp_path, tmp_path).paths == {"a.py": LEARN}


def test_choices_of_a_newer_version_are_kept(tmp_path):
    path = repository_folder(tmp_path, tmp_path) / "overrides.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"schema": 99}')
    with pytest.raises(CorpusError, match="newer version"):
        load_overrides(tmp_path, tmp_path)


def test_a_full_disk_leaves_the_old_choices(tmp_path, monkeypatch):
    old = Overrides().with_path("a.py", LEARN)
    save_overrides(tmp_path, tmp_path, old)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(CorpusError, match="No space left") as raised:
        save_overrides(tmp_path, tmp_path, Overrides().with_path("b.py", LEAVE))
    assert raised.value.remedy
    monkeypatch.undo()
    assert load_overrides(tmp_path, tmp_path) == old
    assert [path.name for path in repository_folder(tmp_path, tmp_path).iterdir()] == ["overrides.json"]
