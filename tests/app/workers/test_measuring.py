"""What ends a measurement, also one that still waits for another; no engine: the jobs are played."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.state.checkpoints import CheckpointController
from app.workers.cancellation import CancelledTickets, Flag
from app.workers.measuring import MeasureEnds, MeasuringWorker, score_view
from engine.scorecard import Difference, Measure


@pytest.fixture
def ends(qapp):
    return MeasureEnds(Flag(), Flag(), Flag(), CancelledTickets())


@pytest.fixture
def worker(ends, monkeypatch):
    """Its jobs look once whether they are to end, and note that they were done."""
    bench = SimpleNamespace(session=None, tell=lambda words, speed: None)
    worker = MeasuringWorker(bench, SimpleNamespace(serve=lambda: None), ends)
    worker.done, worker.told, worker.in_the_middle = [], [], lambda: None
    for name in ("_scorecards", "_file_losses", "_precisions"):
        monkeypatch.setattr(worker, name, lambda *what, name=name: play(worker, name))
    for name in ("score_cancelled", "files_scoring", "progressed", "job_began", "job_ended"):
        getattr(worker, name).connect(lambda *what, name=name: worker.told.append((name, *what)))
    return worker


def play(worker, name: str) -> None:
    from app.workers.failures import Cancelled

    worker.in_the_middle()
    if worker._between():
        raise Cancelled
    worker.done.append(name)


def test_each_kind_is_ended_by_itself(worker, ends):
    ends.scorecard.cancel()
    worker.score_run("a", "b")
    worker.score_files("a")
    assert worker.done == ["_file_losses"] and worker.told == [("score_cancelled",)]
    ends.scorecard.arm()
    worker.in_the_middle = ends.files.cancel
    worker.score_run("a", "b")
    worker.score_files("a")
    assert worker.done == ["_file_losses", "_scorecards"]
    assert worker.told == [("score_cancelled",), ("files_scoring", 0, 0, "")]


def test_a_run_that_begins_ends_whatever_is_measured_and_what_waits(worker, ends):
    worker.in_the_middle = ends.any.cancel
    worker.score_run("a", "b")
    worker.score_files("a")
    worker.do(1, "precisions", ("c", "d"))
    assert worker.done == [] and worker.told[-1] == ("job_ended", 1)


def test_a_job_given_up_while_it_waits_is_not_begun_and_nothing_is_told_of_it(worker, ends):
    ends.jobs.cancel(1)
    worker.do(1, "precisions", ("c", "d"))
    assert worker.done == worker.told == []
    worker.do(2, "precisions", ("c", "d"))
    assert worker.done == ["_precisions"] and worker.told == [("job_began",), ("job_ended", 2)]


@pytest.fixture
def checkpoints(qapp):
    controller = CheckpointController()
    controller.heard = []
    for name in ("progressed", "busy_changed", "measure_cancelled"):
        getattr(controller, name).connect(lambda *what, name=name: controller.heard.append((name, *what)))
    return controller


def test_a_measurement_says_what_it_waits_for_and_is_over_at_once_when_it_is_cancelled(checkpoints):
    checkpoints.waits_for = lambda: "Waiting: the scorecard is being measured"
    checkpoints.precisions("c", "somewhere")
    assert checkpoints.busy and checkpoints.progress == (0, 0, "Waiting: the scorecard is being measured")
    checkpoints.cancel()
    assert not checkpoints.busy and ("measure_cancelled", 1) in checkpoints.heard
    assert ("progressed", 0, 0, "Cancelled") in checkpoints.heard
    checkpoints.heard.clear()
    checkpoints.precisions("c", "somewhere")  # the one that was given up ends only now
    checkpoints.on_measure_ended(1)
    assert checkpoints.busy
    checkpoints.on_measure_began()
    assert checkpoints.progress == (0, 0, "Measuring")
    checkpoints.cancel()
    assert checkpoints.busy and ("measure_cancelled", 2) in checkpoints.heard  # it ends when the worker says so
    checkpoints.on_measure_ended(2)
    assert not checkpoints.busy


def test_nothing_is_told_of_a_measurement_that_was_given_up(checkpoints):
    checkpoints.precisions("c", "somewhere")
    checkpoints.cancel()
    checkpoints.heard.clear()
    checkpoints.on_measure_progress(0, 0, "Cancelled")
    assert checkpoints.heard == []


def test_a_scorecard_is_shown_with_its_ranges_and_what_may_be_chance():
    measures = {
        "loss": Measure("loss", "", 1.5, 1.4, 1.6, -1),
        "keystrokes_saved_by_line": Measure("keystrokes_saved_by_line", "", 0.2, 0.1, 0.3, +1, "%"),
        "top_1": Measure("top_1", "", 0.5, 0.4, 0.6, +1, "%"),
    }
    card = SimpleNamespace(name="After", measures=measures, notes=("A note.",))
    against = {
        "loss": Difference("loss", -0.2, -0.3, -0.1, "better"),
        "keystrokes_saved_by_line": Difference("keystrokes_saved_by_line", 0.01, -0.1, 0.1, "no difference"),
    }
    view = score_view(card, against)
    assert (view.loss, view.keystrokes_saved, view.next_line_exact) == (1.5, 0.2, None)
    assert view.ranges == {"loss": (1.4, 1.6), "keystrokes_saved": (0.1, 0.3)}
    assert view.undecided == {"keystrokes_saved"} and view.notes == ("A note.",)
    assert score_view(card).undecided == frozenset()
