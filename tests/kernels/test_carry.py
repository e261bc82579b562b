"""carry_history and carry_state: what a pass of the decoder leaves for the next one."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ["carry_history", "carry_state"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))
    check(device, with_operands(make_sample(kernel, sizes), count=None))


@pytest.mark.parametrize("count", range(6))
def test_history_of_fewer_and_of_more_rows_than_the_taps(device, count):
    sample = make_sample("carry_history", Sizes(l=5, d=65, k=4))
    check(device, with_operands(sample, count=np.array([count], np.int32)))


@pytest.mark.parametrize("rows", range(1, 6))
def test_all_rows_where_no_count_is_given(device, rows):
    check(device, with_operands(make_sample("carry_history", Sizes(l=rows, d=65, k=4)), count=None))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_state_after_each_token(device, count):
    sample = make_sample("carry_state", Sizes(b=2, d=33))
    check(device, with_operands(sample, count=np.array([count], np.int32)))
