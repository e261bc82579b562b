"""Moving the data folder from the settings, with the worker's calls made by hand: what is offered, done and undone."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent

from app.data.data_move import MovePlan
from app.workers.moving import MovingWorker
from tests.app.played_jobs import answer, progress, waiting
from tests.window.stage import press


@pytest.fixture
def usual(tmp_path, monkeypatch):
    folder = tmp_path / "usual"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "manifest.json").write_bytes(b"x" * 3000)
    monkeypatch.delenv("CODECOIL_DATA")
    for place in ("app.data.data_folder.usual_folder", "app.state.storage.usual_folder"):
        monkeypatch.setattr(place, lambda: folder)
    return folder


@pytest.fixture
def started(qapp):
    """Makes programs without their threads; what they ask of the moving worker is done at once."""
    from app.state.application import Application

    made = []

    def start(folder):
        application = Application(folder)
        made.append(application)
        application.jobs.asked.connect(lambda job: run(application, job))
        return application

    def run(application, job):
        if job.worker == MovingWorker.__name__ and not held:
            worker = MovingWorker()
            worker.reported.connect(application.jobs.on_reported)
            worker.answered.connect(application.jobs.on_answered)
            worker.on_posted(job)

    held = start.held = []

    yield start
    for application in made:
        application.stop()
        application.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def part_of(theme, qtbot):
    from app.window.settings.move_part import MovePart

    def make(application):
        part = MovePart(application.storage)
        part.layout().insertWidget(0, part.button)
        qtbot.addWidget(part)
        theme.dress(part)
        part.show()
        return part

    return make


def test_it_is_offered_copied_undone_and_copied_again(usual, started, part_of, tmp_path, qtbot):
    application = started(usual)
    part = part_of(application)
    press(qtbot, part.button)
    part.dialog.fileSelected.emit(str(tmp_path / "new"))
    part.dialog.reject()
    assert part.offer.isVisible() and all(
        each in part.offer.words.text() for each in ("1 file", "2.9 KiB", str(tmp_path / "new"))
    )
    press(qtbot, part.decline_button)
    assert not part.offer.isVisible() and not (tmp_path / "new").exists()
    application.storage.consider(str(tmp_path / "new"))
    press(qtbot, part.copy_button)
    assert part.note.isVisible() and "next start" in part.note.words.text()
    assert not part.button.isEnabled() and not part.delete_button.isVisible()
    press(qtbot, part.undo_button)
    assert not (tmp_path / "new").exists() and not part.note.isVisible() and part.button.isEnabled()


def test_after_the_next_start_the_old_one_can_be_deleted(usual, started, part_of, tmp_path, qtbot):
    from app.data.data_folder import data_folder
    from app.data.data_move import finish_move

    first = started(usual)
    first.storage.consider(str(tmp_path / "new"))
    first.storage.copy()
    assert finish_move(usual) is not None and data_folder() == tmp_path / "new"
    part = part_of(started(data_folder()))
    assert str(usual) in part.note.words.text() and not part.undo_button.isVisible()
    press(qtbot, part.delete_button)
    assert not (usual / "checkpoints").exists() and not part.note.isVisible() and part.button.isEnabled()


def test_what_cannot_be_is_said_in_a_card(usual, started, part_of, qtbot):
    application = started(usual)
    part = part_of(application)
    application.storage.consider(str(usual / "checkpoints" / "inside"))
    assert "inside" in part.error_card.cause.text() and not part.offer.isVisible()


def test_progress_is_shown_and_can_be_cancelled(usual, started, part_of, qtbot):
    application = started(usual)
    part = part_of(application)
    application.storage.plan = MovePlan
    started.held.append(True)
    application.storage.copy()
    progress(application.jobs, "copy", 3, 10, "Copying, in MiB")
    assert part.progress.isVisible() and part.progress.count.text() == "3 of 10"
    press(qtbot, part.progress.cancel_button)
    assert waiting(application.jobs, "copy").is_cancelled()
    answer(application.jobs, "copy", cancelled=True)
    assert not part.progress.isVisible()


def test_the_variable_decides_and_that_is_said(application, part_of):
    part = part_of(application)
    assert not part.button.isEnabled() and "CODECOIL_DATA" in part.words.text()


def test_a_copy_that_could_not_be_used_is_said(usual, started, part_of, tmp_path):
    first = started(usual)
    first.storage.consider(str(tmp_path / "new"))
    first.storage.copy()
    part = part_of(started(usual))  # the next start, which could not switch over
    assert str(tmp_path / "new") in part.note.words.text() and part.undo_button.isVisible()
