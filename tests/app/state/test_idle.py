"""When an adaptation may begin by itself."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject

from app.settings import Settings
from app.state import idle
from app.state.idle import IdleRules
from app.values.repository import ChangesSince

CHANGES = ChangesSince("c", "shop #1", 5, 100, ("a.py",), 30.0)


@pytest.fixture
def rules(qapp, folder, monkeypatch):
    settings = Settings(folder)
    settings.auto_adapt = True
    monkeypatch.setattr(idle, "on_battery", lambda: False)
    monkeypatch.setattr(idle, "load", lambda: 0.1)
    rules = IdleRules(settings)
    rules._touched -= 60 * settings.idle_minutes + 1
    rules.on_changes(CHANGES)
    rules.settings = settings
    return rules


def test_it_begins_once_for_the_same_changes(rules):
    told = []
    rules.may_adapt.connect(lambda: told.append(True))
    rules.on_look()
    rules.on_look()
    assert told == [True]
    rules.on_changes(ChangesSince("c", "shop #1", 6, 120, ("a.py", "b.py"), 30.0))
    rules.on_look()
    assert told == [True, True]


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("switched off", lambda rules, patch: rules.settings.set("auto_adapt", False)),
        ("Too little", lambda rules, patch: rules.on_changes(ChangesSince("c", "", 1, 1, ("a.py",)))),
        ("Somebody worked", lambda rules, patch: rules.eventFilter(QObject(), QEvent(QEvent.Type.KeyPress))),
        ("battery", lambda rules, patch: patch.setattr(idle, "on_battery", lambda: True)),
        ("busy", lambda rules, patch: patch.setattr(idle, "load", lambda: 0.9)),
    ],
)
def test_reasons_to_wait(rules, monkeypatch, words, change):
    assert rules.reason_to_wait() == ""
    change(rules, monkeypatch)
    assert words in rules.reason_to_wait()


def test_on_battery_only_if_the_rule_says_so(rules, monkeypatch):
    monkeypatch.setattr(idle, "on_battery", lambda: True)
    rules.settings.mains_only = False
    assert rules.reason_to_wait() == ""
