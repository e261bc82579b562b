"""The editor with its head (which file, and that it is a copy) and the status line under it; keeps what was typed.

Texts that were changed stay in memory by path until the program ends, so that looking at another file loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.window.complete.editor import CodeEditor
from app.window.complete.file_reading import FileReader
from app.window.complete.keys import GhostKeys
from app.window.complete.status_line import StatusLine
from app.window.parts import Card, ElidedLabel, LinkButton, label, rule, tip

HEAD = 40  # pixels
SCRATCH = "Scratch text"
COPY = "a copy, never saved"
STAYS = "never saved"
PLACEHOLDER = "Type or paste code here, or open a file with Ctrl+P.\nNothing that you do here changes a file."


@dataclass(frozen=True)
class Kept:
    """A text as it was left."""

    text: str
    position: int
    is_changed: bool


class EditorCard(Card):
    """One file or a scratch text at a time."""

    opened = Signal(str)  # path; "": the scratch text
    problem = Signal(str)  # words

    def __init__(self, keys: GhostKeys) -> None:
        super().__init__(margins=(1, 1, 1, 1), spacing=0)
        self.path = ""  # relative to `root`; "": the scratch text
        self.root = ""
        self.language = ""  # of the scratch text
        self._wanted_position = 0
        self._kept: dict[tuple[str, str], Kept] = {}
        self._wanted = ("", "")
        self.reader = FileReader(self)
        self.name = ElidedLabel(SCRATCH, "code", middle=True)
        self.note = label(STAYS, "label")
        self.revert_button = LinkButton("Undo changes", "Shows the file as it is on disk again")
        tip(self.note, "What you type stays in this window: no file of yours is ever changed")
        self.editor = CodeEditor(keys)
        self.editor.setPlaceholderText(PLACEHOLDER)
        self.status = StatusLine()
        top = QWidget()
        top.setFixedHeight(HEAD)  # the link comes and goes, the text below stays where it is
        head = QHBoxLayout(top)
        head.setContentsMargins(16, 0, 16, 0)
        head.setSpacing(10)
        head.addWidget(self.name, 1)
        head.addWidget(self.revert_button)
        head.addWidget(self.note)
        self.column.addWidget(top)
        self.column.addWidget(rule())
        self.column.addWidget(self.editor, 1)
        self.column.addWidget(rule())
        self.column.addWidget(self.status)
        self.revert_button.hide()
        self.reader.read.connect(self.on_read)
        self.reader.failed.connect(self.on_read_failed)
        self.revert_button.clicked.connect(self.on_revert)
        self.editor.document().modificationChanged.connect(self.on_modification_changed)
        self.editor.cursorPositionChanged.connect(self.on_cursor_moved)
        self.on_cursor_moved()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was opened or typed yet."""
        return not self.path and not self.editor.toPlainText()

    def open(self, root: str, path: str, position: int = 0) -> None:
        """Show a file: as it was left here, or as it is on disk."""
        self._keep()
        kept = self._kept.get((root, path))
        if kept is not None and kept.is_changed:
            self.show_text(root, path, kept.text, kept.position)
            self.editor.document().setModified(True)
            return
        self._wanted, self._wanted_position = (root, path), kept.position if kept is not None else position
        self.reader.want(root, path)

    def open_scratch(self) -> None:
        """An empty text of no file, or the one that was begun."""
        self._keep()
        kept = self._kept.get(("", ""))
        same = not self.path
        self.show_text("", "", "" if kept is None or same else kept.text, 0 if kept is None or same else kept.position)

    def set_language(self, language: str) -> None:
        """Of the scratch text, which has no name to know it by."""
        self.language = language
        if not self.path:
            self.editor.colouring.set_language("", language)

    @Slot(str, str)
    def on_read(self, path: str, text: str) -> None:
        root, wanted = self._wanted
        if path == wanted:
            self.show_text(root, path, text, self._wanted_position)

    @Slot(str, str)
    def on_read_failed(self, _path: str, words: str) -> None:
        self.problem.emit(words)

    @Slot()
    def on_revert(self) -> None:
        self._kept.pop((self.root, self.path), None)
        self._wanted, self._wanted_position = (self.root, self.path), self.editor.textCursor().position()
        self.reader.want(self.root, self.path)
        self.editor.setFocus()

    @Slot(bool)
    def on_modification_changed(self, modified: bool) -> None:
        self.revert_button.setVisible(modified and bool(self.path))

    @Slot()
    def on_cursor_moved(self) -> None:
        cursor = self.editor.textCursor()
        self.status.show_place(cursor.blockNumber() + 1, cursor.positionInBlock() + 1)

    def _keep(self) -> None:
        editor = self.editor
        changed = editor.document().isModified()
        self._kept[self.root, self.path] = Kept(
            editor.toPlainText() if changed else "", editor.textCursor().position(), changed
        )

    def show_text(self, root: str, path: str, text: str, position: int) -> None:
        """A text under the name of a file; "" for the scratch text."""
        self.root, self.path = (root, path) if path else ("", "")
        self.editor.load(text, path, "" if path else self.language, position)
        self.on_modification_changed(False)
        self.name.set_words(path or SCRATCH)
        self.note.setText(COPY if path else STAYS)
        self.opened.emit(path)
