"""Before a run: modes, presets, the plan, and every option."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from app.values.checkpoints import CheckpointRow, Listing
from app.values.repository import ChangesSince
from app.window.adapt.preflight import TIME_HELP, TIME_WORDS, WORKING_OUT
from app.window.adapt.words import about_minutes, ago, change, clock
from engine.train.options import OPTIONS, PRESETS
from tests.app.played_jobs import record


@pytest.fixture
def page(desk, qtbot):
    """The page, shown; its plots are not needed here."""
    from app.window.adapt.page import AdaptPage

    page = AdaptPage(desk)
    qtbot.addWidget(page)
    page.resize(1096, 720)
    page.show()
    return page


def test_choosing_a_mode_chooses_it_and_each_card_says_what_it_takes(page, desk):
    desk.open_folder()
    cards = page.setup.modes.cards
    assert list(cards) == ["wsla", "qk", "lora", "vocabulary", "full"]
    assert cards[desk.training.mode].isChecked()
    assert not cards["qk"].isVisible(), "the model has no attention"
    shown = [card for card in cards.values() if card.isVisible()]
    assert len(shown) == 4 and all(card.takes.words == "1.8 GiB · about 8 min" for card in shown)
    cards["wsla"].click()
    assert desk.training.mode == "wsla" and cards["wsla"].isChecked()
    desk.plan(problem="Needs 4.1 GiB, more than the ceiling.")
    assert cards["wsla"].takes.words == "Needs 4.1 GiB, more than the ceiling."
    assert cards["wsla"].takes.property("tone") == "warn"


def test_a_mode_that_the_base_has_nothing_for_is_greyed_and_says_why(page, desk):
    desk.open_folder()
    cards = page.setup.modes.cards
    cards["wsla"].click()
    desk.plan(unsuited="wsla")
    assert cards["qk"].isVisible() and cards["qk"].isEnabled()
    assert cards["wsla"].isVisible() and not cards["wsla"].isEnabled()
    assert "nothing to train" in cards["wsla"].toolTip() and "nothing to train" in desk.training.start_problem
    cards["qk"].click()
    desk.plan(unsuited="wsla")
    assert desk.training.mode == "qk" and not cards["wsla"].isVisible() and not desk.training.start_problem


def test_presets_and_the_base_are_chosen_and_a_changed_option_makes_it_custom(page, desk):
    desk.open_folder()
    presets = page.setup.presets
    presets.presets.buttons["thorough"].click()
    assert desk.training.preset == "thorough" and desk.training.options.patience == 6
    assert not presets.presets.buttons["custom"].isVisible()
    desk.training.set_option("steps", 77)
    assert presets.presets.value == "custom" and presets.presets.buttons["custom"].isVisible()
    presets.presets.buttons["custom"].click()  # says nothing new
    assert desk.training.options.steps == 77
    presets.bases.setCurrentIndex(1)
    presets.bases.activated.emit(1)
    assert desk.training.base == "c1"
    assert "orbit-api #1 on orbit-api" in page.heading.subtitle.text()


def test_the_plan_is_told_before_the_first_step(page, desk):
    desk.open_folder()
    preflight = page.setup.preflight
    assert preflight.steps.number.text() == "100"
    assert preflight.minutes.number.text() == "8 min"
    assert (preflight.memory.number.text(), preflight.memory.remark.text()) == ("1.8 GiB", "of 3 GiB")
    assert preflight.trained.number.text() == "5.4 M"
    assert [words for _, _, words in preflight.legend.entries] == [
        "weights 790 MiB",
        "optimiser 170 MiB",
        "gradients 110 MiB",
        "activations 820 MiB",
    ]
    assert "2 micro-batches of 4" in preflight.words.text()
    assert "It reads 15 % of the code." in preflight.words.text()  # 100 steps of 2,048 of 1.4 M tokens
    kinds = [kind for kind, _ in preflight.bar.segments()]
    assert kinds == ["weights", "optimiser", "gradients", "activations"]
    right = preflight.bar.segments()[-1][1].right()
    assert right == pytest.approx(preflight.bar.width() * 1890 / 3072, abs=4)


def test_the_plan_says_in_what_the_base_is_kept_unless_all_of_it_is_trained(page, desk):
    desk.open_folder()
    words = page.setup.preflight.words
    assert desk.training.mode == "full" and "kept in" not in words.text()
    desk.training.set_mode("lora")
    desk.plan()
    assert "The base is kept in float32." in words.text()
    plan = replace(desk.training.plan, base_precision="int8")
    page.setup.preflight.show_plan(plan, False, "")
    assert "The base is kept in int8." in words.text()


def test_what_cannot_be_started_says_why(page, desk):
    desk.open_folder()
    button = page.setup.preflight.start_button
    assert button.isEnabled()
    desk.plan(problem="Needs 4.1 GiB, more than the ceiling of 3 GiB.")
    assert not button.isEnabled()
    assert page.setup.preflight.words.text() == "Needs 4.1 GiB, more than the ceiling of 3 GiB."
    assert page.setup.preflight.memory.number.text() == "–"


def test_until_a_changed_option_is_planned_it_says_so(page, desk):
    desk.open_folder()
    words = page.setup.preflight.words
    desk.training.set_mode("wsla")
    assert words.text() == WORKING_OUT
    desk.plan(problem="Needs 4.1 GiB, more than the ceiling.")
    assert words.text().startswith("Needs 4.1 GiB")
    desk.training.set_mode("lora")
    assert words.text() == WORKING_OUT  # what was wrong before may no longer be
    desk.plan()
    assert "2,048 tokens" in words.text()


def test_what_was_asked_during_a_run_is_planned_after_it(desk, qtbot):
    desk.open_folder()
    desk.begin(3)
    desk.settings.duty_cycle = 0.5
    desk.training._plan_timer.stop()  # the worker does not answer during a run
    asked = record(desk.jobs, "plan")
    desk.finish(rolled_back=True)
    qtbot.waitUntil(lambda: bool(asked))


def test_what_each_mode_takes_is_at_one_height(page, desk, qapp):
    desk.open_folder()
    cards = page.setup.modes.cards
    cards["wsla"].trains.setText("so many words that they need a second line " * 3)
    qapp.processEvents()
    assert cards["wsla"].trains.height() > cards["full"].trains.height()
    assert len({card.takes.geometry().bottom() for card in cards.values() if card.isVisible()}) == 1


def test_every_figure_says_what_it_is(page, desk):
    desk.open_folder()
    preflight, header = page.setup.preflight, page.run_header
    for figure in (preflight.steps, preflight.minutes, preflight.memory, preflight.trained):
        assert figure.toolTip()
    for figure in (header.step, header.held_out, header.speed, header.left):
        assert figure.toolTip()
    assert all(kind in preflight.legend.toolTip() for kind in ("optimiser", "gradients", "activations", "workspace"))


def test_what_changed_is_offered_as_a_short_run(page, desk, qtbot):
    desk.open_folder()
    button = page.setup.preflight.changes_button
    assert not button.isVisible()
    changes = ChangesSince("c1", "orbit-api #1", 14, 412, ("a.py",), 40)
    desk.repository.on_changes(changes)
    desk.training.on_repository(desk.repository.root, changes)
    assert button.isVisible()
    assert "14 files, 412 lines, about 40 s" in button.accessibleDescription()
    asked = record(desk.jobs, "start")
    button.click()
    ((_, request),) = asked
    assert request.changes == changes


# ---- the drawer


@pytest.fixture
def drawer(page, desk):
    desk.open_folder()
    page.setup.fold.click()
    return page.setup.drawer


def enter(field, words: str) -> None:
    field.control.setText(words)
    field.control.editingFinished.emit()


def test_every_option_is_there_with_its_words(drawer, desk):
    assert set(drawer.fields) == set(OPTIONS) - {"mode"}
    for name, field in drawer.fields.items():
        assert field.name.text() == OPTIONS[name].label
        assert OPTIONS[name].help.split(".")[0] in field.control.accessibleDescription()
    assert drawer.fields["steps"].control.text() == f"{desk.training.options.steps:,}"
    assert drawer.fields["micro_batch"].control.text() == ""
    assert drawer.fields["micro_batch"].control.placeholderText() == OPTIONS["micro_batch"].zero


def test_it_takes_as_many_columns_as_there_is_room_for(drawer, page, qtbot):
    assert drawer.columns == 3
    page.resize(820, 620)
    qtbot.waitUntil(lambda: drawer.columns == 2)
    assert page.view.widget().width() == page.view.viewport().width()  # nothing is cut off at the right


def test_values_are_taken_as_people_write_them(drawer, desk):
    for name, words, value in (
        ("learning_rate", "3e-4", 3e-4),
        ("steps", "12,000", 12_000),
        ("minutes", " 2.5 ", 2.5),
        ("micro_batch", "4", 4),
        ("micro_batch", "", 0),
        ("batch_size", "8.0", 8),
    ):
        enter(drawer.fields[name], words)
        assert drawer.fields[name].error.text() == "", name
        assert getattr(desk.training.options, name) == value
    schedule = drawer.fields["schedule"].control
    schedule.activated.emit(schedule.findData("linear"))
    assert desk.training.options.schedule == "linear"


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("learning_rate", "7", "Learning rate is 7.0; it must be a number from 0 to 1."),
        ("steps", "many", "Steps is 'many'; it must be a whole number"),
        ("steps", "2.5", "Steps is 2.5; it must be a whole number"),
        ("micro_batch", "3", "Micro-batch is 3; it must divide Batch size (8)."),
    ],
)
def test_a_value_that_cannot_be_says_why_and_changes_nothing(drawer, desk, name, words, said):
    before = desk.training.options
    enter(drawer.fields[name], words)
    field = drawer.fields[name]
    assert said in field.error.text() and field.error.isVisibleTo(field)
    assert desk.training.options == before
    desk.training.set_option("seed", 5)  # elsewhere: what was typed stays, with its complaint
    assert field.control.text() == words and field.error.text()
    enter(field, "8" if name != "learning_rate" else "0.01")
    assert not field.error.text()


def test_a_preset_fills_the_drawer_anew(drawer, desk, page):
    enter(drawer.fields["steps"], "many")
    page.setup.presets.presets.buttons["quick"].click()
    assert drawer.fields["batch_size"].control.text() == "4"
    assert drawer.fields["steps"].control.text() == str(PRESETS["quick"].steps)
    assert not drawer.fields["steps"].error.text()


# ---- earlier runs


def test_earlier_results_of_this_folder_are_listed_newest_first(page, desk):
    desk.open_folder()
    earlier = page.setup.past_runs
    assert earlier.nothing.isVisible()
    root = desk.repository.root
    own = {"run": "r", "mode": "lora", "step": 800, "held_out_before": 4.0, "held_out_loss": 3.0, "repository": root}
    rows = (
        CheckpointRow("a", "first", created="2026-01-01T00:00:00+00:00", **own),
        CheckpointRow("b", "second", created="2026-02-01T00:00:00+00:00", **own),
        CheckpointRow("c", "snapshot", created="2026-02-01T00:00:00+00:00", tags=("timeline",), **own),
        CheckpointRow("d", "elsewhere", **{**own, "repository": "/another"}),
        CheckpointRow("e", "a base", mode="base"),
    )
    desk.checkpoints.on_listed(Listing(rows))
    table = earlier.table
    assert [table.item(row, 0).text() for row in range(table.rowCount())] == ["second", "first"]
    assert [table.item(0, column).text() for column in range(1, 6)] == ["LoRA", "800", "4.000", "3.000", "−25 %"]
    assert not earlier.nothing.isVisible()
    desk.repository.root = "/another"
    desk.repository.changed.emit()
    assert [table.item(row, 0).text() for row in range(table.rowCount())] == ["elsewhere"]


def test_tab_leads_out_of_the_earlier_results(page, desk, qapp, qtbot):
    desk.open_folder()
    own = {"run": "r", "mode": "lora", "step": 8, "repository": desk.repository.root}
    desk.checkpoints.on_listed(Listing((CheckpointRow("a", "first", **own), CheckpointRow("b", "second", **own))))
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    table = page.setup.past_runs.table
    table.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(table, Qt.Key.Key_Tab)
    assert qapp.focusWidget() is not table


# ---- words


def test_times_and_changes_in_words():
    assert [clock(seconds) for seconds in (0, 42, 725, 4800, -1, float("nan"))] == [
        "0:00",
        "0:42",
        "12:05",
        "1:20:00",
        "–",
        "–",
    ]
    assert [ago(0, now) for now in (5, 61, 7200, 90_000)] == [
        "just now",
        "1 minute ago",
        "2 hours ago",
        "1 day ago",
    ]
    assert [change(4.0, after) for after in (3.0, 3.9, 4.2, 4.0)] == ["−25 %", "−2.5 %", "+5.0 %", "no change"]
    assert change(None, 3.0) == change(0.0, 3.0) == change(4.0, float("nan")) == ""
    assert about_minutes(0) == "" and about_minutes(8) == "about 8 min"


def test_a_time_says_what_it_rests_on_and_assumes(page, desk):
    """Eight minutes were promised as if the machine were idle; a minute later 28 were left."""
    desk.open_folder()
    preflight, help_words = page.setup.preflight, set()
    assert "tokens/s" not in preflight.words.text()  # not known: nothing is assumed
    for basis in TIME_WORDS:
        desk.plan(tokens_per_second=1234.0, speed_basis=basis)
        assert f"assumes 1,234 tokens/s, {TIME_WORDS[basis]}" in preflight.words.text()
        assert TIME_HELP[basis] in preflight.minutes.toolTip()
        help_words.add(preflight.minutes.toolTip())
    assert len(help_words) == len(TIME_WORDS) >= 3
