"""Whatever the bytes are: an answer or one of our own errors, and nothing allocated for what a header only claims.

More than 10,000 generated inputs over the readers of headers, manifests, names, configurations and whole folders.
"""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from engine.checkpoints.store.delta import DeltaPart
from engine.checkpoints.store.manifest import Manifest, read_manifest
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError, CodecoilError
from engine.model.files import MAX_LAYERS, config_from_keys
from engine.safe_reading import check_file_name, check_name, parse_json, read_json, read_plain
from engine.tensor_file import DTYPES, TensorFile, parse_header
from tests.checkpoints.store.samples import TINY, save_base, save_wsla

NUMBERS = st.one_of(
    st.integers(-2, 70),
    st.sampled_from([2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63)]),
    st.floats(),
)
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=6))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)
WORDS = (
    "..|../x|..\\x|/|a/b|a\\b|C:|con|NUL.txt|aux |com1|LPT9.a|.hidden|trailing.| |~|-rf|$HOME|名前|ＣＯＮ|a\0b|\x1b[2J"
)
NASTY = st.sampled_from(["", ".", "\u202e", "\ud800", "x" * 5000, *WORDS.split("|")])
PLAIN = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def fuzz(strategy: st.SearchStrategy, examples: int, look: Callable[[Any], Any]) -> int:
    """Look at this many generated inputs; only our own errors may come out.  How many were taken."""
    seen = taken = 0

    @settings(PLAIN, max_examples=examples)
    @given(strategy)
    def every(given_input: Any) -> None:
        nonlocal seen, taken
        seen += 1
        try:
            look(given_input)
            taken += 1
        except CodecoilError as error:
            assert error.message

    every()
    assert seen >= 0.9 * examples, f"only {seen} inputs were generated"
    return taken


DESCRIBED = st.lists(
    st.tuples(st.sampled_from(["F32", "U8", "BF16", "F64", "BOOL"]), st.lists(st.integers(0, 3), max_size=3)),
    max_size=3,
)
FIELDS = st.sampled_from(["dtype", "shape", "data_offsets", "more", "name", "metadata", "length", "data", "text"])


def header_bytes(drawn: tuple[list, str, Any, str, int]) -> bytes:
    """A safetensors file that is right but for one thing: `field` of its last tensor, or one of the whole file."""
    described, field, value, name, number = drawn
    content: dict[str, Any] = {"__metadata__": value} if field == "metadata" else {}
    place = 0
    for index, (dtype, shape) in enumerate(described):
        end = place + DTYPES[dtype].itemsize * int(np.prod(shape, dtype=int))
        content[f"t{index}"] = {"dtype": dtype, "shape": shape, "data_offsets": [place, end]}
        place = end
    if described and field in ("dtype", "shape", "data_offsets", "more"):
        content[f"t{len(described) - 1}"][field] = value
    if described and field == "name":
        content[name] = content.pop("t0")
    text = name.encode("utf-8", "surrogatepass") if field == "text" else json.dumps(content).encode()
    length = number if field == "length" else len(text)
    return struct.pack("<Q", length % 2**64) + text + bytes(number % 64 if field == "data" else place)


def headers() -> st.SearchStrategy[bytes]:
    values = st.one_of(
        VALUES, st.lists(NUMBERS, max_size=3), st.tuples(st.integers(0, 40), st.integers(0, 40)).map(list)
    )
    numbers = st.one_of(st.integers(0, 200), st.integers(0, 2**64 - 1))
    return st.tuples(DESCRIBED, FIELDS, values, NASTY, numbers).map(header_bytes)


def test_headers_of_safetensors():
    assert fuzz(headers(), 3000, lambda data: parse_header(data, len(data), "it")) > 10
    assert fuzz(st.binary(max_size=64), 500, lambda data: parse_header(data, len(data), "it")) == 0


def test_headers_that_are_right_but_for_one_byte(tmp_path):
    whole = save({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.uint8)}, {"k": "v"})
    path = tmp_path / "x.safetensors"

    def look(change: tuple[int, int, int]) -> None:
        place, value, cut = change
        data = bytearray(whole)
        data[place] = value
        path.write_bytes(data[: len(data) - cut])
        with TensorFile(path) as file:
            assert all(file[name].nbytes == entry.end - entry.begin for name, entry in file.entries.items())
            for name in file:
                file[name].tobytes()

    places = st.tuples(
        st.integers(0, len(whole) - 1), st.integers(0, 255), st.sampled_from([0, 0, 0, 1, 30, len(whole)])
    )
    assert fuzz(places, 1500, look) > 10


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> CheckpointStore:
    store = CheckpointStore(tmp_path_factory.mktemp("hostile") / "store")
    save_base(store)
    save_wsla(store)
    return store


def test_manifests(filled):
    right = json.loads(filled.get("adapted").to_json())
    keys = [*right, "unknown"]

    def look(content: Any) -> None:
        manifest = read_manifest(json.dumps(content).encode(), "it")
        assert isinstance(manifest, Manifest) and read_manifest(manifest.to_json(), "it") == manifest

    replaced = st.tuples(st.sampled_from(keys), st.one_of(VALUES, NASTY)).map(
        lambda change: {**right, change[0]: change[1]}
    )
    removed = st.sampled_from(keys).map(lambda key: {name: value for name, value in right.items() if name != key})
    inside = st.tuples(st.sampled_from(["options", "data", "metrics"]), st.text(max_size=5), VALUES).map(
        lambda change: {**right, change[0]: {change[1]: change[2]}}
    )
    files = st.tuples(st.one_of(NASTY, st.text(max_size=8)), VALUES).map(
        lambda change: {**right, "files": {**right["files"], change[0]: change[1]}}
    )
    named = NASTY.map(lambda name: {**right, "files": {**right["files"], name: {"sha256": "0" * 64, "size": 1}}})
    parts = st.lists(st.one_of(VALUES, st.sampled_from(["rows", "low_rank", "indexed_rows"])), max_size=6).map(
        lambda part: {**right, "delta": [part]}
    )
    everything = st.one_of(replaced, removed, inside, files, named, parts, VALUES)
    assert fuzz(everything, 2500, look) > 100
    assert fuzz(st.binary(max_size=60), 300, lambda data: read_manifest(data, "it")) == 0


def test_parts_of_deltas():
    word = st.one_of(VALUES, st.sampled_from(["rows", "low_rank", "indexed_rows", "p", "t"]), st.integers(0, 9))
    look = DeltaPart.from_json
    assert fuzz(st.one_of(st.lists(word, max_size=6), VALUES), 1000, look) < 1000
    assert look(["rows", "p", 0, 1, "t"]) == DeltaPart("rows", "p", 0, 1, "t")
    for first in (True, 0.0, "0", -1, 2):
        with pytest.raises(CheckpointError):
            look(["rows", "p", first, 1, "t"])


def test_names(tmp_path):
    def look(name: str) -> None:
        check_name(name)
        folder = tmp_path / "names"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_bytes(b"")
        assert path.resolve().parent == folder.resolve() and [p.name for p in folder.iterdir()] == [name]
        path.unlink()

    assert fuzz(st.one_of(st.text(max_size=20), NASTY, st.text("./\\:conaux ", max_size=5)), 1500, look) > 100
    assert fuzz(st.one_of(st.text(max_size=20), NASTY), 300, check_file_name) > 10


def test_configurations():
    right = TINY.to_hugging_face()
    keys = [*right, "ssm_cfg", "d_model", "pad_vocab_size_multiple", "n_layer", "rms_norm", "dtype", "strange"]
    changed = st.dictionaries(st.sampled_from(keys), VALUES, min_size=1, max_size=3)

    def look(changes: dict[str, Any]) -> None:
        config = config_from_keys({**right, **changes}, "it")
        assert config.num_hidden_layers <= MAX_LAYERS
        config.parameter_shapes()

    assert fuzz(changed, 1000, look) > 10


def test_json():
    for look in (lambda text: parse_json(text.encode("utf-8", "surrogatepass"), "it", 1000, 5),):
        assert fuzz(st.one_of(VALUES.map(json.dumps), st.text(max_size=30)), 500, look) > 100


def test_folders_with_damaged_files(filled):
    """Bytes changed, cut or added anywhere in a checkpoint: it is listed or shown as unreadable, and verify tells."""
    for which in ("base", "adapted"):
        folder = filled.folder_of(which)
        contents = {path: path.read_bytes() for path in folder.iterdir()}

        def look(change: tuple[Path, float, bytes, bool], which=which, contents=contents) -> None:
            path, where, data, cut = change
            whole = contents[path]
            place = int(where * len(whole))
            path.write_bytes(whole[:place] + data + (b"" if cut else whole[place + len(data) :]))
            try:
                found = filled.survey()
                assert len(found.checkpoints) + len(found.unreadable) == 2
                id = path.parent.name
                findings = filled.verify(id)
                assert findings or path.name == "manifest.json" or path.read_bytes() == whole
                with filled.load_parameters(id) as loaded:
                    for array in loaded.values():
                        array.tobytes()
            finally:
                path.write_bytes(whole)

        changes = st.tuples(
            st.sampled_from(sorted(contents)),
            st.floats(0, 1, exclude_max=True),
            st.binary(min_size=1, max_size=4),
            st.booleans(),
        )
        fuzz(changes, 300, look)
    assert filled.verify("base") == filled.verify("adapted") == []


def test_nothing_is_allocated_for_what_a_header_claims(tmp_path):
    path = tmp_path / "x.safetensors"
    huge = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    overflow = json.dumps({"a": {"dtype": "F32", "shape": [2**32, 2**32], "data_offsets": [0, 0]}}).encode()
    wrapped = json.dumps({"a": {"dtype": "U8", "shape": [2**46] * 8, "data_offsets": [0, 4]}}).encode()
    starts = [
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 100_000_000) + b"{}",
        *(struct.pack("<Q", len(text)) + text + bytes(4) for text in (huge, overflow, wrapped)),
    ]
    tracemalloc.start()
    try:
        for data in starts:
            path.write_bytes(data)
            with pytest.raises(CheckpointError):
                TensorFile(path)
        deep = b'{"a":' * 500_000
        for data in (deep, b"[" * 1_000_000, b'"' + b"[" * 1_000_000):
            path.write_bytes(data)
            with pytest.raises(CheckpointError, match=r"nested deeper|not valid JSON"):
                read_json(path)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(CheckpointError, match="1000"):
        read_plain(path, 1000)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"a": ("F32", [2], [0, 8]), "b": ("F32", [2], [4, 12])}, "overlaps the tensor before it"),
        ({"a": ("F32", [2], [0, 8]), "b": ("F32", [1], [12, 16])}, "leaves a gap before it"),
        ({"a": ("F32", [1], [0, 4])}, "bytes that belong to no tensor"),
        ({"a": ("F32", [4], [0, 16]), "b": ("F32", [4], [16, 32])}, "ends beyond the file"),
        ({"a": ("F32", [3], [0, 16])}, "needs 12 bytes; it has 16"),
        ({"a": ("Q3", [4], [0, 16])}, "'Q3'"),
        ({"a": ("F32", [True, 4], [0, 16])}, "'a' .*shape"),
        ({"a": ("F32", [-1, -4], [0, 16])}, "'a' .*shape"),
        ({"a": ("F32", [4], [16, 0])}, "'a' .*position"),
        ({"a\n": ("F32", [4], [0, 16])}, "has a tensor with an invalid name"),
    ],
)
def test_lying_headers_are_refused_in_words(tensors, said):
    content = {n: {"dtype": d, "shape": s, "data_offsets": o} for n, (d, s, o) in tensors.items()}
    text = json.dumps(content).encode()
    data = struct.pack("<Q", len(text)) + text + bytes(16)
    with pytest.raises(CheckpointError, match=said):
        parse_header(data, len(data), "it")


def test_a_key_that_comes_twice_is_refused():
    with pytest.raises(CheckpointError, match="a key appears twice"):
        parse_json(b'{"a": 1, "a": 2}', "it", 100, 4)
    for text in (b"NaN", b"[Infinity]", b'"\\ud800"', b"\xff", b"1" * 5000):
        with pytest.raises(CheckpointError):
            parse_json(text, "it", 10_000, 4)


@pytest.mark.parametrize("text", [b'"' + b'\\"' * 500_000, b'"\\' * 500_000, b'\\"' * 500_000, b'"' * 1_000_001])
def test_no_text_takes_longer_than_its_length(text):
    with pytest.raises(CheckpointError):
        parse_json(b"[" + b"[]," * 300 + text, "it", 4 << 20, 4)  # what backtracks would be here for hours


def test_depth_is_measured_outside_of_strings_only():
    assert parse_json(b'["[[[[[[[[", "\\"[[["]', "it", 100, 1) == ["[[[[[[[[", '"[[[']
    text = json.dumps([[1], ["[" * 600]] * 200).encode()  # enough brackets to be measured before reading
    assert parse_json(text, "it", 1 << 20, 2)
    with pytest.raises(CheckpointError, match="nested deeper than 1 levels"):
        parse_json(text, "it", 1 << 20, 1)
    with pytest.raises(CheckpointError, match="nested deeper than 2 levels"):
        parse_json(b"[[[]]]", "it", 100, 2)
