"""Scoring files on the Repository page: asked for, cancelled, failed, and shown as numbers of one model."""

from __future__ import annotations

from PySide6.QtCore import Qt

from app.values.completion import ModelChoice
from app.values.events import Failure
from app.values.repository import FileLosses
from app.window.repository.file_tree import LOSS
from tests.app.played_jobs import answer, begin, progress
from tests.window.stage import ROOT, corpus, open_repository, press, rows

SCORE = ("score_files", "starter")


def loss(page, path: str) -> str:
    return page.files.files.index_of(path).siblingAtColumn(LOSS).data()


def test_losses_are_numbers_on_a_tint(opened, application, qtbot):
    assert opened.files.isColumnHidden(LOSS)
    press(qtbot, opened.score_button)
    application.repository.on_losses(FileLosses(ROOT, "starter", {"orbit/api/handlers/beam.py": 3.25}))
    assert not opened.files.isColumnHidden(LOSS)
    assert loss(opened, "orbit/api/handlers/beam.py") == "3.25"
    assert loss(opened, "orbit/") == "3.25"  # a folder has the mean of its files
    assert loss(opened, "README.md") == ""


def test_the_losses_are_of_one_model_which_is_named_and_of_this_folder(opened, application):
    beam, slot = "orbit/api/handlers/beam.py", "orbit/api/handlers/slot.py"
    application.completion.on_choices((ModelChoice("c7", "orbit #7", ""), ModelChoice("c8", "orbit #8", "")))
    repository = application.repository
    repository.on_losses(FileLosses(ROOT, "c7", {beam: 3.25}))
    repository.on_losses(FileLosses(ROOT, "c7", {slot: 3.0}))
    assert repository.losses == {beam: 3.25, slot: 3.0}
    assert opened.heading.subtitle.text().endswith(" orbit #7")
    repository.on_losses(FileLosses(ROOT, "c8", {beam: 2.5}))
    assert repository.losses == {beam: 2.5}
    assert opened.heading.subtitle.text().endswith(" orbit #8")
    header = opened.files.files.headerData(LOSS, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert "orbit #8" in header
    repository.on_losses(FileLosses("/another", "c8", {slot: 9.0}))
    assert repository.losses == {beam: 2.5}
    repository.open("/another")
    open_repository(application, corpus(rows()[:1], "/another"))
    assert "orbit #8" not in opened.heading.subtitle.text() and opened.files.isColumnHidden(LOSS)


def test_another_folder_ends_the_scoring_of_the_one_before(opened, application, asked):
    application.repository.score_files()
    job = begin(application.jobs, "score_files")
    application.repository.open("/another")
    assert asked == [SCORE, ("cancel",), ("open", "/another")] and job.is_cancelled()
    assert application.repository.losses == {} and application.repository.losses_of == ""


def test_nothing_is_scored_during_a_run(opened, application):
    usual = opened.score_button.accessibleDescription()
    assert opened.score_button.isEnabled() and "held-out" in usual
    application.training._enter("running")
    assert not opened.score_button.isEnabled()
    assert "run" in opened.score_button.accessibleDescription() != usual
    application.training._enter("idle")
    assert opened.score_button.isEnabled() and opened.score_button.accessibleDescription() == usual


def test_a_scoring_that_fails_is_tried_again_by_scoring(opened, application, asked, qtbot):
    application.repository.score_files()
    application.repository.on_score_failed(Failure("The device was lost.", "Choose another."))
    assert application.repository.phase == "ready" and opened.score_button.text() == "Score files"
    assert opened.error_card.isVisible() and opened.error_card.cause.text() == "The device was lost."
    application.repository.on_watcher("watching", "")  # whatever changes besides
    assert opened.error_card.isVisible()
    press(qtbot, opened.error_card.action_button)
    assert asked == [SCORE, SCORE] and not opened.error_card.isVisible()


def test_what_fails_after_the_folder_went_does_not_bring_it_back(opened, application):
    application.repository.score_files()
    application.repository.on_gone(ROOT)
    application.repository.on_score_failed(Failure("No repository is open.", ""))
    assert application.repository.phase == "gone" and ROOT in opened.error_card.cause.text()
    application.repository.on_failed(Failure("It cannot be counted.", ""))
    assert application.repository.phase == "gone" and not opened.score_button.isEnabled()


def test_scoring_is_asked_for_and_shown(opened, application, asked, qtbot):
    press(qtbot, opened.score_button)
    assert asked == [SCORE]
    assert opened.score_button.text() == "Cancel scoring, 0 %"
    progress(application.jobs, "score_files", 3, 10, "Scoring")
    assert opened.score_button.text() == "Cancel scoring, 30 %"
    press(qtbot, opened.score_button)
    answer(application.jobs, "score_files", cancelled=True)
    assert opened.score_button.text() == "Score files" and opened.score_button.isEnabled()
