"""Every number format of the table: rounding, scales that are the best and are found again, and the library's bytes."""

import gguf
import ml_dtypes
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoints.combining.number_formats import BINARY, FP4, GROUP, INT4, PRECISIONS, TERNARY
from tests.checkpoints.combining.samples import matrices, matrix

SCALED = ("int8", "fp8_e4m3", "fp8_e5m2")
BLOCKS = ("q8_0", "q4_0")


def pack(name: str, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The codes, and the scales where there are any."""
    return tuple(PRECISIONS[name].pack(x).values())


def unpack(name: str, *parts: np.ndarray) -> np.ndarray:
    return PRECISIONS[name].unpack(dict(zip(("", "scale"), parts, strict=False)))


# ---- one scale a row or a tensor, or none


def nearest_even(x: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The nearest of `numbers` (ascending, those at even places having an even last bit), for float64 x."""
    above = np.clip(np.searchsorted(numbers, x), 1, len(numbers) - 1)
    low, high = numbers[above - 1], numbers[above]
    down, up = x - low, high - x
    return np.where((down < up) | ((down == up) & ((above - 1) % 2 == 0)), low, high)


def all_float32(exponents: range) -> np.ndarray:
    """Numbers of both signs with the mantissas at which 8 and 16 bits round: halves, and their neighbours."""
    mantissas = np.unique(
        np.concatenate(
            [
                np.arange(0, 1 << 23, 1 << 12),
                np.arange(0, 1 << 23, 1 << 12) + 1,
                (np.arange(1 << 12, 1 << 23, 1 << 12) - 1),
            ]
        )
    ).astype(np.uint32)
    bits = (np.array(exponents, np.uint32)[:, None] << 23) | mantissas
    return np.concatenate([bits, bits | np.uint32(1 << 31)]).view(np.float32)


@pytest.mark.parametrize(("name", "dtype"), [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_sixteen_bits_round_to_nearest_even(name, dtype):
    exponents = range(1, 142) if dtype == np.float16 else range(1, 254)
    x = all_float32(exponents)
    codes = np.arange(0x7C00 if dtype == np.float16 else 0x7F80, dtype=np.uint16)  # every positive finite number
    numbers = codes.view(dtype).astype(np.float64)
    expected = nearest_even(np.abs(x.astype(np.float64)), numbers)
    assert np.array_equal(np.abs(pack(name, x)[0].astype(np.float64)), expected)
    assert np.array_equal(np.signbit(pack(name, x)[0]), np.signbit(x))


@given(st.floats(width=32, allow_nan=False))
def test_bfloat16_is_that_of_the_bits(number):
    bits = int(np.float32(number).view(np.uint32))
    expected = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    assert int(pack("bfloat16", np.float32([number]))[0].view(np.uint16)[0]) == expected


def test_too_large_becomes_infinite_where_the_caller_looks_for_it():
    assert np.isinf(pack("float16", np.float32([65520.0]))[0]).all()
    assert pack("float16", np.float32([65519.0]))[0][0] == 65504
    assert np.isinf(pack("bfloat16", np.float32([3.4e38]))[0]).all()


def test_int8_scale_is_the_largest_by_127():
    x = matrix(50, 70)
    codes, scale = pack("int8", x)
    assert codes.dtype == np.int8
    assert scale == pytest.approx(np.abs(x).max(axis=1) / 127, rel=1.3e-7)
    assert (np.abs(codes).max(axis=1) == 127).all()
    assert np.array_equal(codes, np.rint(x / scale[:, None]))
    error = np.abs(unpack("int8", codes, scale) - x)
    assert (error <= scale[:, None] * 0.500001).all()


def test_every_int8_scale_is_found_again():
    mantissas = (np.arange(1 << 23, dtype=np.uint32) | np.uint32(0x3F800000)).view(np.float32)
    x = (mantissas * np.float32(127))[:, None]
    codes, scale = pack("int8", x)
    codes_again, scale_again = pack("int8", unpack("int8", codes, scale))
    assert np.array_equal(scale, scale_again)
    assert np.array_equal(codes, codes_again)


@pytest.mark.parametrize("zeros", [np.zeros((2, 5), np.float32), -np.zeros((2, 5), np.float32)])
def test_rows_of_zeros_stay_zero(zeros):
    for name in SCALED:
        assert not unpack(name, *pack(name, zeros)).any()


FP8 = {
    "fp8_e4m3": (ml_dtypes.float8_e4m3fn, 448.0, 0x7F),
    "fp8_e5m2": (ml_dtypes.float8_e5m2, 57344.0, 0x7C),
}


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-30, 1e30, 464 / 4.5, 61440 / 4.5])
def test_fp8_rounds_to_nearest_even_under_its_scale(name, scale):
    dtype, most, codes = FP8[name]
    x = matrix(64, 96, scale=scale)
    x[0, 0] = 4.5 * scale
    packed, found = pack(name, x)
    assert np.array_equal(packed, (x / found[0]).astype(dtype).view(np.uint8))
    numbers = np.arange(codes, dtype=np.uint8).view(dtype).astype(np.float64)  # every positive finite number
    assert numbers[-1] == most
    expected = np.copysign(nearest_even(np.abs(x.astype(np.float64) / float(found[0])), numbers), x) * float(found[0])
    assert np.array_equal(unpack(name, packed, found), expected.astype(np.float32))


@pytest.mark.parametrize("name", FP8)
def test_fp8_scale_uses_the_whole_range(name):
    _, most, _ = FP8[name]
    for seed in range(50):
        x = matrix(3, 40, seed, scale=10.0 ** (seed - 25))
        packed, scale = pack(name, x)
        largest = np.abs(unpack(name, packed, scale)).max() / scale[0]
        assert most / 2 < largest <= most
        assert np.log2(scale[0]) % 1 == 0


@pytest.mark.parametrize("name", SCALED)
@given(x=matrices(largest=3e38, columns=(1, 5, 32)))
def test_one_scale_gives_the_same_bytes_again(name, x):
    packed = pack(name, x)
    values = unpack(name, *packed)
    if np.isfinite(values).all():  # not near the end of float32: there the packing of a model refuses
        assert [part.tobytes() for part in pack(name, values)] == [part.tobytes() for part in packed]


# ---- blocks of llama.cpp


def one_block(x: np.ndarray, name: str) -> bytes:
    """What llama.cpp's reference does to 32 weights, in float32 and one at a time."""
    f = np.float32
    amax, largest = f(0), f(0)
    for v in x:
        if amax < abs(v):
            amax, largest = abs(v), v
    d = amax / f(127) if name == "q8_0" else largest / f(-8)
    with np.errstate(over="ignore", divide="ignore"):
        inverse = f(1) / d if d else f(0)
    stored = np.float16(d).tobytes()
    if name == "q8_0":
        halves_away = [int(np.floor(float(abs(v * inverse)) + 0.5)) * (-1 if v < 0 else 1) for v in x]
        return stored + np.array(halves_away).astype(np.int8).tobytes()
    codes = [min(15, int(v * inverse + f(8.5))) for v in x]
    return stored + bytes(codes[j] | codes[j + 16] << 4 for j in range(16))


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("scale", [1.0, 1e-4, 30.0, 3e4])
def test_the_bytes_of_the_library(name, scale):
    x = matrix(300, 768, scale=scale)
    x[5, 32:64] = 0
    (packed,) = pack(name, x)
    assert packed.tobytes() == gguf.quants.quantize(x, Type[name.upper()]).tobytes()
    assert unpack(name, packed).tobytes() == gguf.quants.dequantize(packed, Type[name.upper()]).tobytes()


@pytest.mark.parametrize("name", BLOCKS)
def test_the_bytes_of_llama_cpp_where_it_is_close(name):
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
    for row in rows:
        assert pack(name, row[None])[0].tobytes() == one_block(row, name)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("tiny", [1e-45, 1e-38, 1e-9, 3e-8])
def test_a_scale_too_small_for_float16_is_a_block_of_zeros(name, tiny):
    x = np.full((1, 32), tiny, np.float32)
    x[0, 3] = -2 * tiny
    (packed,) = pack(name, x)
    assert packed.tobytes() == pack(name, np.zeros((1, 32), np.float32))[0].tobytes()
    assert not unpack(name, packed).any()


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_scale_too_large_for_float16_is_infinite(name):
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(unpack(name, *pack(name, np.full((1, 32), 1e8, np.float32)))).all()


@pytest.mark.parametrize("name", BLOCKS)
@given(x=matrices())
def test_blocks_give_the_same_bytes_again(name, x):
    (packed,) = pack(name, x)
    assert packed.shape == (len(x), x.shape[1] // 32 * (34 if name == "q8_0" else 18))
    assert pack(name, unpack(name, packed))[0].tobytes() == packed.tobytes()


# ---- groups with fitted scales

GROUPS = {"int4": INT4, "fp4": FP4, "ternary": TERNARY, "binary": BINARY}


def squared_error(x, values):
    return np.square(x.astype(np.float64) - values).reshape(-1, GROUP).sum(axis=1)


def least_error(x: np.ndarray, codes) -> np.ndarray:
    """Of 4,000 scales for each group, by trying all."""
    groups = x.astype(np.float64).reshape(-1, GROUP)
    largest = np.abs(groups).max(axis=1, keepdims=True)
    numbers = np.unique(np.array(codes.table)[~np.isnan(codes.table)])
    best = np.full(len(groups), np.inf)
    signs = (1, -1) if codes is INT4 else (1,)
    for share in np.linspace(1 / 14, 1.2, 4000):
        for sign in signs:
            y = groups / (sign * share * largest)
            nearest = numbers[np.abs(y[..., None] - numbers).argmin(axis=2)] * sign * share * largest
            best = np.minimum(best, np.square(groups - nearest).sum(axis=1))
    return best


def heavy_tailed(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(1).standard_t(3, (rows, columns)).astype(np.float32)


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("x", [matrix(8, 64), heavy_tailed(8, 64)], ids=["normal", "heavy tails"])
def test_no_other_scale_is_much_better(name, x):
    codes = GROUPS[name]
    found = squared_error(x, unpack(name, *pack(name, x)))
    least = least_error(x, codes)
    assert found.sum() <= 1.005 * least.sum()
    assert (found <= 1.05 * least + 1e-9).all()


def test_ternary_and_binary_scales_are_the_best_there_are():
    x = matrix(40, 96)
    packed, scale = pack("binary", x)
    assert scale.reshape(-1) == pytest.approx(np.abs(x).reshape(-1, GROUP).mean(axis=1), rel=1e-3)
    assert np.array_equal(np.sign(unpack("binary", packed, scale)), np.sign(x))
    for group in x.reshape(-1, GROUP)[:20]:
        sizes = np.sort(np.abs(group))[::-1].astype(np.float64)
        best = max(range(1, GROUP + 1), key=lambda k: sizes[:k].sum() ** 2 / k)
        packed, scale = pack("ternary", group[None])
        assert float(scale[0, 0]) == pytest.approx(sizes[:best].mean(), rel=1e-3)
        assert np.count_nonzero(unpack("ternary", packed, scale)) == best


@pytest.mark.parametrize("x", [matrix(64, 256), heavy_tailed(64, 256)], ids=["normal", "heavy tails"])
def test_int4_is_better_than_q4_0(x):
    int4 = squared_error(x, unpack("int4", *pack("int4", x))).sum()
    q4_0 = squared_error(x, unpack("q4_0", *pack("q4_0", x))).sum()
    assert int4 < 0.95 * q4_0


def test_fp4_codes_are_those_of_e2m1():
    x = np.linspace(-7, 7, 281, dtype=np.float32)  # with every tie
    codes = FP4.encode(FP4.nearest(x))
    assert np.array_equal(codes, x.astype(ml_dtypes.float4_e2m1fn).view(np.uint8))
    table = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    assert np.array_equal(np.float32(FP4.table), table)


def test_int4_codes_are_twos_complement_the_first_weight_in_the_low_bits():
    x = np.zeros((1, 32), np.float32)
    x[0, :4] = [-8, 7, -1, 3]
    packed, scale = pack("int4", x)
    assert scale == 1
    assert packed[0, :2].tolist() == [0x78, 0x3F]
    flipped, scale = pack("int4", -x)
    assert scale == -1
    assert flipped.tolist() == packed.tolist()


@pytest.mark.parametrize("name", GROUPS)
def test_sizes_of_groups(name):
    codes = GROUPS[name]
    packed, scale = pack(name, matrix(5, 96))
    assert (packed.dtype, packed.shape) == (np.uint8, (5, 96 * codes.bits // 8))
    assert (scale.dtype, scale.shape) == (np.float16, (5, 3))


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("tiny", [0.0, -0.0, 1e-45, 1e-9])
def test_groups_of_nothing(name, tiny):
    packed = pack(name, np.full((1, 32), tiny, np.float32))
    assert not unpack(name, *packed).any()
    assert [part.tobytes() for part in packed] == [part.tobytes() for part in pack(name, np.zeros((1, 32), np.float32))]


@pytest.mark.parametrize("name", GROUPS)
@given(x=matrices())
def test_groups_give_the_same_bytes_again(name, x):
    packed = pack(name, x)
    values = unpack(name, *packed)
    assert [part.tobytes() for part in pack(name, values)] == [part.tobytes() for part in packed]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_scale_too_large_for_float16_is_infinite(name):
    with np.errstate(invalid="ignore"):
        values = unpack(name, *pack(name, np.full((1, 32), 1e9, np.float32)))
    assert not np.isfinite(values).all()
