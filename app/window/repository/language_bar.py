"""The share of each language in what is learned: a bar, its legend, and a menu that switches languages on and off."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QAction, QColor, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QWidget

from app.theme import Theme, Tokens
from app.theme.icons import pixmap
from app.theme.language_colours import language_colour
from app.values.repository import CorpusView
from app.values.words import counted, language_words, thousands
from app.window.parts import Card, LayoutButton, label, tip

MOST = 6  # languages with an entry of their own
OTHER = "other"
LANGUAGE_OFF = "language_off"  # the reason's key
SPACING = 4  # pixels between two entries
FIGURE_SPACE = "\u2007"  # as wide as a digit


def colour_of(language: str, tokens: Tokens) -> str:
    """The language's own colour, whatever its place; the axes' for the rest."""
    return tokens.dim if language == OTHER else language_colour(language, tokens)


class Bar(QWidget):
    """The coloured line."""

    def __init__(self) -> None:
        super().__init__()
        self._shares: list[tuple[str, float]] = []
        self.setFixedHeight(12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        Theme.current().restyled.connect(self.on_restyled)

    def show_shares(self, shares: list[tuple[str, float]], words: str) -> None:
        """Languages and their shares, from left to right."""
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
        for i, (language, share) in enumerate(self._shares):
            width = self.width() * share
            gap = 1.0 if i + 1 < len(self._shares) else 0.0
            colour = QColor(colour_of(language, tokens))
            painter.fillRect(QRectF(x, 0, max(1.0, width - gap), self.height()), colour)
            x += width

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.update()


class LegendEntry(LayoutButton):
    """A language and its share; a click lists only its files."""

    def __init__(self) -> None:
        super().__init__("legend")
        self.language = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 2, 8, 2)
        row.setSpacing(6)
        self._square = label()
        self._square.setFixedSize(9, 9)
        self._words = label("", "label")
        row.addWidget(self._square)
        row.addWidget(self._words)
        self.pass_clicks()
        Theme.current().restyled.connect(self.on_restyled)

    def say(self, language: str, words: str, help_words: str) -> None:
        self.language = language
        self._words.setText(words)
        self.setAccessibleName(f"List only {words}")
        tip(self, help_words)
        self.on_restyled(Theme.current().tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._square.setPixmap(pixmap("square", colour_of(self.language, tokens), 9, self.devicePixelRatioF()))


class Legend(QWidget):
    """The entries side by side, as many as there is room for: the menu beside them has them all."""

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
        """The first `count` entries are in use."""
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


class LanguageMenu(QMenu):
    """Every language of the repository with its share, to be switched on or off; stays open for more than one."""

    switched = Signal(str, object)  # language, on

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._corpus: CorpusView | None = None
        self.aboutToShow.connect(self.on_about_to_show)
        self.triggered.connect(self.on_triggered)

    def show_corpus(self, corpus: CorpusView) -> None:
        """Other shares; while the menu is open its lines keep their places."""
        self._corpus = corpus
        if self.isVisible():
            self._say_shares()

    @Slot()
    def on_about_to_show(self) -> None:
        self.clear()
        corpus = self._corpus
        if corpus is not None:
            on = [each.language for each in corpus.by_language if each.language]  # largest first
            for language in (*on, *(off for off in corpus.languages_off if off not in on)):
                action = self.addAction("")
                action.setCheckable(True)
                action.setData(language)
            self._say_shares()

    def _say_shares(self) -> None:
        corpus = self._corpus
        shares = {each.language: each.share for each in corpus.by_language}
        files = Counter(row.language for row in corpus.files if row.reason == LANGUAGE_OFF)
        for action in self.actions():
            language = action.data()
            if language in corpus.languages_off:
                share = f"off, {counted(files[language], 'file')}" if files[language] else "off"
            else:
                share = percent(shares.get(language, 0.0)).rjust(5, FIGURE_SPACE)
            action.setText(f"{language_words(language)}\t{share}")
            action.setChecked(language not in corpus.languages_off)

    @Slot(QAction)
    def on_triggered(self, action: QAction) -> None:
        self.switched.emit(action.data(), action.isChecked())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        action = self.actionAt(event.position().toPoint())
        if action is not None:
            action.trigger()  # Qt would close the menu as well
        else:
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.activeAction() is not None:
            self.activeAction().trigger()
        else:
            super().keyPressEvent(event)


class LanguageBar(Card):
    """`language_chosen` lists only that language; `language_switched` learns it or leaves it out."""

    language_chosen = Signal(str)
    language_switched = Signal(str, object)

    def __init__(self) -> None:
        super().__init__(margins=(16, 14, 12, 8), spacing=6)
        self.bar = Bar()
        self.entries = [LegendEntry() for _ in range(MOST + 1)]
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACING)
        self.legend = Legend(self.entries)
        for entry in self.entries:
            entry.clicked.connect(self.on_entry_clicked)
        row.addWidget(self.legend, 1)
        self.menu_button = QPushButton("Languages…")
        self.menu_button.setProperty("role", "link")
        tip(self.menu_button, "Choose which languages are learned")
        self.menu = LanguageMenu(self)
        self.menu.switched.connect(self.language_switched)
        self.menu_button.setMenu(self.menu)
        row.addWidget(self.menu_button)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 4, 0)
        line.addWidget(self.bar)
        self.column.addLayout(line)
        self.column.addLayout(row)

    def show_corpus(self, corpus: CorpusView) -> None:
        """The largest languages, and the others as one."""
        self.menu.show_corpus(corpus)
        shown, rest = corpus.by_language[:MOST], corpus.by_language[MOST:]
        shares = [(each.language, each.share) for each in shown]
        words = [f"{language_words(each.language)} {percent(each.share)}" for each in shown]
        for entry, each, line in zip(self.entries, shown, words, strict=False):
            tokens = f", {thousands(each.amount.tokens)} tokens" if each.amount.tokens else ""
            entry.say(each.language, line, f"{counted(each.amount.files, 'file')}{tokens}. Click to list only these")
            entry.setEnabled(True)
        if rest:
            shares.append((OTHER, sum(each.share for each in rest)))
            others, entry = ", ".join(language_words(each.language) for each in rest), self.entries[len(shown)]
            entry.say(OTHER, f"{OTHER} {percent(shares[-1][1])}", others)
            entry.setEnabled(False)
        self.legend.show_first(len(shares))
        self.bar.show_shares(shares, "Languages: " + ", ".join(words))

    @Slot()
    def on_entry_clicked(self) -> None:
        self.language_chosen.emit(self.sender().language)


def percent(share: float) -> str:
    """A share in whole percent; never "0 %" for what is there."""
    return f"{share * 100:.0f} %" if share >= 0.005 else "< 1 %"
