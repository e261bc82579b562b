"""What ends a measurement, also one that still waits for another (played, without an engine); speeds of base models."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.network.base_models import BASE_MODELS
from app.state.checkpoints import CheckpointController
from app.values.engine import SpeedLine
from app.values.failures import Cancelled
from app.workers.files import FilesWorker
from app.workers.jobs import Job
from app.workers.measuring import MeasuringWorker, score_view
from engine.errors import MemoryCeilingError
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


# ---- the speed of base models


@pytest.fixture
def bases(monkeypatch):
    """Three more base models, two of the same shapes."""
    sizes = {"model_type": "mamba", "hidden_size": 16, "vocab_size": 300}
    one = replace(BASE_MODELS[0], name="one", sizes={**sizes, "num_hidden_layers": 6})
    models = (one, replace(one, name="two", sizes={**sizes, "num_hidden_layers": 7}), replace(one, name="again"))
    monkeypatch.setattr("app.network.base_models.BASE_MODELS", (*BASE_MODELS, *models))
    return tuple(model.name for model in models)


def measure_bases(one, names) -> tuple[list, list]:
    """The lines that were reported, and the progress."""
    lines, said, ended = [], [], []
    more = {"reported": lines.append, "progressed": lambda *what: said.append(what), "then": lambda _: ended.append(1)}
    one.state.jobs.ask(MeasuringWorker.base_speeds, names, "a device", **more)
    one.until(lambda: ended)
    return lines, said


def test_base_models_are_measured_once_a_shape_and_remembered(program, folder, bases):
    one = program()
    lines, said = measure_bases(one, bases)
    assert [line.name for line in lines] == list(bases) and all(line.speed.decode > 0 for line in lines)
    assert lines[0].speed == lines[2].speed != lines[1].speed and lines[1].speed.of_layers == 7
    assert [(done, total) for done, total, _ in said] == [(0, 3), (1, 3), (2, 3)] and "one" in said[0][2]
    known = one.ask_worker(FilesWorker, lambda worker: worker.known_speeds("a device"))
    assert known == {line.name: line.speed for line in lines}
    assert one.ask_worker(FilesWorker, lambda worker: worker.known_speeds("another device")) == {}
    assert one.failures == []


def test_loaded_models_make_room_and_what_still_does_not_fit_is_said(bases):
    worker, released, asked = Played(), [], []
    worker._open_device.device, worker._open_device.release_models = object(), lambda: released.append(1)

    def measure(config, device, check):
        asked.append(config)
        if len(asked) != 2:
            raise MemoryCeilingError("It needs 4 GiB.")
        return "a speed"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.session.machine_speed.measure_speed", measure)
        assert worker._speed("first").speed == "a speed" and released == [1]
        line = worker._speed("second")
    assert line.speed is None and line.problem == "It needs 4 GiB." and len(released) == 2


def test_measuring_a_base_model_serves_completions_and_can_be_cancelled(worker, bases, monkeypatch, tmp_path):
    worker._open_device.device, worker._open_device.data_folder = object(), tmp_path
    reported = []
    worker.reported.connect(lambda job, value: reported.append(value))
    job = Job(MeasuringWorker.base_speeds, (bases, "a device"))

    def measure(config, device, check):
        check()
        job.cancel()
        check()

    monkeypatch.setattr("engine.session.machine_speed.measure_speed", measure)
    worker.on_posted(job)
    ((_, answered),) = worker.answers
    assert answered.cancelled and len(worker.served) == 2
    assert not any(isinstance(value, SpeedLine) for value in reported) and list(tmp_path.iterdir()) == []
