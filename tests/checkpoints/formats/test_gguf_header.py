"""The header of a GGUF file: as the `gguf` library reads it, and hostile ones refused without cost."""

from __future__ import annotations

import struct

import gguf
import numpy as np
import pytest

from engine.checkpoints.formats import gguf_header
from engine.checkpoints.formats.gguf_header import read_header
from engine.errors import CheckpointError


@pytest.fixture
def path(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_key_value("a.text", "né", gguf.GGUFValueType.STRING)
    for name, value in {
        "int8": -3,
        "uint16": 9,
        "uint64": 1 << 40,
        "int32": -5,
        "float32": 0.5,
        "float64": 1e-9,
    }.items():
        writer.add_key_value(f"a.{name}", value, gguf.GGUFValueType[name.upper()])
    writer.add_bool("a.yes", True)
    writer.add_array("a.words", ["", "two", "三"])
    writer.add_array("a.numbers", [1, -2, 3])
    writer.add_tensor("one", np.arange(5, dtype=np.float32))
    writer.add_tensor("two", np.arange(12, dtype=np.float16).reshape(3, 4))
    rows = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("three", gguf.quants.quantize(rows, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "model.gguf"


def test_keys_and_tensors_are_those_of_the_library(path):
    header, reader = read_header(path), gguf.GGUFReader(path)
    wanted = {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    assert header.keys == wanted
    assert list(header.tensors) == [tensor.name for tensor in reader.tensors]
    for tensor in reader.tensors:
        found = header.tensors[tensor.name]
        assert found.shape == tuple(map(int, tensor.shape)) and found.tensor_type == tensor.tensor_type
        assert np.array_equal(header.data(tensor.name), tensor.data)


def raw(*keys: bytes, tensors: int = 0, count: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, len(keys) if count is None else count) + b"".join(keys)


def key(name: bytes, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value


HUGE = 1 << 62
HOSTILE = {
    "empty": b"",
    "another file": b"PK\x03\x04" + bytes(100),
    "version": b"GGUF" + struct.pack("<IQQ", 77, 0, 0),
    "many keys": raw(count=HUGE),
    "many tensors": raw(tensors=HUGE),
    "long string": raw(key(b"a", gguf_header.STRING, struct.pack("<Q", HUGE))),
    "long name": raw(struct.pack("<Q", HUGE) + b"a"),
    "long list": raw(key(b"a", gguf_header.ARRAY, struct.pack("<IQ", 8, HUGE))),
    "list of lists": raw(key(b"a", gguf_header.ARRAY, struct.pack("<IQ", 9, 1) + bytes(100))),
    "unknown type": raw(key(b"a", 99, bytes(8))),
    "twice": raw(key(b"a", 0, b"1"), key(b"a", 0, b"1")),
    "no UTF-8": raw(key(b"\xff\xfe", 0, b"1")),
    "no alignment": raw(key(b"general.alignment", 4, struct.pack("<I", 0))),
    "past the end": raw(struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 32, 0, HUGE), tensors=1, count=0),
    "nothing in a dimension": raw(struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 0, 0, 0), tensors=1, count=0),
    "unknown tensor": raw(struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 32, 9999, 0), tensors=1, count=0),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_header_is_refused(tmp_path, what):
    path = tmp_path / "bad.gguf"
    path.write_bytes(HOSTILE[what])
    with pytest.raises(CheckpointError, match=r"bad\.gguf"):
        read_header(path)


def test_lists_of_more_entries_than_any_vocabulary_are_refused_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_header, "MOST_ENTRIES", 10)
    path = tmp_path / "bad.gguf"
    part = struct.pack("<IQ", 0, 6) + bytes(6)
    path.write_bytes(raw(key(b"a", 9, part)))
    assert read_header(path).keys == {"a": [0] * 6}
    path.write_bytes(raw(key(b"a", 9, part), key(b"b", 9, part)))
    with pytest.raises(CheckpointError):
        read_header(path)
