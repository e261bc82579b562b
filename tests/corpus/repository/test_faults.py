"""What goes wrong around a scan: kills, full and read-only disks, damaged files in the data folder."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sources import fill, opened, source, write

from engine.corpus.reading import disk
from engine.errors import CorpusError

KILLS = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_scans_leave_caches_that_heal(root, data, tmp_path):
    """Real kills at random moments of real scans, each with something new to read, tokenise and write."""
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    draw = random.Random(seed)
    paths = fill(root, 120)
    script = Path(__file__).with_name("killed_scan.py")
    killed = rounds = 0
    longest = 0.2  # seconds until a kill; follows the time that a scan takes here
    with subprocess.Popen(
        [sys.executable, str(script), str(root), str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forks:
        while killed < KILLS and rounds < 5 * KILLS:
            rounds += 1
            if rounds % 6 == 5:
                shutil.rmtree(data, ignore_errors=True)
            for path in draw.sample(paths, 40):
                write(root, path, source(f"{path} {draw.randrange(4)}"))
            print(file=forks.stdin, flush=True)
            child = int(forks.stdout.readline())
            time.sleep(draw.uniform(0, longest))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            in_time = forks.stdout.readline() == "killed\n"
            killed += in_time
            longest *= 1.1 if in_time else 0.8
            if rounds % 6 == 3:
                agrees_with_a_new_folder(root, data, tmp_path / f"new {rounds}")
        forks.stdin.close()
    print(f"{killed} of {rounds} scans killed before their end")
    assert killed == KILLS
    agrees_with_a_new_folder(root, data, tmp_path / "new")


def agrees_with_a_new_folder(root: Path, data: Path, new: Path) -> None:
    """Verdicts and tokens are those of a scan that knows nothing; only the memory of the split may differ."""
    corpus, fresh = opened(root, data).scan(), opened(root, new).scan()
    assert [(each.path, each.learn, each.reason, each.digest, each.tokens) for each in corpus.files] == [
        (each.path, each.learn, each.reason, each.digest, each.tokens) for each in fresh.files
    ]
    for verdict in corpus.files:
        if verdict.learn:
            assert corpus.tokenizer.decode(corpus.tokens(verdict.path)) == (root / verdict.path).read_text()


@pytest.mark.parametrize("seed", range(12))
def test_damaged_files_in_the_data_folder_heal(root, data, seed):
    paths = fill(root, 30)
    expected = opened(root, data).scan()
    draw = random.Random(seed)
    for path in sorted(data.rglob("*")):
        if path.is_file() and path.stat().st_size and path.name != "lock" and draw.random() < 0.7:
            content = bytearray(path.read_bytes())
            if draw.random() < 0.3:
                del content[draw.randrange(len(content)) :]
            else:
                for _ in range(draw.randint(1, 20)):
                    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
    corpus = opened(root, data).scan()
    assert [each.digest for each in corpus.files] == [each.digest for each in expected.files]
    assert all(corpus.tokenizer.decode(corpus.tokens(path)) == source(path) for path in paths)
    again = opened(root, data).scan()
    assert again.files == corpus.files


def test_only_what_is_damaged_is_read_again(root, data, files_opened):
    fill(root, 60)
    opened(root, data).scan()
    journal = next(data.glob("repositories/*/files.journal"))
    content = bytearray(journal.read_bytes())
    content[len(content) // 2] ^= 64
    journal.write_bytes(content)
    files_opened.clear()
    opened(root, data).scan()
    assert len(files_opened.below(root)) == 1
    shard = next(data.glob("tokens/*/0001.u16"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 64
    shard.write_bytes(content)
    files_opened.clear()
    opened(root, data).scan()
    assert len(files_opened.below(root)) == 1
    files_opened.clear()
    opened(root, data).scan()
    assert files_opened.below(root) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("allowed", [0, 1, 2, 3])
def test_a_full_disk_ends_a_scan_and_keeps_what_was_there(root, data, monkeypatch, number, allowed):
    paths = fill(root, 30)
    before = opened(root, data).scan()
    for path in paths[:10]:
        write(root, path, source(f"{path} changed"))
    write(root, "one/more.py", source("one more"))
    writes = []

    def fails(*arguments, **options):
        writes.append(arguments)
        if len(writes) > allowed:
            raise OSError(number, os.strerror(number))
        return plain(*arguments, **options)

    with monkeypatch.context() as patch:
        plain = disk.locked
        for module in ("engine.corpus.tokens.token_cache.locked", "engine.corpus.reading.verdict_cache.locked"):
            patch.setattr(module, fails)
        patch.setattr("engine.corpus.reading.verdict_cache.replace_file", lambda *_, **__: fails_to_write(number))
        with pytest.raises(CorpusError) as raised:
            opened(root, data).scan()
    assert raised.value.remedy and str(data) in raised.value.message
    corpus = opened(root, data).scan()
    assert len(corpus.files) == len(before.files) + 1
    assert corpus.tokenizer.decode(corpus.tokens(paths[0])) == source(f"{paths[0]} changed")


def fails_to_write(number: int) -> None:
    raise OSError(number, os.strerror(number))


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_data_folder_that_cannot_be_written_gives_notes_and_a_corpus(root, data, monkeypatch, number):
    paths = fill(root, 20)
    plain = Path.mkdir

    def mkdir(path, *arguments, **options):
        if path.is_relative_to(data):
            fails_to_write(number)
        plain(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    repository = opened(root, data)
    corpus = repository.scan()
    assert len(corpus.notes) == 2 and all(str(data) in note for note in corpus.notes)
    assert all(corpus.tokenizer.decode(corpus.tokens(path)) == source(path) for path in paths)
    write(root, paths[0], source("changed"))
    corpus = repository.update([paths[0]])
    assert corpus.tokenizer.decode(corpus.tokens(paths[0])) == source("changed")
    assert not data.exists()


def test_a_file_where_the_data_folder_should_be(root, tmp_path):
    fill(root, 5)
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CorpusError) as raised:
        opened(root, tmp_path / "taken").scan()
    assert raised.value.remedy


def test_a_lock_that_is_never_given_back_is_an_error_and_not_a_hang(root, data, monkeypatch):
    fill(root, 5)
    monkeypatch.setattr(disk, "PATIENCE", 0.2)
    repository = opened(root, data)
    with disk.locked(repository.folder), pytest.raises(CorpusError, match="Another program"):
        repository.scan()
    assert repository.scan().totals.learned.files == 5


def test_left_over_temporary_files_are_swept_away(root, data):
    fill(root, 5)
    repository = opened(root, data)
    repository.scan()
    old, young = repository.folder / ".split.json.1.part", repository.folder / ".split.json.2.part"
    for path in (old, young):
        path.write_text("half")
    os.utime(old, (1, 1))
    opened(root, data).scan()
    assert not old.exists() and young.exists()


def test_the_journal_does_not_grow_without_end(root, data, monkeypatch):
    monkeypatch.setattr("engine.corpus.reading.verdict_cache.MOST_STALE", 20)
    paths = fill(root, 10)
    repository = opened(root, data)
    repository.scan()
    journal = repository.folder / "files.journal"
    size = journal.stat().st_size
    for number in range(30):
        for path in paths[:3]:
            write(root, path, source(f"{path} {number}"))
        repository.update(paths[:3])
    assert journal.stat().st_size < 6 * size
    assert opened(root, data).scan().files == repository.scan().files
