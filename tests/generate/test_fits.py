"""Which fit of the memory a base gets."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine.generate import fits
from engine.generate.chance import Features, Judge, fit_judge
from engine.generate.fits import CAUTION, LARGER, Fit, all_fits, built_in_fit, fit_for

SMALL, LARGE = 1_000_000, 100_000_000


def model_of(weights: int):
    return SimpleNamespace(network=SimpleNamespace(parameters={"weight": SimpleNamespace(shape=(weights,))}))


@pytest.fixture
def two_fits(monkeypatch):
    """A fit to a small base and one to a large base, told apart by their thresholds."""
    small, large = (
        replace(built_in_fit(), weights=weights, least=least) for weights, least in ((SMALL, 0.1), (LARGE, 0.2))
    )
    monkeypatch.setattr(fits, "all_fits", lambda: (small, large))
    monkeypatch.setattr(fits, "built_in_fit", lambda: small)
    return small, large


def caution_of(fit: Fit) -> float:
    own, plain = (each.mixing.levels["file"].caution for each in (fit, built_in_fit()))
    return float((own / plain)[0])


@pytest.mark.parametrize(
    ("weights", "least", "caution"),
    [
        (SMALL // 2, 0.1, 1.0),
        (SMALL * 3, 0.1, 1.0),
        (SMALL * LARGER, 0.1, CAUTION),
        (LARGE // 3, 0.2, 1.0),
        (LARGE * 3, 0.2, 1.0),
        (LARGE * LARGER, 0.2, CAUTION),
    ],
)
def test_a_base_gets_the_fit_nearest_in_size_and_a_much_larger_one_trusts_it_less(two_fits, weights, least, caution):
    fit = fit_for(model_of(weights))
    assert fit.least == least
    assert caution_of(fit) == pytest.approx(caution)


def test_only_a_strong_base_sees_the_text_after_the_cursor(two_fits):
    assert [fit_for(model_of(weights)).fill_in for weights in (SMALL, LARGE)] == [built_in_fit().fill_in, True]


def test_every_shipped_fit_is_read_and_written_alike():
    assert len({fit.weights for fit in all_fits()}) == len(all_fits()) > 0
    for fit in all_fits():
        again = Fit.from_json(json.loads(json.dumps(fit.to_json())))
        assert again.to_json() == fit.to_json()


def test_few_observations_leave_a_judge_near_the_one_it_began_with():
    begin = Judge(np.arange(len(Features.__dataclass_fields__) + 1, dtype=float) / 10)
    rows, taken = np.zeros((2, len(begin.weights) - 1)), np.array([0.0, 1.0])
    assert fit_judge(rows, taken, begin)[:-1] == pytest.approx(begin.weights[:-1])
    assert fit_judge(rows, taken)[:-1] == pytest.approx(0 * begin.weights[:-1])
