"""The editor with its header (which file, whether it has unsaved edits) and the status line under it.

Edited texts are kept by path until they are saved or discarded, so that opening another file loses nothing; `session`
and `restore` carry them over a restart.  Files are written by `saving`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.window.complete.editor import CodeEditor
from app.window.complete.file_access import FileReader, SaveOutcome, SaveRequest
from app.window.complete.file_text import FileForm, FileText
from app.window.complete.keys import GhostKeys
from app.window.complete.sessions import Draft, Session
from app.window.complete.status_line import StatusLine
from app.window.parts import Card, ElidedLabel, LinkButton, label, rule, set_tone, tip

HEAD = 40  # pixels
SCRATCH, MARK = "Scratch text", "● "
UNSAVED, ON_DISK, NO_FILE = "Unsaved edits", "Saved", "Not in a file"
PLACEHOLDER = "Type or paste code here, or open a file with Ctrl+P."
UNFAITHFUL = "{} contains characters that this editor cannot preserve, so it was not saved."


@dataclass(frozen=True)
class Kept:
    """A text as it was left; an unedited one is read from disk again."""

    text: str
    position: int
    is_changed: bool
    digest: str


class EditorCard(Card):
    """Shows one file, or the scratch text."""

    opened = Signal(str)  # path; "": the scratch text
    problem = Signal(str)  # message
    unsaved_changed = Signal(bool)

    def __init__(self, keys: GhostKeys) -> None:
        super().__init__(margins=(1, 1, 1, 1), spacing=0)
        self.path = ""  # relative to `root`; "": the scratch text
        self.root = ""
        self.language = ""  # of the scratch text
        self.digest = ""  # of the file as it was opened or saved
        self._form = FileForm()
        self._is_faithful = True  # whether the editor holds every character of the file
        self._kept: dict[tuple[str, str], Kept] = {}
        self._wanted, self._wanted_place = ("", ""), (0, 0)  # position, line
        self._reverts = False  # the file being read replaces the edits
        self.reader = FileReader(self)
        self.name = ElidedLabel(SCRATCH, "code", middle=True)
        self.note = label(NO_FILE, "label")
        self.revert_button = LinkButton("Revert", "Reload the file from disk; undo restores your edits")
        self.editor = CodeEditor(keys)
        self.editor.setPlaceholderText(PLACEHOLDER)
        self.status = StatusLine()
        top = QWidget()
        top.setFixedHeight(HEAD)  # fixed: the link appears and disappears, the text below must not move
        head = QHBoxLayout(top)
        head.setContentsMargins(16, 0, 16, 0)
        head.setSpacing(10)
        head.addWidget(self.name, 1)
        head.addWidget(self.revert_button)
        head.addWidget(self.note)
        for widget, stretch in ((top, 0), (rule(), 0), (self.editor, 1), (rule(), 0), (self.status, 0)):
            self.column.addWidget(widget, stretch)
        self.reader.read.connect(self.on_read)
        self.reader.failed.connect(self.on_read_failed)
        self.revert_button.clicked.connect(self.on_revert)
        self.editor.document().modificationChanged.connect(self.on_modification_changed)
        self.editor.cursorPositionChanged.connect(self.on_cursor_moved)
        self.on_modification_changed(False)
        self.on_cursor_moved()

    @property
    def has_unsaved(self) -> bool:
        """Whether the file in the editor differs from the one on disk."""
        return bool(self.path) and self.editor.document().isModified()

    # ---- opening

    def open(self, root: str, path: str, position: int = 0, line: int = 0) -> None:
        """Show a file with its unsaved edits, or as it is on disk; `line`, from 1, is where the cursor goes."""
        self._keep()
        self._reverts = False
        kept = self._kept.get((root, path))
        place = kept.position if kept is not None and not line else position
        if kept is not None and kept.is_changed:
            self.reader.forget()
            self.show_text(root, path, kept.text, place, kept.digest)
            self.editor.document().setModified(True)
            self.go_to(line)
            return
        self._wanted, self._wanted_place = (root, path), (place, line)
        self.reader.request(root, path)

    def open_scratch(self) -> None:
        """Show the scratch text; if it is shown already, clear it."""
        if not self.path:
            self.editor.replace_text("")
            return
        self._keep()
        self.reader.forget()
        kept = self._kept.get((self.root, ""), Kept("", 0, False, ""))
        self.show_text(self.root, "", kept.text, kept.position)

    def set_language(self, language: str) -> None:
        """The language of the scratch text, which has no file name to tell it."""
        self.language = language
        if not self.path:
            self.editor.colouring.set_language("", language)

    def show_text(self, root: str, path: str, text: str, position: int, digest: str = "") -> None:
        """Show a text as the file `path`; "" is the scratch text."""
        self.root, self.path, self.digest = root, path, digest
        self.editor.load(text, path, "" if path else self.language, position)
        self._is_faithful = self.editor.text == text
        self.on_modification_changed(False)
        self.opened.emit(path)

    def go_to(self, line: int) -> None:
        """Move the cursor to a line, counted from 1; 0 leaves it where it is."""
        if line:
            self.editor.go_to_line(line)

    @Slot(str, object)
    def on_read(self, path: str, read: FileText) -> None:
        root, wanted = self._wanted
        if path != wanted:
            return
        position, line = self._wanted_place
        self._form = read.form
        if self._reverts and (root, path) == (self.root, self.path):
            self._reverts = False
            self.editor.replace_text(read.text)
            self.digest, self._is_faithful = read.digest, self.editor.text == read.text
            self.editor.document().setModified(False)
            return
        self.show_text(root, path, read.text, position, read.digest)
        self.go_to(line)

    @Slot(str, str)
    def on_read_failed(self, _path: str, words: str) -> None:
        self._reverts = False
        self.problem.emit(words)

    # ---- edits

    @Slot()
    def on_revert(self) -> None:
        """Reload from disk; undo restores the edits."""
        self._kept.pop((self.root, self.path), None)
        self._wanted, self._wanted_place, self._reverts = (self.root, self.path), (0, 0), True
        self.reader.request(self.root, self.path)
        self.editor.setFocus()

    def discard(self) -> None:
        """Drop the edits: the file is read again when it is next opened."""
        self._kept.pop((self.root, self.path), None)
        self.editor.document().setModified(False)

    def save_request(self, is_forced: bool = False) -> SaveRequest | str:
        """What to write, or why nothing can be.  `is_forced`: overwrite whatever is on disk."""
        if not self.path:
            return "Scratch text belongs to no file. To edit and save, open a file of the repository."
        if not self._is_faithful:
            return UNFAITHFUL.format(self.path)
        return SaveRequest(self.root, self.path, self.editor.text, "" if is_forced else self.digest, self._form)

    def take_saved(self, outcome: SaveOutcome) -> None:
        """A text has been written.  Whatever was typed meanwhile is still unsaved."""
        request, key = outcome.request, (outcome.request.root, outcome.request.path)
        if key == (self.root, self.path):
            self.digest = outcome.digest
            if self.editor.text == request.text:
                self.editor.document().setModified(False)
        elif (kept := self._kept.get(key)) is not None:
            self._kept[key] = replace(kept, digest=outcome.digest, is_changed=kept.text != request.text)

    @Slot(bool)
    def on_modification_changed(self, modified: bool) -> None:
        unsaved = modified and bool(self.path)
        self.revert_button.setVisible(unsaved)
        self.name.set_words((MARK if unsaved else "") + (self.path or SCRATCH))
        self.note.setText(UNSAVED if unsaved else ON_DISK if self.path else NO_FILE)
        set_tone(self.note, "warn" if unsaved else "")
        tip(self.note, "Ctrl+S saves" if self.path else "Codecoil keeps this text, but it is not saved in a file")
        self.unsaved_changed.emit(unsaved)

    @Slot()
    def on_cursor_moved(self) -> None:
        cursor = self.editor.textCursor()
        self.status.show_place(cursor.blockNumber() + 1, cursor.positionInBlock() + 1)

    def _keep(self) -> None:
        editor = self.editor
        changed = self.has_unsaved or not self.path
        self._kept[self.root, self.path] = Kept(
            editor.text if changed else "", editor.textCursor().position(), changed, self.digest
        )

    # ---- sessions

    def session(self) -> Session:
        """Everything that is not on disk, and the position of the cursor."""
        self._keep()
        mine = {path: kept for (root, path), kept in self._kept.items() if root == self.root and kept.is_changed}
        drafts = {path: Draft(kept.text, kept.position, kept.digest) for path, kept in mine.items()}
        scratch = drafts.pop("", Draft(""))
        return Session(self.path, self.editor.textCursor().position(), scratch, drafts)

    def restore(self, root: str, session: Session) -> None:
        """Restore the session of a repository."""
        self._kept = {}
        for path, draft in session.drafts.items():
            self._kept[root, path] = Kept(draft.text, draft.position, True, draft.digest)
        self.show_text(root, "", session.scratch.text, session.scratch.position)
        if session.path:
            self.open(root, session.path, session.position)
