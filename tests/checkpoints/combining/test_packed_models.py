"""Whole models in every precision: what stays float32, exact sizes, files that give float32 back, and refusals."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.checkpoints.combining.packed_models import (
    METADATA_TENSORS,
    PRECISIONS,
    PackedSource,
    logical_shapes,
    open_packed,
    pack_model,
    pack_tensor,
    packed_bytes,
    precision_of,
    unpack,
    unpack_pieces,
)
from engine.checkpoints.store.writing import Disk, write_tensors
from engine.errors import CheckpointError, CodecoilError
from engine.model import files
from engine.model.config import ModelConfig
from engine.tensor_file import TensorFile
from tests.checkpoints.combining.samples import CONFIG, LAYER, matrices, parameters

WEIGHT = f"{LAYER}.in_proj.weight"
BITS = {"float32": 32, "bfloat16": 16, "float16": 16, "q8_0": 8.5, "q4_0": 4.5, "int4": 4.5, "fp4": 4.5}
BITS |= {"fp8_e4m3": 8, "fp8_e5m2": 8, "int8": 8, "ternary": 2.5, "binary": 1.5}


def pack(of, wanted: str):
    model = pack_model(of, CONFIG, wanted)
    return model.tensors, model.metadata


def written(path, wanted: str, of=None) -> TensorFile:
    of = of or parameters()
    packed = PackedSource(of, CONFIG, wanted)
    write_tensors(Disk(), path, packed, packed.metadata, packed.described)
    return TensorFile(path)


@pytest.mark.parametrize("wanted", PRECISIONS)
def test_pieces_are_packed_and_unpacked_as_the_whole_is(wanted, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.tensor_file.PIECE", 1 << 10)
    of = parameters(noise=0.01)
    with written(tmp_path / "model.safetensors", wanted, of) as file:
        for key, array in pack_model(of, CONFIG, wanted).tensors.items():
            assert file[key].tobytes() == array.tobytes(), key
        for name, tensor in pack_model(of, CONFIG, wanted).packed.items():
            pieces = list(unpack_pieces(file, name))
            assert np.concatenate(pieces).tobytes() == tensor.unpack().tobytes(), name
        assert wanted == "float32" or len(list(unpack_pieces(file, WEIGHT))) > 1


def test_what_stays_float32():
    specs = ModelConfig(hidden_size=32, use_bias=True, tie_word_embeddings=False).specs
    kept = {name for name, spec in specs.items() if precision_of(spec, "int8") == "float32"}
    packed = {name.split(".layers.0.")[-1] for name in specs.keys() - kept}
    assert {name for name in packed if ".layers." not in name} == {
        "backbone.embeddings.weight",
        "lm_head.weight",
        *(f"mixer.{name}_proj.weight" for name in ("in", "x", "dt", "out")),
    }


@pytest.mark.parametrize("wanted", PRECISIONS)
def test_a_model_in_a_file_gives_float32_back(wanted, tmp_path):
    of = parameters(noise=0.01)
    with written(tmp_path / "model.safetensors", wanted, of) as file:
        assert logical_shapes(file) == CONFIG.parameter_shapes()
        model = open_packed(file, file.metadata, "the file")
        assert model.precision == wanted
        for name, array in of.items():
            found = unpack(file, name)
            assert found.dtype == np.float32
            assert found.shape == array.shape
            assert np.array_equal(found, model[name])
            if precision_of(CONFIG.specs[name], wanted) == "float32":
                assert found.tobytes() == array.tobytes()
            else:
                length = np.linalg.norm(array)
                assert np.linalg.norm(found - array) < (0.65 if wanted == "binary" else 0.5) * length


@pytest.mark.parametrize("wanted", PRECISIONS)
def test_saving_what_was_loaded_gives_the_same_file(wanted, tmp_path):
    with written(tmp_path / "one.safetensors", wanted) as file:
        loaded = dict(open_packed(file, file.metadata, "the file"))
    written(tmp_path / "two.safetensors", wanted, loaded).close()
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()


@pytest.mark.parametrize("wanted", PRECISIONS)
def test_sizes_are_exact(wanted, tmp_path):
    shapes = CONFIG.parameter_shapes()
    model = pack_model(parameters(), CONFIG, wanted)
    assert packed_bytes(CONFIG, wanted) == model.nbytes
    with written(tmp_path / "model.safetensors", wanted) as file:
        assert file.size - file.header.data_start == model.nbytes
    rows, columns = shapes[WEIGHT]
    scales = {"int8": 4 * rows, "fp8_e4m3": 4, "fp8_e5m2": 4}.get(wanted, 0)
    assert model.packed[WEIGHT].nbytes == rows * columns * BITS[wanted] / 8 + scales


@pytest.mark.parametrize("wanted", ["q8_0", "q4_0", "int4", "fp4", "ternary", "binary"])
def test_rows_that_are_not_whole_blocks_become_float16(wanted):
    name = f"{LAYER}.dt_proj.weight"
    model = pack_model(parameters(), CONFIG, wanted)
    assert model.packed[name].precision == precision_of(CONFIG.specs[name], wanted) == "float16"
    assert json.loads(model.metadata[METADATA_TENSORS])[name] == ["float16", [64, 2]]
    assert model.packed[WEIGHT].precision == wanted


@pytest.mark.parametrize("wanted", ["float32", "float16", "bfloat16"])
def test_sixteen_bits_are_a_plain_hugging_face_file(wanted, tmp_path):
    of = parameters()
    files.write_model(tmp_path, CONFIG, of)
    (tmp_path / "model.safetensors").unlink()
    written(tmp_path / "model.safetensors", wanted, of).close()
    dtypes = {name: array.dtype for name, array in files.FolderParameters(tmp_path, CONFIG).items()}
    assert dtypes[WEIGHT].name == wanted
    assert dtypes[f"{LAYER}.A_log"] == np.float32


def test_a_file_of_others_is_read_as_it_is(tmp_path):
    write_tensors(Disk(), tmp_path / "a.safetensors", {"x": np.float16([1, 2]), "y": np.float32([3])}, {"format": "pt"})
    with TensorFile(tmp_path / "a.safetensors") as file:
        model = open_packed(file, file.metadata, "a file")
        assert model["x"].tolist() == [1, 2]
        assert model["y"].dtype == np.float32


@pytest.mark.parametrize("wanted", [name for name in PRECISIONS if name != "float32"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(wanted, bad):
    x = parameters()[WEIGHT].copy()
    x[3, 4] = bad
    with pytest.raises(CheckpointError, match=r"in_proj\.weight"):
        pack_tensor(WEIGHT, x, PRECISIONS[wanted])


@pytest.mark.parametrize(
    ("wanted", "largest"),
    [
        ("float16", 65520.0),
        ("bfloat16", 3.4e38),
        ("q8_0", 1e7),
        ("q4_0", 1e6),
        ("int4", 1e6),
        ("fp4", 1e6),
        ("ternary", 1e7),
        ("fp8_e4m3", 3.4e38),
        ("fp8_e5m2", 3.4e38),
    ],
)
@pytest.mark.parametrize("rows", [2, 5000])  # on one core, and on all
def test_overflow_is_refused_by_name(wanted, largest, rows):
    x = np.zeros((rows, 32), np.float32)
    x[-1, 7] = largest
    with pytest.raises(CheckpointError, match=rf"in_proj\.weight .*{wanted}"):
        pack_tensor(WEIGHT, x, PRECISIONS[wanted])


def test_int8_has_the_range_of_float32():
    x = np.full((1, 32), np.finfo(np.float32).max)
    assert pack_tensor(WEIGHT, x, PRECISIONS["int8"]).unpack() == pytest.approx(x, rel=1e-6)


def test_an_unknown_precision_is_refused_with_a_list():
    with pytest.raises(CheckpointError, match=r"no precision 'int3'.*float32, bfloat16"):
        pack(parameters(), "int3")


@pytest.mark.parametrize("wanted", PRECISIONS)
@given(x=matrices(largest=3e38))
def test_packing_what_was_unpacked_gives_the_same_bytes(wanted, x):
    try:
        packed = pack_tensor(WEIGHT, x, PRECISIONS[wanted])
    except CheckpointError:
        return
    again = pack_tensor(WEIGHT, packed.unpack(), PRECISIONS[wanted])
    assert {part: array.tobytes() for part, array in again.parts.items()} == {
        part: array.tobytes() for part, array in packed.parts.items()
    }


# ---- files that lie


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda described: described[WEIGHT].__setitem__(0, "int3"), "no precision"),
        (lambda described: described[WEIGHT].__setitem__(1, [128, 64]), "is expected for q8_0"),
        (lambda described: described[WEIGHT].__setitem__(1, [128, 33]), "shape"),
        (lambda described: described[WEIGHT].__setitem__(1, [-128, -32]), "shape"),
        (lambda described: described[WEIGHT].__setitem__(1, [1 << 62, 1 << 62]), "shape"),
        (lambda described: described.__setitem__("more", ["q8_0", [32, 32]]), "'more' is missing"),
        (lambda described: described.pop(WEIGHT), "do not belong"),
        (lambda described: described.__setitem__(WEIGHT, "q8_0"), "not describe"),
    ],
)
def test_metadata_that_lie_are_refused(change, words):
    tensors, metadata = pack(parameters(), "q8_0")
    described = json.loads(metadata[METADATA_TENSORS])
    change(described)
    with pytest.raises(CheckpointError, match=words):
        open_packed(tensors, {**metadata, METADATA_TENSORS: json.dumps(described)}, "the file")


@pytest.mark.parametrize("wanted", ["int8", "q8_0", "q4_0", "fp8_e4m3", "fp8_e5m2", "int4", "ternary", "binary"])
def test_codes_and_scales_that_stand_for_nothing_are_refused(wanted):
    tensors, metadata = pack(parameters(), wanted)
    key = f"{WEIGHT}.scale" if f"{WEIGHT}.scale" in tensors else WEIGHT
    tensors[key] = np.full_like(tensors[key], 0xFF if tensors[key].dtype == np.uint8 else np.nan)
    with pytest.raises(CheckpointError, match="invalid codes or scales"):
        open_packed(tensors, metadata, "the file")[WEIGHT]


def test_a_ternary_code_that_does_not_exist_is_refused():
    tensors, metadata = pack(parameters(), "ternary")
    tensors[WEIGHT][0, 0] |= 3
    with pytest.raises(CheckpointError, match="invalid codes or scales"):
        open_packed(tensors, metadata, "the file")[WEIGHT]


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), wanted=st.sampled_from(list(PRECISIONS)))
def test_damaged_files_give_our_error_or_a_model(data, wanted, tmp_path):
    path = tmp_path / f"{wanted}.safetensors"
    if not path.exists():
        written(path, wanted).close()
    content = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, header - 1) | st.integers(0, len(content) - 1))] = data.draw(
            st.integers(0, 255)
        )
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(content[: data.draw(st.sampled_from([len(content)] * 4 + [len(content) // 2, header]))])
    try:
        with TensorFile(damaged) as file:
            for array in open_packed(file, file.metadata, "the file").values():
                assert array.dtype == np.float32
    except CodecoilError:
        pass


@given(text=st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_metadata_give_our_error_or_a_model(text):
    with pytest.raises(CodecoilError):
        open_packed({"x": np.zeros(3, np.int8)}, {METADATA_TENSORS: text, "codecoil.precision": "q8_0"}, "the file")
