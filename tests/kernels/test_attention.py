"""Attention, its rotation, its cache and the gated MLP against float64."""

import numpy as np
import pytest

from engine.devices import Device
from engine.devices.attention_samples import MAKERS, SHARE, head_dim
from engine.devices.reference import reference
from engine.devices.samples import Sample, Sizes, make_sample
from engine.devices.single_kernel import run_sample, sample_program
from engine.devices.webgpu.launch import AdapterTraits
from engine.devices.webgpu.launches import launches_of
from tests.kernels.comparison import check, size_name, with_operands

# Lengths around what the kernels work in (8, 16, 64), one key head and several, heads of 2 to 128 channels
SIZES = (
    Sizes(b=1, l=3, m=1, d=1, n=2, r=1),
    Sizes(b=3, l=7, m=5, d=3, n=6, r=1),
    Sizes(b=2, l=16, m=33, d=63, n=10, r=3),
    Sizes(b=1, l=63, m=64, d=65, n=64, r=2),
    Sizes(b=2, l=65, m=17, d=16, n=32, r=2),
    Sizes(b=1, l=129, m=16, d=31, n=128, r=1),
)


@pytest.mark.parametrize("sizes", SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", MAKERS)
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("n", [32, 64, 128])
@pytest.mark.parametrize("kernel", ["attention", "attention_backward_queries", "attention_backward_keys"])
def test_the_smaller_tiles_of_a_gpu(webgpu, monkeypatch, kernel, n):
    sample = make_sample(kernel, Sizes(b=2, l=37, n=n, r=1))
    shared = {software: _shared_bytes(webgpu, sample, software) for software in (True, False)}
    assert shared[False] <= 11 * 1024 and shared[True] >= shared[False]
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    check(webgpu, sample)


def _shared_bytes(device: Device, sample: Sample, software: bool) -> int:
    """Of the matrices of a workgroup."""
    plan = device.plan(sample_program(device, sample)[0])
    ((launch,),) = launches_of(plan, AdapterTraits(software=software))
    matrices = 1 if sample.kernel == "attention" else 2
    return 4 * matrices * (launch.header["ROWS"] + launch.header["KEYS"]) * launch.header["HEAD_DIM"]


@pytest.mark.parametrize("kernel", ["attention", "attention_cached"])
def test_a_single_token_is_its_own_value(device, kernel):
    sample = make_sample(kernel, Sizes(b=1, l=1, n=8, r=2))
    y = run_sample(device, sample)["y"].reshape(2, SHARE, 8)
    values = sample.operands["v"].astype(np.float32).reshape(2, 1, 8)
    assert np.allclose(y, np.broadcast_to(values, y.shape), atol=1e-6)


def test_documents_of_one_window_do_not_see_each_other(device):
    sizes = Sizes(b=1, l=12, n=8, r=1)
    sample = make_sample("attention", sizes)
    first = run_sample(device, sample)["y"]
    k, v = sample.operands["k"].copy(), sample.operands["v"].copy()
    k[:6], v[:6] = 9, -9
    changed = run_sample(device, with_operands(sample, k=k, v=v))["y"]
    assert np.array_equal(first[6:], changed[6:]) and not np.allclose(first[:6], changed[:6])


def test_a_rotation_can_be_taken_back(device):
    sample = make_sample("rope")
    there = run_sample(device, sample)["x"]
    back = run_sample(device, with_operands(make_sample("rope", sign=-1), **{**sample.operands, "x": there}))["x"]
    assert np.abs(back - sample.operands["x"]).max() < 1e-6


@pytest.mark.parametrize("kernel", ["attention", "attention_cached"])
def test_large_scores_neither_overflow_nor_become_nan(device, kernel):
    sample = make_sample(kernel, Sizes(b=1, l=70, n=16, r=1))
    sample = with_operands(sample, q=sample.operands["q"] * 300)
    y, expected = run_sample(device, sample)["y"], reference(sample)["y"]
    assert np.abs(y - expected).max() < 1e-2  # the scores themselves have few digits behind the point


def test_few_rows_give_what_many_give(device):
    """Up to eight tokens go through kernels of their own on the CPU device."""
    whole = make_sample("attention_cached", Sizes(b=1, l=20, n=16, r=2))
    y = run_sample(device, whole)["y"]
    for start, stop in ((0, 1), (3, 11), (12, 20)):
        part = {name: whole.operands[name][start:stop] for name in ("q", "reach", "y")}
        few = run_sample(device, with_operands(whole, **part))["y"]
        assert np.abs(few - y[start:stop]).max() < 1e-6


def test_one_head_of_a_head_wider_than_a_workgroup_is_refused():
    from engine.devices.webgpu.launches.attention import LAUNCHES
    from engine.errors import InputError

    sample = make_sample("attention", Sizes(b=1, l=2, n=2048, r=1))
    with pytest.raises(InputError, match="2048"):
        LAUNCHES["attention"](_views(sample), sample.numbers, AdapterTraits())


def _views(sample: Sample):
    from engine.graph.tensor import Tensor

    return tuple(Tensor(name, array.shape).view() for name, array in sample.operands.items())


def test_the_share_of_each_head_adds_up(device: Device):
    """All query heads equal: the gradient of their key head is the sum of what each of them gives alone."""
    sizes = Sizes(b=1, l=9, n=4, r=1)
    sample = make_sample("attention_backward_keys", sizes)
    both = run_sample(device, sample)
    h = head_dim(sizes)
    parts = []
    for head in range(SHARE):
        columns = slice(head * h, (head + 1) * h)
        sums = sample.operands["sums"][:, [head, SHARE + head]]
        alone = {"d_y": sample.operands["d_y"][:, columns], "q": sample.operands["q"][:, columns], "sums": sums}
        parts.append(
            run_sample(device, with_operands(sample, **{k: np.ascontiguousarray(v) for k, v in alone.items()}))
        )
    for name in ("d_k", "d_v"):
        assert np.allclose(sum(part[name] for part in parts), both[name], atol=1e-5)
