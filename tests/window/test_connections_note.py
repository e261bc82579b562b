"""What the footer says about connections is what the guard has seen."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QLabel

from app.network import connections
from app.network.connection_errors import ConnectionNotAllowed
from app.network.connections import Guard
from app.window.connections_note import ConnectionsNote
from tests.window.stage import press

SOCKET = SimpleNamespace(family=socket.AF_INET)


@pytest.fixture
def note(theme, qtbot):
    note = ConnectionsNote(Guard())
    qtbot.addWidget(note)
    note.show()
    return note


def words_of(note) -> list[str]:
    return [each.text() for each in note.list.findChildren(QLabel) if each.isVisible()]


def test_the_statement_has_the_guard_behind_it(theme, qtbot):
    note = ConnectionsNote()
    qtbot.addWidget(note)
    assert note.guard is connections.install()


def test_it_says_what_was_refused(note, qtbot):
    assert (note.heading.text(), note.button.text()) == ("Offline:", "no connections")
    press(qtbot, note.button)
    assert "No connection" in note.list.summary.text()
    note.list.close()
    for _ in range(20):
        with pytest.raises(ConnectionNotAllowed):
            note.guard.on_event("socket.connect", (SOCKET, ("192.0.2.1", 443)))
    qtbot.waitUntil(lambda: note.button.text() == "20 attempts blocked")
    press(qtbot, note.button)
    words = words_of(note)
    assert any(each.startswith("20 blocked and 0 allowed") for each in words)
    assert words.count("connect to 192.0.2.1, port 443") == 12 and "and 8 earlier" in words
    note.list.close()


def test_it_says_what_was_asked_for_while_it_lasts(note, qtbot):
    with note.guard.allowing(["example.org"], "Get mamba-130m"):
        note.guard.on_event("socket.getaddrinfo", ("example.org", 443, 0, 0, 0))
        note.on_look_due()
        assert (note.heading.text(), note.button.text()) == ("Online:", "example.org, as you requested")
    note.on_look_due()
    assert (note.heading.text(), note.button.text()) == ("Offline:", "no connections")
    press(qtbot, note.button)
    assert "look up example.org (Get mamba-130m)" in words_of(note)
    note.list.close()
