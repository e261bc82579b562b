"""Which files are listed: by verdict or reason, by language, by words in the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.values.repository import ChangesSince, CorpusView, FileRow
from app.values.words import language_words
from app.window.parts import Choice, SearchField, tip

ALL, LEARNED, HELD_OUT, LEFT_OUT, BY_YOU, MASKED, CHANGED = (
    "",
    "+learned",
    "+held",
    "+left",
    "+you",
    "+masked",
    "+changed",
)
UNKNOWN = "?"  # the key of files without a language


@dataclass(frozen=True)
class FileFilter:
    """`what` is one of the constants above or a reason's key."""

    what: str = ALL
    language: str = ""
    words: tuple[str, ...] = ()  # each of them somewhere in the path, whatever its case
    changed: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        """Whether every file is listed."""
        return not (self.what or self.language or self.words)

    def accept(self) -> Callable[[FileRow], bool] | None:
        """The test for a row; None where every row passes."""
        if self.is_open:
            return None
        tests = []
        if self.what:
            tests.append(self._what_test())
        if self.language:
            language = "" if self.language == UNKNOWN else self.language
            tests.append(lambda row: row.language == language)
        for word in self.words:
            tests.append(lambda row, word=word: word in row.path.lower())
        return tests[0] if len(tests) == 1 else lambda row: all(test(row) for test in tests)

    def _what_test(self) -> Callable[[FileRow], bool]:
        return {
            LEARNED: lambda row: row.learn and not row.held_out,
            HELD_OUT: lambda row: row.held_out,
            LEFT_OUT: lambda row: not row.learn,
            BY_YOU: lambda row: row.overridden,
            MASKED: lambda row: row.masked_lines > 0,
            CHANGED: lambda row: row.path in self.changed,
        }.get(self.what, lambda row: not row.learn and row.reason == self.what)


class FilterRow(QWidget):
    """The controls; `changed` once the user has stopped typing or has chosen."""

    changed = Signal(object)  # FileFilter

    def __init__(self) -> None:
        super().__init__()
        self._paths: frozenset[str] = frozenset()
        self._shown: tuple[CorpusView, ChangesSince] | None = None
        self._names: list[str] = []
        self._has_masked = self._has_own = False
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.setMaximumWidth(640)
        self.search = SearchField(
            "Find in paths", "Find in paths", "Lists files with all of these words in their path", self
        )
        self.search.setMinimumWidth(110)
        self.search.setMaximumWidth(300)
        self.what = Choice(name="Verdict or reason")
        self.language = Choice(name="Language")
        for choice, least, most in ((self.what, 118, 200), (self.language, 132, 150)):
            choice.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            choice.setMinimumWidth(least)
            choice.setMaximumWidth(most)
            choice.chosen.connect(self.on_chosen)
        tip(self.what, "Lists only files with this verdict, or left out for this reason")
        tip(self.language, "Lists only files in this language")
        for widget, share in ((self.search, 3), (self.what, 2), (self.language, 1)):
            row.addWidget(widget, share)
        self.search.settled.connect(self.on_settled)

    @property
    def filter(self) -> FileFilter:
        """As the controls are set."""
        return FileFilter(self.what.value, self.language.value, self.search.words, self._paths)

    def show_choices(self, corpus: CorpusView, changes: ChangesSince) -> None:
        """The reasons and languages there are, with how many files each."""
        if (corpus, changes) == self._shown:
            return
        if self._shown is None or corpus is not self._shown[0]:
            self._names = sorted({row.language for row in corpus.files})
            self._has_masked = any(row.masked_lines for row in corpus.files)
            self._has_own = any(row.overridden for row in corpus.files)
        self._shown = (corpus, changes)
        totals = corpus.totals
        taught = totals.learned.files - totals.held_out.files
        self._paths = frozenset(changes.paths)
        choices = [(ALL, f"All files  {len(corpus.files):,}"), (LEARNED, f"To learn  {taught:,}")]
        choices.append((HELD_OUT, f"Held out  {totals.held_out.files:,}"))
        choices.append((LEFT_OUT, f"Left out  {totals.left_out.files:,}"))
        if changes.any:
            choices.append((CHANGED, f"Changed  {changes.files:,}"))
        if self._has_masked:
            choices.append((MASKED, "With masked lines"))
        if self._has_own:
            choices.append((BY_YOU, "Chosen by you"))
        choices += [(each.reason, f"{each.words}  {each.amount.files:,}") for each in corpus.by_reason]
        before = self.what.value, self.language.value
        self.what.set_choices(choices)
        self.what.view().setMinimumWidth(300)
        languages = [(name or UNKNOWN, language_words(name)) for name in self._names]
        self.language.set_choices([("", "All languages"), *languages])
        if (self.what.value, self.language.value) != before:
            self.on_settled()  # what was chosen is no longer among them

    def choose(self, what: str = ALL, language: str = "") -> None:
        """Set the controls as if the user had, and clear the search."""
        self.what.set_value(what)
        self.language.set_value(language)
        self.search.clear()
        self.on_settled()

    @Slot(str)
    def on_chosen(self, _key: str) -> None:
        self.on_settled()

    @Slot()
    def on_settled(self) -> None:
        self.changed.emit(self.filter)
