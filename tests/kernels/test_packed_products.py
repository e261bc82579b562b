"""Weights in 16 and 8 bits: making them, reading them back, and products with them."""

from dataclasses import replace

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.graph.kernels import FEW_TOKENS
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

PRODUCTS = ("matmul_nt_float16", "matmul_nt_int8")


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", [*PRODUCTS, "narrow_int8", "widen_int8"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("tokens", range(1, FEW_TOKENS + 1))
@pytest.mark.parametrize("kernel", ["matmul_nt", *PRODUCTS])
def test_every_number_of_rows(device, kernel, tokens):
    check(device, make_sample(kernel, Sizes(b=1, l=tokens, d=48, v=67)))


@pytest.mark.parametrize("tokens", range(1, FEW_TOKENS + 1))
@pytest.mark.parametrize("kernel", ["matmul_nt", *PRODUCTS])
def test_rows_that_are_read_16_bytes_at_a_time(device, kernel, tokens):
    """With columns beside them: rows lie apart by multiples of four numbers, so GPUs read them in fours."""
    beside = {"a": (4, 4), "c": (8, 4), "addend": (4, 0)}
    sample = make_sample(kernel, Sizes(b=1, l=tokens, d=80, v=68))
    check(device, replace(sample, beside=beside))


@pytest.mark.parametrize("kernel", PRODUCTS)
def test_bare_products(device, kernel):
    sample = make_sample(kernel, Sizes(b=1, l=3, d=64, v=40), alpha=1.0, accumulate=0)
    check(device, with_operands(sample, addend=None, bias=None))


@pytest.mark.parametrize("kernel", ["matmul_nt", *PRODUCTS])
def test_matrices_of_many_tasks(device, kernel):
    check(device, make_sample(kernel, Sizes(b=1, l=2, d=520, v=700)))


def test_zeros_and_extremes_in_8_bits(device):
    x = np.zeros((3, 40), np.float32)
    x[1, 3], x[1, 35], x[2, :] = 1e-30, -3e30, 5.0
    sizes = Sizes(b=1, l=3, d=40)
    found = check(device, with_operands(make_sample("narrow_int8", sizes), x=x))
    assert found["words"][1, 3] == 127 and found["words"][1, 35] == -127
    assert not found["words"][0].any() and not found["scales"][0].any()


def test_rows_have_the_same_bits_alone_and_together(cpu):
    """What makes verified tokens the same as those found one by one."""
    from engine.devices.single_kernel import run_sample

    for kernel in ("matmul_nt", *PRODUCTS):
        together = make_sample(kernel, Sizes(b=1, l=8, d=100, v=70))
        rows = run_sample(cpu, together)["c"]
        for i in range(8):
            own = {name: together.operands[name][i : i + 1] for name in ("a", "c", "addend")}
            assert np.array_equal(run_sample(cpu, with_operands(together, **own))["c"][0], rows[i])
