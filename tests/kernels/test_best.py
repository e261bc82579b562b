"""argmax and top_k: the best of a row, ties to the lowest index."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.graph.kernels import TOP
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ["argmax", "top_k"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("k", [1, 2, 17, TOP])
@pytest.mark.parametrize("v", [1, 16, 63, 1000])
def test_any_number_of_the_best(device, k, v):
    sample = make_sample("top_k", Sizes(b=1, l=2, v=v))
    check(device, with_operands(sample, best=np.zeros((2, 1 + 2 * k), np.float32)))


def test_equal_scores_come_by_index(device):
    logits = np.zeros((1, 700), np.float32)
    logits[0, [650, 300, 10]] = 2
    assert check(device, with_operands(make_sample("argmax", Sizes(b=1, l=1)), logits=logits))["best"] == [10]
    found = check(device, with_operands(make_sample("top_k", Sizes(b=1, l=1)), logits=logits))
    assert found["indices"].tolist() == [[10, 300, 650, 0, 1]]


@pytest.mark.parametrize("kernel", ["argmax", "top_k"])
def test_very_low_and_very_high_scores(device, kernel):
    logits = np.array([[-3e38, -1e30, -80], [1e30, 2e30, 3e38], [-1, -2, -3]], np.float32)
    if kernel == "top_k":
        logits = np.clip(logits, -1e4, 1e4)
    sample = make_sample(kernel, Sizes(b=1, l=3, v=3))
    check(device, with_operands(sample, logits=logits))


def test_what_is_no_number_is_never_the_best(device):
    logits = np.array([[np.nan, 1, 3, np.nan, 2]], np.float32)
    assert run_sample(device, with_operands(make_sample("argmax", Sizes(b=1, l=1)), logits=logits))["best"] == [2]
