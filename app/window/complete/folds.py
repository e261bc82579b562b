"""The strip under the editor that opens panels: comparison, blend, timeline, scores, options.

The setting `unfolded` says which are open; to open one, put its name there.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.state.settings import Settings
from app.theme import Theme, Tokens
from app.theme.icons import icon
from app.window.parts import tip

COMPARE, BLEND, TIMELINE, SCORES, OPTIONS = "compare", "blend", "timeline", "scores", "options"
PARTS = {
    COMPARE: ("Compare", "What two models would write here"),
    BLEND: ("Blend", "Interpolate between two models"),
    TIMELINE: ("Timeline", "How the suggestion changed over a run"),
    SCORES: ("Scores", "How much the last run helped, on held-out code"),
    OPTIONS: ("Options", "Confidence, length and sampling of suggestions"),
}
SIGN = 14  # pixels of a chevron


class FoldStrip(QWidget):
    """One button per panel; the chevron of an open one points down."""

    toggled = Signal(str, bool)  # name, whether it is open

    def __init__(self, settings: Settings, keys: dict[str, str]) -> None:
        """`keys`: shortcuts by panel."""
        super().__init__()
        self._settings = settings
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 0, 0)
        row.setSpacing(16)
        self.buttons: dict[str, QToolButton] = {}
        for name, (words, help_words) in PARTS.items():
            button = QToolButton()
            button.setProperty("role", "fold")
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setIconSize(QSize(SIGN, SIGN))
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(words)
            button.setText(words)
            tip(button, help_words, keys.get(name, ""))
            button.clicked.connect(self.on_clicked)
            self.buttons[name] = button
            row.addWidget(button)
        row.addStretch(1)
        settings.changed.connect(self.on_setting_changed)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_setting_changed("unfolded")

    def is_open(self, name: str) -> bool:
        return self.buttons[name].isChecked()

    def toggle(self, name: str) -> None:
        self.buttons[name].click()

    def say(self, name: str, words: str = "") -> None:
        """Show the state of a panel even while it is closed: "Blend: 40 % adapted"."""
        title = PARTS[name][0]
        self.buttons[name].setText(f"{title}: {words}" if words else title)
        self.buttons[name].setAccessibleName(self.buttons[name].text())

    @Slot()
    def on_clicked(self) -> None:
        self._settings.unfolded = [name for name, button in self.buttons.items() if button.isChecked()]

    @Slot(str)
    def on_setting_changed(self, setting: str) -> None:
        if setting != "unfolded":
            return
        wanted = self._settings.unfolded
        for name, button in self.buttons.items():
            button.setChecked(name in wanted)
            self.toggled.emit(name, name in wanted)
        self.on_restyled(Theme.current().tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        for button in self.buttons.values():
            sign = "chevron_down" if button.isChecked() else "chevron_right"
            button.setIcon(icon(sign, tokens.ink if button.isChecked() else tokens.mute, SIGN))
