"""matmul_nt, matmul_nn and matmul_tn against float64, by whatever variant the device takes."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from engine.devices.samples import Sample, Sizes, make_sample
from tests.kernels.comparison import check, with_operands

LAYOUTS = ("nt", "nn", "tn")
# c is (l, v), d is what is added over.
SHAPES = (
    *((1, 1, 1), (1, 33, 64), (2, 100, 63), (4, 64, 5), (5, 31, 65), (63, 1, 65), (64, 64, 64), (65, 100, 63)),
    *((129, 257, 31), (300, 80, 131), (90, 100, 300)),  # the last two are cut into pieces for threads on the CPU
)


def _sample(layout: str, l: int, d: int, v: int, **numbers: float) -> Sample:
    return make_sample(f"matmul_{layout}", Sizes(b=1, l=l, d=d, v=v), **numbers)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_odd_shapes(device, layout, shape):
    check(device, _sample(layout, *shape), at_least=1)


@pytest.mark.parametrize("absent", [("addend",), ("bias",), ("addend", "bias")], ids="+".join)
@pytest.mark.parametrize("alpha, accumulate", [(1.0, 0), (1.0, 1), (-0.25, 0), (0.0, 1)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_flags_and_absent_operands(device, layout, alpha, accumulate, absent):
    sample = _sample(layout, 65, 33, 70, alpha=alpha, accumulate=accumulate)
    check(device, with_operands(sample, **dict.fromkeys(absent)))


@pytest.mark.parametrize("rows, columns", [(300, 131), (90, 300)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_product_without_addend_and_bias(device, layout, rows, columns):
    sample = _sample(layout, rows, 100, columns, accumulate=0)
    check(device, with_operands(sample, addend=None, bias=None))


@pytest.mark.parametrize("rows, columns", [(1100, 603), (300, 2100)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_large_product_that_is_gone_through_again(device, layout, rows, columns):
    """On the CPU it is computed piece by piece, in more pieces than there are threads."""
    check(device, _sample(layout, rows, 12, columns, alpha=-0.5, accumulate=1))


def test_adding_to_an_output_takes_little_memory(cpu):
    """No estimate knows of a temporary as large as the gradient of a vocabulary."""
    a, b, c = (np.ones(shape, np.float32) for shape in ((8, 8192), (8, 512), (8192, 512)))
    product, nothing = cpu.kernel("matmul_tn"), np.empty((0, 0), np.float32)
    tracemalloc.start()
    try:
        product(a, b, c, nothing, nothing.reshape(-1), 1.0, 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (c == 9).all()
    assert peak < c.nbytes / 2


@pytest.mark.parametrize("left, right", [(0, 0), (0, 3), (1, 0), (1, 3), (4, 0), (4, 4)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_operand_may_be_part_of_a_wider_matrix(device, layout, left, right):
    sample = _sample(layout, 37, 36, 40)
    names = ("a", "b", "c", "addend")
    check(device, replace(sample, beside=dict.fromkeys(names, (left, right))))
