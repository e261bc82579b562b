"""The page in every phase of a run: what is shown, and that each button does what it says."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPushButton

from app.values.checkpoints import TrashRow
from app.values.completion import ModelChoice
from app.values.events import Failure
from app.values.training import ResumableRun, ScoreView
from tests.app.played_jobs import answer, begin, record
from tests.window.adapt.desk import events

ROOT = Path(__file__).parents[3]
PARTS = ("setup", "run_header", "result", "error_card", "interrupted")


def shown(page) -> set[str]:
    """The parts that can be seen."""
    parts = {name for name in PARTS if getattr(page, name).isVisible()}
    if page.board.isVisible():
        parts.add("board")
    return {"empty"} if page.empty.isVisible() else parts


def asked(qtbot, signal, button: QPushButton) -> tuple:
    """What a click on the button asks another controller for."""
    with qtbot.waitSignal(signal) as told:
        button.click()
    return tuple(told.args)


def job_of(desk, button: QPushButton) -> tuple:
    """The job that a click on the button asks for: (name, *arguments)."""
    asked = record(desk.jobs)
    button.click()
    return asked[0]


def test_without_a_folder_it_says_what_to_do(page, desk, qtbot):
    assert shown(page) == {"empty"}
    asked(qtbot, page.folder_wanted, page.folder_button)
    desk.open_folder()
    assert shown(page) == {"setup"}
    said = page.heading.subtitle.text()
    assert all(
        fact in said for fact in ("Train the built-in model on orbit-api", "281 files", "1.4 M tokens", "31 files")
    )


def test_a_run_from_the_button_to_its_end(page, desk, qtbot):
    desk.open_folder()
    _, request = job_of(desk, page.setup.preflight.start_button)
    assert request.root == desk.repository.root
    desk.training.on_preparing(120, 312, "Reading files")
    header = page.run_header
    assert shown(page) == {"run_header", "board"}
    assert header.words.words == "Reading files · 120 of 312"
    assert (header.bar.maximum(), header.bar.value()) == (312, 120)
    assert header.stop_button.text() == "Cancel" and not header.pause_button.isEnabled()
    desk.training.on_began("run-1", desk.training.plan)
    assert header.state.text() == "Running" and header.stop_button.text() == "Stop and save"
    assert header.held_out.remark.text() == "measuring"
    desk.training.on_events(tuple(events(50)))
    assert (header.step.number.text(), header.step.remark.text()) == ("50", "of 100")
    assert header.held_out.number.text() == "3.689" and header.held_out.remark.text() == "−18 %"
    assert header.speed.number.text() == "2,050" and header.left.number.text() == "1:30"
    assert header.bar.value() == header.bar.maximum() // 2
    page.board.draw_now()
    assert len(page.board.loss._raw.getData()[0]) == 50
    assert job_of(desk, header.pause_button) == ("pause",)
    assert header.state.text() == "Paused" and header.pause_button.text() == "Resume"
    assert job_of(desk, header.pause_button) == ("resume",)
    assert header.state.text() == "Running" and header.pause_button.text() == "Pause"
    assert job_of(desk, header.stop_button) == ("stop",)
    assert header.state.text() == "Stopping" and not header.stop_button.isEnabled()
    desk.finish()
    assert shown(page) == {"result", "board"}


def test_a_run_that_is_given_up_before_it_began_leads_back(page, desk, qtbot):
    desk.open_folder()
    desk.training.start()
    page.run_header.stop_button.click()
    assert shown(page) == {"setup"}


def test_a_run_that_only_the_time_ends_has_progress_too(page, desk):
    desk.open_folder()
    desk.training.set_option("minutes", 2.0)
    desk.begin()
    desk.training.run_plan = replace(desk.training.run_plan, steps=0)
    desk.training.on_events(tuple(events(25)))
    assert page.run_header.step.remark.text() == ""
    assert page.run_header.bar.value() == page.run_header.bar.maximum() // 4


def test_before_and_after_with_the_scorecard(page, desk):
    desk.open_folder()
    desk.begin(50)
    desk.finish()
    result = page.result
    assert "orbit-api #2 is better" in result.title.text()
    assert all(fact in result.words.text() for fact in ("50 steps", "1:23", "all steps done", "step 40"))
    loss, exact = result.columns["loss"], result.columns["next_line_exact"]
    assert (loss.after.text(), loss.changed.text(), loss.before.text()) == ("3.600", "−20 %", "before 4.500")
    assert (exact.after.text(), exact.before.text()) == ("–", "not measured")
    desk.training.on_scoring(3, 24, "next lines")
    assert exact.before.text() == "measuring…"
    assert result.scoring.text() == "Measuring the scorecard: next lines, 3 of 24"
    desk.training.on_scores(ScoreView("a", 4.4, 1.6, 0.11, 0.2), ScoreView("b", 3.5, 1.3, 0.24, 0.19))
    assert result.scoring.isVisible()
    desk.training.on_scoring(0, 0, "")
    assert not result.scoring.isVisible()
    assert (exact.after.text(), exact.changed.text(), exact.before.text()) == (
        "24.0 %",
        "+13.0 points",
        "before 11.0 %",
    )
    saved = result.columns["keystrokes_saved"]
    assert saved.changed.text() == "−1.0 points" and saved.changed.property("tone") == "warn"
    bits = result.columns["bits_per_byte"]
    assert bits.changed.text() == "−19 %" and bits.changed.property("tone") == "good"
    # The run's own losses are those of the files that chose the step: they give way to those of files that only score.
    assert (loss.after.text(), loss.before.text()) == ("3.500", "before 4.400")
    assert all(figure in loss.toolTip() for figure in ("81.5", "33.1"))  # perplexity
    assert all(figure in loss.toolTip() for figure in ("4.500", "3.600"))  # as the run measured itself


def test_every_figure_of_the_scorecard_has_its_interval(page, desk):
    desk.open_folder()
    desk.begin(50)
    desk.finish()
    columns = page.result.columns
    assert not any(column.interval.isVisible() for column in columns.values())
    ranges = {"loss": (3.41, 3.592), "next_line_exact": (0.201, 0.2834), "keystrokes_saved": (0.1, float("nan"))}
    before = ScoreView("a", 4.4, 1.6, 0.11, 0.2, ranges={"next_line_exact": (0.09, 0.13)})
    after = ScoreView("b", 3.5, 1.3, 0.24, 0.3, ranges, frozenset({"keystrokes_saved"}), ("Few files are held out.",))
    desk.training.on_scores(before, after)
    exact, saved = columns["next_line_exact"], columns["keystrokes_saved"]
    assert exact.interval.isVisible() and "20–28 %" in exact.interval.text()
    assert columns["loss"].interval.text().endswith("3.41–3.59")
    assert exact.before.text() == "before 11.0 % (9–13)" and "95 %" in exact.toolTip()
    assert all(figure in exact.accessibleName() for figure in ("24.0 %", "+13.0", "20–28", "11.0 %", "9–13"))
    assert not saved.interval.isVisible() and not columns["bits_per_byte"].interval.isVisible()
    assert exact.changed.property("tone") == "good"
    assert saved.changed.text() == "+10.0 points" and not saved.changed.property("tone")  # may be chance
    assert "chance" in saved.toolTip() and "chance" not in exact.toolTip()
    assert page.result.scoring.text() == "Few files are held out."
    assert not exact.memory.isVisible()
    desk.training.on_scores(*(replace(one, with_memory=replace(one, next_line_exact=0.31)) for one in (before, after)))
    assert exact.memory.isVisible() and exact.memory.text() == "with memory 31.0 % (20–28)"


def test_a_scorecard_that_fails_is_said_and_costs_nothing_else(page, desk):
    desk.open_folder()
    desk.begin(50)
    desk.finish()
    desk.training.on_score_failed(Failure("The device was lost.", ""))
    assert "The device was lost." in page.result.scoring.text()
    assert page.result.use_button.isEnabled() and not page.result.cancel_button.isVisible()


def test_the_scorecard_can_be_cancelled_from_its_card(page, desk, qtbot):
    desk.open_folder()
    desk.begin(50)
    desk.finish()
    assert not page.result.cancel_button.isVisible()
    desk.training.score(desk.training.finished)
    assert page.result.scoring.text() == "Measuring the scorecard…"
    job = begin(desk.jobs, "score_run")
    page.result.cancel_button.click()
    assert job.is_cancelled()
    answer(desk.jobs, "score_run", cancelled=True)
    assert "cancelled" in page.result.scoring.text()
    assert not page.result.cancel_button.isVisible() and page.result.columns["loss"].after.text() == "3.600"
    desk.training.cancel_scoring()  # there is nothing to cancel any more
    assert "cancelled" in page.result.scoring.text()


def test_a_run_on_changes_names_what_it_went_on_from(page, desk):
    from app.values.repository import ChangesSince
    from app.values.training import FinishedView

    desk.open_folder()
    changes = ChangesSince("c1", "orbit-api #1", 2, 24, ("a.py", "b.py"), 50.0)
    desk.training.on_repository("/somewhere/orbit-api", changes)
    desk.plan()
    desk.training.adapt_to_changes()
    desk.training.on_began("run-1", None)
    said = page.heading.subtitle.text()
    assert "orbit-api #1 on orbit-api" in said and "2 changed files" in said
    found = FinishedView("run-1", "all steps done", 9, 9, 2.086, 2.0855, False, 9, "c2", "orbit-api #2", "c1", 1.9, 1.7)
    desk.training.on_finished(found)
    assert "orbit-api #2 has learned the changes" in page.result.title.text()
    assert page.result.columns["loss"].changed.text() == "no change"


def test_a_result_of_another_folder_says_so_and_is_put_away(page, desk):
    desk.open_folder("/somewhere/orbit-api")
    desk.begin(50)
    desk.finish()
    page.put_away_others()
    assert shown(page) >= {"result"}
    desk.open_folder("/somewhere/other")
    assert page.heading.subtitle.text().endswith("the built-in model on orbit-api")
    page.put_away_others()
    assert shown(page) == {"setup"}


def test_use_compare_discard_and_again(page, desk, qtbot):
    desk.open_folder()
    desk.begin(50)
    desk.finish()
    result = page.result
    assert asked(qtbot, desk.training.use_wanted, result.use_button) == ("c2",)
    desk.completion.on_choices((ModelChoice("c1", "orbit-api #1"), ModelChoice("c2", "orbit-api #2")))
    desk.training.model_before = "c1"
    desk.completion.choose_model("c2")
    assert not result.use_button.isVisible() and "in use" in result.words.text()
    assert result.back_button.isVisible() and "orbit-api #1" in result.back_button.toolTip()
    asked(qtbot, desk.training.back_wanted, result.back_button)
    desk.completion.choose_model("c1")
    assert result.use_button.isVisible() and not result.back_button.isVisible()
    with qtbot.waitSignal(desk.training.compare_wanted):
        assert asked(qtbot, page.page_wanted, result.compare_button) == ("Complete",)
    assert asked(qtbot, desk.training.discard_wanted, result.discard_button) == ("c2",)
    assert shown(page) == {"setup"}
    desk.checkpoints.deleted.emit(TrashRow("another", "c9", "another", ""))
    assert not page.message.isVisible()  # it was thrown away elsewhere meanwhile
    desk.checkpoints.deleted.emit(TrashRow("key", "c2", "orbit-api #2", ""))
    assert page.message.isVisible() and page.message.words.text() == "orbit-api #2 is in the trash."
    assert job_of(desk, page.undo_button) == ("restore", "key")
    assert not page.message.isVisible()
    desk.begin(50)
    desk.finish()
    result.again_button.click()
    assert shown(page) == {"setup"} and desk.training.phase == "idle"


def test_what_another_page_throws_away_is_not_announced_here(page, desk):
    desk.open_folder()
    desk.checkpoints.deleted.emit(TrashRow("key", "c9", "another", ""))
    assert not page.message.isVisible()


def test_a_run_that_was_rolled_back_has_nothing_to_use(page, desk):
    desk.open_folder()
    desk.begin(50)
    desk.finish(rolled_back=True)
    result = page.result
    assert "No improvement" in result.title.text()
    assert not any(b.isVisible() for b in (result.use_button, result.compare_button, result.discard_button))
    assert result.again_button.isVisible() and result.property("card") == "warn"
    assert [name for name, column in result.columns.items() if column.isVisible()] == ["loss"]
    assert result.columns["loss"].changed.text() == "no change"


def test_a_failure_is_a_card_and_the_run_can_go_on(page, desk, qtbot):
    desk.open_folder()
    desk.begin(20)
    desk.training.on_failed(Failure("The device was lost at step 20.", "The progress is saved.", "details"))
    assert shown(page) == {"error_card", "board"}
    assert page.error_card.cause.text() == "The device was lost at step 20."
    assert not page.error_card.action_button.isVisible()
    desk.training.on_runs((ResumableRun("run-1", desk.repository.root, "", "lora", 20, 100, time.time()),))
    assert page.error_card.action_button.isVisible() and page.error_card.action_button.text() == "Resume"
    _, request = job_of(desk, page.error_card.action_button)
    assert request.resume == "run-1"
    assert shown(page) == {"run_header", "board"}


def test_a_failure_before_the_first_step_leaves_the_options_in_reach(page, desk):
    desk.open_folder()
    desk.training.start()
    desk.training.on_failed(Failure("The disk is full.", "Free some space."))
    assert shown(page) == {"error_card", "setup"}
    page.error_card.dismiss_button.click()
    assert shown(page) == {"setup"} and desk.training.phase == "idle"


def test_an_interrupted_run_is_offered(page, desk, qtbot):
    old = ResumableRun("r8", "/somewhere/orbit-api", "", "lora", 120, 400, time.time() - 300)
    older = ResumableRun("r7", "/gone", "", "full", 5, 0, time.time() - 9000, "The folder is not there.")
    desk.training.on_runs((older, old))
    assert shown(page) == {"setup", "interrupted"}  # also before a folder is chosen
    words = page.interrupted.words.text()
    assert words == "orbit-api, LoRA, step 120 of 400, saved 5 minutes ago. There is 1 more."
    assert job_of(desk, page.interrupted.discard_button) == ("forget_run", "r8")
    desk.training.on_runs((older,))
    assert "The folder is not there." in page.interrupted.words.text()
    assert not page.interrupted.resume_button.isEnabled()
    desk.training.on_runs((old,))
    _, request = job_of(desk, page.interrupted.resume_button)
    assert request.resume == "r8" and shown(page) == {"run_header", "board"}


def test_the_page_fits_the_smallest_window_and_loads_its_plots_late(desk, qtbot):
    from app.window.adapt.page import AdaptPage

    page = AdaptPage(desk)
    qtbot.addWidget(page)
    page.resize(840, 620)
    page.show()
    assert page.board is None
    desk.open_folder()
    desk.begin(30)
    qtbot.waitUntil(lambda: page.board is not None and page.board.isVisible())
    assert shown(page) == {"run_header", "board"}
    desk.finish()
    for part in (page.result, page.board, page.run_header, page.setup):
        assert part.minimumSizeHint().width() <= 800, type(part).__name__


def test_everything_has_a_name_and_can_be_reached_by_keyboard(page, desk):
    desk.open_folder()
    page.setup.fold.click()
    desk.begin(30)
    for control in (*page.findChildren(QAbstractButton), *page.findChildren(QLineEdit)):
        name = control.accessibleName() or getattr(control, "text", str)()
        if not control.isVisibleTo(page) or control.objectName().startswith("qt_"):
            continue
        assert name, control
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus, name
    for chart in page.board.charts:
        assert chart.accessibleName() and chart.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_the_open_drawer_and_the_axis_are_as_they_were(page, desk):
    from app.window.adapt.page import AdaptPage

    desk.open_folder()
    page.on_shown()
    assert page.setup.drawer is None
    page.setup.fold.click()
    page.board.scale.buttons["log"].click()
    page.keep_place()
    again = AdaptPage(desk)
    assert again.setup.drawer is None  # not before somebody looks
    again.keep_place()
    again.on_shown()
    again.load_board()
    assert again.setup.fold.isChecked() and again.setup.drawer is not None
    assert again.board.scale.value == "log" and again.board.loss.left.logarithmic
    again.setup.fold.click()
    again.on_shown()
    assert not again.setup.fold.isChecked()
    again.deleteLater()


def test_the_page_alone_does_not_load_pyqtgraph():
    code = "import sys, app.window.adapt.page; sys.exit('pyqtgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
