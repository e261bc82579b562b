"""The kernels of a mixture of experts against float64, and what routing and sorting promise."""

import numpy as np
import pytest

from engine.devices.mixture_samples import IDLE, MAKERS, experts
from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.errors import InputError
from engine.graph.kernels import FEW_TOKENS
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

# One expert per token and several, rows around what a workgroup takes (32, 64), one row for each expert and none
SIZES = (
    *ODD_SIZES,
    Sizes(b=1, l=32, m=31, d=33, r=2, v=5),
    Sizes(b=1, l=96, m=32, d=64, r=1, v=7),
    Sizes(b=2, l=300, m=17, d=40, r=5, v=11),
)


@pytest.mark.parametrize("sizes", SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", MAKERS)
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


@pytest.mark.parametrize("e", [1, 2, 64, 65, 130])
def test_any_number_of_experts(device, e):
    random = np.random.default_rng(e)
    logits = random.standard_normal((70, e)).astype(np.float32)
    k = min(3, e)
    shape = (70, k)
    routed = check(device, with_operands(
        make_sample("route"), logits=logits, chosen=np.zeros(shape, np.int32), gates=np.zeros(shape, np.float32)
    ))  # fmt: skip
    targets = np.where(random.random(70) < 0.5, -1, 3).astype(np.int32)
    sums = {"counts": np.zeros((2, e), np.float32), "chances": np.zeros((2, e + 1), np.float32)}
    sums = check(
        device,
        with_operands(make_sample("routing_sums"), logits=logits, chosen=routed["chosen"], targets=targets, **sums),
    )
    assert sums["counts"].sum() == k * (targets >= 0).sum()
    pull = np.zeros(e, np.float32)
    check(device, with_operands(make_sample("balance"), counts=sums["counts"], chances=sums["chances"], pull=pull))
    flat = np.zeros(70 * k, np.int32)
    check(device, with_operands(
        make_sample("group_rows"), chosen=routed["chosen"], order=flat, tokens=flat, places=np.zeros(shape, np.int32),
        starts=np.zeros(e + 1, np.int32),
    ))  # fmt: skip


def test_equal_scores_go_to_the_first_expert(device):
    logits = np.zeros((3, 5), np.float32)
    logits[1, 3], logits[2, [0, 4]] = 1, -1
    out = {"chosen": np.zeros((3, 2), np.int32), "gates": np.zeros((3, 2), np.float32)}
    found = run_sample(device, with_operands(make_sample("route"), logits=logits, **out))
    assert found["chosen"].tolist() == [[0, 1], [3, 0], [1, 2]]
    assert np.allclose(found["gates"][0], 0.5)


def test_a_row_that_is_no_number_names_experts_that_exist(device):
    """Otherwise a failing run would read and write outside its memory instead of reporting its loss."""
    logits = np.full((2, 4), np.nan, np.float32)
    logits[1, 2] = 1
    out = {"chosen": np.full((2, 3), 9, np.int32), "gates": np.zeros((2, 3), np.float32)}
    found = run_sample(device, with_operands(make_sample("route"), logits=logits, **out))
    assert (found["chosen"] >= 0).all() and (found["chosen"] < 4).all()


def test_large_scores_give_gates_and_sums_that_are_finite(device):
    sample = make_sample("route", Sizes(b=1, l=9, r=2))
    logits = 1000 * sample.operands["logits"]
    found = run_sample(device, with_operands(sample, logits=logits))
    assert np.isfinite(found["gates"]).all() and np.allclose(found["gates"].sum(axis=1), 1)
    sums = make_sample("routing_sums", Sizes(b=1, l=9, r=2))
    found = run_sample(device, with_operands(sums, logits=1000 * sums.operands["logits"]))
    assert np.isfinite(found["chances"]).all()


def test_rows_are_sorted_by_expert_and_then_by_token(device):
    sample = make_sample("group_rows", Sizes(b=3, l=131, r=2))
    found, chosen = run_sample(device, sample), sample.operands["chosen"]
    by_expert = chosen.reshape(-1)[found["order"]]
    assert (np.diff(by_expert) >= 0).all()
    for first, last in zip(found["starts"][:-1], found["starts"][1:], strict=True):
        assert (np.diff(found["tokens"][first:last]) > 0).all()
    assert found["starts"][IDLE] == found["starts"][IDLE + 1]


@pytest.mark.parametrize("layout", ["nt", "nn", "tn"])
@pytest.mark.parametrize("busy", [0, 2])
def test_all_rows_may_go_to_one_expert(device, layout, busy):
    sizes = Sizes(b=1, l=70, m=20, d=37)
    sample = make_sample(f"grouped_{layout}", sizes)
    rows = len(sample.operands["a"])
    starts = np.where(np.arange(experts(sizes) + 1) > busy, rows, 0).astype(np.int32)
    check(device, with_operands(sample, starts=starts))


@pytest.mark.parametrize("accumulate", [0, 1])
def test_the_gradient_of_an_expert_without_rows_is_zero_or_stays(device, accumulate):
    sizes = Sizes(b=1, l=40, m=12, d=9)
    sample = make_sample("grouped_tn", sizes, accumulate=accumulate)
    c = check(device, sample)["c"].reshape(experts(sizes), 12, 9)
    before = sample.operands["c"].reshape(c.shape)
    assert np.array_equal(c[IDLE], before[IDLE] if accumulate else np.zeros((12, 9)))


def test_without_a_pull_only_the_chosen_have_a_gradient(device):
    sample = with_operands(make_sample("route_backward"), pull=None, targets=None)
    d_logits, chosen = check(device, sample)["d_logits"], sample.operands["chosen"]
    others = np.ones(d_logits.shape, bool)
    np.put_along_axis(others, chosen, False, axis=1)
    assert not d_logits[others].any()


def test_rows_and_places_may_follow_each_other(device):
    check(device, with_operands(make_sample("combine"), places=None))
    check(device, with_operands(make_sample("routed_swiglu"), order=None))


@pytest.mark.parametrize("tokens", [1, 2, 3, FEW_TOKENS])
@pytest.mark.parametrize("kernel", ["expert_rows_nt", "expert_rows_nt_float16", "expert_rows_nt_int8"])
def test_a_few_tokens_with_rows_of_their_own(device, kernel, tokens):
    """The second product of an expert: each pair has its own row, and there are more columns than one task has."""
    sizes = Sizes(b=1, l=tokens, m=70, d=300, r=2)
    check(device, make_sample(kernel, sizes))
    sample = make_sample(kernel, sizes)
    pairs = sample.operands["chosen"].size
    inputs = np.random.default_rng(0).standard_normal((pairs, 70)).astype(np.float32)
    check(device, with_operands(sample, inputs=inputs))


def test_few_rows_of_swiglu_and_sum_give_what_many_give(device):
    """Up to eight tokens go through kernels of their own on the CPU device."""
    for kernel in ("route", "routed_swiglu", "combine"):
        for tokens in (1, FEW_TOKENS, FEW_TOKENS + 1):
            check(device, make_sample(kernel, Sizes(b=1, l=tokens, r=2, m=37, d=37)))


def test_a_software_adapter_refuses_sums_that_it_would_cut_short():
    from engine.devices.webgpu.launch import AdapterTraits
    from engine.devices.webgpu.launches.mixture import LAUNCHES
    from engine.graph.tensor import Tensor

    a, b, c = Tensor("a", (60_000, 4)).view(), Tensor("b", (60_000, 4)).view(), Tensor("c", (8, 4)).view()
    views, numbers = (a, b, Tensor("starts", (3,), "int32").view(), c), {"alpha": 1.0, "accumulate": 0}
    assert LAUNCHES["grouped_tn"](views, numbers, AdapterTraits())
    with pytest.raises(InputError, match="60000"):
        LAUNCHES["grouped_tn"](views, numbers, AdapterTraits(software=True))


def test_products_that_keep_all_cores_busy(device):
    """Large enough to be cut up between threads, one expert with nearly all rows."""
    sizes = Sizes(b=1, l=400, m=100, d=130, r=1, v=7)
    for layout in ("nt", "nn", "tn"):
        sample = make_sample(f"grouped_{layout}", sizes)
        check(device, sample)
        starts = np.array([0, 3, 3, 10, 395, 396, 400], np.int32)
        assert starts.size == experts(sizes) + 1
        check(device, with_operands(sample, starts=starts))
