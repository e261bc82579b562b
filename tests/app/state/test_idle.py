"""When an adaptation may start automatically."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject

from app.state import idle
from app.state.idle import IdleRules
from app.state.settings import Settings
from app.values.repository import ChangesSince

CHANGES = ChangesSince("c", "shop #1", 5, 100, ("a.py",), 30.0)


@pytest.fixture
def rules(qapp, folder, monkeypatch):
    settings = Settings(folder)
    settings.auto_adapt = True
    monkeypatch.setattr(idle, "on_battery", lambda: False)
    monkeypatch.setattr(idle, "load", lambda: 0.1)
    rules = IdleRules(settings)
    rules.on_changes(CHANGES)
    rules.settings = settings
    leave(rules)
    return rules


def leave(rules):
    """The user has been away for long enough."""
    rules._touched -= 60 * rules.settings.idle_minutes + 1


MORE = ChangesSince("c", "shop #1", 6, 120, ("a.py", "b.py"), 30.0)


def test_it_begins_once_for_the_same_changes(rules):
    told = []
    rules.may_adapt.connect(lambda: told.append(True))
    rules.may_adapt.connect(rules.on_began)
    rules.on_look()
    rules.on_look()
    assert told == [True]
    rules.on_changes(MORE)
    leave(rules)
    rules.on_look()
    assert told == [True, True]


def test_what_was_refused_is_asked_again(rules):
    told = []
    rules.may_adapt.connect(lambda: told.append(True))
    rules.on_look()  # another run is active: none starts
    rules.on_look()
    assert told == [True, True]


def test_an_edit_says_that_somebody_is_there(rules):
    rules.on_changes(replace(CHANGES, seconds=31.0))  # the same changes, only their time was estimated anew
    assert rules.reason_to_wait() == ""
    rules.on_changes(MORE)
    assert "in use" in rules.reason_to_wait()


def test_the_load_is_asked_for_at_every_look(rules, monkeypatch):
    asked = []
    monkeypatch.setattr(idle, "load", lambda: asked.append(True) or 0.1)
    rules.settings.auto_adapt = False
    rules.on_look()
    rules.on_look()
    assert len(asked) == 2


@pytest.mark.parametrize(
    "touch",
    [lambda rules: rules.eventFilter(QObject(), QEvent(QEvent.Type.KeyPress)), lambda rules: rules.on_changes(MORE)],
)
def test_who_comes_back_is_told_once_and_only_during_such_a_run(rules, touch):
    told = []
    rules.user_active.connect(lambda: told.append(True))
    rules.eventFilter(QObject(), QEvent(QEvent.Type.KeyPress))
    assert told == []
    rules.on_began()
    touch(rules)
    touch(rules)
    assert told == [True]
    leave(rules)
    assert rules.reason_to_wait() == ""  # what was left may be learned when nobody is there again


def changed(program, repository, tiny):
    """A program with an adapted repository and an edit in it."""
    one = program()
    one.open(repository)
    one.small_options(tiny)
    one.run_to_end()
    one.until(lambda: one.state.repository.changes.checkpoint)
    path = repository / "shelf_1.py"
    path.write_text(path.read_text() + "\n\ndef more():\n    return 12345\n")
    one.until(lambda: one.state.repository.changes.any)
    return one


@pytest.fixture
def endless_runs(monkeypatch):
    """A run on changes ends only when it is stopped, however fast or busy the machine is."""
    monkeypatch.setattr("engine.train.options.PASSES_OVER_CHANGES", 10_000)


def test_a_run_that_began_by_itself_stops_and_is_kept(program, repository, tiny, endless_runs):
    one = changed(program, repository, tiny)
    training = one.state.training
    one.until(lambda: not training.start_problem)
    one.state.idle.may_adapt.emit()
    one.until(lambda: training.phase == "running" and training.step > 2)
    assert training.automatic
    one.state.idle.eventFilter(QObject(), QEvent(QEvent.Type.MouseMove))
    one.until(lambda: not training.active)
    assert training.finished.reason == "stopped" and training.finished.checkpoint and one.failures == []


def test_a_run_of_the_user_goes_on_when_he_moves_the_mouse(program, repository, tiny, endless_runs):
    one = changed(program, repository, tiny)
    training = one.state.training
    one.until(lambda: not training.start_problem)
    training.adapt_to_changes()
    one.state.idle.may_adapt.emit()  # refused: a run is active
    assert not training.automatic
    one.until(lambda: training.step > 2)
    one.state.idle.eventFilter(QObject(), QEvent(QEvent.Type.MouseMove))
    assert training.phase == "running"
    training.stop()
    one.until(lambda: not training.active)


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("switched off", lambda rules, patch: rules.settings.set("auto_adapt", False)),
        ("Too few", lambda rules, patch: rules.on_changes(ChangesSince("c", "", 1, 1, ("a.py",)))),
        ("in use", lambda rules, patch: rules.eventFilter(QObject(), QEvent(QEvent.Type.KeyPress))),
        ("battery", lambda rules, patch: patch.setattr(idle, "on_battery", lambda: True)),
        ("busy", lambda rules, patch: patch.setattr(idle, "load", lambda: 0.9)),
    ],
)
def test_reasons_to_wait(rules, monkeypatch, words, change):
    assert rules.reason_to_wait() == ""
    change(rules, monkeypatch)
    rules.on_look()
    assert words in rules.reason_to_wait()


def test_on_battery_only_if_the_rule_says_so(rules, monkeypatch):
    monkeypatch.setattr(idle, "on_battery", lambda: True)
    rules.settings.mains_only = False
    assert rules.reason_to_wait() == ""
