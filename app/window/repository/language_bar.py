"""The share of each language in what is learned: a bar, its legend, and the switch to leave a language out."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QWidget

from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.values.repository import CorpusView
from app.values.words import counted, language_words, thousands
from app.window.parts import Card, LayoutButton, label, tip

MOST = 6  # languages with a place of their own; the rest are one
OTHER = "other"
SPACING = 4  # pixels between two entries


def colours(tokens: Tokens) -> list[str]:
    """A colour for each place of the bar; the last is for the rest."""
    return [tokens.second, tokens.third, tokens.warn, tokens.accent, tokens.bad, tokens.mute, tokens.dim]


class Bar(QWidget):
    """The coloured line."""

    def __init__(self) -> None:
        super().__init__()
        self._shares: list[float] = []
        self.setFixedHeight(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        Theme.current().restyled.connect(self.on_restyled)

    def show_shares(self, shares: list[float], words: str) -> None:
        """From left to right."""
        self._shares = shares
        self.setAccessibleName(words)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = Theme.current().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shape = QPainterPath()
        shape.addRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setClipPath(shape)
        painter.fillRect(self.rect(), QColor(tokens.raised))
        x = 0.0
        for i, share in enumerate(self._shares):
            width = self.width() * share
            gap = 1.0 if i + 1 < len(self._shares) else 0.0
            painter.fillRect(QRectF(x, 0, max(1.0, width - gap), self.height()), QColor(colours(tokens)[i]))
            x += width

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.update()


class LegendEntry(LayoutButton):
    """A language and its share; pressing it shows only its files."""

    def __init__(self, place: int) -> None:
        super().__init__("legend")
        self.place, self.language = place, ""
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 2, 8, 2)
        row.setSpacing(6)
        self._square = label()
        self._square.setFixedSize(9, 9)
        self._words = label("", "label")
        row.addWidget(self._square)
        row.addWidget(self._words)
        self.pass_clicks()
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    def say(self, language: str, words: str, help_words: str) -> None:
        """What it stands for."""
        self.language = language
        self._words.setText(words)
        self.setAccessibleName(f"Show only {words}")
        tip(self, help_words)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._square.setPixmap(pixmap("square", colours(tokens)[self.place], 9, self.devicePixelRatioF()))


class Legend(QWidget):
    """The entries side by side; where the room is narrow the last ones give way: the menu beside them has them all."""

    def __init__(self, entries: list[LegendEntry]) -> None:
        super().__init__()
        self._entries, self._count = entries, 0
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACING)
        for entry in entries:
            row.addWidget(entry)
        row.addStretch(1)

    def show_first(self, count: int) -> None:
        """So many of them stand for something."""
        self._count = count
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.width() + SPACING
        for place, entry in enumerate(self._entries):
            room -= entry.sizeHint().width() + SPACING
            entry.setVisible(place < self._count and room >= 0)


class LanguageBar(Card):
    """`language_chosen` filters by one; `language_switched` learns or leaves one."""

    language_chosen = Signal(str)
    language_switched = Signal(str, object)

    def __init__(self) -> None:
        super().__init__(margins=(16, 14, 12, 8), spacing=6)
        self._corpus: CorpusView | None = None
        self.bar = Bar()
        self.entries = [LegendEntry(i) for i in range(MOST + 1)]
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACING)
        self.legend = Legend(self.entries)
        for entry in self.entries:
            entry.clicked.connect(self.on_entry_clicked)
        row.addWidget(self.legend, 1)
        self.menu_button = QPushButton("Languages…")
        self.menu_button.setProperty("role", "link")
        tip(self.menu_button, "Which languages are learned")
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self.on_menu_about_to_show)
        self._menu.triggered.connect(self.on_language_picked)
        self.menu_button.setMenu(self._menu)
        row.addWidget(self.menu_button)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 4, 0)
        line.addWidget(self.bar)
        self.column.addLayout(line)
        self.column.addLayout(row)

    def show_corpus(self, corpus: CorpusView) -> None:
        """The largest languages, and the rest as one."""
        self._corpus = corpus
        shown = list(corpus.by_language[:MOST])
        rest = corpus.by_language[MOST:]
        shares = [each.share for each in shown]
        lines = [(language_words(each.language), each.share, each.amount) for each in shown]
        if rest:
            shares.append(sum(each.share for each in rest))
        words = [f"{name} {percent(share)}" for name, share, _ in lines]
        for i, entry in enumerate(self.entries):
            if i < len(lines):
                amount = lines[i][2]
                tokens = f", {thousands(amount.tokens)} tokens" if amount.tokens else ""
                entry.say(
                    shown[i].language, words[i], f"{counted(amount.files, 'file')}{tokens}. Press to show only these"
                )
            elif i < len(shares):
                entry.say(
                    OTHER, f"{OTHER} {percent(shares[i])}", ", ".join(language_words(each.language) for each in rest)
                )
                entry.setEnabled(False)
        for entry in self.entries[: len(lines)]:
            entry.setEnabled(True)
        self.legend.show_first(len(shares))
        self.bar.show_shares(shares, "Languages: " + ", ".join(words))

    @Slot()
    def on_entry_clicked(self) -> None:
        self.language_chosen.emit(self.sender().language)

    @Slot()
    def on_menu_about_to_show(self) -> None:
        self._menu.clear()
        on = [each.language for each in self._corpus.by_language if each.language] if self._corpus else []
        off = list(self._corpus.languages_off) if self._corpus else []
        for language in sorted({*on, *off}, key=str.casefold):
            action = self._menu.addAction(language_words(language))
            action.setCheckable(True)
            action.setChecked(language not in off)
            action.setData(language)

    @Slot(object)
    def on_language_picked(self, action) -> None:
        self.language_switched.emit(action.data(), action.isChecked())


def percent(share: float) -> str:
    """A share in whole percent; never "0 %" for what is there."""
    return f"{share * 100:.0f} %" if share >= 0.005 else "< 1 %"
