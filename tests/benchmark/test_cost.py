"""What a kernel call has to do at least, by hand."""

from __future__ import annotations

import pytest

from engine.devices.samples import make_sample
from engine.devices.single_kernel import sample_program
from engine.graph.cost import CACHED, OPERATIONS, TOUCHED, moved_bytes, named_views, operations, shape_words
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Tensor
from tests.benchmark.conftest import SIZES


def call(kernel: str, *shapes: tuple[int, ...] | None, **numbers) -> KernelCall:
    operands = KERNELS[kernel].operands
    tensors = [None if shape is None else Tensor(o.name, shape, o.dtype) for o, shape in zip(operands, shapes)]  # noqa: B905 - the last ones may be absent
    views = [tensor and tensor.view() for tensor in tensors]
    return KernelCall(kernel, (*views, *[None] * (len(operands) - len(views))), numbers)


@pytest.mark.parametrize(("layout", "a", "b"), [("nt", (3, 5), (7, 5)), ("nn", (3, 5), (5, 7)), ("tn", (5, 3), (5, 7))])
def test_a_product(layout, a, b):
    product = call(f"matmul_{layout}", a, b, (3, 7), accumulate=0)
    assert operations(product) == 2 * 3 * 7 * 5
    assert moved_bytes(product) == 4 * (3 * 5 + 7 * 5 + 3 * 7)
    assert shape_words(product) == "3×7×5"


def test_a_product_that_adds_to_its_result_reads_it_as_well():
    assert moved_bytes(call("matmul_nt", (3, 5), (7, 5), (3, 7), accumulate=1)) == 4 * (3 * 5 + 7 * 5 + 2 * 3 * 7)


def test_weights_in_fewer_bits_are_fewer_bytes():
    halves = call("matmul_nt_float16", (1, 32), (8, 32), (1, 8), accumulate=0)
    words = call("matmul_nt_int8", (1, 32), (8, 8), (1, 8), None, None, (8, 1), accumulate=0)
    assert moved_bytes(halves) == 4 * 32 + 2 * 8 * 32 + 4 * 8
    assert moved_bytes(words) == 4 * 32 + 8 * 32 + 4 * 8 + 4 * 8
    assert operations(halves) == operations(words) == 2 * 8 * 32


def test_what_is_read_and_written_counts_twice():
    assert moved_bytes(call("scale", (10, 10))) == 2 * 4 * 100
    assert operations(call("scale", (10, 10))) == 0


def test_of_a_table_only_the_rows_that_are_looked_up_count():
    assert moved_bytes(call("embedding_gather", (3,), (1000, 8), (3, 8))) == 4 * (3 + 3 * 8 + 2 * 3 * 8)


def test_of_a_cache_only_the_keys_that_are_there_count():
    cached = call("attention_cached", (1, 8), (100, 4), (100, 4), (1, 3), (1, 8))
    assert operations(cached, keys=10) == 4 * 8 * 10
    assert moved_bytes(cached, keys=10) == 4 * (8 + 3 + 8) + 2 * 2 * 10 * 4


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_bytes_a_size_and_no_negative_operations(kernel, cpu):
    program, _ = sample_program(cpu, make_sample(kernel, SIZES))
    (made,) = program.calls
    assert moved_bytes(made, 3.0) > 0 and operations(made, 3.0) >= 0 and shape_words(made)


def test_the_tables_name_operands_that_exist():
    for kernel, touched in TOUCHED.items():
        assert {*touched, *touched.values()} <= {operand.name for operand in KERNELS[kernel].operands}
    for kernel, cached in CACHED.items():
        assert set(cached) <= {operand.name for operand in KERNELS[kernel].operands}
    assert set(OPERATIONS) <= set(KERNELS)


def test_absent_operands_have_no_name():
    assert set(named_views(call("matmul_nt", (3, 5), (7, 5), (3, 7), accumulate=0))) == {"a", "b", "c"}


def test_products_of_mamba_2_count_in_chunks():
    t, heads, e, n = 128, 3, 8, 16
    shapes = ((t, heads * e + 2 * n), (t, 2 * heads), (3, heads), (1, 3, heads * n, e), (t, heads * e))
    chunks = t * 64
    assert operations(call("ssd", *shapes, length=t, carry=0)) == 2 * (
        chunks * heads * e + 2 * t * heads * e * n + chunks * n
    )
