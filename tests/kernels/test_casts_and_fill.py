"""fill and the casts, which must agree with their definition bit by bit."""

import ml_dtypes
import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from tests.kernels.comparison import check, with_operands

COUNTS = (1, 2, 3, 63, 65, 511, 513, 2049)
ALL_HALVES = np.arange(2**16, dtype=np.uint16)


@pytest.mark.parametrize("value", [0.0, -1.5, 3.0e38])
@pytest.mark.parametrize("size", COUNTS)
def test_fill(device, size, value):
    found = run_sample(device, make_sample("fill", Sizes(b=1, l=size), value=value))
    assert np.array_equal(found["x"], np.full(size, value, np.float32))


@pytest.mark.parametrize("kernel", ["widen_float16", "widen_bfloat16", "narrow_float16", "narrow_bfloat16"])
@pytest.mark.parametrize("size", COUNTS)
def test_casts_of_any_number_of_elements(device, kernel, size):
    sample = make_sample(kernel, Sizes(b=1, l=max(COUNTS)))
    short = {name: array[:size] for name, array in sample.operands.items()}
    check(device, with_operands(sample, **short))


@pytest.mark.parametrize("kernel", ["widen_float16", "widen_bfloat16"])
def test_widening_every_value_there_is(device, kernel):
    sample = make_sample(kernel)
    x = ALL_HALVES.view(np.float16) if kernel == "widen_float16" else ALL_HALVES
    found = run_sample(device, with_operands(sample, x=x, y=np.zeros(x.size, np.float32)))["y"]
    _assert_same_bits(found, _widened(kernel, x))


@pytest.mark.parametrize("kernel", ["narrow_float16", "narrow_bfloat16"])
def test_narrowing_every_value_there_is_and_what_lies_between(device, kernel):
    """All values, the middles between neighbours (ties), and the floats just below and above those middles."""
    values = _widened("widen" + kernel.removeprefix("narrow"), ALL_HALVES)
    bits = values[np.isfinite(values)].view(np.uint32)
    if kernel == "narrow_float16":
        finite = np.sort(np.unique(bits.view(np.float32)))
        middles = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32).view(np.uint32)
        middles = middles[(middles & 0x7FFFFFFF) > 0]
    else:
        middles = (bits & 0xFFFF0000) + 0x8000
    special = np.float32([np.inf, -np.inf, np.nan, 65519.996, 65520, 65536, 1e30, -1e30]).view(np.uint32)
    nans = np.uint32([0x7F800001, 0xFF800001, 0x7F80FFFF, 0x7FFFFFFF])  # without care the first become infinite
    x = np.concatenate([bits, middles, middles - 1, middles + 1, special, nans]).view(np.float32)
    sample = with_operands(make_sample(kernel), x=x, y=np.zeros(x.size, make_sample(kernel).operands["y"].dtype))
    found = run_sample(device, sample)["y"]
    _assert_same_bits(found.view(np.uint16), _narrowed(kernel, x), nan=np.isnan(x))
    back = _widened("widen" + kernel.removeprefix("narrow"), found.view(np.uint16))
    assert np.array_equal(np.isnan(back), np.isnan(x))


def _widened(kernel: str, bits: np.ndarray) -> np.ndarray:
    if kernel == "widen_float16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _narrowed(kernel: str, x: np.ndarray) -> np.ndarray:
    """Bits; bfloat16 by ml_dtypes, which is not what the reference does."""
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(np.float16 if kernel == "narrow_float16" else ml_dtypes.bfloat16).view(np.uint16)


def _assert_same_bits(found: np.ndarray, expected: np.ndarray, nan: np.ndarray | None = None) -> None:
    """The same bits, but for the payload of NaN."""
    nan = np.isnan(expected) if nan is None else nan
    kind = f"u{found.itemsize}"
    assert np.array_equal(found.view(kind)[~nan], expected.view(kind)[~nan])
    if found.dtype.kind == "f":
        assert np.isnan(found[nan]).all()
