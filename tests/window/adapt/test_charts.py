"""The plots: what they draw of a run, what they say at a step, and how they zoom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from app.state.run_history import RunHistory
from engine.train.events import StepEvent
from tests.window.adapt.desk import CEILING, MIB, events, layers, note


def visible_range(chart) -> list[float]:
    return chart.getViewBox().viewRange()[1]


def step_place(chart, step: float) -> QPoint:
    """Where a step is, in the widget's pixels."""
    scene = chart.getViewBox().mapViewToScene(QPointF(step, 0))
    return QPoint(round(chart.mapFromScene(scene).x()), chart.height() // 2)


def move(chart, place: QPoint) -> None:
    """The pointer goes there."""
    at, none = QPointF(place), Qt.KeyboardModifier.NoModifier
    button, held = Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton
    event = QMouseEvent(QEvent.Type.MouseMove, at, chart.mapToGlobal(at), button, held, none)
    QApplication.sendEvent(chart.viewport(), event)


def readings(chart, index: int) -> dict[str, str]:
    return {reading.name: reading.words for reading in chart.read(chart.history, index)}


# ---- drawing


def test_the_loss_is_drawn_with_its_mean_the_held_out_points_and_the_start(board, history):
    loss = board.loss
    x, y = loss._raw.getData()
    assert np.array_equal(x, history.step) and np.array_equal(y, history.loss)
    assert loss._smooth.getData()[1][-1] == pytest.approx(history.loss[-20:].mean(), abs=0.2)
    assert loss._held_out.getData()[0].tolist() == [0, 10, 20, 30, 40, 50]
    assert loss._begin.isVisible() and loss._begin.value() == history.begin_loss == 4.5
    low, high = visible_range(loss)
    assert low <= history.evaluation_loss.min() and high >= 4.5


def test_a_spike_leaves_the_plot_so_that_the_rest_can_be_seen(board, history):
    for step in range(51, 300):
        history.add(StepEvent(step, 900.0 if step == 60 else 3.5, 1e-3, 1.0, 2000.0, 1.0, {}, True))
    board.mark()
    board.draw_now()
    assert visible_range(board.loss)[1] < 6


def test_a_loss_that_is_no_number_is_a_gap(board, history):
    history.add(StepEvent(51, float("nan"), 1e-3, float("nan"), 2000.0, 1.0, {}, False))
    board.mark()
    board.draw_now()
    assert np.isfinite(visible_range(board.loss)).all() and np.isfinite(visible_range(board.rates)).all()
    assert readings(board.loss, 50)["this step"] == "not finite"


def test_the_logarithm_of_the_loss_is_drawn_on_its_own_ticks(board, history):
    board.scale.buttons["log"].click()
    assert board.loss._smooth.getData()[1][0] == pytest.approx(np.log10(history.loss[0]))
    low, high = visible_range(board.loss)
    [(_, places)] = board.loss.left.tickValues(low, high, 200)
    shown = board.loss.left.tickStrings(places, 1, 0)
    assert len(shown) >= 2 and all(3 < float(words) < 5 for words in shown)
    board.scale.buttons["linear"].click()
    assert board.loss._smooth.getData()[1][0] == pytest.approx(history.loss[0])


def test_rate_and_norm_have_an_axis_each(board, history):
    rates = board.rates
    assert rates._rate.getData()[1].max() * rates.left.unit == pytest.approx(history.rate.max())
    assert rates._norm.getData()[1].max() * rates.right.unit == pytest.approx(history.gradient_norm.max())
    assert rates.left.tickStrings([0, 1e-3 / rates.left.unit], 1, 1) == ["0", "1e-3"]
    assert readings(rates, 0) == {"learning rate": "0.003", "gradient norm": f"{history.gradient_norm[0]:.3g}"}


def test_a_single_reading_is_drawn(board):
    run = RunHistory()
    run.add(next(event for event in events(1) if isinstance(event, StepEvent)))
    board.show_run(run, 100, CEILING)
    board.draw_now()
    assert board.memory._areas["weights"].getData()[0].tolist() == [0, 1]
    assert board.speed._speed.getData()[0].tolist() == [0, 1]
    assert board.memory_card.heading.remark.words == "16 MiB of 3 GiB"


def test_steps_before_a_run_was_resumed_have_no_memory_and_are_not_drawn_as_zero(board):
    run = RunHistory()
    steps = [event for event in events(8) if isinstance(event, StepEvent)]
    for event in steps[:6]:
        run.add(replace(event, memory={}))
    board.show_run(run, 100, CEILING)
    board.draw_now()
    assert board.memory_card.heading.remark.words == "" and not board.memory._words.isVisible()
    run.add(steps[6])
    board.mark()
    board.draw_now()
    x, y = board.memory._areas["activations"].getData()
    assert x.tolist() == [6, 7] and y.tolist() == [16 * MIB] * 2
    assert board.memory_card.heading.remark.words == "16 MiB of 3 GiB"
    assert list(readings(board.memory, 2)) == ["before the run was resumed"]


def test_memory_is_stacked_by_kind_and_held_against_the_ceiling(board, history):
    memory = board.memory
    assert memory.kinds(history) == ["weights", "optimiser", "activations"]  # nothing is in the workspace
    tops = {kind: area.getData()[1].max() for kind, area in memory._areas.items()}
    assert tops == {"weights": 8 * MIB, "optimiser": 10 * MIB, "activations": 16 * MIB}
    heights = [memory._areas[kind].zValue() for kind in memory.kinds(history)]
    assert heights == sorted(heights, reverse=True)  # the highest sum lies under the others
    assert not memory._line.isVisible()  # far below: words say how far, over the areas
    words = memory._words
    assert words.isVisible() and words.toPlainText() == "↑ ceiling 3 GiB"
    highest = visible_range(memory)[1]
    assert (highest - 16 * MIB) / highest * memory.getViewBox().height() >= 16  # pixels for a line of words
    assert board.memory_card.heading.remark.words == "16 MiB of 3 GiB"
    board.show_run(history, 100, 20 * MIB)
    board.draw_now()
    assert memory._line.isVisible() and memory._line.value() == 20 * MIB
    assert words.isVisible() and words.toPlainText() == "ceiling 20 MiB"
    assert visible_range(memory)[1] > 20 * MIB
    assert readings(memory, 3) == {
        "weights": "8 MiB",
        "optimiser": "2 MiB",
        "activations": "6 MiB",
        "total": "16 MiB",
    }


def test_ten_thousand_steps_are_drawn_with_few_points(board):
    history = RunHistory()
    for event in events(10_000, every=1000):
        history.add(event)
    board.show_run(history, 20_000, CEILING)
    board.draw_now()
    for curve in (board.loss._raw, board.loss._smooth, board.rates._norm, board.speed._speed):
        assert 50 < len(curve.getData()[0]) < 2 * board.width()


def test_events_only_mark_the_plots_and_a_hidden_board_draws_nothing(board, history, monkeypatch):
    drawn = []
    for chart in board.charts:
        monkeypatch.setattr(chart, "redraw", lambda chart=chart: drawn.append(chart))
    board._timer.stop()
    for _ in range(100):
        board.mark()
    assert drawn == [] and board._timer.isActive()
    board.on_tick()
    assert drawn == [board.loss]  # one plot a turn of the event loop
    board.draw_now()
    assert drawn == list(board.charts)
    board.hide()
    board.mark()
    assert not board._timer.isActive()


def test_layers_and_notes_are_kept_up_to_date(board, history):
    history.add(layers(20))
    history.add(note(30, "The gradient norm rose tenfold."))
    board.mark()
    board.draw_now()
    assert len(board.layers.layers) == 4 and board.layers_card.heading.remark.words == "step 20"
    assert board.notes.words() == [
        "Held-out loss has improved at every evaluation.",
        "Step 30: The gradient norm rose tenfold.",
    ]


def test_another_run_starts_with_nothing(board):
    board.timeline.zoom_to(10, 20)
    board.show_run(RunHistory(), 100, CEILING)
    board.draw_now()
    assert not board.timeline.zoomed
    assert not board.loss.left.style["showValues"]
    assert len(board.notes.words()) == 1


def test_switching_the_theme_restyles_every_plot(board, theme):
    for scheme in ("light", "dark"):
        theme.choose(scheme)
        for chart in board.charts:
            assert chart.backgroundBrush().color().name() == theme.tokens.panel
        assert board.loss._smooth.opts["pen"].color().name() == theme.tokens.second
        assert board.loss.left.textPen().color().name() == theme.tokens.mute
        assert board.loss._read_out.style_.tokens is theme.tokens


# ---- reading and zooming


def test_lines_are_as_thick_on_a_screen_with_more_pixels(board, qapp):
    chart = board.loss
    chart.devicePixelRatioF = lambda: 2.0
    qapp.sendEvent(chart, QEvent(QEvent.Type.DevicePixelRatioChange))
    assert chart._smooth.opts["pen"].widthF() == 4.0 and chart._begin.pen.widthF() == 3.0
    assert chart._raw.opts["pen"].widthF() == 1.0  # noise stays a hair line: it is drawn in a quarter of the time


def test_pointing_reads_the_step_in_one_plot_and_marks_it_in_all(board, qtbot, history):
    loss = board.loss
    loss.underMouse = lambda: True  # the offscreen platform has no pointer to be under
    move(loss, step_place(loss, 20))
    assert round(board.timeline.pointer) == 20
    assert loss._read_out.isVisible() and loss._read_out.title == "Step 20"
    said = {reading.name: reading.words for reading in loss._read_out.readings}
    assert said["this step"] == f"{history.loss[19]:.3f}"
    assert said["held-out"] == f"{history.evaluation_loss[2]:.3f} at 20"
    assert said["before"] == "4.500"
    for chart in board.charts:
        qtbot.waitUntil(lambda chart=chart: chart._rule.isVisible() and chart._rule.value() == 20)
    assert not board.speed._read_out.isVisible()
    assert loss.rect().contains(loss._read_out.geometry())
    board.timeline.point(None)
    assert not loss._rule.isVisible() and not loss._read_out.isVisible()


def test_dragging_zooms_every_plot_and_a_double_click_shows_all(board, qtbot):
    loss = board.loss
    start, end = step_place(loss, 10), step_place(loss, 30)
    qtbot.mousePress(loss.viewport(), Qt.MouseButton.LeftButton, pos=start)
    move(loss, end)
    assert loss._band.isVisible()
    qtbot.mouseRelease(loss.viewport(), Qt.MouseButton.LeftButton, pos=end)
    assert not loss._band.isVisible()
    low, high = board.timeline.range
    assert low == pytest.approx(10, abs=0.5) and high == pytest.approx(30, abs=0.5)
    board.draw_now()
    for chart in board.charts:
        left, right = chart.getViewBox().viewRange()[0]
        assert left < low < high < right and right - left < 1.2 * (high - low)
    assert all(card.reset_button.isVisible() for card in board.cards)
    qtbot.mouseDClick(loss.viewport(), Qt.MouseButton.LeftButton, pos=start)
    assert not board.timeline.zoomed
    assert not any(card.reset_button.isVisible() for card in board.cards)


def test_a_click_is_no_zoom_and_the_plain_wheel_belongs_to_the_page(board, qtbot):
    loss = board.loss
    qtbot.mouseClick(loss.viewport(), Qt.MouseButton.LeftButton, pos=step_place(loss, 20))
    assert not board.timeline.zoomed
    turn(loss, Qt.KeyboardModifier.NoModifier)
    assert not board.timeline.zoomed
    turn(loss, Qt.KeyboardModifier.ControlModifier)
    low, high = board.timeline.range
    assert low < 20 < high and high - low < board.timeline.end


def turn(chart, modifiers) -> None:
    place = QPointF(step_place(chart, 20))
    buttons = Qt.MouseButton.NoButton
    phase = Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(place, chart.mapToGlobal(place), QPoint(), QPoint(0, 120), buttons, modifiers, phase, False)
    QApplication.sendEvent(chart.viewport(), event)


def test_the_keyboard_reads_and_zooms(board, qtbot, theme):
    speed = board.speed
    speed.hasFocus = lambda: True
    ring = speed.grab().toImage().pixelColor(speed.width() // 2, 1)
    assert ring.name() == theme.tokens.second  # where the focus is can be seen
    qtbot.keyClick(speed, Qt.Key.Key_Left)
    first = board.timeline.pointer
    qtbot.keyClick(speed, Qt.Key.Key_Left)
    assert board.timeline.pointer < first and speed._read_out.isVisible()
    qtbot.keyClick(speed, Qt.Key.Key_Plus)
    assert board.timeline.zoomed
    qtbot.keyClick(speed, Qt.Key.Key_Escape)
    assert not board.timeline.zoomed and board.timeline.pointer is None


def test_a_run_without_a_step_shows_nothing_of_the_one_before(board, history):
    assert all(chart.getViewBox().childGroup.isVisible() for chart in board.charts)
    empty = RunHistory()
    board.show_run(empty, 10, CEILING)
    board.draw_now()
    assert not any(chart.getViewBox().childGroup.isVisible() for chart in board.charts)
    empty.add(StepEvent(1, 3.5, 1e-3, 1.0, 2000.0, 1.0, {"weights": MIB}, True))
    board.mark()
    board.draw_now()
    assert all(chart.getViewBox().childGroup.isVisible() for chart in board.charts)
