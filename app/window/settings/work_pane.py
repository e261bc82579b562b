"""How much of the machine training may use, the watcher, secrets, and when Codecoil adapts on its own."""

from __future__ import annotations

import psutil
from PySide6.QtCore import Slot

from app.data.settings_file import GIB
from app.state.application import Application
from app.values.words import nbytes
from app.window.parts import Card, InlineMessage, Number, PageColumn, Segmented, Switch, WholeNumber, rule
from app.window.repository.secrets_view import POLICIES
from app.window.settings.setting_row import SettingRow


class WorkPane(PageColumn):
    """Three cards: limits, the repository, automatic adaptation."""

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
        card = Card("Limits", spacing=10)
        self.ceiling = self._row(
            card,
            "memory_ceiling",
            "Memory ceiling",
            Number(0, 4096, "GiB", 0.5, 2),
            "No run uses more model memory than this; one that would is made smaller.",
            to_setting=lambda value: round(value * GIB),
            from_setting=lambda value: value / GIB,
            check=ceiling_problem,
        )
        self.duty = self._row(
            card,
            "duty_cycle",
            "Training load",
            WholeNumber(0, 1000, "%", 5),
            "The share of the time that training computes. Less leaves more of the machine for other work.",
            to_setting=lambda value: value / 100,
            from_setting=lambda value: round(value * 100),
        )
        return card

    def _repository_card(self) -> Card:
        card = Card("Repository", spacing=10)
        self.reopen = self._row(card, "reopen", "Reopen the last repository at startup", Switch())
        self.watch = self._row(
            card, "watch", "Watch for edits", Switch(), "Counts what has changed in the folder since the checkpoint."
        )
        self.watcher_note = InlineMessage(closable=False)
        card.column.addWidget(self.watcher_note)
        self.policy = self._row(
            card,
            "secret_policy",
            "Lines with a secret",
            Segmented(POLICIES, "Lines with a secret"),
            "Keys and passwords are never learned. Choose what happens to the rest of the file.",
        )
        return card

    def _idle_card(self) -> Card:
        card = Card("Automatic adaptation", spacing=10)
        self.auto = self._row(
            card,
            "auto_adapt",
            "Adapt to changes when the machine is idle",
            Switch(),
            "A short run on what changed, mixed with older code. It stops when you come back and keeps its progress.",
        )
        self.minutes = self._row(
            card,
            "idle_minutes",
            "Start after no activity for",
            WholeNumber(0, 1000, "min"),
            "Activity is keyboard or mouse in this window, and edits in the repository with any editor.",
        )
        self.load = self._row(
            card,
            "idle_load",
            "And other programs use less than",
            WholeNumber(0, 1000, "%", 5),
            "Of the processor.",
            to_setting=lambda value: value / 100,
            from_setting=lambda value: round(value * 100),
        )
        self.mains = self._row(card, "mains_only", "Only on mains power", Switch())
        self.files = self._row(
            card,
            "auto_adapt_files",
            "And at least this many files have changed",
            WholeNumber(0, 100_000, "files"),
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
    """Why a ceiling of that many GiB is refused, or ""."""
    memory = psutil.virtual_memory().total
    return f"This machine has {nbytes(memory)} of memory." if gib * GIB > memory else ""
