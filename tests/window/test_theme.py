"""The look: contrast of every pair of colours that carries words, and a switch that restyles everything."""

from __future__ import annotations

import importlib.resources
from dataclasses import fields

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QColor, QFontInfo
from PySide6.QtWidgets import QLabel

from app.state.application import Application
from app.state.settings import Settings
from app.theme import DARK, LIGHT
from app.theme.fonts import FILES, code_font, interface_font, load_fonts
from app.theme.tokens import contrast
from app.window.main_window import MainWindow
from tests.window.stage import find_devices

SURFACES = ("background", "panel", "raised")
WORDS = ("ink", "mute", "accent_text", "second_text", "warn_text", "bad_text")


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)
def test_words_can_be_read_on_every_surface(tokens):
    for word in WORDS:
        for surface in SURFACES:
            ratio = contrast(getattr(tokens, word), getattr(tokens, surface))
            assert ratio >= 4.5, f"{word} on {surface}: {ratio:.2f}"
    for fill in ("accent", "accent_hover"):
        assert contrast(tokens.on_accent, getattr(tokens, fill)) >= 4.5


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=lambda tokens: tokens.name)
def test_shapes_stand_out_and_every_token_is_a_colour(tokens):
    for shape in ("accent", "second", "bad", "warn"):
        assert contrast(getattr(tokens, shape), tokens.panel) >= 3
    for each in fields(tokens):
        assert each.name == "name" or QColor(getattr(tokens, each.name)).isValid()


def test_the_fonts_are_our_own(qapp):
    load_fonts()
    assert QFontInfo(interface_font()).family() == "Inter"
    assert QFontInfo(code_font()).family() == "JetBrains Mono"
    folder = importlib.resources.files("resources") / "fonts"
    shipped = [path.name for path in folder.iterdir()]
    assert set(FILES) < set(shipped)
    assert {"Inter-OFL.txt", "JetBrainsMono-OFL.txt"} < set(shipped)
    assert sum(len((folder / name).read_bytes()) for name in shipped) < 3 * 2**20


def page_colour(window):
    QCoreApplication.processEvents()  # Qt hands a new palette on in the next turn, before anything is painted
    return window.grab().toImage().pixelColor(window.width() - 5, 200).name()


def test_switching_restyles_the_window_at_once(main_window, application, qtbot):
    actions = {action.data(): action for action in main_window.actions_.themes.actions()}
    actions["dark"].trigger()
    assert page_colour(main_window) == DARK.background
    actions["light"].trigger()
    assert page_colour(main_window) == LIGHT.background
    qtbot.keyClick(main_window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert page_colour(main_window) == DARK.background
    assert actions["dark"].isChecked() and application.settings.theme == "dark"


def test_a_part_that_nobody_sees_is_dressed_later_or_when_it_is_shown(theme, qtbot):
    shown, hidden, third = (QLabel(words) for words in "abc")
    for part in (shown, hidden, third):
        qtbot.addWidget(part)
    shown.show()
    theme.dress(shown)
    theme.dress_soon(hidden)
    theme.dress_soon(third)
    assert shown.styleSheet() and not hidden.styleSheet()
    qtbot.waitUntil(lambda: bool(hidden.styleSheet() and third.styleSheet()))
    before = shown.styleSheet()
    theme.choose("dark")
    assert shown.styleSheet() != before == hidden.styleSheet()
    theme.dress(hidden)
    assert hidden.styleSheet() == shown.styleSheet() != third.styleSheet()
    qtbot.waitUntil(lambda: third.styleSheet() == shown.styleSheet())


def test_a_part_that_is_gone_is_forgotten(theme, qtbot):
    part = QLabel("gone")
    theme.dress_soon(part)
    part.deleteLater()
    QCoreApplication.sendPostedEvents(part, QEvent.Type.DeferredDelete)
    theme.on_later()
    theme.choose("dark")


def test_the_system_decides_until_the_user_does(theme, monkeypatch):
    schemes = []
    theme.choose("dark")
    theme.restyled.connect(schemes.append)
    monkeypatch.setattr(theme, "_application", SystemWith(Qt.ColorScheme.Light, theme._application))
    theme.choose("system")
    theme.on_system_scheme_changed(Qt.ColorScheme.Light)
    assert schemes == [LIGHT]
    theme.choose("dark")
    theme.on_system_scheme_changed(Qt.ColorScheme.Light)
    assert schemes == [LIGHT, DARK]
    theme.restyled.disconnect(schemes.append)


class SystemWith:
    """An application whose system asks for a scheme."""

    def __init__(self, scheme, application):
        self._scheme, self._application = scheme, application

    def styleHints(self):
        return self

    def colorScheme(self):
        return self._scheme

    def __getattr__(self, name):
        return getattr(self._application, name)


def test_theme_and_device_are_remembered(main_window, application):
    find_devices(application)
    next(action for action in main_window.actions_.themes.actions() if action.data() == "dark").trigger()
    application.engine.choose("cpu")
    main_window.close()
    again = Settings(application.data_folder)
    assert (again.theme, again.device) == ("dark", "cpu")


def test_a_remembered_device_that_is_gone_is_said(main_window, application):
    application.settings.device = "webgpu:7"
    find_devices(application)
    assert application.engine.in_use.name == "webgpu:0"
    assert "webgpu:7" in main_window.page("Settings").device_pane.subtitle.text()


def test_damaged_settings_do_no_harm(theme, tmp_path, qtbot):
    content = b'{"theme": 7, "device": "\x00\xff", "places": {"window": "nonsense"}, "page": "No such page"}'
    (tmp_path / "settings.json").write_bytes(content)
    application = Application(tmp_path)
    window = MainWindow(application, theme)
    qtbot.addWidget(window)
    assert application.settings.theme == "system" and window.pages.currentWidget().title == "Repository"
    application.stop()
