"""carry_history and carry_state: what a pass of the decoder leaves for the next one."""

import pytest

from engine.devices.samples import Sizes, make_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ["carry_history", "carry_state"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("rows", range(1, 6))
def test_history_of_fewer_and_of_more_rows_than_the_taps(device, rows):
    check(device, make_sample("carry_history", Sizes(l=rows, d=65, k=4)))
