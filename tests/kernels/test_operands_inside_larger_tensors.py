"""Every kernel on operands that begin in the middle of a tensor and end before its end."""

import pytest

from engine.devices.samples import Sizes, make_sample
from engine.graph.kernels import KERNELS
from tests.kernels.placement import ALL_ON_GRID, NONE_ON_GRID, check_inside


@pytest.mark.parametrize("grid", [ALL_ON_GRID, NONE_ON_GRID], ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_lies_around_the_operands_neither_counts_nor_changes(device, kernel, grid):
    sizes = Sizes(b=2, l=67, m=33, d=70, v=131)
    check_inside(device, make_sample(kernel, sizes), grid, at_least=100 if kernel == "total" else 0)
