"""The suggestions: whether they appear, after how long, and in which precision the model computes them."""

from __future__ import annotations

from app.state.application import Application
from app.window.parts import Card, PageColumn, Switch, WholeNumber, rule
from app.window.settings.decoding_card import DecodingCard
from app.window.settings.setting_row import SettingRow


class CompletionPane(PageColumn):
    def __init__(self, application: Application) -> None:
        super().__init__()
        settings = application.settings
        self.column.setContentsMargins(20, 0, 20, 18)
        when = Card("When suggestions appear", spacing=10)
        self.enabled = SettingRow(settings, "completion_enabled", "Suggest while typing", Switch())
        self.context = SettingRow(
            settings,
            "completion_context",
            "Use recent edits",
            Switch(),
            "The model also reads parts of files you have just edited that resemble the code at the cursor.",
        )
        self.least = SettingRow(
            settings,
            "completion_delay_least",
            "Shortest delay",
            WholeNumber(0, 10_000, "ms", 25),
            "From the last key to the request. The delay adapts to how fast you type, between these two.",
        )
        self.most = SettingRow(settings, "completion_delay_most", "Longest delay", WholeNumber(0, 10_000, "ms", 25))
        for i, row in enumerate((self.enabled, self.context, self.least, self.most)):
            if i:
                when.column.addWidget(rule())
            when.column.addWidget(row)
        self.decoding = DecodingCard(application)
        for card in (when, self.decoding):
            self.column.addWidget(card)
        self.column.addStretch(1)
