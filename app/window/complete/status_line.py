"""The line under the editor: state and source of the suggestion, and how fast the last answer was."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app.values.completion import CompletionView, SourceView
from app.window.complete import suggester
from app.window.parts import ElidedLabel, LinkButton, dot, label, set_tone, tip

STATES = {
    suggester.IDLE: ("", "Ready"),
    suggester.WAITING: ("", "Ready"),
    suggester.ASKING: ("", "Ready"),
    suggester.WRITING: ("good", "Writing"),
    suggester.SHOWN: ("good", "Suggestion"),
    suggester.NOTHING: ("", "No suggestion here"),
    suggester.DISMISSED: ("", "Dismissed"),
    suggester.FAILED: ("bad", "No answer"),
}
THINKING = ("warn", "Thinking…")
HELP = "Time to first token, and tokens generated per second."
LONGEST_SOURCE = 400  # pixels
OFF = ("", "Suggestions are off. Ctrl+Space asks for one")


class StatusLine(QFrame):
    """State on the left, figures on the right; neither moves the other."""

    source_wanted = Signal(str, int)  # path, line

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 7, 16, 8)
        row.setSpacing(8)
        self._source: SourceView | None = None
        self._dot = dot()
        self.words = label("", "label")
        self.source = LinkButton("")
        self.source.hide()
        self.place = label("", "label")
        self.figures = ElidedLabel("", "label")
        self.figures.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._dot)
        row.addWidget(self.words)
        row.addWidget(self.source)
        row.addSpacing(10)
        row.addWidget(self.place)
        row.addWidget(self.figures, 1)
        self.source.clicked.connect(self.on_source_clicked)
        self.setAccessibleName("Suggestions")
        self.show_state(suggester.IDLE, False, True)

    def show_state(self, state: str, thinking: bool, enabled: bool) -> None:
        tone, words = STATES[state]
        if thinking:
            tone, words = THINKING
        elif not enabled and state in (suggester.IDLE, suggester.WAITING):
            tone, words = OFF
        self._say(tone, words)
        self._show_source(None)

    def show_suggestion(self, view: CompletionView, place: int, count: int) -> None:
        """A suggestion: its confidence, which of several it is, and where the repository has the same line."""
        self._say("good", suggestion_words(view, place, count))
        self._show_source(view if place == 0 else None)

    def show_silence(self, view: CompletionView) -> None:
        """Why there is no suggestion, if that is known."""
        if view.silence and not view.text:
            self._say("", view.silence)

    def _show_source(self, view: CompletionView | None) -> None:
        self._source = view.sources[0] if view is not None and view.sources else None
        self.source.setVisible(self._source is not None)
        if self._source is not None:
            words = source_words(view)
            metrics = self.source.fontMetrics()
            self.source.setText(metrics.elidedText(words, Qt.TextElideMode.ElideMiddle, LONGEST_SOURCE))
            self.source.setAccessibleName(words)
            tip(self.source, f"Open {self._source.path} at line {self._source.line:,}")

    @Slot()
    def on_source_clicked(self) -> None:
        self.source_wanted.emit(self._source.path, self._source.line)

    def _say(self, tone: str, words: str) -> None:
        set_tone(self._dot, tone)
        self.words.setText(words)
        self.setAccessibleDescription(words)

    def show_place(self, line: int, column: int) -> None:
        """The position of the cursor, counted from 1."""
        self.place.setText(f"Line {line:,}, column {column:,}")

    def show_answer(self, view: CompletionView | None) -> None:
        """The figures of an answer; None before the first one."""
        self.figures.set_words(figures(view) if view is not None else "")
        tip(self, reuse_words(view) if view is not None and view.prompt_tokens else HELP)


def suggestion_words(view: CompletionView, place: int, count: int) -> str:
    """Suggestion 2 of 3; Suggestion, 82 % confident"""
    words = f"Suggestion {place + 1} of {count}" if count > 1 else "Suggestion"
    return f"{words}, {view.chance * 100:.0f} % confident" if view.chance is not None and place == 0 else words


def source_words(view: CompletionView) -> str:
    """as in src/orders/ledger.py:41 and 3 more"""
    first, more = view.sources[0], len(view.sources) - 1 + view.more_sources
    return f"as in {first.path}:{first.line}" + (f" and {more:,} more" if more else "")


def figures(view: CompletionView) -> str:
    """first token 38 ms · 1,180 tokens/s"""
    parts = [f"first token {view.first_token_ms:,.0f} ms"]
    if view.decode_tokens_per_second > 0:
        parts.append(f"{view.decode_tokens_per_second:,.0f} tokens/s")
    return " · ".join(parts)


def reuse_words(view: CompletionView) -> str:
    """What the figures mean, and how much of the prompt was cached."""
    cached = f"{view.reused_tokens:,} of the {view.prompt_tokens:,} prompt tokens"
    return f"{HELP} {cached} came from the cache."
