"""The main facts of one checkpoint: loss, size, origin, tags and note."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPlainTextEdit

from app.values.checkpoints import CheckpointDetails, CheckpointRow
from app.values.words import mode_words, nbytes, thousands
from app.window.adapt.words import change
from app.window.checkpoints.words import NOTHING, counted_names, exact_when, kind_words, loss_words
from app.window.parts import Card, ElidedLabel, FigureLabel, InlineMessage, Line, label, set_style, tip

FACTS = ("Created", "Type", "Made from", "Weights", "Trained on", "Needed by")
NOTE_HEIGHT = 58


class NoteField(QPlainTextEdit):
    """A few lines of text.  Emits `changed` when the focus leaves or on Ctrl+Enter, if the text is new."""

    changed = Signal(str)
    help_keys = (("Save the note", "Ctrl+Enter"),)

    def __init__(self) -> None:
        super().__init__()
        set_style(self, "role", "note")
        self.setPlaceholderText("Add a note")
        self.setAccessibleName("Note")
        self.setTabChangesFocus(True)
        self.setFixedHeight(NOTE_HEIGHT)
        self._last = ""

    def set_value(self, words: str) -> None:
        """Show a text without emitting `changed`."""
        if words != self.toPlainText():
            self.setPlainText(words)
        self._last = words

    def finish(self) -> None:
        """Emit `changed` if the text is new."""
        words = self.toPlainText().rstrip()
        if words != self._last:
            self._last = words
            self.changed.emit(words)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.finish()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and event.modifiers():
            self.finish()
        else:
            super().keyPressEvent(event)


class FactsCard(Card):
    """The row is known at once, the details a moment later."""

    note_wanted = Signal(str, str)  # id, text
    tags_wanted = Signal(str, tuple)  # id, tags

    def __init__(self) -> None:
        super().__init__(margins=(16, 14, 16, 14), spacing=10)
        self.row: CheckpointRow | None = None
        top = QHBoxLayout()
        top.setSpacing(8)
        self.name = ElidedLabel("", "heading")
        top.addWidget(self.name, 1)
        self.badges: dict[str, QLabel] = {}
        for key, tone in (("mode", ""), ("precision", ""), ("snapshot", ""), ("in use", "good")):
            self.badges[key] = label(key, "badge", tone)
            top.addWidget(self.badges[key])
        self.column.addLayout(top)
        self.problem = InlineMessage(closable=False)
        self.column.addWidget(self.problem)
        figures = QHBoxLayout()
        figures.setSpacing(10)
        self.loss = FigureLabel("Held-out loss", 110, remark_below=True)
        tip(self.loss, "How surprised the model is by code it has not seen, and its change. Lower is better.")
        self.steps = FigureLabel("Steps", 56, remark_below=True)
        self.size = FigureLabel("On disk", 100, remark_below=True)
        figures.addWidget(self.loss, 3)
        figures.addWidget(self.steps, 1)
        figures.addWidget(self.size, 2)
        self.column.addLayout(figures)
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        widest = max(FACTS, key=len)
        self.facts: dict[str, ElidedLabel] = {}
        self._names: dict[str, QLabel] = {}
        for place, name in enumerate(FACTS):
            self._names[name] = label(name, "label")
            self.facts[name] = ElidedLabel("", "body", middle=name == "Trained on")
            grid.addWidget(self._names[name], place, 0)
            grid.addWidget(self.facts[name], place, 1)
        self._names[widest].ensurePolished()
        grid.setColumnMinimumWidth(0, self._names[widest].sizeHint().width())  # even while that fact is hidden
        self.column.addLayout(grid)
        self.tags = Line("Tags, separated by commas")
        self.tags.setAccessibleName("Tags")
        tip(self.tags, "Words to find it by in the search", "Ctrl+G")
        self.tags.changed.connect(self.on_tags_changed)
        self.note = NoteField()
        tip(self.note, "Anything you want to remember about it", "Ctrl+L")
        self.note.changed.connect(self.on_note_changed)
        self.column.addWidget(self.tags)
        self.column.addWidget(self.note)

    def show_row(self, row: CheckpointRow, in_use: bool, origin: str = "") -> None:
        """What the table knows, and the name of what it was made from.  Text that is being typed is left alone."""
        if self.row is not None and row.id != self.row.id:
            self.note.finish()
            self.tags.on_editing_finished()
        other = self.row is None or row.id != self.row.id
        self.row = row
        readable = bool(row.kind)
        self.name.set_words(row.name)
        self._badge("mode", mode_words(row.mode))
        self._badge("precision", row.precision if row.precision != "float32" else "")
        self._badge("snapshot", "snapshot" if row.is_snapshot else "")
        self._badge("in use", "in use" if in_use else "")
        self._show_problem(row.problem)
        better = change(row.held_out_before, row.held_out_loss)
        lower = bool(better) and row.held_out_loss < row.held_out_before
        tone = "" if better in ("", "no change") else "good" if lower else "warn"
        before = f"{better} from {loss_words(row.held_out_before)}" if better else ""
        self.loss.say(loss_words(row.held_out_loss), before, tone)
        self.steps.say(f"{row.step:,}" if row.step else NOTHING)
        self.size.say(nbytes(row.nbytes) if readable else NOTHING)
        self._fact("Created", exact_when(row.created))
        self._fact("Type", kind_words(row.kind))
        self._fact("Made from", origin)
        self._fact("Trained on", row.repository)
        if other:
            self._fact("Weights", "")
            self._fact("Needed by", "")
        for field in (self.tags, self.note):
            field.setEnabled(readable)
        if other or not self.tags.hasFocus():
            self.tags.set_value(", ".join(row.tags))
        if other or not self.note.hasFocus():
            self.note.set_value(row.note)

    def show_details(self, details: CheckpointDetails) -> None:
        """What had to be read from its files."""
        self._fact("Weights", thousands(details.parameters))
        self._fact("Needed by", counted_names([row.name for row in details.dependants]))
        self._show_problem(details.row.problem)

    def edit_note(self) -> None:
        self.note.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def edit_tags(self) -> None:
        self.tags.setFocus(Qt.FocusReason.ShortcutFocusReason)
        QTimer.singleShot(0, self.tags.selectAll)

    def _badge(self, key: str, words: str) -> None:
        self.badges[key].setText(words)
        self.badges[key].setVisible(bool(words))

    def _fact(self, name: str, words: str) -> None:
        self.facts[name].set_words(words)
        needed = bool(words) or name == "Weights"  # known a moment later: reserve its line
        self.facts[name].setVisible(needed)
        self._names[name].setVisible(needed)

    def _show_problem(self, words: str) -> None:
        if words:
            self.problem.say(words, kind="error")
        else:
            self.problem.put_away()

    @Slot(str)
    def on_note_changed(self, words: str) -> None:
        if self.row is not None:
            self.note_wanted.emit(self.row.id, words)

    @Slot(str)
    def on_tags_changed(self, words: str) -> None:
        if self.row is not None:
            tags = dict.fromkeys(part.strip() for part in words.split(","))
            self.tags_wanted.emit(self.row.id, tuple(tag for tag in tags if tag))
