"""The page "Complete": puts editor, suggestions and comparisons together, and remembers where one was."""

from __future__ import annotations

import json

from PySide6.QtCore import QByteArray, Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.events import Failure
from app.state.application import Application
from app.values.completion import CompletionView
from app.window.complete.blend_row import BlendRow
from app.window.complete.editor_card import EditorCard
from app.window.complete.file_opener import FileOpener
from app.window.complete.keys import ALL, DISMISS, LINE, WORD, GhostKeys
from app.window.complete.sampling_drawer import SamplingDrawer
from app.window.complete.scores_card import ScoresCard
from app.window.complete.side_by_side import SideBySide
from app.window.complete.suggester import Suggester
from app.window.complete.timeline import Timeline
from app.window.pages import ADAPT, CHECKPOINTS
from app.window.parts import (
    GAP,
    Card,
    EmptyState,
    ErrorCard,
    InlineMessage,
    KeySplitter,
    Page,
    PageTitle,
    PlainButton,
    keyboard_focus,
    rule,
)

SPLITTER, FILE, PANEL = "complete.splitter", "complete.file", "complete.compare"
OPEN, NEW, COMPARE = "Ctrl+P", "Ctrl+N", "Ctrl+Shift+E"
SIDE, LEAST_SIDE, LEAST_EDITOR = 0.45, 336, 380  # share of the width, pixels; what its cards want beside a scroll bar
EDGE, GOOD_EDITOR = 20, 440  # pixels
FIRST_LANGUAGE = "Python"  # of a scratch text while no repository is open


class CompletePage(Page):
    """Everything it shows comes from the Application object."""

    title, icon = "Complete", "complete"

    def __init__(self, application: Application) -> None:
        super().__init__(application)
        self._completion, self._repository = application.completion, application.repository
        self._settings = application.settings
        self._is_placed = False  # the user has moved the splitter
        self._looked_for_last = ""  # the repository whose last file was looked for
        self.keys = GhostKeys(self._settings, self)
        self._build()
        self._connect()
        self._restore()
        self.on_models_changed()
        self.on_repository_changed()
        self._say_keys()
        keyboard_focus(self)

    # ---- building

    def _build(self) -> None:
        self.empty = EmptyState(
            "complete",
            "No model to complete with yet",
            "This build came without one. Adapt a new model to your code, or bring one in on the Checkpoints page.",
        )
        self.adapt_button = self.empty.add_button("Adapt a model", primary=True)
        self.import_button = self.empty.add_button("Bring one in")
        self.heading = PageTitle("Complete")
        self.new_button = PlainButton("New", "An empty text of no file", NEW)
        self.open_button = PlainButton("Open a file", "A file of the repository, as a copy", OPEN)
        self.compare_button = PlainButton("Compare", "What other models would write at this cursor", COMPARE)
        self.compare_button.setCheckable(True)
        for button in (self.new_button, self.open_button, self.compare_button):
            self.heading.row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.error_card = ErrorCard()
        self.message = InlineMessage()
        self.card = EditorCard(self.keys)
        self.editor = self.card.editor
        self.suggester = Suggester(self.editor, self._completion, self._settings)
        self.splitter = KeySplitter()
        self.splitter.setHandleWidth(GAP)
        self.splitter.setAccessibleName("Width of the editor")
        self.card.setMinimumWidth(LEAST_EDITOR)
        self.splitter.addWidget(self.card)
        self.splitter.addWidget(self._build_side())
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 2)
        view = QWidget()
        view.setObjectName("page")
        column = QVBoxLayout(view)
        column.setContentsMargins(EDGE, 18, EDGE, 18)
        column.setSpacing(GAP)
        for widget in (self.heading, self.error_card, self.message):
            column.addWidget(widget)
        column.addWidget(self.splitter, 1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(view)
        self.body.addWidget(self.stack)
        self.opener = FileOpener(self)

    def _build_side(self) -> QScrollArea:
        self.sides = SideBySide(self.application, self.suggester)
        self.blend = BlendRow(self._completion, self.suggester)
        self.timeline = Timeline(self.application, self.suggester)
        self.scores = ScoresCard(self.application)
        self.sampling = SamplingDrawer(self._completion)
        between = Card(spacing=12)
        between.column.addWidget(self.blend)
        between.column.addWidget(rule())
        between.column.addWidget(self.timeline)
        inner = QWidget()
        inner.setObjectName("page")
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        for widget in (self.sides, between, self.scores, self.sampling):
            column.addWidget(widget)
        column.addStretch(1)
        self.side = QScrollArea()
        self.side.setObjectName("page_view")
        self.side.setWidgetResizable(True)
        self.side.setFrameShape(QFrame.Shape.NoFrame)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.side.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.side.setMinimumWidth(LEAST_SIDE)
        self.side.setWidget(inner)
        return self.side

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
        self.sides.arranged.connect(self.blend.on_arranged)
        self.splitter.splitterMoved.connect(self.on_splitter_moved)
        self.card.opened.connect(self.on_opened)
        self.card.problem.connect(self.on_problem)
        self.opener.chosen.connect(self.open_file)
        self.opener.closed.connect(self.editor.setFocus)
        self.error_card.action_wanted.connect(self.on_try_again)
        self.adapt_button.clicked.connect(self.on_adapt_wanted)
        self.import_button.clicked.connect(self.on_import_wanted)
        self.new_button.clicked.connect(self.on_new_wanted)
        self.open_button.clicked.connect(self.on_open_wanted)
        self.compare_button.toggled.connect(self.on_compare_toggled)
        for keys, slot, words in (
            (OPEN, self.on_open_wanted, ""),  # those of a button are told in its words
            (NEW, self.on_new_wanted, ""),
            (COMPARE, self.compare_button.toggle, ""),
            ("F6", self.on_other_part_wanted, "From the editor to what is beside it, and back"),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setWhatsThis(words)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    # ---- what the controllers say

    @Slot()
    def on_models_changed(self) -> None:
        """A page without a model says what to do about it."""
        nothing = self.application.checkpoints.listed and not self._completion.model_choices
        if nothing and self.editor.hasFocus():
            self.setFocus()  # and not whatever comes next: a ring where nobody tabbed to is noise
        self.stack.setCurrentIndex(0 if nothing else 1)
        if self.isVisible():
            self.sides.offer()

    @Slot()
    def on_repository_changed(self) -> None:
        repository = self._repository
        self.open_button.setEnabled(repository.corpus is not None)
        languages = repository.corpus.by_language if repository.corpus is not None else ()
        self.card.set_language(languages[0].language if languages else FIRST_LANGUAGE)
        if repository.root and repository.root != self._looked_for_last:
            self._looked_for_last = repository.root
            self._open_last()

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name.startswith("key_"):
            self._say_keys()
        elif name == "completion_enabled":
            self.on_state_changed()

    def _say_keys(self) -> None:
        parts = ((ALL, "takes it"), (WORD, "a word"), (LINE, "a line"), (DISMISS, "dismisses"))
        known = [f"{self.keys.words(action)} {words}" for action, words in parts if self.keys.words(action)]
        self.heading.say("Type, and the suggestion follows. " + ", ".join(known) + ("." if known else ""))

    # ---- suggestions

    @Slot()
    def on_state_changed(self, *_what: object) -> None:
        suggester = self.suggester
        self.card.status.show_state(suggester.state, suggester.thinking, suggester.enabled)

    @Slot(object)
    def on_answered(self, view: CompletionView) -> None:
        self.card.status.show_answer(view)
        self.error_card.put_away()

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.error_card.show_failure(failure, "Try again", "Asks for a suggestion at this cursor again")

    @Slot()
    def on_try_again(self) -> None:
        self.error_card.put_away()
        self.suggester.ask()
        self.editor.setFocus()

    # ---- files

    @Slot()
    def on_open_wanted(self) -> None:
        if self._repository.corpus is None:
            self.message.say("Choose a folder on the Repository page first; its files can be opened here then.")
        elif self.stack.currentIndex() == 1:
            self.opener.open(self._repository.corpus.files)

    @Slot(str)
    def open_file(self, path: str) -> None:
        """Show a file of the repository, as a copy."""
        self.message.put_away()
        self.card.open(self._repository.root, path)

    @Slot()
    def on_new_wanted(self) -> None:
        self.card.open_scratch()
        self.editor.setFocus()

    @Slot(str)
    def on_opened(self, path: str) -> None:
        self.suggester.path = path
        self.suggester.stop()
        self.card.status.show_answer(None)

    @Slot(str)
    def on_problem(self, words: str) -> None:
        self.message.say(words, kind="warn")

    # ---- parts of the page

    @Slot(bool)
    def on_compare_toggled(self, on: bool) -> None:
        self.side.setVisible(on)
        words = "Hide comparison" if on else "Compare"
        self.compare_button.setText(words)
        self.compare_button.setAccessibleName(words)

    @Slot()
    def on_other_part_wanted(self) -> None:
        """From the editor to what is beside it, and back: in the editor, Tab is for the text."""
        if self.editor.hasFocus() and self.side.isVisible():
            self.sides.upper.choice.setFocus(Qt.FocusReason.TabFocusReason)
        elif self.editor.hasFocus():
            self.new_button.setFocus(Qt.FocusReason.TabFocusReason)
        else:
            self.editor.setFocus(Qt.FocusReason.TabFocusReason)

    @Slot()
    def on_adapt_wanted(self) -> None:
        self.page_wanted.emit(ADAPT)

    @Slot()
    def on_import_wanted(self) -> None:
        self.page_wanted.emit(CHECKPOINTS)

    def on_shown(self) -> None:
        self.on_models_changed()
        self.sides.offer()
        if self.stack.currentIndex() == 1:
            self.editor.setFocus()

    # ---- remembering

    def keep_place(self) -> None:
        if self._is_placed:
            self._settings.keep_place(SPLITTER, self.splitter.saveState())
        self._settings.keep_place(PANEL, QByteArray(b"1" if self.compare_button.isChecked() else b"0"))
        if self.card.path:
            place = {"root": self.card.root, "path": self.card.path, "position": self.editor.textCursor().position()}
            self._settings.keep_place(FILE, QByteArray(json.dumps(place).encode()))
        self.card.reader.wait()

    def _restore(self) -> None:
        self.compare_button.setChecked(self._settings.place(PANEL).data() != b"0")
        self.on_compare_toggled(self.compare_button.isChecked())
        state = self._settings.place(SPLITTER)
        self._is_placed = bool(state) and self.splitter.restoreState(state)

    def _open_last(self) -> None:
        """The file that was open last, if it was one of this repository."""
        try:
            place = json.loads(self._settings.place(FILE).data() or b"{}")
            root, path, position = place["root"], place["path"], place["position"]
        except (ValueError, KeyError, TypeError):
            return
        inside = isinstance(path, str) and path and ".." not in path.split("/") and not path.startswith("/")
        if root == self._repository.root and inside and isinstance(position, int) and self.card.is_untouched:
            self.card.open(root, path, max(0, position))

    def resizeEvent(self, event) -> None:
        """Share the width out, until the user has moved the splitter."""
        super().resizeEvent(event)
        if not self._is_placed:
            room = event.size().width() - 2 * EDGE - GAP
            side = max(LEAST_SIDE, min(int(room * SIDE), room - GOOD_EDITOR))
            self.splitter.setSizes([room - side, side])

    @Slot()
    def on_splitter_moved(self, *_where: int) -> None:
        self._is_placed = True
