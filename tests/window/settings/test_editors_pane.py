"""The part "Editors" of the settings."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication

from app.server import listening
from app.server.recorded import ServedRequest
from tests.window.stage import press


@pytest.fixture
def pane(main_window, application, monkeypatch, qtbot):
    monkeypatch.setattr(listening, "PORT", 0)
    monkeypatch.setattr(listening, "TRIED", 1)
    application.server.start()
    main_window.show_page("Settings")
    page = main_window.page("Settings")
    press(qtbot, page.parts.buttons["editors"])
    return page.panes["editors"]


def test_the_switch_shows_the_address_and_what_to_paste(pane, application, qtbot):
    assert not any(part.isVisible() for part in (pane.setup, pane.line, pane.where, pane.requests))
    press(qtbot, pane.enabled.control)
    server = application.server
    assert server.is_on and pane.address.words == server.url and pane.setup.isVisible()
    assert server.token not in pane.token.words
    for key in pane.editor.buttons:
        press(qtbot, pane.editor.buttons[key])
        assert server.url in pane.snippet.toPlainText() and server.token in pane.snippet.toPlainText()
        press(qtbot, pane.copy_snippet)
        assert QGuiApplication.clipboard().text() == pane.snippet.toPlainText()
    press(qtbot, pane.copy_token)
    assert QGuiApplication.clipboard().text() == server.token
    press(qtbot, pane.enabled.control)
    assert not server.is_on and not pane.setup.isVisible()


def test_the_last_requests_say_who_how_long_and_why(pane, application, qtbot):
    press(qtbot, pane.enabled.control)
    assert pane.requests.words.isVisible()
    recorded = application.server._recorded
    recorded.add(ServedRequest("llama.vim", "/infill", 200, 38.4, "total = 0", source="a.py:3"))
    recorded.add(ServedRequest("Zed", "/v1/completions", 200, 12.0, why="Not confident enough."))
    recorded.add(ServedRequest("curl", "/infill", 401, 0.2, why="The token is missing or wrong."))
    qtbot.waitUntil(lambda: len(pane.requests.rows) == 3)
    assert [row[1:] for row in pane.requests.rows] == [
        ("curl", "0 ms", "refused", "The token is missing or wrong."),
        ("Zed", "12 ms", "nothing shown", "Not confident enough."),
        ("llama.vim", "38 ms", "answered", "total = 0  (as in a.py:3)"),
    ]
    assert not pane.requests.words.isVisible()


def test_a_server_that_cannot_listen_says_why(pane, application, qtbot, monkeypatch):
    from engine.errors import ConfigError

    def fail(self):
        raise ConfigError("Port 8012 is in use by another program.", "Choose another port.")

    with monkeypatch.context() as patch:
        patch.setattr(listening.LoopbackServer, "start", fail)
        press(qtbot, pane.enabled.control)
    assert pane.problem.isVisible() and not pane.setup.isVisible()
    press(qtbot, pane.again)
    assert application.server.is_on and not pane.problem.isVisible()
