"""float16, bfloat16, int8 and fp8 round to nearest even; scales are what they are said to be, and are found again."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpoints.combining import scalar_formats as formats
from tests.checkpoints.combining.samples import matrices, matrix


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


@pytest.mark.parametrize(
    ("pack", "dtype"), [(formats.pack_float16, np.float16), (formats.pack_bfloat16, ml_dtypes.bfloat16)]
)
def test_sixteen_bits_round_to_nearest_even(pack, dtype):
    exponents = range(1, 142) if dtype == np.float16 else range(1, 254)
    x = all_float32(exponents)
    codes = np.arange(0x7C00 if dtype == np.float16 else 0x7F80, dtype=np.uint16)  # every positive finite number
    numbers = codes.view(dtype).astype(np.float64)
    expected = nearest_even(np.abs(x.astype(np.float64)), numbers)
    assert np.array_equal(np.abs(pack(x).astype(np.float64)), expected)
    assert np.array_equal(np.signbit(pack(x)), np.signbit(x))


@given(st.floats(width=32, allow_nan=False))
def test_bfloat16_is_that_of_the_bits(number):
    bits = int(np.float32(number).view(np.uint32))
    expected = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    assert int(formats.pack_bfloat16(np.float32([number])).view(np.uint16)[0]) == expected


def test_too_large_becomes_infinite_where_the_caller_looks_for_it():
    assert np.isinf(formats.pack_float16(np.float32([65520.0]))).all()
    assert formats.pack_float16(np.float32([65519.0]))[0] == 65504
    assert np.isinf(formats.pack_bfloat16(np.float32([3.4e38]))).all()


def test_int8_scale_is_the_largest_by_127():
    x = matrix(50, 70)
    codes, scale = formats.pack_int8(x)
    assert codes.dtype == np.int8
    assert scale == pytest.approx(np.abs(x).max(axis=1) / 127, rel=1.3e-7)
    assert (np.abs(codes).max(axis=1) == 127).all()
    assert np.array_equal(codes, np.rint(x / scale[:, None]))
    error = np.abs(formats.unpack_int8(codes, scale) - x)
    assert (error <= scale[:, None] * 0.500001).all()


def test_every_int8_scale_is_found_again():
    mantissas = (np.arange(1 << 23, dtype=np.uint32) | np.uint32(0x3F800000)).view(np.float32)
    x = (mantissas * np.float32(127))[:, None]
    codes, scale = formats.pack_int8(x)
    codes_again, scale_again = formats.pack_int8(formats.unpack_int8(codes, scale))
    assert np.array_equal(scale, scale_again)
    assert np.array_equal(codes, codes_again)


@pytest.mark.parametrize("zeros", [np.zeros((2, 5), np.float32), -np.zeros((2, 5), np.float32)])
def test_rows_of_zeros_stay_zero(zeros):
    for pack, unpack in (
        (formats.pack_int8, formats.unpack_int8),
        (formats.pack_fp8_e4m3, formats.unpack_fp8_e4m3),
        (formats.pack_fp8_e5m2, formats.unpack_fp8_e5m2),
    ):
        assert not unpack(*pack(zeros)).any()


FP8 = {
    "e4m3": (formats.pack_fp8_e4m3, formats.unpack_fp8_e4m3, ml_dtypes.float8_e4m3fn, 448.0, 0x7F),
    "e5m2": (formats.pack_fp8_e5m2, formats.unpack_fp8_e5m2, ml_dtypes.float8_e5m2, 57344.0, 0x7C),
}


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-30, 1e30, 464 / 4.5, 61440 / 4.5])
def test_fp8_rounds_to_nearest_even_under_its_scale(name, scale):
    pack, unpack, dtype, most, codes = FP8[name]
    x = matrix(64, 96, scale=scale)
    x[0, 0] = 4.5 * scale
    packed, found = pack(x)
    assert np.array_equal(packed, (x / found[0]).astype(dtype).view(np.uint8))
    numbers = np.arange(codes, dtype=np.uint8).view(dtype).astype(np.float64)  # every positive finite number
    assert numbers[-1] == most
    expected = np.copysign(nearest_even(np.abs(x.astype(np.float64) / float(found[0])), numbers), x) * float(found[0])
    assert np.array_equal(unpack(packed, found), expected.astype(np.float32))


@pytest.mark.parametrize("name", FP8)
def test_fp8_scale_uses_the_whole_range(name):
    pack, unpack, _, most, _ = FP8[name]
    for seed in range(50):
        x = matrix(3, 40, seed, scale=10.0 ** (seed - 25))
        packed, scale = pack(x)
        largest = np.abs(unpack(packed, scale)).max() / scale[0]
        assert most / 2 < largest <= most
        assert np.log2(scale[0]) % 1 == 0


@given(matrices(largest=3e38, columns=(1, 5, 32)))
def test_the_same_bytes_again(x):
    for pack, unpack in (
        (formats.pack_int8, formats.unpack_int8),
        (formats.pack_fp8_e4m3, formats.unpack_fp8_e4m3),
        (formats.pack_fp8_e5m2, formats.unpack_fp8_e5m2),
    ):
        packed = pack(x)
        values = unpack(*packed)
        if np.isfinite(values).all():  # not near the end of float32: there the packing of a model refuses
            assert [part.tobytes() for part in pack(values)] == [part.tobytes() for part in packed]
