"""The steps that all plots show."""

from __future__ import annotations

import pytest

from app.window.adapt.plots.timeline import Timeline


@pytest.fixture
def timeline(qapp):
    timeline = Timeline()
    timeline.reach(1000)
    return timeline


def test_it_follows_the_run_until_somebody_zooms(timeline, qtbot):
    assert timeline.range == (0, 1000)
    with qtbot.waitSignal(timeline.moved):
        timeline.reach(1200)
    timeline.zoom_to(300, 200)
    assert timeline.range == (200, 300) and timeline.zoomed
    with qtbot.assertNotEmitted(timeline.moved):
        timeline.reach(1500)
    timeline.reset()
    assert timeline.range == (0, 1500) and not timeline.zoomed


def test_zooming_keeps_the_place_and_the_ends(timeline):
    timeline.zoom_about(500, 0.5)
    assert timeline.range == (250, 750)
    timeline.zoom_about(750, 0.5)
    assert timeline.range == (500, 750)
    timeline.shift(5)
    assert timeline.range == (750, 1000)
    timeline.zoom_about(900, 100)
    assert not timeline.zoomed


def test_a_zoom_is_never_narrower_than_a_few_steps(timeline):
    timeline.zoom_to(500, 500.1)
    low, high = timeline.range
    assert high - low == 4 and low <= 500 <= high


def test_the_pointer_is_told_once(timeline):
    told = []
    timeline.pointed.connect(lambda: told.append(timeline.pointer))
    for step in (7, 7, None, None):
        timeline.point(step)
    assert told == [7, None]
