"""int4, fp4, ternary and binary: right codes, scales that no other scale beats, and the same bytes again."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

from engine.checkpoints.combining import block_formats
from engine.checkpoints.combining.group_formats import BINARY, FP4, GROUP, INT4, TERNARY, pack_groups, unpack_groups
from tests.checkpoints.combining.samples import matrices, matrix

ALL = {"int4": INT4, "fp4": FP4, "ternary": TERNARY, "binary": BINARY}


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


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("x", [matrix(8, 64), heavy_tailed(8, 64)], ids=["normal", "heavy tails"])
def test_no_other_scale_is_much_better(name, x):
    codes = ALL[name]
    found = squared_error(x, unpack_groups(*pack_groups(x, codes), codes))
    least = least_error(x, codes)
    assert found.sum() <= 1.005 * least.sum()
    assert (found <= 1.05 * least + 1e-9).all()


def test_ternary_and_binary_scales_are_the_best_there_are():
    x = matrix(40, 96)
    packed, scale = pack_groups(x, BINARY)
    assert scale.reshape(-1) == pytest.approx(np.abs(x).reshape(-1, GROUP).mean(axis=1), rel=1e-3)
    assert np.array_equal(np.sign(unpack_groups(packed, scale, BINARY)), np.sign(x))
    for group in x.reshape(-1, GROUP)[:20]:
        sizes = np.sort(np.abs(group))[::-1].astype(np.float64)
        best = max(range(1, GROUP + 1), key=lambda k: sizes[:k].sum() ** 2 / k)
        packed, scale = pack_groups(group[None], TERNARY)
        assert float(scale[0, 0]) == pytest.approx(sizes[:best].mean(), rel=1e-3)
        assert np.count_nonzero(unpack_groups(packed, scale, TERNARY)) == best


@pytest.mark.parametrize("x", [matrix(64, 256), heavy_tailed(64, 256)], ids=["normal", "heavy tails"])
def test_int4_is_better_than_q4_0(x):
    int4 = squared_error(x, unpack_groups(*pack_groups(x, INT4), INT4)).sum()
    q4_0 = squared_error(x, block_formats.unpack_q4_0(block_formats.pack_q4_0(x))).sum()
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
    packed, scale = pack_groups(x, INT4)
    assert scale == 1
    assert packed[0, :2].tolist() == [0x78, 0x3F]
    flipped, scale = pack_groups(-x, INT4)
    assert scale == -1
    assert flipped.tolist() == packed.tolist()


@pytest.mark.parametrize("name", ALL)
def test_sizes(name):
    codes = ALL[name]
    packed, scale = pack_groups(matrix(5, 96), codes)
    assert (packed.dtype, packed.shape) == (np.uint8, (5, 96 * codes.bits // 8))
    assert (scale.dtype, scale.shape) == (np.float16, (5, 3))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("tiny", [0.0, -0.0, 1e-45, 1e-9])
def test_groups_of_nothing(name, tiny):
    codes = ALL[name]
    packed = pack_groups(np.full((1, 32), tiny, np.float32), codes)
    assert not unpack_groups(*packed, codes).any()
    assert [part.tobytes() for part in packed] == [
        part.tobytes() for part in pack_groups(np.zeros((1, 32), np.float32), codes)
    ]


@pytest.mark.parametrize("name", ALL)
@given(x=matrices())
def test_the_same_bytes_again(name, x):
    codes = ALL[name]
    packed = pack_groups(x, codes)
    values = unpack_groups(*packed, codes)
    assert [part.tobytes() for part in pack_groups(values, codes)] == [part.tobytes() for part in packed]


@pytest.mark.parametrize("name", ALL)
def test_a_scale_too_large_for_float16_is_infinite(name):
    codes = ALL[name]
    with np.errstate(invalid="ignore"):
        values = unpack_groups(*pack_groups(np.full((1, 32), 1e9, np.float32), codes), codes)
    assert not np.isfinite(values).all()
