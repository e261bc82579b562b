"""causal_conv_silu and its backward against float64."""

import itertools

import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import launches_of
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Program, Tensor
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands
from tests.kernels.placement import NONE_ON_GRID, check_inside

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


@pytest.mark.parametrize("length", [65, 66, 127, 128, 129, 200])
@pytest.mark.parametrize("k", TAPS)
def test_backward_in_runs_of_tokens(webgpu, monkeypatch, k, length):
    """As on a GPU: sequences that end within, at and behind a run."""
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    sample = make_sample("causal_conv_silu_backward", Sizes(b=2, l=length, d=65, k=k))
    assert {launch.shader for launch in _launched(webgpu, sample)} == {
        "causal_conv_silu_backward_runs",
        "causal_conv_silu_backward_sum",
    }
    for absent in ((), ("d_x", "bias"), ("d_weight", "d_bias"), ("d_weight",)):
        check(webgpu, with_operands(sample, **dict.fromkeys(absent)))
    check_inside(webgpu, sample, NONE_ON_GRID)


def _launched(device, sample):
    """The dispatches that the sample would be on the device."""
    tensors = {name: array if array is None else Tensor(name, array.shape) for name, array in sample.operands.items()}
    program = Program("sample", inputs={name: tensor for name, tensor in tensors.items() if tensor})
    views = tuple(tensors[operand.name].view() for operand in KERNELS[sample.kernel].operands)
    program.calls.append(KernelCall(sample.kernel, views, sample.numbers))
    (launches,) = launches_of(device.plan(program), device.traits)
    return launches
