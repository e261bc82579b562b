"""The line under the editor: what the suggestions are doing, where the cursor is, and how quick the last answer was."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app.values.completion import CompletionView
from app.window.complete import suggester
from app.window.parts import ElidedLabel, dot, label, set_tone, tip

STATES = {
    suggester.IDLE: ("", "Ready"),
    suggester.WAITING: ("", "Ready"),
    suggester.ASKING: ("", "Ready"),
    suggester.WRITING: ("good", "Writing"),
    suggester.SHOWN: ("good", "Suggestion"),
    suggester.NOTHING: ("", "Nothing to add here"),
    suggester.DISMISSED: ("", "Dismissed"),
    suggester.FAILED: ("bad", "No answer"),
}
THINKING = ("warn", "Thinking…")
HELP = "Time from the request to its first token, and tokens written a second."
OFF = ("", "Suggestions are off. Ctrl+Space asks once")


class StatusLine(QFrame):
    """Words on the left, figures on the right; neither moves the other."""

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 7, 16, 8)
        row.setSpacing(8)
        self._dot = dot()
        self.words = label("", "label")
        self.place = label("", "label")
        self.figures = ElidedLabel("", "label")
        self.figures.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._dot)
        row.addWidget(self.words)
        row.addSpacing(10)
        row.addWidget(self.place)
        row.addWidget(self.figures, 1)
        self.setAccessibleName("Suggestions")
        self.show_state(suggester.IDLE, False, True)

    def show_state(self, state: str, thinking: bool, enabled: bool) -> None:
        """What the suggester is at."""
        tone, words = STATES[state]
        if thinking:
            tone, words = THINKING
        elif not enabled and state in (suggester.IDLE, suggester.WAITING):
            tone, words = OFF
        set_tone(self._dot, tone)
        self.words.setText(words)
        self.setAccessibleDescription(words)

    def show_place(self, line: int, column: int) -> None:
        """Where the cursor is, from 1."""
        self.place.setText(f"Line {line:,}, column {column:,}")

    def show_answer(self, view: CompletionView | None) -> None:
        """The figures of an answer; None where there is none yet."""
        self.figures.set_words(figures(view) if view is not None else "")
        tip(self, reuse_words(view) if view is not None and view.prompt_tokens else HELP)


def figures(view: CompletionView) -> str:
    """first token 38 ms · 1,180 tokens/s"""
    parts = [f"first token {view.first_token_ms:,.0f} ms"]
    if view.decode_tokens_per_second > 0:
        parts.append(f"{view.decode_tokens_per_second:,.0f} tokens/s")
    return " · ".join(parts)


def reuse_words(view: CompletionView) -> str:
    """What the figures are, and how much of the text was not read again."""
    known = f"{view.reused_tokens:,} of the {view.prompt_tokens:,} tokens before the cursor"
    return f"{HELP} The model still knew {known} and did not read them again."
