"""rmsnorm and rmsnorm_backward against float64."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_forward(device, sizes):
    check(device, make_sample("rmsnorm", sizes))


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("kernel", ["rmsnorm", "rmsnorm_backward"])
def test_rows_take_turns_at_the_parts_of_a_longer_scale(device, kernel, groups):
    """A norm of groups: the groups of a token are rows of their own, each with its own part of the scale."""
    sample = make_sample(kernel)
    scale = np.random.default_rng(0).standard_normal(groups * sample.sizes.m).astype(np.float32)
    gradient = {"d_scale": np.full((5, scale.size), 9, np.float32)} if kernel == "rmsnorm_backward" else {}
    check(device, with_operands(sample, scale=scale, **gradient))


def test_epsilon_keeps_a_row_of_zeros_at_zero(device):
    sample = make_sample("rmsnorm", Sizes(b=1, l=3))
    x = sample.operands["x"].copy()
    x[1] = 0
    found = check(device, with_operands(sample, x=x))
    assert not found["y"][1].any()


@pytest.mark.parametrize("accumulate", [0, 1])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_backward(device, sizes, accumulate):
    # With one or two columns d_x is a difference of nearly equal numbers: those count.
    sample = make_sample("rmsnorm_backward", sizes, accumulate=accumulate)
    terms = sample.operands["d_y"] * sample.operands["scale"] * sample.operands["inverse_rms"][:, None]
    check(device, sample, at_least=float(np.abs(terms).max()) if sizes.m < 3 else 0)


@pytest.mark.parametrize("accumulate", [0, 1])
def test_backward_without_the_gradient_of_the_scale(device, accumulate):
    found = check(device, with_operands(make_sample("rmsnorm_backward", accumulate=accumulate), d_scale=None))
    assert "d_scale" not in found


@pytest.mark.parametrize("parts", [1, 2, 4, 100, 134, 150])
def test_gradient_of_the_scale_in_any_number_of_parts(device, parts):
    """134 rows: fewer parts than the kernel would choose, more, one per row, and parts that get no rows."""
    sample = make_sample("rmsnorm_backward")
    check(device, with_operands(sample, d_scale=np.full((parts, 33), 9, np.float32)))
