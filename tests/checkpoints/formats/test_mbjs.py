"""MBJS files: what the forerunner wrote comes in with its taps turned around; anything else is refused in words."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.formats.mbjs import OURS, read_mbjs
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError, CodecoilError

M, D, N, K, R, V, LAYERS = 6, 12, 4, 3, 2, 11, 2
SHAPES = {
    "wInProj": (2 * D, M),
    "bInProj": (2 * D,),
    "wConv": (D, K),
    "bConv": (D,),
    "wXProj": (R + 2 * N, D),
    "bXProj": (R + 2 * N,),
    "wDtProj": (D, R),
    "bDtProj": (D,),
    "A_log": (D, N),
    "D_vec": (D,),
    "wOutProj": (M, D),
    "bOutProj": (M,),
    "normWeight": (M,),
}


def tensors(**zero_or_not):
    """A model's tensors in the order of the file; biases that the forerunner has and we lack are zero unless named."""
    generator = np.random.default_rng(3)
    shapes = {"embedding": (V, M)}
    shapes |= {f"block{i}.{name}": SHAPES[name] for i in range(LAYERS) for name in OURS}
    shapes["final_norm"] = (M,)
    found = {}
    for name, shape in shapes.items():
        array = generator.normal(size=shape).astype(np.float32)
        inner = name.split(".")[-1]
        if inner in ("bInProj", "bOutProj", "bXProj"):
            array *= zero_or_not.get(inner, 0)
        found[name] = array
    return found


def packed(content, version=1, crc=False, kinds=None):
    """The bytes of an MBJS file, written as the forerunner writes them."""
    head = struct.pack("<II", 0x4D424A53, version)
    if version > 1:
        kinds = bytes(LAYERS) if kinds is None else kinds
        head += struct.pack("<I", len(kinds)) + kinds + bytes(-len(kinds) % 4)
    head += struct.pack(f"<I{len(content)}I", len(content), *(array.size for array in content.values()))
    dtype = "<f2" if version == 3 else "<f4"
    data = head + b"".join(array.astype(dtype).tobytes() for array in content.values())
    return data + struct.pack("<II", 0x52435645, zlib.crc32(data)) if crc else data


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights.bin"


@pytest.mark.parametrize(("version", "crc"), [(1, False), (1, True), (2, False), (2, True), (3, False), (3, True)])
def test_every_version(path, version, crc):
    content = tensors()
    path.write_bytes(packed(content, version, crc))
    imported = read_mbjs(path)
    config = imported.config
    assert (config.hidden_size, config.intermediate_size, config.state_size) == (M, D, N)
    assert (config.conv_kernel, config.time_step_rank, config.vocab_size) == (K, R, V)
    assert config.num_hidden_layers == LAYERS and config.layer_norm_epsilon == 1e-6 and not config.use_bias
    assert config.tie_word_embeddings
    dtype = np.float16 if version == 3 else np.float32
    assert imported.precision == dtype.__name__
    found = {name: imported.parameters[name] for name in config.parameter_shapes()}
    assert {name: array.shape for name, array in found.items()} == config.parameter_shapes()
    for layer in range(LAYERS):
        mixer = f"backbone.layers.{layer}.mixer"
        conv = content[f"block{layer}.wConv"].astype(dtype)
        assert np.array_equal(found[f"{mixer}.conv1d.weight"][:, 0], conv[:, ::-1])
        for ours, theirs in (("x_proj.weight", "wXProj"), ("A_log", "A_log"), ("dt_proj.bias", "bDtProj")):
            assert np.array_equal(found[f"{mixer}.{ours}"], content[f"block{layer}.{theirs}"].astype(dtype))
    assert np.array_equal(found["backbone.norm_f.weight"], content["final_norm"].astype(dtype))
    words = " ".join(imported.notes)
    assert "zero-order hold" in words and "no tokenizer" in words


def test_biases_that_have_a_place(path):
    content = tensors(bInProj=1, bOutProj=1)
    path.write_bytes(packed(content))
    imported = read_mbjs(path)
    assert imported.config.use_bias
    assert np.array_equal(imported.parameters["backbone.layers.1.mixer.out_proj.bias"], content["block1.bOutProj"])


def test_the_bias_of_delta_goes_into_dt_proj(path):
    content = tensors(bXProj=1)
    for layer in range(LAYERS):
        content[f"block{layer}.bXProj"][R:] = 0
    path.write_bytes(packed(content, 2))
    imported = read_mbjs(path)
    weight, own = content["block1.wDtProj"].astype(np.float64), content["block1.bXProj"][:R].astype(np.float64)
    folded = imported.parameters["backbone.layers.1.mixer.dt_proj.bias"]
    assert np.allclose(folded, content["block1.bDtProj"] + weight @ own, rtol=1e-6)
    assert "added to dt_proj's bias" in " ".join(imported.notes)


def test_the_bias_of_b_and_c_is_refused_by_name(path):
    content = tensors()
    content["block1.bXProj"][R + 1] = 0.5
    path.write_bytes(packed(content))
    with pytest.raises(CheckpointError, match=r"block1\.bXProj adds 1 numbers to B and C"):
        read_mbjs(path)


def test_the_same_function_after_the_import(path):
    """The convolution of the forerunner, y[t] = sum w[k] x[t-k], is ours with its taps turned around."""
    content = tensors()
    path.write_bytes(packed(content))
    ours = read_mbjs(path).parameters["backbone.layers.0.mixer.conv1d.weight"][:, 0]
    theirs, x = content["block0.wConv"], np.random.default_rng(0).normal(size=(9, D))
    padded = np.concatenate([np.zeros((K - 1, D)), x])
    for t in range(9):
        backwards = sum(theirs[:, k] * padded[K - 1 + t - k] for k in range(K))
        forwards = sum(ours[:, k] * padded[t + k] for k in range(K))
        assert np.allclose(backwards, forwards)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"", "cut off"),
        (lambda data: data[:100], "no room|cut off"),
        (lambda data: b"XXXX" + data[4:], "MBJS"),
        (lambda data: data[:4] + struct.pack("<I", 9) + data[8:], "version 9"),
        (lambda data: data[:8] + struct.pack("<I", 0xFFFFFFFF) + data[12:], "no room"),
        (lambda data: data[:12] + struct.pack("<I", 0xFFFFFFFF) + data[16:], "header describes"),
        (lambda data: data[:-4], "header describes"),
        (lambda data: data + b"12345678", "checksum"),
        (lambda data: data + struct.pack("<II", 0x52435645, 0), "checksum is"),
    ],
)
def test_damaged_files(path, change, words):
    path.write_bytes(change(packed(tensors())))
    with pytest.raises(CheckpointError, match=words):
        read_mbjs(path)


def test_other_layers_are_refused_by_name(path):
    path.write_bytes(packed(tensors(), 2, kinds=bytes([0, 3])))
    with pytest.raises(CheckpointError, match="layer 1 is attention"):
        read_mbjs(path)
    path.write_bytes(packed(tensors(), 2, kinds=bytes(3)))
    with pytest.raises(CheckpointError, match=r"3 here"):
        read_mbjs(path)


def test_counts_that_fit_no_model(path):
    content = tensors()
    content["block1.D_vec"] = content["block1.D_vec"][:-1]
    path.write_bytes(packed(content))
    with pytest.raises(CheckpointError, match=r"block1\.D_vec has 11 numbers; 12 are expected"):
        read_mbjs(path)


def test_numbers_that_are_not_finite(path):
    content = tensors()
    content["block0.A_log"][2, 1] = np.inf
    path.write_bytes(packed(content))
    imported = read_mbjs(path)
    with pytest.raises(CheckpointError, match=r"block0\.A_log holds 1 "):
        imported.parameters["backbone.layers.0.mixer.A_log"]


def test_into_the_store(path, tmp_path):
    path.write_bytes(packed(tensors(bInProj=1), 3, crc=True))
    store = CheckpointStore(tmp_path / "store")
    manifest = import_checkpoint(store, path)
    assert (manifest.name, manifest.mode, manifest.precision) == ("weights", "import", "float16")
    assert (
        "zero-order hold" in manifest.note and "zero-order hold" in (store.folder / manifest.id / "card.md").read_text()
    )
    assert store.verify(manifest.id) == [] and import_checkpoint(store, path) == manifest


VALID = [packed(tensors(), version, crc) for version in (1, 2, 3) for crc in (False, True)]


@st.composite
def hostile(draw):
    """A valid file with some bytes changed, cut out or put in; or no file of the kind at all."""
    if draw(st.integers(0, 9)) == 0:
        return b"SJBM" + draw(st.binary(max_size=200))
    data = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.one_of(st.integers(0, 160), st.integers(0, len(data))))
        kind = draw(st.sampled_from(["word", "byte", "cut", "grow"]))
        if kind == "word":
            value = draw(st.one_of(st.integers(0, 1 << 32), st.sampled_from([0, 1, 2, 3, 28, 0xFFFFFFFF]))) & 0xFFFFFFFF
            data[at // 4 * 4 : at // 4 * 4 + 4] = struct.pack("<I", value)
        elif kind == "byte" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del data[at : at + draw(st.integers(1, 64))]
        else:
            data[at:at] = draw(st.binary(max_size=16))
    return bytes(data)


def check_one(path, data):
    path.write_bytes(data)
    try:
        imported = read_mbjs(path)
        for name, shape in imported.config.parameter_shapes().items():
            assert imported.parameters[name].shape == shape
            assert np.isfinite(imported.parameters[name]).all()
    except CodecoilError:
        pass


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(hostile())
def test_nothing_but_our_error_comes_out(tmp_path_factory, data):
    check_one(tmp_path_factory.getbasetemp() / "fuzzed.bin", data)


def test_nothing_but_our_error_comes_out_of_many_more(tmp_path):
    """The same with a plain random generator, which is faster: words of the header get values that mean something."""
    generator = random.Random(7)
    telling = [0, 1, 2, 3, 4, 6, 12, 28, 1 << 16, 1 << 31, (1 << 32) - 1]
    for _ in range(5000):
        data = bytearray(generator.choice(VALID))
        for _ in range(generator.randrange(1, 4)):
            at = generator.randrange(0, 40 if generator.random() < 0.7 else len(data) // 4) * 4
            value = generator.choice(telling) if generator.random() < 0.6 else generator.getrandbits(32)
            data[at : at + 4] = struct.pack("<I", value)
        if generator.random() < 0.2:
            del data[generator.randrange(len(data)) :]
        check_one(tmp_path / "fuzzed.bin", bytes(data))
