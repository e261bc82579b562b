"""The losses: of one checkpoint, of several, and what the table to save has."""

from __future__ import annotations

import numpy as np
import pytest

from app.values.checkpoints import HistoryCurve


def curve(id: str, steps: int = 40, every: int = 8, add: float = 0.0) -> HistoryCurve:
    x, held = np.arange(1.0, steps + 1), np.arange(0.0, steps + 1, every) if every else np.empty(0)
    return HistoryCurve(id, f"run {id}", x, 4 - x / 40 + add, held, 4.2 - held / 40 + add)


@pytest.fixture
def card(theme, qtbot):
    from app.window.checkpoints.curves import CurvesCard

    card = CurvesCard()
    qtbot.addWidget(card)
    card.resize(420, 300)
    card.show()
    return card


def test_one_has_every_step_and_held_out_points(card):
    card.show_curves([curve("a")])
    chart = card.chart
    assert chart._raw.isVisible() and len(chart._raw.getData()[0]) == 40
    assert len(chart._points[0].getData()[0]) == 6 and len(chart._points[1].getData()[0]) == 0
    assert [words for _, _, words in card.legend.entries] == ["held-out", "each step"]
    low, high = chart.getViewBox().viewRange()[1]
    assert low <= 3.0 and high >= 4.2
    readings = {reading.name: reading.words for reading in chart.read(chart.history, 8)}
    assert readings == {"held-out": "4.000", "training": "3.800"}


def test_several_are_laid_over_each_other(card):
    card.show_curves([curve("a"), curve("b", 20, add=1.0), curve("c", every=0), curve("d", 0, 0)])
    chart = card.chart
    assert not chart._raw.isVisible()
    assert [len(line.getData()[0]) for line in chart._lines[:4]] == [6, 3, 40, 0]
    assert [len(points.getData()[0]) for points in chart._points[:3]] == [6, 3, 0]
    assert card.heading.title.text() == "Held-out loss" and card.heading.remark.words.startswith("1 of 4")
    at_end = [reading.name for reading in chart.read(chart.history, len(chart.history.step) - 1)]
    assert at_end == ["run a", "run c"]  # the second had ended by then
    names, columns = chart.table(chart.history)
    assert names[:3] == ("step", "loss run a", "held_out_loss run a") and len({len(each) for each in columns}) == 1
    assert columns[2][chart.history.step == 8.0] == 4.0


def test_without_a_run_it_says_so(card):
    card.show_curves([curve("a")])
    card.show_curves([curve("d", 0, 0)], "No run is kept with it.")
    assert card.nothing.isVisible() and not card.chart.isVisible() and not card.menu_button.isEnabled()
    card.show_curves([curve("a")])
    assert not card.nothing.isVisible() and card.chart.isVisible()


def test_more_than_can_be_told_apart_are_not_drawn(card):
    card.show_curves([curve(str(i), add=i / 10) for i in range(13)])
    assert len(card.legend.entries) == 10 and card.legend.entries[5][1] == "dashes"
