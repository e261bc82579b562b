"""The map of heat: which cell is where, what it says, and how it is coloured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.values.checkpoints import HeatMapView
from app.window.checkpoints.drift_map import DriftMap, value_words

KINDS = ("norm.weight", "in_proj.weight", "A_log", "something.new")
LABELS = {"in_proj.weight": "input projection", "D": "skip D", "norm.weight": "norm", "table.weight": "embedding"}


@pytest.fixture
def drift(theme, qtbot):
    values = np.array([[0.0, 0.4, 0.1, 0.0], [0.0, 0.8, math.nan, 0.2]])
    drift = DriftMap()
    qtbot.addWidget(drift)
    drift.resize(452, 300)
    drift.show_map(HeatMapView("relative_l2", (0, 1), KINDS, values, {"table.weight": 0.05}, LABELS, {}))
    return drift


def test_cells_are_described_by_the_labels_of_the_comparison(drift):
    assert drift.words(0, 3) == "layer 0, something.new: 0"
    assert drift.words(1, 1) == "layer 1, input projection: 0.8"
    assert drift.words(2, 0) == "embedding: 0.05"
    assert drift.summary() == "most in layer 1, input projection" and drift.most == 0.8


def test_cells_do_not_overlap_and_are_found_again(drift):
    cells = drift._cells()
    assert len(cells) == 9
    for cell in cells:
        assert drift.cell_at(drift.cell(*cell).center()) == cell
    assert all(not drift.cell(*a).intersects(drift.cell(*b)) for a in cells for b in cells if a != b)
    assert max(drift.cell(*cell).bottom() for cell in cells) < drift.height()


def test_zero_is_grey_more_is_stronger_and_no_number_is_told_apart(drift, theme):
    tokens = theme.tokens
    assert drift.colour(0.0, 0.8, tokens) == QColor(tokens.raised)
    assert drift.colour(0.8, 0.8, tokens) == QColor(tokens.second)
    blue = [drift.colour(value, 0.8, tokens).red() for value in (0.1, 0.4, 0.8)]
    assert blue == sorted(blue, reverse=True) and len(set(blue)) == 3
    assert drift.colour(math.nan, 0.8, tokens) == QColor(tokens.bad)


def test_the_pointer_and_the_keys_read_cells_out(drift, qtbot):
    said = []
    drift.pointed.connect(said.append)
    drift.show()
    qtbot.mouseMove(drift, drift.cell(0, 1).center().toPoint())
    drift.point((0, 1))
    qtbot.keyClick(drift, Qt.Key.Key_Down)
    qtbot.keyClick(drift, Qt.Key.Key_Down)
    qtbot.keyClick(drift, Qt.Key.Key_Down)
    assert said[-1] == "embedding: 0.05"
    qtbot.keyClick(drift, Qt.Key.Key_Up)
    assert said[-1].startswith("layer 1, norm:") and drift.toolTip() == "norm.weight"
    qtbot.keyClick(drift, Qt.Key.Key_Escape)
    assert said[-1] == "" == drift.toolTip()


def test_a_direction_is_how_far_it_turned(drift):
    drift.show_map(HeatMapView("cosine", (0,), ("D",), np.array([[0.75]]), {}, LABELS))
    assert drift.words(0, 0) == "layer 0, skip D: 0.25"


def test_many_layers_stay_in_bounds(drift):
    drift.show_map(HeatMapView("relative_l2", tuple(range(64)), ("D",), np.ones((64, 1)), {}))
    assert drift.sizeHint().height() <= 64 * 6 + 60
    drift.grab()


def test_values_for_people():
    assert value_words("changed_share", 0.0) == "0 %" and value_words("changed_share", 1.0) == "100 %"
    assert value_words("relative_l2", math.inf) == "beyond measure"
    assert value_words("largest_change", 0.012345) == "0.0123"
