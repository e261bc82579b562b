"""The convolution and the scan over a few tokens: from a state on, which moves on behind them."""

import pytest

from engine.devices.samples import Sizes, make_sample
from engine.graph.kernels import FEW_TOKENS
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

KERNELS = ("causal_conv_silu_tokens", "selective_scan_tokens")


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("tokens", [1, 2, 3, FEW_TOKENS])
def test_fewer_and_more_tokens_than_taps(device, tokens, k):
    sizes = Sizes(b=1, l=tokens, d=33, k=k)
    check(device, make_sample("causal_conv_silu_tokens", sizes))
    check(device, with_operands(make_sample("causal_conv_silu_tokens", sizes), bias=None))


@pytest.mark.parametrize("d", [128, 129, 300])
def test_more_channels_than_one_task_takes(device, d):
    for kernel in KERNELS:
        check(device, make_sample(kernel, Sizes(b=1, l=2, d=d)))
