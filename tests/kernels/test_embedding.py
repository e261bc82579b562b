"""Rows and columns by number: embedding_gather (also from 16 and 8 bits), embedding_scatter, embedding_store,
gather_columns, in float64.
"""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

GATHERS = ("embedding_gather", "embedding_gather_float16", "embedding_gather_int8")
KERNELS = (*GATHERS, "embedding_scatter", "embedding_store")


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_of_a_block_of_the_table(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("first_row", [0, 131, 1000])
@pytest.mark.parametrize("kernel", KERNELS)
def test_block_at_the_start_at_the_end_and_beyond_all_ids(device, kernel, first_row):
    check(device, make_sample(kernel, first_row=first_row))


@pytest.mark.parametrize("tokens", [1, 3, 8])
@pytest.mark.parametrize("kernel", GATHERS)
def test_a_few_tokens_as_in_decoding(device, kernel, tokens):
    for m in (1, 31, 64, 100):
        check(device, make_sample(kernel, Sizes(b=1, l=tokens, m=m)))


@pytest.mark.parametrize("kernel", [*GATHERS, "embedding_scatter"])
def test_one_id_for_all_tokens(device, kernel):
    sample = make_sample(kernel, first_row=0)
    ids = np.full_like(sample.operands["ids"], 5)
    order = {"order": np.arange(ids.size, dtype=np.int32)} if kernel == "embedding_scatter" else {}
    check(device, with_operands(sample, ids=ids, **order))


def test_equal_ids_are_added_in_order_of_position(device):
    """1e8 + 1 - 1e8 is 0 in float32 in this order, and 1 where the 1 comes last."""
    sample = make_sample("embedding_scatter", Sizes(b=1, l=4, m=1, v=4), first_row=0)
    ids = np.array([1, 0, 1, 1], np.int32)
    d_y = np.array([[1e8], [3.0], [1.0], [-1e8]], np.float32)
    d_table = np.zeros_like(sample.operands["d_table"])
    order = np.array([1, 0, 2, 3], np.int32)
    found = run_sample(device, with_operands(sample, ids=ids, order=order, d_y=d_y, d_table=d_table))
    assert found["d_table"].ravel().tolist() == [3.0, 0.0, 0.0]


def test_a_negative_id_has_no_row(device):
    """So the gradient of a token whose row is not trained goes nowhere, whatever the block begins with."""
    for first_row in (0, 1, 40):
        sample = make_sample("embedding_scatter", first_row=first_row)
        ids = np.where(sample.operands["ids"] % 3 == 0, -1, sample.operands["ids"]).astype(np.int32)
        order = np.argsort(ids, kind="stable").astype(np.int32)
        check(device, with_operands(sample, ids=ids, order=order))


def test_rows_that_are_not_stored_keep_their_bits(device):
    sample = make_sample("embedding_store", first_row=0)
    table = np.full_like(sample.operands["table"], np.nan)
    found = run_sample(device, with_operands(sample, ids=np.array([4, 0], np.int32), x=np.ones((2, 33), np.float32),
                                             table=table))["table"]  # fmt: skip
    assert np.flatnonzero(np.isfinite(found).all(axis=1)).tolist() == [0, 4]
    assert np.isnan(found).all(axis=1).sum() == len(table) - 2


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_columns(device, sizes):
    check(device, make_sample("gather_columns", sizes))


@pytest.mark.parametrize("ids", [[130], [0, 130], [5, 5, 2, 0]], ids=str)
def test_columns_in_any_order(device, ids):
    sample = make_sample("gather_columns")
    y = np.zeros((sample.sizes.t, len(ids)), np.float32)
    check(device, with_operands(sample, ids=np.array(ids, np.int32), y=y))
