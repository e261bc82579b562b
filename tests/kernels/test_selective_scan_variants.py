"""Each variant of the WebGPU scan and of its backward, forced, against float64.

Which one runs by itself depends on the adapter.
"""

import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.webgpu.launches import LAUNCHES, scan
from engine.graph.kernels import STATE_INTERVAL
from tests.kernels.comparison import check, size_name

SHADERS = {
    "lanes": ["selective_scan"],
    "wide": ["selective_scan_wide"],
    "chunked": ["selective_scan_chunk", "selective_scan_carry", "selective_scan_emit"],
    "kogge_stone": ["selective_scan_kogge_stone"],
}
BACKWARD_SHADERS = {
    "lanes": ["selective_scan_backward"],
    "wide": ["selective_scan_backward_wide"],
    "chunked": [f"selective_scan_backward_{phase}" for phase in ("chunk", "carry", "walk", "sum")],
}
SIZES = (
    *(Sizes(b=2, l=length, d=33, n=16, r=3) for length in (1, 2, 63, 64, 65, 127, 128, 129, 200)),
    Sizes(b=1, l=1, d=1, n=1, r=1),
    Sizes(b=3, l=70, d=100, n=8, r=2),
    Sizes(b=1, l=66, d=64, n=5, r=1),
    Sizes(b=3, l=67, d=65, n=1, r=7),
    Sizes(b=2, l=65, d=31, n=20, r=1),
)


@pytest.fixture
def force(webgpu, monkeypatch):
    """A function that makes the WebGPU device take a variant, and gives the list of the shaders then launched."""

    def force(kernel: str, variant: str) -> list[str]:
        launched, plain = [], getattr(scan, kernel)

        def launch(views, numbers, traits):
            launches = plain(views, numbers, traits, variant)
            launched.extend(each.shader for each in launches)
            return launches

        monkeypatch.setitem(LAUNCHES, kernel, launch)
        if variant == "chunked":
            monkeypatch.setattr(webgpu, "workspace_elements", _chunked_workspace)
        return launched

    return force


def _chunked_workspace(kernel: str, b: int, l: int, d: int, n: int) -> int:
    return b * -(-l // STATE_INTERVAL) * d * (n + 2 if kernel == "selective_scan_backward" else 1)


def test_every_variant_is_tested():
    assert set(SHADERS) == set(scan.VARIANTS)
    assert set(BACKWARD_SHADERS) == set(scan.BACKWARD_VARIANTS)


@pytest.mark.parametrize("carry", [0, 1])
@pytest.mark.parametrize("sizes", SIZES, ids=size_name)
@pytest.mark.parametrize("variant", SHADERS)
def test_forward(webgpu, force, variant, sizes, carry):
    launched = force("selective_scan", variant)
    check(webgpu, make_sample("selective_scan", sizes, carry=carry))
    assert launched == SHADERS[variant]


@pytest.mark.parametrize("sizes", SIZES, ids=size_name)
@pytest.mark.parametrize("variant", BACKWARD_SHADERS)
def test_backward(webgpu, force, variant, sizes):
    if variant == "chunked" and sizes.n > scan.CHUNKED_STATES:
        assert scan.backward_variant(sizes.n, software=False) == "lanes"
        return
    launched = force("selective_scan_backward", variant)
    check(webgpu, make_sample("selective_scan_backward", sizes), at_least=1 if sizes.d == 1 else 0)
    assert launched == BACKWARD_SHADERS[variant]


@pytest.mark.parametrize("want_inputs, want_coefficients", [(1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("variant", BACKWARD_SHADERS)
def test_backward_gives_only_what_is_wanted(webgpu, force, variant, want_inputs, want_coefficients):
    force("selective_scan_backward", variant)
    numbers = {"want_inputs": want_inputs, "want_coefficients": want_coefficients}
    check(webgpu, make_sample("selective_scan_backward", Sizes(b=2, l=67, d=70), **numbers))


@pytest.mark.parametrize("strips", [1, 2, 5])
@pytest.mark.parametrize("variant", ["lanes", "wide"])
def test_backward_with_fewer_strips_of_workspace_than_work(webgpu, force, monkeypatch, variant, strips):
    """Six pairs of sequence and channel block: a workgroup takes several, one after another."""
    force("selective_scan_backward", variant)
    sizes = Sizes(b=3, l=67, d=70, n=16)
    whole = webgpu.workspace_elements("selective_scan_backward", sizes.b, sizes.l, sizes.d, sizes.n)
    monkeypatch.setattr(webgpu, "workspace_elements", lambda *arguments: whole // 6 * strips)
    check(webgpu, make_sample("selective_scan_backward", sizes))
