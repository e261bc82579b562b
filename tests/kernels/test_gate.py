"""gate and gate_backward against float64."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

KERNELS = ("gate", "gate_backward")


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


def test_backward_without_the_gradient_of_z(device):
    found = check(device, with_operands(make_sample("gate_backward"), d_z=None))
    assert found.keys() == {"d_g", "y"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_large_z_neither_overflows_nor_becomes_nan(device, kernel):
    sample = make_sample(kernel, Sizes(b=1, l=4, d=3))
    z = np.array([[-1e4, -200, -90], [-87, -20, -1], [0, 1, 20], [90, 200, 1e4]], np.float32)
    check(device, with_operands(sample, z=z))
