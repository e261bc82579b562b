"""The selective scan, its coefficients and its backward against float64, by whatever variant the device takes."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands
from tests.kernels.placement import NONE_ON_GRID, check_inside

LENGTHS = (1, 2, 63, 64, 65, 128, 129)


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_coefficients(device, sizes):
    check(device, make_sample("scan_coefficients", sizes))


@pytest.mark.parametrize("accumulate", [0, 1])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_coefficients_backward(device, sizes, accumulate):
    check(device, make_sample("scan_coefficients_backward", sizes, accumulate=accumulate))


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_forward(device, sizes, carry):
    check(device, make_sample("selective_scan", sizes, carry=carry))


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize("length", LENGTHS)
def test_forward_of_lengths_around_the_kept_states(device, length, carry):
    check(device, make_sample("selective_scan", Sizes(b=3, l=length, d=33), carry=carry))


def test_two_halves_with_carry_are_the_whole(device):
    """A scan continued from its final state gives the same numbers as the scan of the whole."""
    whole = make_sample("selective_scan", Sizes(b=1, l=100, d=33), carry=0)
    expected = check(device, whole)
    cut, states = 37, None
    for part, length in ((slice(0, cut), cut), (slice(cut, 100), 100 - cut)):
        sample = make_sample("selective_scan", Sizes(b=1, l=length, d=33), carry=int(states is not None))
        rows = {name: whole.operands[name][part] for name in ("u", "delta", "x_dbl")}
        kept = sample.operands["states"] if states is None else np.stack([states, np.zeros_like(states)], axis=1)
        rows |= {"coefficients": whole.operands["coefficients"], "states": kept}
        found = check(device, with_operands(sample, **rows))
        states = found["states"][:, -1]
        assert np.allclose(found["y"], expected["y"][part], rtol=0, atol=1e-5 * np.abs(expected["y"]).max())
    assert np.allclose(states, expected["states"][:, -1], rtol=0, atol=1e-5 * np.abs(states).max())


@pytest.mark.parametrize("kernel", ["selective_scan", "selective_scan_backward"])
def test_large_and_small_steps(device, kernel):
    """Delta from e^-30 to 60: no decay at all, and a decay to nothing in one token."""
    sample = make_sample(kernel, Sizes(b=1, l=66, d=33))
    delta = np.linspace(-30, 60, 66 * 33, dtype=np.float32).reshape(66, 33)
    states = {}
    if kernel == "selective_scan_backward":
        forward = with_operands(make_sample("selective_scan", Sizes(b=1, l=66, d=33), carry=0), delta=delta)
        names = ("u", "x_dbl", "coefficients")
        states = {"states": check(device, with_operands(forward, **{n: sample.operands[n] for n in names}))["states"]}
    check(device, with_operands(sample, delta=delta, **states))


@pytest.mark.parametrize("want_inputs, want_coefficients", [(1, 1), (1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_backward(device, sizes, want_inputs, want_coefficients):
    sample = make_sample("selective_scan_backward", sizes, want_inputs=want_inputs, want_coefficients=want_coefficients)
    found = check(device, sample, at_least=1 if sizes.d == 1 else 0)  # with one channel a sum may come out near zero
    assert ("d_y" in found) == bool(want_inputs)
    assert ("d_coefficients" in found) == bool(want_coefficients)


@pytest.mark.parametrize("length", LENGTHS)
def test_backward_of_lengths_around_the_kept_states(device, length):
    check(device, make_sample("selective_scan_backward", Sizes(b=3, l=length, d=33)))


def test_backward_from_a_carried_state(device):
    """The first state need not be zero."""
    sizes = Sizes(b=2, l=70, d=33)
    sample = make_sample("selective_scan_backward", sizes)
    forward = make_sample("selective_scan", sizes, carry=1)
    names = ("u", "delta", "x_dbl", "coefficients")
    forward = with_operands(forward, **{name: sample.operands[name] for name in names})
    check(device, with_operands(sample, states=check(device, forward)["states"]))


def test_backward_leaves_d_y_and_delta_where_their_gradients_are_not_wanted(device):
    sample = make_sample("selective_scan_backward", want_inputs=0)
    after = check_inside(device, sample, NONE_ON_GRID)
    for name in ("d_y", "delta"):
        assert np.array_equal(after[name], sample.operands[name]), name
