"""The offer to adapt to what changed: how much, since when, and about how long it takes."""

from __future__ import annotations

from PySide6.QtCore import Signal

from app.values.repository import ChangesSince
from app.values.words import about, counted
from app.window.parts import InlineMessage


class ChangesBanner(InlineMessage):
    """Hidden while there is nothing to offer."""

    adapt_wanted = Signal()
    files_wanted = Signal()
    put_off = Signal()

    def __init__(self) -> None:
        super().__init__(closable=False)
        self.show_button = self.add_button("Show files", help_words="Lists the changed files")
        self.later_button = self.add_button("Later", help_words="Asks again when more has changed")
        self.adapt_button = self.add_button(
            "Adapt to changes", primary=True, help_words="A short run on what changed, mixed with older code"
        )
        self.show_button.clicked.connect(self.files_wanted)
        self.later_button.clicked.connect(self.put_off)
        self.adapt_button.clicked.connect(self.adapt_wanted)

    def show_changes(self, changes: ChangesSince, can_adapt: bool, remembered: bool) -> None:
        """What changed since the checkpoint, if anything; `remembered`: suggestions already use it from memory."""
        if not changes.any:
            self.put_away()
            return
        self.say(changes_words(changes, remembered), "Your code has changed.", "accent")
        self.adapt_button.setEnabled(can_adapt)


def changes_words(changes: ChangesSince, remembered: bool = False) -> str:
    """14 files, 412 lines since orbit-api #7.  Adapting takes about 40 s."""
    since = f" since {changes.checkpoint_name}" if changes.checkpoint_name else " since the last checkpoint"
    words = f"{counted(changes.files, 'file')}, {counted(changes.lines, 'line')}{since}."
    takes = f"takes about {about(changes.seconds)}" if changes.seconds else ""
    if remembered:
        words += " Suggestions already use these changes from memory. Adapting also teaches them to the model"
        return f"{words} and {takes}." if takes else f"{words}."
    return f"{words} Adapting {takes}." if takes else words
