"""`.coil`: the same checkpoint gives the same bytes, and nothing that only looks like a bundle gets through."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import random
import stat
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.checkpoints.formats.bundle import MOST_ENTRIES, StrictZip, is_bundle, unpacked, write_bundle
from engine.checkpoints.store.manifest import MANIFEST_FILE, Facts, FileRecord, Manifest, now
from engine.errors import CheckpointError, CodecoilError


@pytest.fixture
def coil(tmp_path, store, base):
    write_bundle(tmp_path / "a.coil", store.folder_of(base.id), base)
    return tmp_path / "a.coil"


def unpack(path, beside):
    """Names and contents of what a bundle gives."""
    beside.mkdir(exist_ok=True)
    with unpacked(path, beside) as (folder, manifest):
        return manifest, {file.name: file.read_bytes() for file in folder.iterdir()}


def archive(path, entries, **options):
    """A zip file of (name, content) pairs."""
    with zipfile.ZipFile(path, "w", **options) as out:
        for name, content in entries:
            out.writestr(name, content)
    return path


def contents(path):
    with zipfile.ZipFile(path) as source:
        return [(info.filename, source.read(info)) for info in source.infolist()]


def test_what_goes_in_comes_out(tmp_path, coil, store, base):
    manifest, files = unpack(coil, tmp_path / "work")
    assert manifest == base and is_bundle(coil)
    folder = store.folder_of(base.id)
    assert files == {file.name: file.read_bytes() for file in folder.iterdir() if file.name != MANIFEST_FILE}
    assert os.listdir(tmp_path / "work") == []


def test_every_zip_program_can_read_it_and_nothing_is_compressed(coil, base):
    with zipfile.ZipFile(coil) as source:
        assert source.testzip() is None
        assert {info.filename for info in source.infolist()} == {MANIFEST_FILE, *base.files}
        assert all(info.compress_type == zipfile.ZIP_STORED for info in source.infolist())


def test_the_same_bytes_every_time(tmp_path, coil, store, base):
    for file in store.folder_of(base.id).iterdir():
        os.utime(file, (1e9, 1e9))
    write_bundle(tmp_path / "b.coil", store.folder_of(base.id), base)
    assert (tmp_path / "b.coil").read_bytes() == coil.read_bytes()


def test_what_continues_a_run_stays_at_home(tmp_path, store, config, parameters):
    resume = {"state.json": b"{}", "optimiser.safetensors": {"m": np.zeros(3, np.float32)}}
    made = store.save(Facts(name="n", mode="full"), config=config, parameters=parameters, resume=resume)
    assert "resume/state.json" in made.files
    write_bundle(tmp_path / "r.coil", store.folder_of(made.id), made)
    manifest, files = unpack(tmp_path / "r.coil", tmp_path / "work")
    assert manifest.files.keys() == files.keys() and not any("resume" in name for name in files)
    assert manifest == dataclasses.replace(made, files=manifest.files)


def test_a_damaged_checkpoint_is_not_handed_on(tmp_path, store, base):
    path = store.folder_of(base.id) / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="does not match its manifest"):
        write_bundle(tmp_path / "x.coil", store.folder_of(base.id), base)
    assert not (tmp_path / "x.coil").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/passwd", "a/b", "..", "C:\\x", "con", "aux.txt", ".hidden", "a\\b", "x" * 300, "tab\there"],
)
def test_names_that_leave_the_folder_or_trick_a_system(tmp_path, coil, name):
    path = archive(tmp_path / "evil.coil", [*contents(coil), (name, b"evil")])
    with pytest.raises(CheckpointError):
        unpack(path, tmp_path / "work")
    assert os.listdir(tmp_path / "work") == []


def test_files_that_the_manifest_does_not_know(tmp_path, coil):
    path = archive(tmp_path / "more.coil", [*contents(coil), ("more.txt", b"hello")])
    with pytest.raises(CheckpointError, match=r"more\.txt"):
        unpack(path, tmp_path / "work")
    path = archive(tmp_path / "less.coil", contents(coil)[:-1])
    with pytest.raises(CheckpointError, match="disagree"):
        unpack(path, tmp_path / "work")


def test_other_content_of_the_same_size(tmp_path, coil):
    changed = [(name, data[:-1] + bytes([data[-1] ^ 1]) if "model" in name else data) for name, data in contents(coil)]
    with pytest.raises(CheckpointError, match=r"model\.safetensors does not have the hash"):
        unpack(archive(tmp_path / "x.coil", changed), tmp_path / "work")
    assert os.listdir(tmp_path / "work") == []


def test_compressed_entries_are_refused_whatever_they_would_become(tmp_path, coil):
    bomb = [*contents(coil), ("zeros", bytes(1 << 22))]
    path = archive(tmp_path / "bomb.coil", bomb, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(CheckpointError, match="compressed"):
        unpack(path, tmp_path / "work")


def test_links_and_folders(tmp_path, coil):
    for mode in (stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755, stat.S_IFIFO | 0o644):
        info = zipfile.ZipInfo("card.md")
        info.external_attr = mode << 16
        entries = [(name, data) for name, data in contents(coil) if name != "card.md"]
        with pytest.raises(CheckpointError, match="as a link or a folder"):
            unpack(archive(tmp_path / "link.coil", [*entries, (info, b"/etc/passwd")]), tmp_path / "work")
    with pytest.raises(CheckpointError):
        unpack(archive(tmp_path / "folder.coil", [*contents(coil), ("resume/", b"")]), tmp_path / "work")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_are_there_twice(tmp_path, coil):
    for twin in ("card.md", "CARD.md"):
        path = archive(tmp_path / "twice.coil", [*contents(coil), (twin, b"other")])
        with pytest.raises(CheckpointError, match="twice"):
            unpack(path, tmp_path / "work")


def test_too_many_entries(tmp_path, coil):
    many = [*contents(coil), *((f"f{i}", b"") for i in range(MOST_ENTRIES))]
    with pytest.raises(CheckpointError, match=r"claims 30. entries"):
        unpack(archive(tmp_path / "many.coil", many), tmp_path / "work")


def test_encrypted_entries(tmp_path, coil):
    data = bytearray(coil.read_bytes())
    central = data.index(b"PK\1\2")
    data[central + 8] |= 1
    data[6] |= 1
    (tmp_path / "locked.coil").write_bytes(data)
    with pytest.raises(CheckpointError, match="encrypted"):
        unpack(tmp_path / "locked.coil", tmp_path / "work")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:1000],
        lambda data: b"#!/bin/sh\n" + data,
        lambda data: data + b"more",
        lambda data: data[:-2] + struct.pack("<H", 4) + b"note",
        lambda data: data.replace(b"PK\3\4", b"PK\3\5", 1),
        lambda data: data[:14] + b"\0\0\0\0" + data[18:],
        lambda data: data[:18] + b"\xff\xff\xff\xff\xff\xff\xff\xff" + data[26:],
    ],
)
def test_archives_that_are_not_quite_right(tmp_path, coil, change):
    path = tmp_path / "x.coil"
    path.write_bytes(change(coil.read_bytes()))
    with pytest.raises(CheckpointError):
        unpack(path, tmp_path / "work")


def test_sizes_that_lie(tmp_path, coil):
    """The directory claims more than there is, less, or a number that overflows."""
    data = coil.read_bytes()
    central = data.index(b"PK\1\2")
    for size in (0, 1, len(data), (1 << 32) - 2, (1 << 32) - 1):
        lying = bytearray(data)
        lying[central + 20 : central + 28] = struct.pack("<II", size, size)
        (tmp_path / "x.coil").write_bytes(lying)
        with pytest.raises(CheckpointError):
            unpack(tmp_path / "x.coil", tmp_path / "work")


def test_sizes_beyond_four_gigabytes_are_understood(tmp_path):
    """A sparse file with one entry of 5 GB, laid out by zipfile."""
    size, path = 5 << 30, tmp_path / "large.zip"
    head, tail = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(head, "w") as out, out.open(zipfile.ZipInfo("model.safetensors"), "w", force_zip64=True):
        pass
    start = 30 + len("model.safetensors") + 20
    local = bytearray(head.getvalue()[:start])
    local[30 + 17 + 4 : 30 + 17 + 20] = struct.pack("<QQ", size, size)
    local[18:26] = b"\xff" * 8
    extra = struct.pack("<HHQQ", 1, 16, size, size)
    central = struct.pack(
        "<4s6H3L5H2L", b"PK\1\2", 45, 45, 0, 0, 0, 33, 0, (1 << 32) - 1, (1 << 32) - 1, 17, len(extra), 0, 0, 0, 0, 0
    )
    tail.write(central + b"model.safetensors" + extra)
    begin, length = start + size, tail.tell()
    tail.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, length, begin))
    tail.write(struct.pack("<4sLQL", b"PK\6\7", 0, begin + length, 1))
    tail.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, length, (1 << 32) - 1, 0))
    with path.open("wb") as file:
        file.write(local)
        file.seek(start + size)
        file.write(tail.getvalue())
    with path.open("rb") as file:
        assert StrictZip(file, str(path)).entries["model.safetensors"].file_size == size


def test_a_manifest_that_is_none(tmp_path, coil):
    for content in (b"", b"[]", b"{" * 100_000, b'{"schema": 99}', b"\xff" * 10):
        entries = [(name, content if name == MANIFEST_FILE else data) for name, data in contents(coil)]
        with pytest.raises(CheckpointError):
            unpack(archive(tmp_path / "x.coil", entries), tmp_path / "work")
    with pytest.raises(CheckpointError, match="holds no manifest"):
        unpack(archive(tmp_path / "x.coil", [("card.md", b"")]), tmp_path / "work")


def test_a_link_instead_of_a_bundle(tmp_path, coil):
    (tmp_path / "link.coil").symlink_to(coil)
    with pytest.raises(CheckpointError, match="is a link"):
        unpack(tmp_path / "link.coil", tmp_path / "work")


# ---- fuzzing


def small_bundle(folder):
    """The bytes of a bundle of a few hundred bytes, for fuzzing."""
    files = {"model.safetensors": bytes(40), "card.md": b"# card\n", "config.json": b"{}"}
    records = {name: FileRecord(hashlib.sha256(data).hexdigest(), len(data)) for name, data in files.items()}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    manifest = Manifest(id="ab" * 16, name="small", created=now(), kind="whole", mode="base", files=records)
    write_bundle(folder / "small.coil", folder, manifest)
    return (folder / "small.coil").read_bytes()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_bundle(tmp_path_factory.mktemp("small"))


def check_one(folder, data):
    """A bundle is unpacked as its manifest says, or refused; nothing else comes out, and nothing stays behind."""
    path, work = folder / "fuzzed.coil", folder / "work"
    work.mkdir(exist_ok=True)
    path.write_bytes(data)
    try:
        with unpacked(path, work) as (inside, manifest):
            assert {file.name: file.stat().st_size for file in inside.iterdir()} == {
                name: record.size for name, record in manifest.files.items()
            }
    except CodecoilError:
        pass
    assert os.listdir(work) == []


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_nothing_but_our_error_comes_out(small, tmp_path_factory, data):
    content = bytearray(small)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content)))
        kind = data.draw(st.sampled_from(["set", "cut", "grow"]))
        if kind == "cut":
            del content[at : at + data.draw(st.integers(1, 40))]
        else:
            piece = data.draw(st.binary(min_size=1, max_size=8))
            content[at : at + (len(piece) if kind == "set" else 0)] = piece
    check_one(tmp_path_factory.getbasetemp(), bytes(content))


def test_nothing_but_our_error_comes_out_of_many_more(small, tmp_path):
    """The same with a plain random generator, which is faster; most changes hit the headers."""
    generator = random.Random(11)
    heads = [i for i in range(len(small)) if small[i : i + 2] == b"PK"]
    telling = [b"\0\0", b"\1\0", b"\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff", b"\0\0\0\x80"]
    for _ in range(5000):
        content = bytearray(small)
        for _ in range(generator.randrange(1, 4)):
            near = generator.random() < 0.7
            at = generator.choice(heads) + generator.randrange(60) if near else generator.randrange(len(content))
            piece = generator.choice(telling) if generator.random() < 0.5 else generator.randbytes(2)
            content[at : at + len(piece)] = piece
        if generator.random() < 0.1:
            del content[generator.randrange(len(content)) :]
        check_one(tmp_path, bytes(content))
