"""The repository in four figures: learned, held out, left out, secrets."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.values.repository import CorpusView, ReasonCount
from app.values.words import counted, thousands
from app.window.parts import GAP, NOTHING, FigureLabel, LayoutButton, tip
from app.window.repository.filters import HELD_OUT, LEARNED, LEFT_OUT

SECRETS = "secrets"


class FigureCard(LayoutButton):
    """One figure; a click lists what it counts."""

    def __init__(self, key: str, title: str, help_words: str) -> None:
        super().__init__("device")
        self.key = key
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 11, 14, 11)
        self.figure = FigureLabel(title, 80, remark_below=True)
        column.addWidget(self.figure)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.pass_clicks()
        tip(self, help_words)

    def say(self, number: str, remark: str, tone: str = "") -> None:
        self.figure.say(number, remark, tone)
        self.setAccessibleName(self.figure.accessibleName())


class Figures(QWidget):
    """The four, side by side."""

    chosen = Signal(str)  # the key of what to show

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        self.learned = FigureCard(LEARNED, "To learn", "Files that the model is trained on. Click to list them")
        self.held_out = FigureCard(HELD_OUT, "Held out", "Files kept out of training, so that scores are honest")
        self.left_out = FigureCard(LEFT_OUT, "Left out", "Files that are not learned, each with its reason")
        self.secrets = FigureCard(SECRETS, "Secrets", "Keys and passwords found in the files; they are never learned")
        for card in (self.learned, self.held_out, self.left_out, self.secrets):
            card.clicked.connect(self.on_clicked)
            row.addWidget(card, 1)

    def show_corpus(self, corpus: CorpusView | None, policy: str) -> None:
        """The figures of `corpus`; None: nothing has been read yet."""
        if corpus is None:
            for card in (self.learned, self.held_out, self.left_out, self.secrets):
                card.say(NOTHING, "")
            return
        totals = corpus.totals
        taught = totals.learned.files - totals.held_out.files
        tokens = totals.learned.tokens - totals.held_out.tokens
        self.learned.say(
            counted(taught, "file"), f"{thousands(tokens)} tokens" if corpus.has_tokens else "counting tokens…"
        )
        self.held_out.say(counted(totals.held_out.files, "file"), "for honest scores")
        self.left_out.say(counted(totals.left_out.files, "file"), why_left_out(corpus.by_reason))
        masked = sum(secret.masked for secret in corpus.secrets)
        if not corpus.secrets:
            self.secrets.say("none", "every file was searched")
        else:
            words = "masked, never learned" if policy == "mask" else "their files are left out"
            self.secrets.say(counted(masked, "line"), words, "warn" if masked else "")

    @Slot()
    def on_clicked(self) -> None:
        self.chosen.emit(self.sender().key)


def why_left_out(reasons: Sequence[ReasonCount]) -> str:
    """The most common reason, and how many others there are: in few words, or the longest reason would be cut."""
    if not reasons:
        return "nothing"
    return reasons[0].words + (f", {len(reasons) - 1} more" if len(reasons) > 1 else "")
