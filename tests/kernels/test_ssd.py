"""Mamba-2's scan, its steps and their backward against float64."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.ssd_samples import LIMITS
from engine.graph.kernels import FEW_TOKENS
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands
from tests.kernels.placement import NONE_ON_GRID, check_inside

LENGTHS = (1, 2, 63, 64, 65, 128, 129)
SHAPES = (
    Sizes(b=2, l=65, d=32, n=16, r=3),
    Sizes(b=1, l=129, d=64, n=128, r=4),
    Sizes(b=1, l=66, d=24, n=64, r=6),
    Sizes(b=2, l=70, d=8, n=33, r=5),
    Sizes(b=1, l=64, d=100, n=256, r=2),
)


@pytest.mark.parametrize("kernel", ["ssd_steps", "ssd_steps_backward"])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_steps(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


def test_steps_are_held_at_their_limits(device):
    sample = make_sample("ssd_steps")
    Delta = check(device, sample)["steps"][:, : sample.sizes.r]
    assert {float(np.float32(LIMITS[name])) for name in LIMITS} <= set(Delta.ravel().tolist())
    backward = make_sample("ssd_steps_backward")
    held = np.isin(backward.operands["steps"][:, : sample.sizes.r], [np.float32(limit) for limit in LIMITS.values()])
    assert held.any()
    assert np.array_equal(check(device, backward)["d_dt"] == 0, held)


def test_steps_backward_gives_only_what_is_wanted(device):
    sample = make_sample("ssd_steps_backward")
    for name in ("d_dt", "d_coefficients"):
        assert name not in check(device, with_operands(sample, **{name: None}))


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize("sizes", (*ODD_SIZES, *SHAPES), ids=size_name)
def test_forward(device, sizes, carry):
    check(device, make_sample("ssd", sizes, carry=carry))


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize("length", LENGTHS)
def test_forward_of_lengths_around_the_kept_states(device, length, carry):
    check(device, make_sample("ssd", Sizes(b=3, l=length, d=33, r=2), carry=carry))


def test_two_halves_with_carry_are_the_whole(device):
    """A scan continued from its final state gives the same numbers as the scan of the whole."""
    sizes = Sizes(b=1, l=150, d=33, r=2)
    whole = make_sample("ssd", sizes, carry=0)
    expected = check(device, whole)
    cut, states = 37, None
    for part, length in ((slice(0, cut), cut), (slice(cut, 150), 150 - cut)):
        sample = make_sample("ssd", Sizes(b=1, l=length, d=33, r=2), carry=int(states is not None))
        rows = {name: whole.operands[name][part] for name in ("x", "steps")}
        kept = sample.operands["states"].copy()
        if states is not None:
            kept[:, 0] = states
        found = check(device, with_operands(sample, **rows, states=kept, coefficients=whole.operands["coefficients"]))
        states = found["states"][:, -1]
        assert np.allclose(found["y"], expected["y"][part], rtol=0, atol=1e-5 * np.abs(expected["y"]).max())
    assert np.allclose(states, expected["states"][:, -1], rtol=0, atol=1e-5 * np.abs(states).max())


@pytest.mark.parametrize("kernel", ["ssd", "ssd_backward"])
def test_large_and_small_steps(device, kernel):
    """Delta from 1e-13 to 60, in no order: no decay at all beside a decay to nothing in one token."""
    sizes = Sizes(b=1, l=130, d=33, r=2)
    sample = make_sample(kernel, sizes)
    random = np.random.default_rng(0)
    Delta = np.float32(10) ** random.uniform(-13, 1.8, (130, 2)).astype(np.float32)
    steps = np.concatenate([Delta, Delta * sample.operands["coefficients"][0]], axis=1)
    states = {}
    if kernel == "ssd_backward":
        forward = with_operands(make_sample("ssd", sizes, carry=0), steps=steps)
        known = {name: sample.operands[name] for name in ("x", "coefficients")}
        states = {"states": check(device, with_operands(forward, **known))["states"]}
    check(device, with_operands(sample, steps=steps, **states))


@pytest.mark.parametrize("sizes", (*ODD_SIZES, *SHAPES), ids=size_name)
def test_backward(device, sizes):
    check(device, make_sample("ssd_backward", sizes), at_least=1 if sizes.d == 1 else 0)


@pytest.mark.parametrize("length", LENGTHS)
def test_backward_of_lengths_around_the_kept_states(device, length):
    check(device, make_sample("ssd_backward", Sizes(b=3, l=length, d=33, r=2)))


@pytest.mark.parametrize("kernel", ["ssd_steps", "ssd_steps_backward", "ssd", "ssd_backward", "ssd_tokens"])
def test_nothing_around_the_operands_counts_or_changes(device, kernel):
    check_inside(device, make_sample(kernel), NONE_ON_GRID)


@pytest.mark.parametrize("sizes", (*ODD_SIZES, *SHAPES), ids=size_name)
def test_tokens(device, sizes):
    check(device, make_sample("ssd_tokens", sizes))


def test_tokens_one_by_one_are_the_scan(device):
    """Eight tokens decoded from a state, and the scan over the same."""
    sizes = Sizes(b=1, l=FEW_TOKENS, d=24, n=16, r=4)
    tokens = make_sample("ssd_tokens", sizes)
    steps = check(device, with_operands(make_sample("ssd_steps", sizes), **_of(tokens, "dt", "coefficients")))["steps"]
    scan = make_sample("ssd", sizes)
    states = scan.operands["states"].copy()
    states[0, 0] = tokens.operands["state"]
    whole = check(device, with_operands(scan, steps=steps, states=states, **_of(tokens, "x", "coefficients")))
    state = tokens.operands["state"]
    for i in range(FEW_TOKENS):
        one = make_sample("ssd_tokens", Sizes(b=1, l=1, d=24, n=16, r=4))
        rows = {name: tokens.operands[name][i : i + 1] for name in ("x", "dt")}
        found = check(device, with_operands(one, **rows, state=state, **_of(tokens, "coefficients")))
        state = found["state"]
        assert np.allclose(found["y"][0], whole["y"][i], rtol=0, atol=1e-5)
    assert np.allclose(state, whole["states"][0, -1], rtol=0, atol=1e-5)


def _of(sample, *names):
    return {name: sample.operands[name] for name in names}
