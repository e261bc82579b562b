"""Settings: validated, announced, saved, and never a reason not to start."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QByteArray

from app.data.settings_file import FIELDS
from app.state.settings import Settings
from engine.errors import ConfigError


@pytest.fixture
def settings(qapp, folder):
    return Settings(folder)


def test_every_default_is_allowed():
    for name, field in FIELDS.items():
        assert field.limit.problem(name, field.default) == "", name


def test_a_change_is_told_once_and_kept(settings, folder, qtbot):
    told = []
    settings.changed.connect(told.append)
    settings.theme = "dark"
    settings.theme = "dark"
    assert settings.set("duty_cycle", 0.5) == ""
    settings.save()
    assert told == ["theme", "duty_cycle"]
    again = Settings(folder)
    assert (again.theme, again.duty_cycle) == ("dark", 0.5)


def test_it_is_written_by_itself_after_a_while(settings, qtbot):
    settings.theme = "light"
    qtbot.waitUntil(settings.path.exists)
    assert json.loads(settings.path.read_text())["theme"] == "light"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("theme", "pink", "one of: system, dark, light"),
        ("memory_ceiling", 1, "must be a whole number"),
        ("memory_ceiling", True, "must be a whole number"),
        ("duty_cycle", float("nan"), "from 0.1 to 1"),
        ("watch", 1, "on or off"),
        ("recent_folders", ["a", 3], "a list of texts"),
        ("completion_delay_least", 500, "shortest delay"),
        ("key_dismiss", "Tab", "already in use"),
        ("key_accept", "A", "typing"),
        ("key_accept", "Shift+5", "typing"),
        ("key_accept", "Space", "typing"),
        ("key_dismiss", "nonsense key", "not a known key"),
        ("key_dismiss", "Ctrl+", "not a known key"),
        ("key_dismiss", "Ctrl+K, Ctrl+L", "not a known key"),
        ("nonsense", 1, "no setting"),
    ],
)
def test_what_cannot_be_is_refused_in_words(settings, name, value, words):
    told = []
    settings.changed.connect(told.append)
    before = {each: settings.value(each) for each in FIELDS}
    assert words in settings.set(name, value)
    assert told == [] and before == {each: settings.value(each) for each in FIELDS}


@pytest.mark.parametrize("keys", ["", "Shift+Tab", "F2", "Ctrl+A", "Alt+Space", "Return", "Ctrl++", "Meta+Right"])
def test_keys_that_an_action_can_have(settings, keys):
    assert settings.set("key_accept", keys) == "" and settings.key_accept == keys


def test_assigning_what_cannot_be_raises(settings):
    with pytest.raises(ConfigError, match="Theme must be one of"):
        settings.theme = "pink"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"theme": 3, "duty_cycle": 7}', b"[" * 100_000])
def test_a_damaged_file_is_as_if_nothing_was_set(qapp, folder, content):
    (folder / "settings.json").write_bytes(content)
    settings = Settings(folder)
    assert (settings.theme, settings.duty_cycle) == ("system", 1.0)


def test_what_a_later_version_set_is_kept(qapp, folder):
    (folder / "settings.json").write_text('{"of_tomorrow": [1], "theme": "dark"}')
    settings = Settings(folder)
    settings.duty_cycle = 0.25
    settings.save()
    assert json.loads(settings.path.read_text()) == {"of_tomorrow": [1], "theme": "dark", "duty_cycle": 0.25}


def test_a_folder_that_cannot_be_written_is_told(qapp, tmp_path):
    (tmp_path / "file").write_text("in the way")
    settings = Settings(tmp_path / "file")
    settings.theme = "dark"
    settings.save()
    assert str(settings.path) in settings.problem and settings.theme == "dark"


def test_places_come_back_as_they_were(settings, folder):
    settings.geometry = QByteArray(bytes(range(256)))
    settings.keep_place("splitter", QByteArray(b"\0\1"))
    settings.save()
    again = Settings(folder)
    assert bytes(again.geometry) == bytes(range(256)) and bytes(again.place("splitter")) == b"\0\1"
    assert again.place("unknown").isEmpty()


def test_lists_are_copies(settings):
    settings.recent_folders.append("x")
    assert settings.recent_folders == []
