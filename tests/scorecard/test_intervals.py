"""Intervals that hold what they promise, and verdicts that follow from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.scorecard.intervals import FEWEST_FILES, Samples, difference, measure, percentile, share_interval


def coins(rng: np.random.Generator, share: float, files: int = 40, each: int = 25) -> Samples:
    return Samples.of(rng.random(files * each) < share, np.ones(files * each), np.repeat(np.arange(files), each))


def test_the_value_is_the_ratio_of_the_sums_not_the_mean_of_ratios():
    assert Samples.of([1, 8], [1, 10], [0, 1]).value == pytest.approx(9 / 11)


def test_about_95_of_100_intervals_hold_the_truth():
    held = 0
    for seed in range(200):
        result = measure("x", "x", coins(np.random.default_rng(seed), 0.3), seed, 1)
        held += result.low <= 0.3 <= result.high
    assert 180 <= held <= 199


def test_files_are_drawn_as_wholes():
    """Tokens of one file that all agree must not look like many independent ones."""
    rng = np.random.default_rng(0)
    by_file = np.repeat((rng.random(20) < 0.5).astype(float), 100)
    alike = measure("x", "x", Samples.of(by_file, np.ones(2000), np.repeat(np.arange(20), 100)), 0, 1)
    alone = measure("x", "x", Samples.of(by_file, np.ones(2000), np.arange(2000)), 0, 1)
    assert alike.high - alike.low > 4 * (alone.high - alone.low)


def test_few_files_leave_single_items_to_draw():
    few = Samples.of([1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, FEWEST_FILES])
    assert measure("x", "x", few, 0, 1).low < measure("x", "x", few, 0, 1).high


def test_a_model_against_itself_is_no_difference():
    samples = coins(np.random.default_rng(1), 0.4)
    verdict = difference("x", samples, samples, 0, 1)
    assert (verdict.value, verdict.low, verdict.high, verdict.verdict) == (0, 0, 0, "no difference")


@pytest.mark.parametrize(("better", "verdict"), [(1, "better"), (-1, "worse")])
def test_a_clear_gain_is_named_by_what_is_better(better, verdict):
    rng = np.random.default_rng(2)
    assert difference("x", coins(rng, 0.2), coins(rng, 0.6), 0, better).verdict == verdict


def test_pairing_finds_a_small_gain_that_unpaired_intervals_would_hide():
    """Files differ a lot, the second model is a little better in each of them."""
    rng = np.random.default_rng(3)
    hard = rng.uniform(1.0, 5.0, 60)
    first = Samples.of(hard, np.ones(60), np.arange(60))
    second = Samples.of(hard - 0.05, np.ones(60), np.arange(60))
    a, b = measure("x", "x", first, 0, -1), measure("x", "x", second, 0, -1)
    assert b.high > a.low  # they overlap
    assert difference("x", first, second, 0, -1).verdict == "better"


def test_noise_alone_is_rarely_called_a_difference():
    calls = 0
    for seed in range(100):
        rng = np.random.default_rng([7, seed])
        calls += difference("x", coins(rng, 0.3), coins(rng, 0.3), seed, 1).verdict != "no difference"
    assert calls <= 12


def test_a_rising_scale_carries_the_interval_along():
    samples = Samples.of(np.linspace(1, 2, 30), np.ones(30), np.arange(30))
    plain = measure("loss", "loss", samples, 0, -1)
    scaled = measure("perplexity", "perplexity", samples, 0, -1, scale=np.exp)
    assert scaled.low == pytest.approx(math.exp(plain.low))
    assert scaled.low < scaled.value < scaled.high


def test_nothing_measured_is_nan_not_zero():
    empty = Samples.of([], [], [])
    assert math.isnan(measure("x", "x", empty, 0, 1).value)
    assert math.isnan(percentile("x", "x", np.zeros(0), 50, 0).value)


def test_a_percentile_lies_in_its_interval():
    found = percentile("x", "x", np.random.default_rng(0).exponential(20.0, 300), 95, 0)
    assert found.low < found.value < found.high


def test_a_counted_share_has_an_interval_even_if_it_is_none_or_all():
    low, high = share_interval(3, 200)
    assert (round(low, 4), round(high, 4)) == (0.0051, 0.0432)  # Wilson, as in the tables
    assert share_interval(0, 200)[0] == 0.0 and round(share_interval(0, 200)[1], 4) == 0.0188
    assert share_interval(7, 7)[1] == 1.0 and share_interval(0, 0) == (0.0, 1.0)
