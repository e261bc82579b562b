"""The theme, the keys of suggestions, and how the editor draws code."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.data.settings_file import FIELDS
from app.state.application import Application
from app.window.actions import THEMES
from app.window.parts import Card, PageColumn, PlainButton, Segmented, Switch, rule
from app.window.settings.key_field import KeyField
from app.window.settings.setting_row import SettingRow

KEYS = (
    ("key_accept", "Accept the whole suggestion"),
    ("key_accept_word", "Accept the next word"),
    ("key_accept_line", "Accept the next line"),
    ("key_dismiss", "Dismiss the suggestion"),
    ("key_next", "Next alternative"),
    ("key_previous", "Previous alternative"),
)


class LookPane(PageColumn):
    """Two cards: the look and the keys."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._settings = settings = application.settings
        self.column.setContentsMargins(20, 0, 20, 18)
        look = Card("Look", spacing=10)
        self.theme = SettingRow(settings, "theme", "Theme", Segmented(THEMES, "Theme"))
        self.ligatures = SettingRow(
            settings, "ligatures", "Font ligatures", Switch(), "The editor joins signs such as != into one."
        )
        look.column.addWidget(self.theme)
        look.column.addWidget(rule())
        look.column.addWidget(self.ligatures)
        keys = Card("Keys for suggestions", spacing=10)
        self.keys: dict[str, SettingRow] = {}
        for i, (setting, words) in enumerate(KEYS):
            if i:
                keys.column.addWidget(rule())
            self.keys[setting] = SettingRow(settings, setting, words, KeyField())
            keys.column.addWidget(self.keys[setting])
        self.reset_button = PlainButton("Restore default keys")
        self.reset_button.clicked.connect(self.on_reset_clicked)
        keys.heading.row.addWidget(self.reset_button)
        for card in (look, keys):
            self.column.addWidget(card)
        self.column.addStretch(1)
        settings.changed.connect(self.on_setting_changed)
        self.on_setting_changed("key_accept")

    @Slot(str)
    def on_setting_changed(self, _name: str) -> None:
        changed = any(self._settings.value(setting) != FIELDS[setting].default for setting, _ in KEYS)
        self.reset_button.setEnabled(changed)

    @Slot()
    def on_reset_clicked(self) -> None:
        """Twice over: a key that another action still holds is free in the second round."""
        for _ in range(2):
            for setting, _words in KEYS:
                self._settings.reset(setting)
