"""causal_conv_silu and its backward against float64."""

import itertools

import pytest

from engine.devices.samples import Sizes, make_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

TAPS = (1, 2, 3, 4, 5, 9)
GRADIENTS = ("d_x", "d_weight", "d_bias")


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ["causal_conv_silu", "causal_conv_silu_backward"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("length", [1, 2, 3, 17])
@pytest.mark.parametrize("k", TAPS)
@pytest.mark.parametrize("kernel", ["causal_conv_silu", "causal_conv_silu_backward"])
def test_sequences_shorter_and_longer_than_the_taps(device, kernel, k, length):
    check(device, make_sample(kernel, Sizes(b=3, l=length, d=33, k=k)))


@pytest.mark.parametrize("absent", [("history",), ("bias",), ("history", "bias")], ids="+".join)
@pytest.mark.parametrize("k", TAPS)
def test_forward_without_history_and_bias(device, k, absent):
    check(device, with_operands(make_sample("causal_conv_silu", Sizes(k=k)), **dict.fromkeys(absent)))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(
    "wanted", [names for count in (1, 2, 3) for names in itertools.combinations(GRADIENTS, count)], ids="+".join
)
def test_backward_gives_only_what_is_wanted(device, wanted, bias):
    sample = make_sample("causal_conv_silu_backward", Sizes(b=3, l=19, d=65))
    absent = [name for name in GRADIENTS if name not in wanted] + ([] if bias else ["bias"])
    found = check(device, with_operands(sample, **dict.fromkeys(absent)))
    assert {name for name in found if name in GRADIENTS} == set(wanted)
