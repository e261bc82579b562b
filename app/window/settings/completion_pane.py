"""The suggestions: whether they come, how long they wait, and the keys that take or dismiss them."""

from __future__ import annotations

from PySide6.QtCore import Slot

from app.data.settings_file import FIELDS
from app.state.application import Application
from app.window.parts import Card, PageColumn, PlainButton, Switch, WholeNumber, rule
from app.window.settings.decoding_card import DecodingCard
from app.window.settings.key_field import KeyField
from app.window.settings.setting_row import SettingRow

KEYS = (
    ("key_accept", "Take all of a suggestion"),
    ("key_accept_word", "Take the next word"),
    ("key_accept_line", "Take the next line"),
    ("key_dismiss", "Dismiss it"),
    ("key_next", "Show another one"),
    ("key_previous", "Show the one before"),
)


class CompletionPane(PageColumn):
    """Four cards: when, by which keys, how the editor looks, and how the model is read."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._settings = settings = application.settings
        self.column.setContentsMargins(20, 0, 20, 18)
        when = Card("When suggestions come", spacing=10)
        self.enabled = SettingRow(settings, "completion_enabled", "Suggest while typing", Switch())
        self.context = SettingRow(
            settings,
            "completion_context",
            "Look at recent edits",
            Switch(),
            "Pieces of files that you edited just now, where they resemble the cursor's place.",
        )
        self.least = SettingRow(
            settings,
            "completion_delay_least",
            "Wait at least",
            WholeNumber(0, 10_000, "ms", 25),
            "After a key, before the model is asked. The wait adapts to how fast you type, between these two.",
            check=lambda value: "" if value <= 2000 else "At most 2,000 ms.",
        )
        self.most = SettingRow(
            settings,
            "completion_delay_most",
            "Wait at most",
            WholeNumber(0, 10_000, "ms", 25),
            check=lambda value: "" if value <= 5000 else "At most 5,000 ms.",
        )
        for i, row in enumerate((self.enabled, self.context, self.least, self.most)):
            if i:
                when.column.addWidget(rule())
            when.column.addWidget(row)
        keys = Card("Keys", spacing=10)
        self.keys: dict[str, SettingRow] = {}
        for i, (setting, words) in enumerate(KEYS):
            if i:
                keys.column.addWidget(rule())
            self.keys[setting] = SettingRow(settings, setting, words, KeyField())
            keys.column.addWidget(self.keys[setting])
        self.reset_button = PlainButton("Back to the usual keys")
        self.reset_button.clicked.connect(self.on_reset_clicked)
        keys.heading.row.addWidget(self.reset_button)
        editor = Card("Editor", spacing=10)
        self.ligatures = SettingRow(
            settings, "ligatures", "Font ligatures", Switch(), "Draws signs such as != and -> as one."
        )
        editor.column.addWidget(self.ligatures)
        self.decoding = DecodingCard(application)
        for card in (when, keys, editor, self.decoding):
            self.column.addWidget(card)
        self.column.addStretch(1)
        settings.changed.connect(self.on_setting_changed)
        self.on_setting_changed("key_accept")

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        changed = any(self._settings.value(setting) != FIELDS[setting].default for setting, _ in KEYS)
        self.reset_button.setEnabled(changed)

    @Slot()
    def on_reset_clicked(self) -> None:
        """Twice over: a key that another action still holds is free in the second round."""
        for _ in range(2):
            for setting, _words in KEYS:
                self._settings.reset(setting)
