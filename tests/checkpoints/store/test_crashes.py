"""A kill, a power cut, a full disk or a missing permission at every write, flush and rename of every change.

Afterwards a fresh store shows the old state or the new one, never a half, and every checkpoint in it is whole.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore, Retention
from engine.errors import CheckpointError
from tests.checkpoints.store.failing_disk import (
    ArmedCountingDisk,
    ArmedKillingDisk,
    ArmedRefusingDisk,
    Killed,
)
from tests.checkpoints.store.samples import HISTORY, TINY, parameters, save_base, save_wsla, wsla_delta

RESUME = {"optimiser.safetensors": {"m": np.ones(8, np.float32)}, "cursor.json": b"{}"}
CHANGES: dict[str, Callable[[CheckpointStore], object]] = {
    "save": lambda s: s.save(
        Facts("new", "full"), config=TINY, parameters=parameters(1), tokenizer=b"{}", history=HISTORY, resume=RESUME
    ),
    "save_delta": lambda s: s.save_delta(
        Facts("new", "wsla"), base="base", delta=wsla_delta(3), history=HISTORY, resume=RESUME
    ),
    "rename": lambda s: s.rename("adapted", "renamed"),
    "annotate": lambda s: s.annotate("adapted", note="a note", tags=("x",), pinned=True),
    "duplicate": lambda s: s.duplicate("resumable", "new"),
    "convert": lambda s: s.convert("adapted"),
    "delete": lambda s: s.delete("adapted"),
    "restore": lambda s: s.restore("old"),
    "empty_trash": lambda s: s.empty_trash(),
    "retention": lambda s: s.apply_retention(Retention(newest=1, best=0)),
    "gc": lambda s: s.gc(),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A store with a bit of everything, a leftover of an earlier kill included."""
    store = CheckpointStore(tmp_path_factory.mktemp("template") / "store", ArmedCountingDisk())
    store.save(Facts("base", "base"), config=TINY, parameters=parameters())
    save_wsla(store, "adapted", step=1)
    save_wsla(store, "old", seed=2, run="")
    store.save_delta(Facts("resumable", "wsla", run="run 1"), base="base", delta=wsla_delta(), resume=RESUME)
    store.delete("old")
    (store.folder / "work").mkdir(exist_ok=True)
    (store.folder / "work" / "leftover").write_bytes(b"half")
    return store.folder


@pytest.fixture
def fresh(template, tmp_path) -> Callable[[], Path]:
    """The template, copied to a new place each time."""
    numbers = iter(range(10_000))

    def copy() -> Path:
        return Path(shutil.copytree(template, tmp_path / str(next(numbers))))

    return copy


def state(folder: Path, verify: bool = True) -> tuple:
    """What a person sees: every checkpoint and the trash.  All of it must be whole."""
    store = CheckpointStore(folder)
    assert store.unreadable() == []
    shown = []
    for manifest in store.list():
        assert not verify or [f for f in store.verify(manifest.id) if f.file != "tokenizer.json"] == []
        shown.append((manifest.name, manifest.note, manifest.tags, manifest.pinned, tuple(sorted(manifest.files)),
                      manifest.weights_sha256))  # fmt: skip
    for item in store.trash():
        assert item.manifest is not None
        for name, record in item.manifest.files.items():
            assert (folder / "trash" / item.key / name).stat().st_size == record.size
    return sorted(shown), sorted(item.name for item in store.trash())


def old_and_new(fresh, name: str) -> tuple[tuple, tuple, int]:
    """The states before and after a change, and how many operations it takes."""
    folder, disk = fresh(), ArmedCountingDisk()
    before = state(folder)
    CHANGES[name](CheckpointStore(folder, disk))
    after = state(folder)
    assert before != after or name == "gc"
    assert name != "gc" or os.listdir(folder / "work") == []
    return before, after, len(disk.done)


def assert_whole(folder: Path, name: str, old: tuple, new: tuple) -> None:
    found = state(folder)
    if name == "retention":  # moves several checkpoints, one after the other
        assert sorted([*(entry[0] for entry in found[0]), *found[1]]) == sorted([*(e[0] for e in old[0]), *old[1]])
    else:
        assert found in (old, new)
    CheckpointStore(folder).gc()
    assert os.listdir(folder / "work") == []
    assert state(folder, verify=False) == found


@pytest.mark.parametrize("moment", ["before", "middle", "after"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_kill_at_every_operation_leaves_the_old_or_the_new(fresh, name, moment):
    old, new, operations = old_and_new(fresh, name)
    assert operations >= 2
    for at in range(operations):
        folder, disk = fresh(), ArmedKillingDisk(at, moment)
        with pytest.raises(Killed):
            CHANGES[name](CheckpointStore(folder, disk))
        disk.cut_power(folder)
        assert_whole(folder, name, old, new)


@pytest.mark.parametrize(("error", "for_ever"), [(errno.ENOSPC, True), (errno.EACCES, False), (errno.EIO, False)])
@pytest.mark.parametrize("name", CHANGES)
def test_a_disk_that_refuses_is_told_in_words_and_nothing_is_lost(fresh, name, error, for_ever):
    old, new, operations = old_and_new(fresh, name)
    words = {errno.ENOSPC: "the disk is full", errno.EACCES: "permission", errno.EIO: "Input/output error"}
    for at in range(operations):
        folder, disk = fresh(), ArmedRefusingDisk(at, error, for_ever)
        try:
            CHANGES[name](CheckpointStore(folder, disk))
        except CheckpointError as told:
            assert words[error] in str(told) and told.remedy
        else:
            assert disk.done[at] in ("remove", "remove_folder")  # what cannot be cleaned up now is cleaned up later
        assert_whole(folder, name, old, new)
        if state(folder, verify=False) == old and name != "gc":
            CHANGES[name](CheckpointStore(folder, ArmedCountingDisk()))
            assert state(folder, verify=False) == new


@pytest.mark.parametrize("name", ["save", "annotate", "delete"])
def test_a_process_that_ends_at_once_leaves_the_old_or_the_new(fresh, name):
    """The same with real processes, whose locks the system takes back."""
    old, new, operations = old_and_new(fresh, name)
    for at in range(operations):
        folder = fresh()
        child = os.fork()
        if child == 0:
            try:
                CHANGES[name](CheckpointStore(folder, ArmedKillingDisk(at, "after")))
            finally:
                os._exit(9)
        os.waitpid(child, 0)
        assert_whole(folder, name, old, new)


@pytest.mark.skipif(os.name == "nt", reason="permissions work another way there")
def test_a_folder_without_permission_can_still_be_read(fresh):
    folder = fresh()
    before = state(folder)
    os.chmod(folder, 0o500)
    try:
        if os.access(folder, os.W_OK):  # root may do anything
            return
        with pytest.raises(CheckpointError, match="permission"):
            save_base(CheckpointStore(folder), "new")
    finally:
        os.chmod(folder, 0o700)
    assert state(folder) == before


def test_a_folder_that_is_a_file_is_told_in_words(tmp_path):
    (tmp_path / "store").write_text("")
    with pytest.raises(CheckpointError, match="cannot be saved"):
        save_base(CheckpointStore(tmp_path / "store"))
    with pytest.raises(CheckpointError, match="cannot be read"):
        CheckpointStore(tmp_path / "store").list()


def test_a_disk_with_too_little_room_is_noticed_before_anything_is_written(store, monkeypatch):
    save_base(store)
    usage = shutil.disk_usage(store.folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(CheckpointError, match=r"it needs 0\.0 MB, and .* has 0\.0 MB"):
        save_base(store, "new")


def test_what_a_living_writer_is_writing_is_not_cleaned_up(store):
    def history():
        assert any(path.is_dir() for path in (store.folder / "work").iterdir())
        assert CheckpointStore(store.folder).gc() == 0
        yield {"step": 1}

    saved = store.save(Facts("base", "base"), config=TINY, parameters=parameters(), history=history())
    assert store.verify(saved.id) == []
