"""The Complete page: puts editor, suggestions and comparisons together, and restores the last session."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.state.application import Application
from app.state.memory import MemoryController
from app.values.completion import CompletionView
from app.values.events import Failure
from app.values.memory import READING
from app.values.words import counted, nbytes, thousands
from app.window.complete.drawer import Drawer
from app.window.complete.editor_card import EditorCard
from app.window.complete.file_opener import FileOpener
from app.window.complete.folds import COMPARE, FoldStrip
from app.window.complete.keys import ALL, DISMISS, LINE, WORD, GhostKeys
from app.window.complete.saving import Saving
from app.window.complete.session_keeper import SessionKeeper
from app.window.complete.sessions import is_inside
from app.window.complete.suggester import NOTHING, SHOWN, Suggester
from app.window.pages import ADAPT, CHECKPOINTS
from app.window.parts import (
    GAP,
    EmptyState,
    ErrorCard,
    InlineMessage,
    KeySplitter,
    Page,
    PageTitle,
    PlainButton,
    keyboard_focus,
    tip,
)

SPLITTER = "complete.height"
OPEN, NEW, SAVE, COMPARE_KEYS = "Ctrl+P", "Ctrl+N", "Ctrl+S", "Ctrl+Shift+E"
DRAWER, LEAST_EDITOR = 0.5, 220  # largest share of the height for open panels; pixels
EDGE = 20  # pixels
MEMORY_HELP = "Suggestions also draw on the rest of the repository"
FIRST_LANGUAGE = "Python"  # of scratch text while no repository is open


class CompletePage(Page):
    title, icon = "Complete", "complete"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._completion, self._repository = application.completion, application.repository
        self._settings = application.settings
        self._is_placed = False  # the user has moved the splitter
        self._root = ""  # the repository whose files are in the editor, or will be once the user has answered
        self._may_close = False
        self.keys = GhostKeys(self._settings, self)
        self._build()
        self._connect()
        self._restore()
        self.sessions.switch("")
        self.on_models_changed()
        self.on_repository_changed()
        self.on_unsaved_changed(self.card.has_unsaved)
        self.on_setting_changed("ligatures")
        self._show_keys()
        keyboard_focus(self)

    # ---- building

    def _build(self) -> None:
        self.empty = EmptyState(
            "complete",
            "No model yet",
            "This build has no built-in model. Adapt a new one to your code, or import one on the Checkpoints page.",
        )
        self.adapt_button = self.empty.add_button("Adapt a model", primary=True)
        self.import_button = self.empty.add_button("Import a model")
        self.heading = PageTitle("Complete")
        self.new_button = PlainButton("New", "Scratch text that belongs to no file", NEW)
        self.open_button = PlainButton("Open a file", "Open a file of the repository to read, edit and save", OPEN)
        self.save_button = PlainButton("Save", "Write your edits to the file", SAVE)
        self.memory_chip = MemoryChip(self.application.memory)
        for button in (self.memory_chip, self.new_button, self.open_button, self.save_button):
            self.heading.row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.error_card = ErrorCard()
        self.message = InlineMessage()
        self.card = EditorCard(self.keys)
        self.editor = self.card.editor
        self.saving = Saving(self.card, self)
        self.sessions = SessionKeeper(self.card, self.application.data_folder)
        self.suggester = Suggester(self.editor, self._completion, self._settings)
        self.folds = FoldStrip(self._settings, {COMPARE: COMPARE_KEYS})
        self.drawer = Drawer(self.application, self.suggester, self.folds)
        self.sides = self.drawer.sides
        upper = QWidget()
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.card, 1)
        column.addWidget(self.folds)
        upper.setMinimumHeight(LEAST_EDITOR)
        self.splitter = KeySplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(10)
        self.splitter.setAccessibleName("Height of the editor")
        self.splitter.addWidget(upper)
        self.splitter.addWidget(self.drawer)
        view = QWidget()
        view.setObjectName("page")
        column = QVBoxLayout(view)
        column.setContentsMargins(EDGE, 18, EDGE, 18)
        column.setSpacing(GAP)
        for widget in (self.heading, *self.saving.bars, self.error_card, self.message):
            column.addWidget(widget)
        column.addWidget(self.splitter, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(view)
        self.body.addWidget(self.stack)
        self.opener = FileOpener(self)

    def _connect(self) -> None:
        completion, suggester = self._completion, self.suggester
        completion.changed.connect(self.on_models_changed)
        self.application.checkpoints.changed.connect(self.on_models_changed)
        self._repository.changed.connect(self.on_repository_changed)
        self._settings.changed.connect(self.on_setting_changed)
        suggester.state_changed.connect(self.on_state_changed)
        suggester.thinking_changed.connect(self.on_state_changed)
        suggester.answered.connect(self.on_answered)
        suggester.failed.connect(self.on_failed)
        self.splitter.splitterMoved.connect(self.on_splitter_moved)
        self.drawer.height_changed.connect(self.share_height)
        self.card.opened.connect(self.on_opened)
        self.card.problem.connect(self.on_problem)
        self.card.status.source_wanted.connect(self.open_file)
        self.card.unsaved_changed.connect(self.on_unsaved_changed)
        self.saving.refused.connect(self.on_problem)
        self.saving.saved.connect(self.message.put_away)
        self.opener.chosen.connect(self.open_file)
        self.opener.closed.connect(self.editor.setFocus)
        self.error_card.action_wanted.connect(self.on_try_again)
        self.adapt_button.clicked.connect(self.on_adapt_wanted)
        self.import_button.clicked.connect(self.on_import_wanted)
        self.new_button.clicked.connect(self.on_new_wanted)
        self.open_button.clicked.connect(self.on_open_wanted)
        self.save_button.clicked.connect(self.saving.save)
        for keys, slot, words in (
            (OPEN, self.on_open_wanted, ""),  # listed with their buttons
            (NEW, self.on_new_wanted, ""),
            (SAVE, self.saving.save, ""),
            (COMPARE_KEYS, self.on_compare_wanted, ""),
            ("F6", self.on_other_part_wanted, "Move between the editor and the panels around it"),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setWhatsThis(words)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    # ---- models and settings

    @Slot()
    def on_models_changed(self) -> None:
        """Without a model, the page says how to get one."""
        nothing = self.application.checkpoints.listed and not self._completion.model_choices
        if nothing and self.editor.hasFocus():
            self.setFocus()  # not to the next control: a focus ring that the user did not tab to is noise
        self.stack.setCurrentIndex(0 if nothing else 1)
        if self.isVisible():
            self.drawer.offer()

    @Slot()
    def on_repository_changed(self) -> None:
        repository = self._repository
        self.open_button.setEnabled(repository.corpus is not None)
        languages = repository.corpus.by_language if repository.corpus is not None else ()
        self.card.set_language(languages[0].language if languages else FIRST_LANGUAGE)
        if repository.root != self._root:
            self._root = repository.root
            self.saving.leave(self._switch_repository, can_stay=False)

    def _switch_repository(self) -> None:
        self.sessions.switch(self._root)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name.startswith("key_"):
            self._show_keys()
        elif name == "completion_enabled":
            self.on_state_changed()
        elif name == "ligatures":
            self.editor.show_ligatures(self._settings.ligatures)

    def _show_keys(self) -> None:
        parts = ((ALL, "accepts"), (WORD, "accepts a word"), (LINE, "a line"), (DISMISS, "dismisses"))
        known = [f"{self.keys.words(action)} {words}" for action, words in parts if self.keys.words(action)]
        self.heading.say("Suggestions appear as you type. " + ", ".join(known) + ("." if known else ""))

    # ---- suggestions

    @Slot()
    def on_state_changed(self, *_what: object) -> None:
        suggester, status = self.suggester, self.card.status
        status.show_state(suggester.state, suggester.thinking, suggester.enabled)
        if suggester.answer is not None and suggester.state == SHOWN:
            status.show_suggestion(suggester.answer, suggester.place, len(suggester.texts))
        elif suggester.answer is not None and suggester.state == NOTHING:
            status.show_silence(suggester.answer)

    @Slot(object)
    def on_answered(self, view: CompletionView) -> None:
        self.card.status.show_answer(view)
        self.error_card.put_away()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.error_card.show_failure(failure, "Try again", "Ask for a suggestion at this cursor again")

    @Slot()
    def on_try_again(self) -> None:
        self.error_card.put_away()
        self.suggester.ask()
        self.editor.setFocus()

    # ---- files

    @Slot()
    def on_open_wanted(self) -> None:
        if self._repository.corpus is None:
            self.message.say("Choose a folder on the Repository page first; then you can open its files here.")
        elif self.stack.currentIndex() == 1:
            self.opener.open(self._repository.corpus.files)

    @Slot(str)
    @Slot(str, int)
    def open_file(self, path: str, line: int = 0) -> None:
        """Show a file of the repository, with the cursor at `line` (from 1) if that is given."""
        self.message.put_away()
        if (self._root, path) == (self.card.root, self.card.path):
            self.card.go_to(line)
        elif is_inside(path):
            self.saving.leave(lambda: self.card.open(self._root, path, line=line))

    @Slot()
    def on_new_wanted(self) -> None:
        self.saving.leave(self.card.open_scratch)
        if not self.saving.unsaved.isVisible():
            self.editor.setFocus()

    @Slot(bool)
    def on_unsaved_changed(self, unsaved: bool) -> None:
        self.save_button.setEnabled(unsaved)

    @Slot(str)
    def on_opened(self, path: str) -> None:
        self.suggester.path = path
        self.suggester.stop()
        self.card.status.show_answer(None)

    @Slot(str)
    def on_problem(self, words: str) -> None:
        self.message.say(words, kind="warn")

    # ---- parts of the page

    @Slot()
    def on_compare_wanted(self) -> None:
        self.folds.toggle(COMPARE)

    @Slot()
    def on_other_part_wanted(self) -> None:
        """Between the editor and the panels around it: in the editor, Tab is part of the text."""
        target = self.folds.buttons[COMPARE] if self.editor.hasFocus() else self.editor
        target.setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def on_adapt_wanted(self) -> None:
        self.page_wanted.emit(ADAPT)

    @Slot()
    def on_import_wanted(self) -> None:
        self.page_wanted.emit(CHECKPOINTS)

    def on_shown(self) -> None:
        self.on_models_changed()
        if self.stack.currentIndex() == 1:
            self.editor.setFocus()

    # ---- restoring

    def keep_place(self) -> None:
        if self._is_placed:
            self._settings.keep_place(SPLITTER, self.splitter.saveState())
        self.saving.writer.wait()
        self.sessions.keep_now()
        self.card.reader.wait()

    def holds_window(self) -> bool:
        if self._may_close or not self.card.has_unsaved:
            return False
        self.saving.leave(self._close_window)
        return True

    def _close_window(self) -> None:
        self._may_close = True
        self.window().close()
        self._may_close = False

    def _restore(self) -> None:
        state = self._settings.place(SPLITTER)
        self._is_placed = bool(state) and self.splitter.restoreState(state)

    def resizeEvent(self, event) -> None:
        """Divide the height, until the user has moved the splitter."""
        super().resizeEvent(event)
        self.share_height()

    @Slot()
    def share_height(self, *_what: object) -> None:
        """Give open panels the height they need, up to their share."""
        if not self._is_placed:
            room = self.splitter.height() - self.splitter.handleWidth()
            lower = min(self.drawer.wanted_height(), int(room * DRAWER))
            self.splitter.setSizes([room - lower, lower])

    @Slot()
    def on_splitter_moved(self, *_where: int) -> None:
        self._is_placed = True


class MemoryChip(PlainButton):
    """Switches the memory on and off and shows its size.  Hidden until there is a memory."""

    role = "switch"

    def __init__(self, memory: MemoryController) -> None:
        super().__init__("Memory")
        self._memory = memory
        self.setCheckable(True)
        self.clicked.connect(memory.switch)
        memory.memory_changed.connect(self.refresh)
        memory.switched.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self, *_what: object) -> None:
        memory, view = self._memory, self._memory.view
        self.setVisible(memory.is_there)
        self.setChecked(memory.is_on)
        if not memory.is_there:
            return
        words = f"Memory: {thousands(view.tokens)} tokens" if memory.is_on else "Memory: off"
        self.setText(words)
        self.setAccessibleName(words)
        size = f"{counted(view.files, 'file')}, {thousands(view.tokens)} tokens, {nbytes(view.bytes)}"
        reading = "; still reading" if view.state == READING else ""
        tip(self, f"{MEMORY_HELP}: {size}{reading}")
