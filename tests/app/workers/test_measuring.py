"""What ends a measurement, also one that still waits for another.  No engine: the measurements are played."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.state.checkpoints import CheckpointController
from app.values.failures import Cancelled
from app.workers.jobs import Job
from app.workers.measuring import MeasuringWorker, score_view
from engine.scorecard import Difference, Measure
from tests.app.played_jobs import PlayedJobs, answer, begin, progress, waiting


class Played(MeasuringWorker):
    """Its jobs look once whether they are to end, and note that they were done."""

    def __init__(self, session=None) -> None:
        bench = SimpleNamespace(session=session, show_activity=lambda words, speed: None)
        super().__init__(bench, SimpleNamespace(serve=lambda: self.served.append(True)))
        self.done, self.served, self.answers, self.in_the_middle = [], [], [], lambda: None
        self.answered.connect(lambda job, answer: self.answers.append((job.name, answer)))

    def measure(self, name: str) -> None:
        with self._measuring():
            self.in_the_middle()
            if self._between():
                raise Cancelled
            self.done.append(name)


@pytest.fixture
def worker(qapp):
    return Played()


def job(name: str) -> Job:
    return Job(Played.measure, (name,))


def test_each_job_is_cancelled_by_itself_also_while_it_waits(worker):
    first, second, third = job("first"), job("second"), job("third")
    first.cancel()
    worker.on_posted(first)
    worker.on_posted(second)
    worker.in_the_middle = third.cancel
    worker.on_posted(third)
    assert worker.done == ["second"] and [answer.cancelled for _, answer in worker.answers] == [True, False, True]


def test_completions_are_answered_in_between(worker):
    worker.on_posted(job("first"))
    assert worker.served


def test_nothing_is_measured_during_a_run(qapp):
    worker = Played(session=object())
    worker.on_posted(job("first"))
    ((_, answered),) = worker.answers
    assert worker.done == [] and "during a run" in answered.failure.cause


@pytest.fixture
def checkpoints(qapp):
    controller = CheckpointController(PlayedJobs())
    controller.heard = []
    for name in ("progressed", "busy_changed"):
        getattr(controller, name).connect(lambda *what, name=name: controller.heard.append((name, *what)))
    return controller


def test_a_measurement_says_what_it_waits_for_and_is_over_at_once_when_it_is_cancelled(checkpoints):
    jobs = checkpoints._jobs
    checkpoints.waits_for = lambda: "Waiting: the scorecard is being measured"
    checkpoints.precisions("c", "somewhere")
    assert checkpoints.busy and checkpoints.progress == (0, 0, "Waiting: the scorecard is being measured")
    first = waiting(jobs, "precisions")
    checkpoints.cancel()
    assert not checkpoints.busy and first.is_cancelled()
    assert ("progressed", 0, 0, "Cancelled") in checkpoints.heard
    checkpoints.precisions("c", "somewhere")
    progress(jobs, "precisions", 0, 0, "Measuring")
    assert checkpoints.progress == (0, 0, "Measuring")
    second = begin(jobs, "precisions")
    checkpoints.cancel()
    assert checkpoints.busy and second.is_cancelled()  # it ends when the worker says so
    answer(jobs, "precisions", cancelled=True)
    assert not checkpoints.busy


def test_nothing_is_said_about_a_measurement_that_was_cancelled(checkpoints):
    checkpoints.precisions("c", "somewhere")
    given_up = waiting(checkpoints._jobs, "precisions")
    checkpoints.cancel()
    checkpoints.heard.clear()
    checkpoints._jobs.on_reported(given_up, "anything")
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
