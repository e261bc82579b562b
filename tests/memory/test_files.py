"""A segment on disk: whole, or not there."""

from __future__ import annotations

import errno
import json
import os
import time

import numpy as np
import pytest

from engine.errors import CorpusError
from engine.memory import files as module
from engine.memory.files import MANIFEST, PARTS, open_segment, save_segment
from tests.memory.brute import segment_of

NAMES = {b"total": 2, b"gr\xc3\xb6\xc3\x9fe": 1}


def kept(folder):
    found = open_segment(folder)
    return None if found is None else found[0].tokens.tolist()


@pytest.mark.parametrize("vocabulary", [300, 70_000])
def test_saved_and_opened_it_is_the_same(tmp_path, vocabulary):
    segment = segment_of([[5, 6, 7], [], [5, 6]], vocabulary)
    assert save_segment(tmp_path, segment, NAMES) == ""
    found, names = open_segment(tmp_path)
    for part in PARTS:
        assert getattr(found, part).dtype == getattr(segment, part).dtype
        assert (getattr(found, part) == getattr(segment, part)).all()
    assert found.entries == segment.entries and dict(names.counts) == NAMES


@pytest.mark.parametrize("part", [*PARTS, "names", "json"])
@pytest.mark.parametrize("damage", ["bit", "cut", "gone"])
def test_damage_makes_it_count_as_not_there(tmp_path, part, damage):
    save_segment(tmp_path, segment_of([list(range(50))], 300), NAMES)
    (path,) = tmp_path.glob(f"*.{part}")
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        middle = len(content) // 2
        bit = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes(bit if damage == "bit" else content[:-2])
    assert open_segment(tmp_path) is None
    save_segment(tmp_path, segment_of([[1]], 300), {})
    assert kept(tmp_path) == [65535, 1, 65535]


def test_a_document_moved_in_the_manifest_is_noticed(tmp_path):
    save_segment(tmp_path, segment_of([[1, 2, 3]], 300), NAMES)
    content = json.loads((tmp_path / MANIFEST).read_text())
    content["entries"][0][2] += 1
    (tmp_path / MANIFEST).write_text(json.dumps(content))
    assert open_segment(tmp_path) is None


def test_a_kill_before_the_manifest_leaves_the_old_one(tmp_path, monkeypatch):
    save_segment(tmp_path, segment_of([[1]], 300), NAMES)

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "replace_file", killed)
        with pytest.raises(KeyboardInterrupt):
            save_segment(tmp_path, segment_of([[2]], 300), {})
    assert kept(tmp_path) == [65535, 1, 65535]
    for path in tmp_path.iterdir():  # an hour later
        os.utime(path, (time.time() - 3600,) * 2)
    save_segment(tmp_path, segment_of([[3]], 300), {})
    assert kept(tmp_path) == [65535, 3, 65535] and len(list(tmp_path.glob("*.tokens"))) == 1


def test_of_two_writers_the_last_counts_and_what_the_other_has_open_stays(tmp_path):
    save_segment(tmp_path, segment_of([[1]], 300), {})
    first, _ = open_segment(tmp_path)
    save_segment(tmp_path, segment_of([[2]], 300), {})
    assert kept(tmp_path) == [65535, 2, 65535] and first.tokens.tolist() == [65535, 1, 65535]
    assert len(list(tmp_path.glob("*.tokens"))) == 2, "what is new may still be written by somebody"


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_gives_a_note(tmp_path, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module, "replace_file", refuse)
    assert "cannot be written" in save_segment(tmp_path, segment_of([[1]], 300), {})
    assert open_segment(tmp_path) is None


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(module, "replace_file", refuse)
    with pytest.raises(CorpusError, match="disk is full"):
        save_segment(tmp_path, segment_of([np.arange(3).tolist()], 300), {})
