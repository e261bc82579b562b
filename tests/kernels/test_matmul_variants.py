"""Each variant of the WebGPU products, forced, against float64: otherwise only the fastest one would run."""

import numpy as np
import pytest

from engine.devices.samples import Sample, Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import LAUNCHES, matmul
from tests.kernels.comparison import check, with_operands
from tests.kernels.placement import ALL_ON_GRID, NONE_ON_GRID, OnGrid, check_inside

# c is (m, n), k is what is added over: around blocks of 16 and 32, tiles of 32 and 64 and steps of 8 and 16.
SHAPES = (
    *((1, 1, 1), (2, 3, 5), (15, 17, 4), (16, 16, 16), (31, 33, 8), (32, 64, 15), (33, 31, 17), (63, 65, 33)),
    *((64, 64, 64), (65, 129, 31), (129, 63, 65), (1, 300, 63), (300, 1, 7)),
)
FEW_ROWS_SHAPES = tuple((m, n, k) for m in (1, 2, 3, 4) for n, k in ((1, 1), (7, 5), (8, 64), (65, 63), (9, 257)))
# Reading four numbers at once needs all three on the grid.
GRIDS = (ALL_ON_GRID, NONE_ON_GRID, OnGrid(start=False), OnGrid(rows=False), OnGrid(end=False))


@pytest.fixture
def force(monkeypatch):
    """A function that makes every product take a variant, and gives the list of the shaders then launched."""

    def force(variant: str, software: bool = False) -> list[str]:
        launched = []

        def launcher(layout: str):
            def launch(views, numbers, traits):
                product = matmul.Product.of(layout, *views[:3])
                launched.append(matmul.product_launch(variant, product, views, numbers, software))
                return launched[-1:]

            return launch

        for layout in matmul.LAYOUTS:
            monkeypatch.setitem(LAUNCHES, f"matmul_{layout}", launcher(layout))
        return launched

    return force


def _sample(layout: str, m: int, n: int, k: int, **numbers: float) -> Sample:
    return make_sample(f"matmul_{layout}", Sizes(b=1, l=m, v=n, d=k), **numbers)


@pytest.mark.parametrize("variant", matmul.VARIANTS)
@pytest.mark.parametrize("layout", matmul.LAYOUTS)
def test_odd_shapes(webgpu, force, layout, variant):
    launched = force(variant)
    for shape in SHAPES:
        check(webgpu, _sample(layout, *shape), at_least=1)
    assert len(launched) == len(SHAPES)
    assert all(launch.shader.startswith(f"matmul_{variant}") for launch in launched)


@pytest.mark.parametrize("alpha, accumulate", [(1.0, 0), (-0.25, 1)])
@pytest.mark.parametrize("absent", [(), ("addend",), ("bias",), ("addend", "bias")], ids=lambda names: "+".join(names))
@pytest.mark.parametrize("variant", matmul.VARIANTS)
@pytest.mark.parametrize("layout", matmul.LAYOUTS)
def test_flags_and_absent_operands(webgpu, force, layout, variant, absent, alpha, accumulate):
    force(variant)
    sample = _sample(layout, 37, 70, 33, alpha=alpha, accumulate=accumulate)
    check(webgpu, with_operands(sample, **dict.fromkeys(absent)))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("variant", matmul.VARIANTS)
@pytest.mark.parametrize("layout", matmul.LAYOUTS)
def test_offsets_and_strides(webgpu, force, layout, variant, grid):
    launched = force(variant)
    for shape in ((37, 70, 33), (64, 32, 16), (1, 1, 1), (5, 67, 130)):
        check_inside(webgpu, _sample(layout, *shape), grid, at_least=1)
    if variant in matmul.TILES:
        assert {launch.shader for launch in launched} == {
            f"matmul_{variant}_{'vec4' if grid == ALL_ON_GRID else 'scalar'}"
        }


@pytest.mark.parametrize("alpha, accumulate", [(1.0, 0), (-0.25, 1)])
@pytest.mark.parametrize("variant", matmul.TILES)
@pytest.mark.parametrize("layout", matmul.LAYOUTS)
def test_sums_that_are_shared_out(webgpu, monkeypatch, layout, variant, alpha, accumulate):
    """As on a GPU, with parts that end in the middle of a tile and a last one that is shorter."""
    monkeypatch.setattr(matmul, "SHARED_OUT", ((300, 16),))
    monkeypatch.setattr(matmul, "choose_variant", lambda product, traits: variant)
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    for m, n, k in ((37, 70, 33), (64, 32, 160), (5, 67, 131), (129, 65, 200)):
        sample = _sample(layout, m, n, k, alpha=alpha, accumulate=accumulate)
        parts = matmul.parts_of(m, n, k, variant)
        assert parts > 1
        first = check(webgpu, sample, at_least=1)["c"]
        check_inside(webgpu, with_operands(sample, bias=None), NONE_ON_GRID, at_least=1)
        assert np.array_equal(run_sample(webgpu, sample)["c"], first)


@pytest.mark.parametrize("shape", [(200, 70, 40), (130, 33, 300), (64, 65, 64)])
@pytest.mark.parametrize("layout", matmul.LAYOUTS)
def test_a_long_product_is_cut_into_rows(webgpu, monkeypatch, layout, shape):
    """As on a GPU; no dispatch is longer than it may be, and every operand is cut where it has to be."""
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    sample = _sample(layout, *shape, accumulate=1)
    whole = check(webgpu, sample, at_least=1)["c"]
    longest = 2 * 64 * shape[1] * shape[2]
    monkeypatch.setattr(matmul, "LONGEST_PRODUCT", longest)
    lines = []
    plain = matmul.product_launch

    def noted(variant, product, *arguments, **named):
        lines.append(product.m)
        return plain(variant, product, *arguments, **named)

    monkeypatch.setattr(matmul, "product_launch", noted)
    cut = check(webgpu, sample, at_least=1)["c"]
    assert sum(lines) == shape[0] and max(lines) == 64
    np.testing.assert_allclose(cut, whole, rtol=1e-5, atol=1e-5)


def test_a_product_with_many_tiles_or_few_terms_is_not_shared_out():
    assert matmul.parts_of(2048, 2048, 512, "tiled_64") == 1
    assert matmul.parts_of(64, 64, 255, "tiled_64") == 1
    assert matmul.parts_of(64, 64, 4096, "registers_16") == 1
    assert matmul.parts_of(512, 768, 50_280, "tiled_64") == 6
    assert matmul.parts_of(512, 768, 1024, "tiled_64") == 3


@pytest.mark.parametrize("software", [False, True])
def test_few_rows(webgpu, force, software):
    launched = force("rows", software)
    for shape in FEW_ROWS_SHAPES:
        check(webgpu, _sample("nt", *shape), at_least=1)
    for grid in (ALL_ON_GRID, NONE_ON_GRID):
        check_inside(webgpu, _sample("nt", 3, 70, 33, alpha=2.0), grid)
        check_inside(webgpu, with_operands(_sample("nt", 4, 7, 66, accumulate=0), addend=None, bias=None), grid)
    assert {launch.shader for launch in launched} == {"matmul_rows"}


@pytest.mark.parametrize("layout, m, few", [("nt", 4, True), ("nt", 5, False), ("nn", 1, False), ("tn", 1, False)])
def test_few_rows_are_taken_by_their_own_kernel(webgpu, layout, m, few):
    product = matmul.Product(layout, m, 100, 100, 100, 1, 100, 1)
    assert (matmul.choose_variant(product, webgpu.traits) == "rows") == few
