"""The look: contrast of every pair of colours that carries words, and a switch that restyles everything."""

from __future__ import annotations

import importlib.resources
from dataclasses import fields

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontInfo

from app.theme import DARK, LIGHT
from app.theme.fonts import FILES, code_font, interface_font, load_fonts
from app.theme.tokens import contrast

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


def page_colour(desktop):
    return desktop.window.grab().toImage().pixelColor(desktop.window.width() - 5, 200).name()


def test_switching_restyles_the_window_at_once(fake_engine, open_window, qtbot):
    desktop = open_window()
    actions = {action.data(): action for action in desktop.window.theme_actions.actions()}
    actions["dark"].trigger()
    assert page_colour(desktop) == DARK.background
    actions["light"].trigger()
    assert page_colour(desktop) == LIGHT.background
    qtbot.keyClick(
        desktop.window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    assert page_colour(desktop) == DARK.background
    assert actions["dark"].isChecked()


def test_the_system_decides_until_the_user_does(fake_engine, open_window, monkeypatch):
    desktop = open_window()
    theme, schemes = desktop.theme, []
    theme.restyled.connect(schemes.append)
    assert theme.choice == "system"
    monkeypatch.setattr(theme, "_application", SystemWith(Qt.ColorScheme.Light, theme._application))
    theme.on_system_scheme_changed(Qt.ColorScheme.Light)
    assert schemes == [LIGHT]
    theme.choose("dark")
    theme.on_system_scheme_changed(Qt.ColorScheme.Light)
    assert schemes == [LIGHT, DARK]


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


def test_theme_device_and_place_are_remembered(fake_engine, open_window):
    first = open_window()
    first.window.resize(1024, 730)
    next(action for action in first.window.theme_actions.actions() if action.data() == "light").trigger()
    first.controller.choose("webgpu:0")
    first.close()
    second = open_window()
    assert second.theme.tokens is LIGHT
    assert second.controller.in_use.name == "webgpu:0"
    assert (second.window.width(), second.window.height()) == (1024, 730)


def test_a_remembered_device_that_is_gone_is_said(fake_engine, open_window):
    first = open_window()
    first.controller.choose("webgpu:0")
    first.close()
    fake_engine.devices = fake_engine.devices[:1]
    second = open_window()
    assert second.controller.in_use.name == "cpu"
    assert "webgpu:0, which you chose, is not there now" in second.window.engine_pane.subtitle.text()


def test_damaged_settings_do_no_harm(fake_engine, open_window, data_folder):
    data_folder.mkdir()
    (data_folder / "settings.ini").write_bytes(b"theme=@Invalid()\ndevice=\x00\xff\n[window]\ngeometry=nonsense\n")
    desktop = open_window()
    assert desktop.theme.choice == "system"
    assert desktop.controller.in_use.name == "cpu"
