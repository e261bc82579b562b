"""Files that appear whole or not at all, with the bytes that the safetensors library would have written."""

from __future__ import annotations

import hashlib

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save

from engine.checkpoints.store import writing
from engine.checkpoints.store.manifest import FileRecord
from engine.checkpoints.store.writing import Disk, new_folder, write_file, write_tensors
from engine.errors import CheckpointError
from engine.tensor_file import DTYPES, TensorFile


def test_mixed_types_have_the_bytes_of_the_safetensors_library(tmp_path):
    kinds = [np.float32, np.float16, np.float64, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_, np.uint16,
             np.uint32, np.uint64, ml_dtypes.bfloat16]  # fmt: skip
    tensors = {f"t{(7 * number) % 13}.ü": np.ones((3, number), kind) for number, kind in enumerate(kinds)}
    record = write_tensors(Disk(), tmp_path / "x", tensors, {"format": "pt"})
    data = (tmp_path / "x").read_bytes()
    assert data == save(tensors, {"format": "pt"})
    assert record == FileRecord(hashlib.sha256(data).hexdigest(), len(data))


def test_every_type_reads_back(tmp_path):
    tensors = {name: np.arange(6).reshape(2, 3).astype(dtype) for name, dtype in DTYPES.items()}
    write_tensors(Disk(), tmp_path / "x", tensors)
    with TensorFile(tmp_path / "x") as file:
        assert file.metadata == {} and len(file) == len(tensors)
        for name, array in tensors.items():
            assert file[name].dtype == array.dtype and file[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("size", [0, 1, writing.CHUNK - 1, writing.CHUNK, writing.CHUNK + 1, 3 * writing.CHUNK + 5])
def test_hashes_are_those_of_the_files(tmp_path, size, monkeypatch):
    monkeypatch.setattr(writing, "EARLY", writing.CHUNK)
    data = np.random.default_rng(0).integers(0, 256, size, np.uint8).tobytes()
    record = write_file(Disk(), tmp_path / "x", data)
    assert (tmp_path / "x").read_bytes() == data
    assert record == FileRecord(hashlib.sha256(data).hexdigest(), size)


def test_a_disk_that_writes_a_little_at_a_time_writes_it_all(tmp_path):
    class Slow(Disk):
        def write(self, descriptor, data):
            return super().write(descriptor, data[:777])

    data = bytes(range(256)) * 40
    write_file(Slow(), tmp_path / "x", data)
    assert (tmp_path / "x").read_bytes() == data


def test_tensors_can_be_fetched_when_their_turn_comes(tmp_path):
    fetched: list[str] = []

    class Lazy(dict):
        def __getitem__(self, name):
            fetched.append(name)
            return np.full((2, 3), len(fetched), np.float64)

    write_tensors(Disk(), tmp_path / "x", Lazy(), None, {"b": ("F32", (2, 3)), "a": ("F32", (2, 3))})
    assert fetched == ["a", "b"]
    assert {name: array.dtype for name, array in load_file(tmp_path / "x").items()} == {"a": "float32", "b": "float32"}
    with pytest.raises(CheckpointError, match=r"a .*\(2, 3\).*\(3, 2\)"):
        write_tensors(Disk(), tmp_path / "y", Lazy(), None, {"a": ("F32", (3, 2))})
    with pytest.raises(CheckpointError, match=r"a has 6 numbers; 12 are needed"):
        write_tensors(Disk(), tmp_path / "z", Lazy(), None, {"a": ("F32", (4, 3))})
    with pytest.raises(CheckpointError, match="float64"):
        write_tensors(Disk(), tmp_path / "w", Lazy(), None, {"a": ("F16", (2, 3))})


def test_a_type_that_safetensors_cannot_hold_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="complex64"):
        write_tensors(Disk(), tmp_path / "x", {"a": np.ones(1, np.complex64)})
    assert not (tmp_path / "x").exists()


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "export"
    with new_folder(target) as writer:
        writer.write_file("a.json", b"{}")
        writer.write_file("inner/b", b"b")
        assert not target.exists()
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == ["a.json", "inner", "inner/b"]
    with pytest.raises(CheckpointError, match="already exists"), new_folder(target):
        pass
    with pytest.raises(KeyError), new_folder(tmp_path / "other") as writer:
        writer.write_file("a", b"")
        raise KeyError
    with pytest.raises(CheckpointError, match="cannot be written"), new_folder(tmp_path / "no" / "where"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


@pytest.mark.parametrize("name", ["../x", "a/b/c", "/x", "..", "", "a/../b", "nul", ".x", "a\\b"])
def test_a_file_cannot_leave_its_folder(tmp_path, name):
    with pytest.raises(CheckpointError), new_folder(tmp_path / "export") as writer:
        writer.write_file(name, b"")
    assert list(tmp_path.iterdir()) == []
