"""The same inputs give the same bits: every kernel runs three times on each device."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.graph.kernels import KERNELS

# More than one task, workgroup and piece of a product.
SIZES = Sizes(b=3, l=131, m=65, d=100, v=257)


@pytest.mark.parametrize("kernel", KERNELS)
def test_same_bits(device, kernel):
    sample = make_sample(kernel, SIZES)
    first, *others = (run_sample(device, sample) for _ in range(3))
    for other in others:
        assert other.keys() == first.keys()
        for name in first:
            assert np.array_equal(other[name].view(np.uint8), first[name].view(np.uint8)), name
