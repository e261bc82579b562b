"""Health notes: each from the numbers that deserve it, none from those that do not, and each once."""

import json

import numpy as np
import pytest

from engine.model.step import LayerInsight
from engine.train.health import Health, dead_channels, gradient_rose, loss_spiked, not_improving, slowed_down

STEADY = [1.0 + 0.05 * (i % 3) for i in range(20)]


@pytest.mark.parametrize(
    ("look", "numbers", "words"),
    [
        (gradient_rose, [*STEADY, 11.0], "tenfold"),
        (loss_spiked, [*STEADY, 2.0], "1.05 to 2.00"),
        (slowed_down, [1000.0] * 12 + [400.0] * 5, "1,000 to 400 tokens/s"),
    ],
)
def test_what_stands_out_is_told(look, numbers, words):
    assert words in look(numbers).text


@pytest.mark.parametrize(
    ("look", "numbers"),
    [
        (gradient_rose, [*STEADY, 9.0]),
        (gradient_rose, [1.0] * 5 + [50.0]),  # too early to know what is usual
        (loss_spiked, [*STEADY, 1.4]),
        (loss_spiked, [float(i % 5) for i in range(20)] + [4.5]),  # it always jumps about
        (loss_spiked, [3.0] * 4 + [9.0]),
        (slowed_down, [1000.0] * 12 + [400.0] * 4 + [600.0]),
        (slowed_down, [400.0] * 14),
    ],
)
def test_what_is_usual_is_not_told(look, numbers):
    assert look(numbers) is None


def test_over_fitting_is_told_after_five_evaluations_or_when_patience_ends():
    assert not_improving(4) is None and "5 evaluations" in not_improving(5).text
    assert not_improving(1, patience=2) is None and not_improving(2, patience=2) is not None
    assert not_improving(4, patience=9) is None and not_improving(5, patience=9) is not None


def test_dead_channels_name_the_layer():
    layers = [LayerInsight(i, 1.0, 1e-3, share) for i, share in enumerate((0.1, 0.8, 0.2))]
    assert "Layer 1" in dead_channels(layers).text and "80%" in dead_channels(layers).text
    assert dead_channels([layers[0], layers[2]]) is None
    both = [*layers, LayerInsight(3, 1.0, 1e-3, 0.9)]
    assert "Layer 3" in dead_channels(both).text and "2 layers" in dead_channels(both).text


def test_each_cause_is_told_once_also_after_a_resume():
    health = Health()
    told = [finding for value in STEADY for finding in health.after_step(1.0, value, 100.0)]
    assert told == []
    assert [finding.cause for finding in health.after_step(1.0, 30.0, 100.0)] == ["gradient"]
    assert health.after_step(1.0, 40.0, 100.0) == []
    again = Health()
    again.restore(json.loads(json.dumps(health.state())))
    assert again.after_step(1.0, 60.0, 100.0) == []
    assert [finding.cause for finding in again.after_step(9.0, 1.0, 100.0)] == ["spike"]  # losses were kept, too
    assert [f.cause for f in again.after_evaluation(5, 0)] == ["over-fitting"] and again.after_evaluation(6, 0) == []


def test_numbers_that_are_not_finite_are_left_to_the_guard():
    health = Health()
    for value in STEADY:
        health.after_step(value, value, 100.0)
    assert health.after_step(np.nan, np.inf, 100.0) == []
    assert len(health.state()["losses"]) == len(STEADY)
