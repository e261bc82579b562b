"""Sums, clipping, AdamW, and the statistics of its steps, against float64."""

import numpy as np
import pytest

from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.devices.webgpu.launches import LAUNCHES
from engine.graph.kernels import Scalars, Statistics
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands


def _changed(array: np.ndarray, slot: int, value: float) -> np.ndarray:
    array = array.copy()
    array[slot] = value
    return array


# ---- sums


@pytest.mark.parametrize("accumulate", [0, 1])
@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_sum_rows(device, sizes, accumulate):
    check(device, make_sample("sum_rows", sizes, accumulate=accumulate))


@pytest.mark.parametrize("parts", [1, 2, 7, 65])
@pytest.mark.parametrize("columns", [1, 3, 63, 300])
def test_sum_rows_of_any_number_of_parts_and_columns(device, parts, columns):
    random = np.random.default_rng(0)
    x = random.standard_normal((parts, 5 * columns)).astype(np.float32)
    y = random.standard_normal((5, columns)).astype(np.float32)
    check(device, with_operands(make_sample("sum_rows", columns=columns), x=x, y=y), at_least=1)


@pytest.mark.parametrize("size", [1, 2, 63, 65, 255, 257, 16_384, 16_385, 100_003])
def test_total(device, size):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    check(device, with_operands(make_sample("total"), x=x), at_least=np.sqrt(size))


@pytest.mark.parametrize("parts", [1, 3, 256])
@pytest.mark.parametrize("size", [1, 63, 255, 256, 257, 1000, 70_001])
def test_squared_norm(device, size, parts):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    check(device, with_operands(make_sample("squared_norm"), x=x, partials=np.full(parts, 9, np.float32)))


# ---- clipping


@pytest.mark.parametrize("count", [1, 2, 255, 257, 1000])
@pytest.mark.parametrize("max_norm", [0, 1e-4, 1, 1e4])
def test_clip_factor(device, max_norm, count):
    sample = make_sample("clip_factor")
    partials = np.abs(np.random.default_rng(count).standard_normal(count)).astype(np.float32)
    scalars = _changed(sample.operands["scalars"], Scalars.MAX_NORM, max_norm)
    found = check(device, with_operands(sample, partials=partials, scalars=scalars))
    clipped = 0 < max_norm < found["statistics"][Statistics.GRADIENT_NORM]
    assert (found["statistics"][Statistics.CLIP_FACTOR] < 1) == clipped


@pytest.mark.parametrize("norm", [1e-6, 1e-3])
def test_clip_factor_of_a_small_norm(device, norm):
    """Half of the norm is allowed, so the factor is a half, however small the norm."""
    sample = make_sample("clip_factor")
    scalars = _changed(sample.operands["scalars"], Scalars.MAX_NORM, norm / 2)
    check(device, with_operands(sample, partials=np.array([norm**2, 0], np.float32), scalars=scalars))


def test_clip_factor_of_no_gradient_is_one(device):
    found = check(device, with_operands(make_sample("clip_factor"), partials=np.zeros(256, np.float32)))
    assert found["statistics"][Statistics.CLIP_FACTOR] == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["norm", "loss"])
def test_clip_factor_is_zero_where_norm_or_loss_is_not_finite(device, place, bad):
    sample = make_sample("clip_factor")
    if place == "norm":
        sample = with_operands(sample, partials=_changed(sample.operands["partials"], 300, bad))
    else:
        sample = with_operands(sample, statistics=_changed(sample.operands["statistics"], Statistics.LOSS_SUM, bad))
    found = run_sample(device, sample)["statistics"]
    assert found[Statistics.CLIP_FACTOR] == 0
    assert np.isfinite(found[Statistics.GRADIENT_NORM]) == (place == "loss")


def test_clip_factor_is_zero_where_only_the_sum_is_too_large(webgpu):
    """And nothing is to be clipped."""
    sample = make_sample("clip_factor")
    huge = np.full_like(sample.operands["partials"], 3e38)
    scalars = _changed(sample.operands["scalars"], Scalars.MAX_NORM, 0.0)
    found = run_sample(webgpu, with_operands(sample, partials=huge, scalars=scalars))["statistics"]
    assert found[Statistics.CLIP_FACTOR] == 0 and not np.isfinite(found[Statistics.GRADIENT_NORM])


@pytest.mark.parametrize("place", [0, 255, 256, 300])
def test_the_guard_looks_at_every_partial_sum_itself(webgpu, monkeypatch, place):
    """Whatever a driver made of the norm: here it is as if it had lost a NaN on the way."""
    plain = LAUNCHES["clip_factor"]
    monkeypatch.setitem(LAUNCHES, "clip_factor", lambda *arguments: plain(*arguments)[-1:])
    sample = make_sample("clip_factor")
    statistics = _changed(sample.operands["statistics"], Statistics.GRADIENT_NORM, 1.0)
    for bad, factor in ((1.0, True), (np.nan, False)):
        partials = _changed(sample.operands["partials"], place, bad)
        found = run_sample(webgpu, with_operands(sample, partials=partials, statistics=statistics))["statistics"]
        assert bool(found[Statistics.CLIP_FACTOR]) == factor


# ---- AdamW


@pytest.mark.parametrize("decay", [0, 1])
@pytest.mark.parametrize("size", [1, 63, 65, 1023, 1025, 40_001])
def test_adamw(device, size, decay):
    check(device, make_sample("adamw", Sizes(b=1, l=size, d=1), decay=decay))


@pytest.mark.parametrize("decay", [0, 1])
def test_adamw_changes_no_weight_by_more_than_its_trust(device, decay):
    sample = make_sample("adamw", decay=decay)
    scalars = _changed(sample.operands["scalars"], Scalars.TRUST, 1e-3)
    found = check(device, with_operands(sample, scalars=scalars))
    change = np.abs(found["parameter"].astype(np.float64) - sample.operands["parameter"])
    assert change.max() <= 1e-3 + 1e-6
    assert (change > 0.99e-3).mean() > 0.5


def test_adamw_does_nothing_where_the_clip_factor_is_zero(device):
    sample = make_sample("adamw")
    statistics = _changed(sample.operands["statistics"], Statistics.CLIP_FACTOR, 0)
    gradient = np.full_like(sample.operands["gradient"], np.nan)
    found = run_sample(device, with_operands(sample, statistics=statistics, gradient=gradient))
    for name in ("parameter", "first", "second"):
        assert np.array_equal(found[name], sample.operands[name]), name


def test_adamw_of_a_small_gradient_is_a_whole_step(device):
    """After one step from zero moments the change is the rate, whatever the gradient's size: epsilon must be small."""
    sample = make_sample("adamw", Sizes(b=1, l=5, d=1), decay=0)
    scalars = sample.operands["scalars"].copy()
    scalars[Scalars.CORRECTION1], scalars[Scalars.CORRECTION2] = 0.1, 0.01
    zeros = np.zeros(5, np.float32)
    gradient = np.float32([1e-4, -1e-3, 1, 1e3, -1e6])
    statistics = _changed(sample.operands["statistics"], Statistics.CLIP_FACTOR, 1)
    operands = {"parameter": zeros, "first": zeros, "second": zeros, "gradient": gradient}
    found = check(device, with_operands(sample, **operands, scalars=scalars, statistics=statistics))
    assert np.allclose(found["parameter"], -1e-2 * np.sign(gradient), rtol=2e-4)


# ---- statistics of a step


@pytest.mark.parametrize("decay", [0, 1])
@pytest.mark.parametrize(("size", "parts"), [(1, 1), (1, 64), (63, 64), (1025, 3), (40_001, 64)])
def test_update_squares(device, size, parts, decay):
    sample = make_sample("update_squares", Sizes(b=1, l=size, d=1), decay=decay)
    check(device, with_operands(sample, partials=np.full((parts, 3), 9, np.float32)))


def test_update_squares_are_those_of_the_change_that_adamw_makes(device):
    """Within its trust, and with its rounding: the same operands go to both."""
    sample = make_sample("update_squares")
    scalars = _changed(sample.operands["scalars"], Scalars.TRUST, 5e-3)
    sample = with_operands(sample, scalars=scalars)
    told = check(device, sample)["partials"].sum(axis=0)
    operands = {name: array for name, array in sample.operands.items() if name != "partials"}
    after = run_sample(device, with_operands(make_sample("adamw"), **operands))["parameter"]
    change = after.astype(np.float64) - sample.operands["parameter"]
    assert told[2] == pytest.approx(np.sum(change**2), rel=1e-3)


def test_update_squares_of_a_step_that_is_not_taken(device):
    sample = make_sample("update_squares")
    statistics = _changed(sample.operands["statistics"], Statistics.CLIP_FACTOR, 0)
    gradient = np.full_like(sample.operands["gradient"], np.nan)
    found = run_sample(device, with_operands(sample, statistics=statistics, gradient=gradient))["partials"]
    assert np.isnan(found[:, 0]).all()
    assert np.isfinite(found[:, 1]).all() and (found[:, 2] == 0).all()


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
def test_column_squares(device, sizes):
    check(device, make_sample("column_squares", sizes))


@pytest.mark.parametrize("parts", [1, 2, 5, 134, 200])
def test_column_squares_in_any_number_of_parts(device, parts):
    sample = make_sample("column_squares")
    check(device, with_operands(sample, partials=np.full((parts, sample.sizes.d), 9, np.float32)))


@pytest.mark.parametrize("channels", [1, 2, 255, 256, 257, 3000])
def test_dead_channels(device, channels):
    found = check(device, make_sample("dead_channels", Sizes(d=channels)))
    assert found["count"][0] >= channels // 3


def test_dead_channels_of_nothing_and_of_all_alike(device):
    sample = make_sample("dead_channels")
    zeros, ones = np.zeros(300, np.float32), np.ones(300, np.float32)
    for outputs, gradients, dead in ((zeros, ones, 300), (ones, zeros, 300), (ones, ones, 0), (ones * 1e-20, ones, 0)):
        found = run_sample(device, with_operands(sample, outputs=outputs, gradients=gradients))
        assert found["count"][0] == dead
