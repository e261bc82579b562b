"""What can be done with the selected checkpoints: one action each, shared by buttons, menu and keys."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from app.values.checkpoints import CheckpointRow
from app.window.parts import PlainButton, tip


class CheckpointActions(QObject):
    """Every action by name; `Commands` connects them.  Keys work anywhere on the page."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._help: dict[QAction, str] = {}
        self._buttons: list[tuple[QPushButton, QAction]] = []
        self.use = self._add("Use it", "Ctrl+Return", "Use it for completions")
        self.train = self._add("Continue training", "Ctrl+T", "Make it the base on the Adapt page")
        self.compare = self._add("Compare", "Ctrl+D", "Compare it with what it was made from")
        self.merge = self._add("Merge…", "Ctrl+M", "Blend two checkpoints")
        self.export = self._add("Export…", "Ctrl+E", "Write it for other programs, or for Codecoil on another machine")
        self.verify = self._add("Verify", "Ctrl+K", "Read every byte and check it against its checksum")
        self.rename = self._add("Rename", "F2", "")
        self.note = self._add("Note", "Ctrl+L", "")
        self.tags = self._add("Tags", "Ctrl+G", "")
        self.pin = self._add("Pin", "Ctrl+P", "")
        self.duplicate = self._add("Duplicate", "", "")
        self.copy_id = self._add("Copy ID", "", "")
        self.folder = self._add("Show files", "", "")
        self.delete = self._add("Delete", "Del", "Move to the trash; Undo brings it back")
        self.undo = self._add("Undo delete", "Ctrl+Z", "")
        self.close_panel = self._add("Close panel", "Esc", "")
        self.close_panel.setEnabled(False)
        self.import_file = self._add("Import a file…", "Ctrl+I", "A GGUF file, a .coil bundle or an MBJS .bin file")
        self.import_folder = self._add("Import a folder…", "Ctrl+Shift+I", "A folder in Hugging Face format")
        self.enable((), False)

    def enable(
        self, chosen: Sequence[CheckpointRow], in_use: bool, has_origin: bool = False, free: bool = True
    ) -> None:
        """What the selection allows.  `in_use`: completions come from it; `has_origin`: what it was made from is here;
        `free`: no long job is running."""
        readable = [row for row in chosen if row.kind]
        one = len(chosen) == 1 and len(readable) == 1
        sound = one and not chosen[0].problem
        sound_pair = len(readable) == 2 and not any(row.problem for row in chosen)
        for action, allowed in (
            (self.use, sound and not in_use),
            (self.train, sound),
            (self.compare, (one and has_origin) or sound_pair),
            (self.merge, len(chosen) == len(readable) == 2),
            (self.export, sound),
            (self.verify, free and len(chosen) == 1),
            (self.rename, one),
            (self.note, one),
            (self.tags, one),
            (self.pin, bool(readable)),
            (self.duplicate, free and sound),
            (self.copy_id, len(chosen) == 1),
            (self.folder, one),
            (self.delete, bool(chosen)),
            (self.import_file, free),
            (self.import_folder, free),
        ):
            action.setEnabled(allowed)
        self.use.setText("In use" if one and in_use else "Use it")
        self.pin.setText("Unpin" if readable and all(row.pinned for row in readable) else "Pin")
        for button, action in self._buttons:
            button.setEnabled(action.isEnabled())
            button.setText(action.text())
            tip(button, self._why(action, chosen), action.shortcut().toString())

    def button(self, action: QAction) -> PlainButton:
        """A button for an action."""
        button = PlainButton(action.text(), self._help[action], action.shortcut().toString())
        button.clicked.connect(action.trigger)
        self._buttons.append((button, action))
        return button

    def menu(self, parent: QWidget, *last: QMenu) -> QMenu:
        """The menu of the selection, with the keys; `last` are submenus at its end."""
        menu = QMenu(parent)
        for group in (
            (self.use, self.train, self.compare, self.merge),
            (self.rename, self.note, self.tags, self.pin),
            (self.export, self.verify, self.duplicate, self.copy_id, self.folder),
            (self.delete,),
        ):
            menu.addActions(group)
            menu.addSeparator()
        for each in last:
            menu.addMenu(each)
        return menu

    def _why(self, action: QAction, chosen: Sequence[CheckpointRow]) -> str:
        """What an action does, or what it needs before it can."""
        words, count = self._help[action], len(chosen)
        if action is self.compare and action.isEnabled() and count == 2:
            return "Let both complete the same code, side by side"
        if action.isEnabled():
            return words if count < 2 else f"{words} ({count:,} selected)"
        if count == 1 and chosen[0].problem:
            return chosen[0].problem
        if action is self.merge:
            return f"{words}: select two"
        if action is self.compare:
            return "What it was made from is not in the list" if count == 1 else "Compare two checkpoints: select two"
        if action is self.use and count == 1:
            return "Completions come from it already"
        return words if count == 1 else f"{words}: select one"

    def _add(self, words: str, keys: str, help_words: str) -> QAction:
        action = QAction(words, self._page)
        if keys:
            action.setShortcut(QKeySequence(keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self._help[action] = help_words or words
        self._page.addAction(action)
        return action
