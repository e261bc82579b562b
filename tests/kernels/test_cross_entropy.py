"""cross_entropy against float64: losses, and the gradient in place of the logits."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands


@pytest.mark.parametrize("want_gradient", [0, 1])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_odd_shapes(device, sizes, want_gradient):
    check(device, make_sample("cross_entropy", sizes, want_gradient=want_gradient))


@pytest.mark.parametrize("v", [1, 2, 255, 256, 257, 1000])
def test_every_target_counts(device, v):
    sample = make_sample("cross_entropy", Sizes(b=1, l=7, v=v))
    targets = np.minimum([0, 1, v // 2, v - 1, v - 2, v // 3, 0], v - 1).clip(0).astype(np.int32)
    check(device, with_operands(sample, targets=targets))


def test_no_target_counts(device):
    sample = make_sample("cross_entropy", Sizes(b=1, l=5))
    found = check(device, with_operands(sample, targets=np.full(5, -1, np.int32)))
    assert not found["losses"].any()
    assert not found["logits"].any()


@pytest.mark.parametrize("shift", [-1e4, -100, 100, 1e4])
def test_logits_far_from_zero(device, shift):
    sample = make_sample("cross_entropy", Sizes(b=1, l=9))
    logits = np.round(sample.operands["logits"]) + np.float32(shift)  # whole numbers: exact also far out
    check(device, with_operands(sample, logits=logits))


def test_logits_far_apart(device):
    sample = make_sample("cross_entropy", Sizes(b=1, l=2, v=300))
    logits = np.zeros((2, 300), np.float32)
    logits[:, 7] = 500
    check(device, with_operands(sample, logits=logits, targets=np.array([7, 8], np.int32)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("column", [0, 5, 130])
def test_logits_that_are_no_numbers_show_in_the_loss(device, bad, column):
    sample = make_sample("cross_entropy", Sizes(b=1, l=2))
    logits = sample.operands["logits"].copy()
    logits[1, column] = bad
    found = run_sample(device, with_operands(sample, logits=logits, targets=np.array([3, 3], np.int32)))
    assert np.isfinite(found["losses"][0])
    assert not np.isfinite(found["losses"][1])
