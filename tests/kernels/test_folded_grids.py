"""WebGPU allows 65,535 workgroups in a row; more are folded into rows.  Here more than three are folded."""

import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.webgpu import launch
from engine.graph.kernels import KERNELS
from tests.kernels.comparison import check

SIZES = Sizes(b=3, l=67, m=70, d=130, v=260)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_on_a_folded_grid(webgpu, monkeypatch, kernel):
    monkeypatch.setattr(launch, "MAX_GROUPS", 3)
    check(webgpu, make_sample(kernel, SIZES), at_least=1)


@pytest.mark.parametrize("groups", [0, 1, 65_535, 65_536, 65_537, 1_000_003])
def test_a_grid_has_enough_workgroups_and_fits(groups):
    x, y, z = launch.flat_grid(groups)
    assert max(x, y) <= 65_535
    assert z == 1
    assert groups <= x * y < max(groups + x, 2)
