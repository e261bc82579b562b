"""argmax and top_k: the best of a row, ties to the lowest index."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.devices.webgpu.launch import AdapterTraits
from engine.graph.kernels import TOP
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ["argmax", "top_k"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("k", [1, 2, 17, TOP])
@pytest.mark.parametrize("v", [1, 16, 63, 1000])
def test_any_number_of_the_best(device, k, v):
    sample = make_sample("top_k", Sizes(b=1, l=2, v=v))
    check(device, with_operands(sample, best=np.zeros((2, 1 + 2 * k), np.float32)))


@pytest.mark.parametrize("k", [1, TOP])
@pytest.mark.parametrize("v", [3, 4095, 4097, 12_900])
def test_the_best_of_the_best_of_parts(webgpu, monkeypatch, v, k):
    """As on a GPU, with many equal scores in several parts and some that are no number."""
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    random = np.random.default_rng(v)
    logits = np.stack([random.standard_normal(v), random.integers(0, 9, v), np.zeros(v)]).astype(np.float32)
    sample = make_sample("top_k", Sizes(b=1, l=3, v=v))
    empty = np.zeros((3, 1 + 2 * k), np.float32)
    check(webgpu, with_operands(sample, logits=logits, best=empty))
    assert ("top_k_merge", ()) in webgpu.pipelines._modules
    logits[:, ::3] = np.nan
    found = run_sample(webgpu, with_operands(sample, logits=logits, best=empty))
    expected = [np.argsort(np.where(np.isnan(row), np.inf, -row), kind="stable")[:k] for row in logits]
    here = np.arange(k) < v - len(range(0, v, 3))
    assert np.array_equal(found["indices"], _padded(expected, here, k))


def _padded(rows, here, k):
    return np.where(here, [np.pad(row, (0, k - len(row))) for row in rows], -1)


def test_equal_scores_come_by_index(device):
    logits = np.zeros((1, 700), np.float32)
    logits[0, [650, 300, 10]] = 2
    assert check(device, with_operands(make_sample("argmax", Sizes(b=1, l=1)), logits=logits))["best"] == [10]
    found = check(device, with_operands(make_sample("top_k", Sizes(b=1, l=1)), logits=logits))
    assert found["indices"].tolist() == [[10, 300, 650, 0, 1]]


@pytest.mark.parametrize("kernel", ["argmax", "top_k"])
def test_very_low_and_very_high_scores(device, kernel):
    logits = np.array([[-3e38, -1e30, -80], [1e30, 2e30, 3e38], [-1, -2, -3]], np.float32)
    if kernel == "top_k":
        logits = np.clip(logits, -1e4, 1e4)
    sample = make_sample(kernel, Sizes(b=1, l=3, v=3))
    check(device, with_operands(sample, logits=logits))


def test_what_is_no_number_is_never_the_best(device):
    logits = np.array([[np.nan, 1, 3, np.nan, 2]], np.float32)
    assert run_sample(device, with_operands(make_sample("argmax", Sizes(b=1, l=1)), logits=logits))["best"] == [2]
