"""Tokens on disk: kept, shared, damaged, healed."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from killed_writer import TEXTS, VOCABULARY, key_of, tokens_of

from engine.corpus.tokens import token_cache
from engine.corpus.tokens.token_cache import RECORD, TokenCache
from engine.errors import CorpusError

KILLS = 25


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "tokens"


def filled(folder: Path, count: int) -> TokenCache:
    cache = TokenCache(folder, VOCABULARY)
    cache.add({key_of(number): tokens_of(number) for number in range(count)})
    return cache


def present(cache: TokenCache) -> int:
    """How many texts there are; all of them with the right tokens."""
    count = 0
    for number in range(TEXTS):
        tokens = cache.tokens(key_of(number))
        if tokens is not None:
            np.testing.assert_array_equal(tokens, tokens_of(number))
            count += 1
    return count


def test_tokens_come_back_in_this_process_and_in_the_next(folder):
    assert present(filled(folder, 30)) == 30
    assert present(TokenCache(folder, VOCABULARY)) == 30


def test_tokens_are_mapped_and_cannot_be_written(folder):
    tokens = filled(folder, 3).tokens(key_of(2))
    assert tokens.dtype == np.uint16
    with pytest.raises(ValueError, match="read-only"):
        tokens[0] = 1


@pytest.mark.parametrize(("vocabulary", "bits"), [(256, 16), (1 << 16, 16), ((1 << 16) + 1, 32), (150_000, 32)])
def test_the_smallest_integer_that_holds_the_vocabulary(folder, vocabulary, bits):
    cache = TokenCache(folder, vocabulary)
    highest = np.array([0, vocabulary - 1])
    cache.add({key_of(0): highest})
    assert cache.tokens(key_of(0)).dtype == np.dtype(f"uint{bits}")
    np.testing.assert_array_equal(TokenCache(folder, vocabulary).tokens(key_of(0)), highest)


def test_a_text_without_tokens_is_kept_too(folder):
    cache = TokenCache(folder, VOCABULARY)
    cache.add({key_of(0): np.empty(0, np.uint16)})
    assert TokenCache(folder, VOCABULARY).count(key_of(0)) == 0


def test_nothing_is_written_twice(folder):
    cache = filled(folder, 20)
    other = TokenCache(folder, VOCABULARY)
    size = sum(path.stat().st_size for path in folder.iterdir())
    for each in (cache, other):
        each.add({key_of(number): tokens_of(number) for number in range(20)})
    assert sum(path.stat().st_size for path in folder.iterdir()) == size


def test_another_process_sees_what_is_added(folder):
    first, second = TokenCache(folder, VOCABULARY), TokenCache(folder, VOCABULARY)
    first.add({key_of(1): tokens_of(1)})
    assert second.tokens(key_of(1)) is None
    second.refresh()
    np.testing.assert_array_equal(second.tokens(key_of(1)), tokens_of(1))


def test_views_outlive_the_growth_of_a_shard(folder):
    cache = filled(folder, 5)
    views = {number: cache.tokens(key_of(number)) for number in range(5)}
    cache.add({key_of(number): tokens_of(number) for number in range(5, 60)})
    for number, view in views.items():
        np.testing.assert_array_equal(view, tokens_of(number))


def test_full_shards_are_followed_by_new_ones_and_the_oldest_go(folder, monkeypatch):
    monkeypatch.setattr(token_cache, "SHARD_BYTES", 100_000)
    monkeypatch.setattr(token_cache, "MOST_SHARDS", 3)
    cache = TokenCache(folder, VOCABULARY)
    for number in range(60):
        cache.add({key_of(number): tokens_of(number)})
    assert len(list(folder.glob("*.u16"))) == len(list(folder.glob("*.index"))) == 3
    for each in (cache, TokenCache(folder, VOCABULARY)):
        assert 0 < present(each) < 60
        np.testing.assert_array_equal(each.tokens(key_of(59)), tokens_of(59))


@pytest.mark.parametrize("name", ["0001.u16", "0001.index"])
@pytest.mark.parametrize("seed", range(6))
def test_damage_is_noticed_and_heals(folder, name, seed):
    """Bits flipped, the end cut off, bytes overwritten: never wrong tokens, and afterwards all of them."""
    filled(folder, 40)
    draw = random.Random(f"{name} {seed}")
    path = folder / name
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 5)):
        place = draw.randrange(len(content))
        kind = draw.randrange(3)
        if kind == 0:
            content[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del content[place:]
            content += b"\0"
        else:
            length = min(draw.randrange(200), len(content) - place)
            content[place : place + length] = draw.randbytes(length)
    path.write_bytes(content)
    cache = TokenCache(folder, VOCABULARY)
    assert present(cache) < 40
    cache.add({key_of(number): tokens_of(number) for number in range(40)})
    assert present(cache) == 40
    assert present(TokenCache(folder, VOCABULARY)) == 40


def test_a_missing_index_or_shard_costs_only_the_tokens(folder):
    for name in ("0001.index", "0001.u16"):
        filled(folder, 10)
        (folder / name).unlink()
        cache = TokenCache(folder, VOCABULARY)
        assert present(cache) == 0
        cache.add({key_of(number): tokens_of(number) for number in range(10)})
        assert present(TokenCache(folder, VOCABULARY)) == 10


def test_a_data_folder_that_is_wiped_while_in_use(folder):
    cache = filled(folder, 10)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    cache.add({key_of(number): tokens_of(number) for number in range(20)})
    assert present(TokenCache(folder, VOCABULARY)) == present(cache) == 20


def test_a_torn_record_does_not_shift_the_next_ones(folder):
    filled(folder, 3)
    with open(folder / "0001.index", "ab") as file:
        file.write(b"half a record")
    cache = TokenCache(folder, VOCABULARY)
    cache.add({key_of(number): tokens_of(number) for number in range(6)})
    assert (folder / "0001.index").stat().st_size % RECORD.itemsize == 0
    assert present(TokenCache(folder, VOCABULARY)) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_writers_leave_a_cache_that_heals(folder):
    """Several rounds on one folder, each ended by a real kill -9 at a random moment."""
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    draw = random.Random(seed)
    script = Path(__file__).with_name("killed_writer.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forks:
        for kill in range(KILLS):
            print(f"{seed + kill}", file=forks.stdin, flush=True)
            child = int(forks.stdout.readline())
            time.sleep(draw.uniform(0, 0.12))
            os.kill(child, signal.SIGKILL)
            assert forks.stdout.readline() == "dead\n"
            present(TokenCache(folder, VOCABULARY))
        forks.stdin.close()
    cache = TokenCache(folder, VOCABULARY)
    assert present(cache) > 0
    cache.add({key_of(number): tokens_of(number) for number in range(TEXTS)})
    assert present(TokenCache(folder, VOCABULARY)) == TEXTS


def test_several_processes_write_at_once(folder):
    script = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from killed_writer import *\n"
        "import random\n"
        "cache = TokenCache(Path(sys.argv[3]), VOCABULARY)\n"
        "numbers = list(range(60)); random.Random(sys.argv[4]).shuffle(numbers)\n"
        "for at in range(0, 60, 3): cache.add({key_of(n): tokens_of(n) for n in numbers[at:at + 3]})\n"
        "assert all((cache.tokens(key_of(n)) == tokens_of(n)).all() for n in numbers)\n"
    )
    here = Path(__file__).parent
    command = [sys.executable, "-c", script, str(here.parents[2]), str(here), str(folder)]
    writers = [subprocess.Popen([*command, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    cache = TokenCache(folder, VOCABULARY)
    assert present(cache) == 60
    assert (folder / "0001.index").stat().st_size == 60 * RECORD.itemsize


class Disk:
    """A file that refuses after so many bytes."""

    def __init__(self, file, room: list[int], number: int) -> None:
        self.file, self.room, self.number = file, room, number

    def __enter__(self):
        self.file.__enter__()
        return self

    def __exit__(self, *details):
        return self.file.__exit__(*details)

    def write(self, content) -> int:
        if self.room[0] <= 0:
            raise OSError(self.number, os.strerror(self.number))
        written = self.file.write(content[: self.room[0]])
        self.room[0] -= written
        return written


def refusing(monkeypatch, room: int, number: int) -> list[int]:
    """From now on appending fails after `room` bytes; give room back through the list."""
    left = [room]
    plain = open

    def opened(path, mode="r", *arguments, **options):
        file = plain(path, mode, *arguments, **options)
        return Disk(file, left, number) if mode == "ab" else file

    monkeypatch.setattr(token_cache, "open", opened, raising=False)
    return left


@pytest.mark.parametrize("room", [0, 1, 777, 50_000, 10_000_000])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_said_and_the_old_cache_stays_whole(folder, monkeypatch, room, number):
    cache = filled(folder, 10)
    new = {key_of(each): tokens_of(each) for each in range(10, 30)}
    size = sum(tokens.nbytes for tokens in new.values())
    # The largest: all tokens fit, their records do not.
    left = refusing(monkeypatch, room if room < size else size + 30, number)
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    with pytest.raises(CorpusError) as raised:
        cache.add(new)
    assert raised.value.remedy
    assert ("The disk is full" in raised.value.message) == (number != errno.EIO)
    if room < size:
        assert {path.name: path.stat().st_size for path in folder.iterdir()} == before, "the space is given back"
    assert present(cache) == present(TokenCache(folder, VOCABULARY)) == 10
    left[0] = 1 << 40
    cache.add(new)
    assert present(cache) == present(TokenCache(folder, VOCABULARY)) == 30


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_gives_a_note_and_tokens_all_the_same(folder, monkeypatch, number):
    filled(folder, 10)
    refusing(monkeypatch, 0, number)
    cache = TokenCache(folder, VOCABULARY)
    cache.add({key_of(each): tokens_of(each) for each in range(20)})
    assert str(folder) in cache.note
    assert present(cache) == 20
    assert cache.count(key_of(15)) == len(tokens_of(15))
    assert present(TokenCache(folder, VOCABULARY)) == 10
