"""Which candidate is the line: probabilities, and the fit of their weights."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.generate.ranking import NAMES, Ranker, fit_ranker, rank_features, start
from engine.memory.neighbours import COLUMNS


def row(**values: float) -> np.ndarray:
    found = np.zeros(len(NAMES))
    for name, value in values.items():
        found[NAMES.index(name)] = value
    return found


def test_features_are_by_name():
    likeness = np.arange(COLUMNS) / 10
    found = rank_features([0.5, 0.25], likeness, is_draft=True, is_adapted=False)
    by_name = dict(zip(NAMES, found.tolist(), strict=True))
    assert by_name["likely"] == pytest.approx(np.log(0.125) / 5) and by_name["tokens"] == pytest.approx(np.log(2))
    assert (by_name["is_draft"], by_name["is_copy"], by_name["is_adapted"]) == (1, 1, 0)
    assert by_name["above"] == 0.0 and by_name["below"] == 0.1 and by_name["length"] == 1.3
    assert not rank_features([0.0], None, is_draft=True, is_adapted=False)[NAMES.index("above") :].any()


def test_shares_leave_room_for_none():
    ranker = Ranker(row(likely=1.0), 0.0)
    assert ranker.shares(np.array([row(likely=0.0)])) == pytest.approx([0.5])
    assert start().shares(np.array([row(likely=-1.0), row(likely=-2.0)])).sum() == pytest.approx(1.0)


def test_a_fit_finds_what_tells_the_line():
    random = np.random.default_rng(0)
    cursors = []
    for number in range(400):
        rows = np.array([row(likely=random.normal(), below=random.random()) for _ in range(random.integers(1, 6))])
        right = int(np.argmax(rows[:, NAMES.index("below")])) if number % 3 else -1
        cursors.append((rows, right))
    ranker = fit_ranker(cursors)
    assert ranker.weights[NAMES.index("below")] > 1 > 5 * abs(ranker.weights[NAMES.index("likely")])
    assert ranker.weights[NAMES.index("above")] == 0
    shares = [ranker.shares(rows).sum() for rows, _ in cursors]
    assert np.mean(shares) == pytest.approx(2 / 3, abs=0.02)  # as often as it was any of them


def test_it_survives_json():
    ranker = Ranker(np.arange(len(NAMES)) / 8, -1.5)
    again = Ranker.from_json(json.loads(json.dumps(ranker.to_json())))
    assert np.array_equal(again.weights, ranker.weights) and again.none == ranker.none


def test_few_cursors_leave_a_ranker_near_the_one_it_began_with():
    begin = Ranker(np.linspace(-1, 1, len(NAMES)), 0.5)
    cursors = [(np.zeros((2, len(NAMES))), 0)]  # says nothing about any feature
    assert fit_ranker(cursors, begin).weights == pytest.approx(begin.weights)
    assert fit_ranker(cursors).weights == pytest.approx(np.zeros(len(NAMES)))
