"""How much of the machine Codecoil takes, and what it does by itself: memory, time, the watcher, the idle rules."""

from __future__ import annotations

import psutil
from PySide6.QtCore import Slot

from app.data.settings_file import GIB
from app.state.application import Application
from app.values.words import nbytes
from app.window.parts import Card, InlineMessage, Number, PageColumn, Segmented, Switch, WholeNumber, rule
from app.window.repository.secrets_view import POLICIES
from app.window.settings.setting_row import SettingRow

LEAST_CEILING = 0.125  # GiB


class WorkPane(PageColumn):
    """Three cards: what it may take, what it notices, what it does by itself."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._settings = application.settings
        self._repository = application.repository
        self.column.setContentsMargins(20, 0, 20, 18)
        self.column.addWidget(self._machine_card())
        self.column.addWidget(self._repository_card())
        self.column.addWidget(self._idle_card())
        self.column.addStretch(1)
        self._settings.changed.connect(self.on_setting_changed)
        self._repository.changed.connect(self.on_repository_changed)
        self.on_setting_changed("auto_adapt")
        self.on_repository_changed()

    def _row(self, card: Card, *arguments, **options) -> SettingRow:
        row = SettingRow(self._settings, *arguments, **options)
        if card.column.count() > 1:
            card.column.addWidget(rule())
        card.column.addWidget(row)
        return row

    def _machine_card(self) -> Card:
        card = Card("What it may take", spacing=10)
        self.ceiling = self._row(
            card,
            "memory_ceiling",
            "Memory ceiling",
            Number(0, 4096, "GiB", 0.5, 2),
            "No run takes more than this on the device; one that would is made smaller.",
            to_setting=lambda value: round(value * GIB),
            from_setting=lambda value: value / GIB,
            check=ceiling_problem,
        )
        self.duty = self._row(
            card,
            "duty_cycle",
            "Share of the time",
            WholeNumber(0, 1000, "%", 5),
            "How much of the time training computes. Less keeps the machine cooler and quicker for other work.",
            to_setting=lambda value: value / 100,
            from_setting=lambda value: round(value * 100),
            check=lambda value: "" if 10 <= value <= 100 else "Choose from 10 % to 100 %.",
        )
        return card

    def _repository_card(self) -> Card:
        card = Card("The repository", spacing=10)
        self.reopen = self._row(card, "reopen", "Open the last repository at start", Switch())
        self.watch = self._row(
            card, "watch", "Notice edits", Switch(), "Watches the folder and counts what changed since the checkpoint."
        )
        self.watcher_note = InlineMessage(closable=False)
        card.column.addWidget(self.watcher_note)
        self.policy = self._row(
            card,
            "secret_policy",
            "Lines with a secret",
            Segmented(POLICIES, "Lines with a secret"),
            "Keys and passwords are never learned; say what becomes of the rest of their file.",
        )
        return card

    def _idle_card(self) -> Card:
        card = Card("By itself", spacing=10)
        self.auto = self._row(
            card,
            "auto_adapt",
            "Adapt to changes when the machine is idle",
            Switch(),
            "A short run on what changed, with older code mixed in. It stops when you come back and keeps what it has.",
        )
        self.minutes = self._row(
            card,
            "idle_minutes",
            "After no key, no mouse and no edit for",
            WholeNumber(0, 1000, "min"),
            "Keys and mouse in this window, edits in the repository with any editor.",
            check=minutes_problem,
        )
        self.load = self._row(
            card,
            "idle_load",
            "When other programs use less than",
            WholeNumber(0, 1000, "%", 5),
            "Of the processor.",
            to_setting=lambda value: value / 100,
            from_setting=lambda value: round(value * 100),
            check=lambda value: "" if 5 <= value <= 100 else "Choose from 5 % to 100 %.",
        )
        self.mains = self._row(card, "mains_only", "Only on mains power", Switch())
        self.files = self._row(
            card,
            "auto_adapt_files",
            "When at least this many files changed",
            WholeNumber(0, 100_000, "files"),
            check=lambda value: "" if 1 <= value <= 10_000 else "Choose from 1 to 10,000 files.",
        )
        return card

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name in ("auto_adapt", "watch"):
            on = self._settings.auto_adapt and self._settings.watch
            self.auto.setEnabled(self._settings.watch)
            for row in (self.minutes, self.load, self.mains, self.files):
                row.setEnabled(on)

    @Slot()
    def on_repository_changed(self) -> None:
        watcher = self._repository.watcher
        if watcher in ("failed", "looking") and self._repository.watcher_words:
            self.watcher_note.say(self._repository.watcher_words, kind="warn" if watcher == "failed" else "plain")
        else:
            self.watcher_note.put_away()


def ceiling_problem(gib: float) -> str:
    """Why a ceiling of that many GiB cannot be, or an empty string."""
    if gib < LEAST_CEILING:
        return f"At least {LEAST_CEILING} GiB: the smallest run needs that much."
    memory = psutil.virtual_memory().total
    if gib * GIB > memory:
        return f"This machine has {nbytes(memory)}."
    return ""


def minutes_problem(minutes: int) -> str:
    """Why that many minutes cannot be, or an empty string."""
    return "" if 1 <= minutes <= 240 else "Choose from 1 to 240 minutes."
