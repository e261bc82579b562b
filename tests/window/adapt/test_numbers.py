"""What the plots compute: thinning keeps peaks, smoothing continues where it was, ticks are round."""

from __future__ import annotations

import numpy as np
import pytest

from app.window.adapt.plots import words
from app.window.adapt.plots.numbers import Smoother, fitted, grown, log_ticks, nearest, spacing, thinned, ticks


def test_thinning_keeps_every_peak_and_the_ends():
    x = np.arange(10_000.0)
    y = np.sin(x / 300)
    y[[17, 5003]] = [9.0, -9.0]
    places, kept = thinned(x, y, 0, 10_000, 350)
    assert len(places) == len(kept) <= 2 * 350 + 2
    assert kept.max() == 9 and kept.min() == -9
    assert places[0] == 0 and places[-1] == 9_999
    assert np.all(np.diff(places) >= 0)


def test_thinning_makes_no_stairs_of_a_falling_curve():
    x = np.arange(10_001.0)
    _, kept = thinned(x, -x, 0, 10_000, 100)
    assert np.all(np.diff(kept) <= 0)


def test_thinning_shows_only_what_is_in_sight_with_a_neighbour_on_each_side():
    x = np.arange(100.0)
    places, _ = thinned(x, x, 20, 30, 500)
    assert places.tolist() == list(range(19, 32))


def test_thinning_passes_over_what_is_not_a_number():
    x = np.arange(1000.0)
    y = np.where(x % 2 == 0, np.nan, x)
    _, kept = thinned(x, y, 0, 1000, 50)
    assert np.isfinite(kept).all() and kept.max() == 999


def test_smoothing_in_parts_is_smoothing_at_once():
    series = np.random.default_rng(0).normal(size=1000)
    series[100] = np.inf
    parts = Smoother()
    for end in (1, 7, 600, 1000):
        smoothed = parts.extend(series[:end])
    assert np.array_equal(smoothed, Smoother().extend(series))
    assert np.isfinite(smoothed).all() and smoothed[0] == series[0]
    assert smoothed[100] == smoothed[99]
    assert abs(smoothed[-1]) < 0.5


def test_a_short_run_is_smoothed_less():
    falling = np.linspace(6, 4, 60)
    lags = [float(Smoother(steps).extend(falling)[-1] - falling[-1]) for steps in (60, 300, 5000, 0)]
    assert 0 < lags[0] < lags[1] < lags[2] == lags[3]


def test_smoothing_starts_anew_with_a_shorter_series():
    smoother = Smoother()
    smoother.extend(np.full(50, 9.0))
    assert smoother.extend(np.full(3, 1.0)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [(0, 100, 4, 25), (3.4, 4.6, 4, 0.5), (0, 3e-3, 3, 1e-3), (0, 0.9, 5, 0.2), (5, 5, 4, 1)],
)
def test_ticks_are_a_round_distance_apart(low, high, most, expected):
    assert spacing(low, high, most) == pytest.approx(expected)


def test_ticks_lie_inside_and_are_multiples():
    step, places = ticks(3.4, 4.6, 4)
    assert step == pytest.approx(0.5)
    assert places == pytest.approx([3.5, 4.0, 4.5])
    assert log_ticks(0.5, 30, 6) == pytest.approx([0.5, 1, 2, 5, 10, 20])
    assert log_ticks(0.02, 3e4, 6) == pytest.approx([0.1, 1, 10, 100, 1000, 10_000])
    assert log_ticks(3.4, 4.6, 4) == pytest.approx([3.5, 4.0, 4.5])


def test_a_range_holds_its_numbers_and_stays_when_they_move_a_little():
    low, high, step = fitted(3.41, 4.55, 4)
    assert low <= 3.41 and high >= 4.55 and step == 0.5
    assert fitted(3.42, 4.53, 4) == (low, high, step)
    low, high, _ = fitted(2.0, 2.0, 4)
    assert low < 2 < high


def test_the_axis_of_steps_grows_seldom_and_wastes_little():
    ends = [grown(step, 1000) for step in range(1, 1001)]
    assert len(set(ends)) < 40
    assert all(end >= step for step, end in enumerate(ends, start=1))
    assert all(end <= step * 1.2 + 16 for step, end in enumerate(ends, start=1))
    assert ends[-1] == 1000
    assert grown(500, 0) >= 500
    assert grown(1200, 1000) == 1200  # a run may exceed its plan


def test_the_nearest_step_is_found():
    steps = np.array([1.0, 2.0, 5.0, 9.0])
    assert [nearest(steps, place) for place in (-3, 1.4, 1.6, 4, 7.5, 99)] == [0, 0, 1, 2, 3, 3]


def test_numbers_have_as_many_digits_as_their_axis_needs():
    assert [words.plain(value, 0.25) for value in (3.5, 3.75)] == ["3.50", "3.75"]
    assert [words.plain(value, 1) for value in (3, 4)] == ["3", "4"]
    assert [words.rate(value) for value in (0, 3e-3, 2.5e-4, 1e-3)] == ["0", "3e-3", "2.5e-4", "1e-3"]
    assert [words.count(value) for value in (0, 0.25, 950, 1500, 2e6)] == ["0", "0.25", "950", "1.5k", "2M"]
    assert [words.size(value, 2**29) for value in (0, 2**29, 3 * 2**29)] == ["0", "0.5 GiB", "1.5 GiB"]
    assert [words.size(value * 2**20, 250 * 2**20) for value in (250, 1000)] == ["250 MiB", "1,000 MiB"]
    assert [words.steps(value) for value in (0, 1500)] == ["step 0", "1,500"]
    assert words.loss(float("nan")) == words.significant(float("inf")) == "not finite"
