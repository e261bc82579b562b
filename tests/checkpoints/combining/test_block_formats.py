"""Q8_0 and Q4_0 against the `gguf` library, bit for bit, and against llama.cpp's own steps written out one by one."""

import gguf
import numpy as np
import pytest
from gguf.constants import GGMLQuantizationType as Type
from hypothesis import given

from engine.checkpoints.combining import block_formats as formats
from tests.checkpoints.combining.samples import matrices, matrix

BOTH = {
    Type.Q8_0: (formats.pack_q8_0, formats.unpack_q8_0),
    Type.Q4_0: (formats.pack_q4_0, formats.unpack_q4_0),
}


def one_block(x: np.ndarray, kind: Type) -> bytes:
    """What llama.cpp's reference does to 32 weights, in float32 and one at a time."""
    f = np.float32
    amax, largest = f(0), f(0)
    for v in x:
        if amax < abs(v):
            amax, largest = abs(v), v
    d = amax / f(127) if kind == Type.Q8_0 else largest / f(-8)
    with np.errstate(over="ignore", divide="ignore"):
        inverse = f(1) / d if d else f(0)
    stored = np.float16(d).tobytes()
    if kind == Type.Q8_0:
        halves_away = [int(np.floor(float(abs(v * inverse)) + 0.5)) * (-1 if v < 0 else 1) for v in x]
        return stored + np.array(halves_away).astype(np.int8).tobytes()
    codes = [min(15, int(v * inverse + f(8.5))) for v in x]
    return stored + bytes(codes[j] | codes[j + 16] << 4 for j in range(16))


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("scale", [1.0, 1e-4, 30.0, 3e4])
def test_the_bytes_of_the_library(kind, scale):
    pack, unpack = BOTH[kind]
    x = matrix(300, 768, scale=scale)
    x[5, 32:64] = 0
    packed = pack(x)
    assert packed.tobytes() == gguf.quants.quantize(x, kind).tobytes()
    assert unpack(packed).tobytes() == gguf.quants.dequantize(packed, kind).tobytes()


@pytest.mark.parametrize("kind", BOTH)
def test_the_bytes_of_llama_cpp_where_it_is_close(kind):
    halves = np.float32([0.5, 1.5, -0.5, -2.5, 127, 0.49999997, 126.5, -126.5])
    rows = [
        np.tile(halves, 4),  # scale 1: exact halves
        np.tile(np.float32([1, -1]), 16),  # which of two largest ones
        np.tile(np.float32([-1, 1]), 16),
        np.tile(np.float32([8, -7.5, 7.5, -0.5]), 8),
        np.zeros(32, np.float32),
        -np.zeros(32, np.float32),
        np.float32([1e-5] + [0] * 31),
        *matrix(40, 32, scale=1e-3),
    ]
    pack, _ = BOTH[kind]
    for row in rows:
        assert pack(row[None]).tobytes() == one_block(row, kind)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("tiny", [1e-45, 1e-38, 1e-9, 3e-8])
def test_a_scale_too_small_for_float16_is_a_block_of_zeros(kind, tiny):
    pack, unpack = BOTH[kind]
    x = np.full((1, 32), tiny, np.float32)
    x[0, 3] = -2 * tiny
    packed = pack(x)
    assert packed.tobytes() == pack(np.zeros((1, 32), np.float32)).tobytes()
    assert not unpack(packed).any()


@pytest.mark.parametrize("kind", BOTH)
def test_a_scale_too_large_for_float16_is_infinite(kind):
    pack, unpack = BOTH[kind]
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(unpack(pack(np.full((1, 32), 1e8, np.float32)))).all()


@pytest.mark.parametrize("kind", BOTH)
@given(x=matrices())
def test_the_same_bytes_again(kind, x):
    pack, unpack = BOTH[kind]
    packed = pack(x)
    assert packed.shape == (len(x), x.shape[1] // 32 * (34 if kind == Type.Q8_0 else 18))
    assert pack(unpack(packed)).tobytes() == packed.tobytes()
