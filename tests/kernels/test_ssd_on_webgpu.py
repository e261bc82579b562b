"""What the WebGPU side of Mamba-2's scan decides by itself: how to read, who shares the heads, how much scratch."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.devices.webgpu.launches import LAUNCHES, ssd
from engine.graph.kernels import FEW_TOKENS
from engine.graph.ssd import SsdShape
from tests.kernels.comparison import check, size_name, with_operands
from tests.kernels.placement import ALL_ON_GRID, NONE_ON_GRID, OnGrid, check_inside

BY_FOURS = Sizes(b=2, l=67, d=36, n=20, r=6)  # three heads in each of two groups
GRANITE = SsdShape(4, 1024, heads=48, head_dim=32, groups=1, state=128)


@pytest.fixture
def launched(monkeypatch):
    """The shaders that the two scans launch, as they do."""
    names = []

    def watch(kernel):
        plain = LAUNCHES[kernel]

        def launch(views, numbers, traits):
            launches = plain(views, numbers, traits)
            names.extend(each.shader for each in launches)
            return launches

        monkeypatch.setitem(LAUNCHES, kernel, launch)

    watch("ssd")
    watch("ssd_backward")
    return names


@pytest.mark.parametrize("kernel", ["ssd", "ssd_backward"])
@pytest.mark.parametrize(
    "sizes, grid, read",
    [
        (BY_FOURS, ALL_ON_GRID, "vec4"),
        (BY_FOURS, OnGrid(start=False), "scalar"),
        (BY_FOURS, OnGrid(end=False), "scalar"),
        (BY_FOURS, NONE_ON_GRID, "scalar"),
        (Sizes(b=2, l=67, d=36, n=22, r=6), ALL_ON_GRID, "scalar"),
        (Sizes(b=2, l=67, d=34, n=20, r=6), ALL_ON_GRID, "scalar"),
    ],
    ids=["all by fours", "start", "end", "start and end", "states", "channels"],
)
def test_numbers_are_read_by_fours_where_all_lie_so(webgpu, launched, kernel, sizes, grid, read):
    check_inside(webgpu, make_sample(kernel, sizes), grid)
    products = [name for name in launched if name.endswith(("vec4", "scalar"))]
    assert products and all(name.endswith(read) for name in products)


@pytest.mark.parametrize("enough", [1, 24, 10_000])
@pytest.mark.parametrize("sizes", [BY_FOURS, Sizes(b=1, l=130, d=9, n=70, r=5)], ids=size_name)
def test_any_number_of_workgroups_shares_the_heads_of_a_group(webgpu, monkeypatch, launched, enough, sizes):
    monkeypatch.setattr(ssd, "ENOUGH_GROUPS", enough)
    check(webgpu, make_sample("ssd_backward", sizes))
    assert launched.count("sum_rows") == (0 if enough == 1 else 2)


@pytest.mark.parametrize("first, later", [(-60, -1e-3), (-60, -20), (-1e10, -88.72284)])
def test_decay_between_tokens_behind_much_larger_ones(webgpu, first, later):
    """Sums of steps are large behind large steps; the decay between two later ones keeps its digits all the same."""
    sizes = Sizes(b=1, l=64, d=8, n=8, r=1)
    sample = make_sample("ssd", sizes, carry=0)
    decays = np.where(np.arange(64) < 32, first, later).astype(np.float32)[:, None]
    steps = np.concatenate([np.ones_like(decays), decays], axis=1)
    found = check(webgpu, with_operands(sample, steps=steps))
    other = with_operands(sample, steps=np.where(steps == np.float32(first), np.float32(first / 2), steps))
    assert np.array_equal(run_sample(webgpu, other)["y"][32:], found["y"][32:])  # nothing comes from before them


def test_scratch_memory_is_far_smaller_than_the_states():
    states = 4 * 17 * 48 * 128 * 32
    places = ssd._Scratch.of(GRANITE)
    assert places.d_scores < states / 10  # all of the forward scan's
    assert places.end < states / 3


@pytest.mark.parametrize("tokens", range(1, FEW_TOKENS + 1))
def test_any_number_of_few_tokens(webgpu, tokens):
    check_inside(webgpu, make_sample("ssd_tokens", Sizes(b=1, l=tokens, d=20, n=30, r=4)), NONE_ON_GRID)
