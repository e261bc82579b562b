"""Suggestions in other editors: the switch, the address, what to paste into each editor, and the last requests."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QWidget

from app.server.editor_snippets import snippets
from app.state.application import Application
from app.window.parts import Card, ElidedLabel, InlineMessage, PageColumn, PlainButton, Segmented, Switch, label, rule
from app.window.settings.request_list import RequestList
from app.window.settings.setting_row import SettingRow

ANSWERS = (
    "Plugins for Vim, VS Code, Zed and others get suggestions from the model and the memory in use here. Only programs"
    " on this computer that have the token are answered; nothing is reachable from the network."
)
HIDDEN = "•" * 24
SNIPPET_LINES = 13


class EditorsPane(PageColumn):
    """Three cards; two of them only while the server is on."""

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._server = application.server
        self.column.setContentsMargins(20, 0, 20, 18)
        self.column.addWidget(self._switch_card(application))
        self.column.addWidget(self._setup_card())
        self.requests = RequestList(application.server)
        self.column.addWidget(self.requests)
        self.column.addStretch(1)
        self._server.changed.connect(self.refresh)
        self.refresh()

    def _switch_card(self, application: Application) -> Card:
        card = Card("Server for editors", spacing=10)
        self.enabled = SettingRow(
            application.settings, "server_enabled", "Answer editors on this computer", Switch(), ANSWERS
        )
        card.column.addWidget(self.enabled)
        self.problem = InlineMessage(closable=False)
        self.again = self.problem.add_button("Try again")
        self.again.clicked.connect(lambda: self._server.switch(True))
        card.column.addWidget(self.problem)
        self.where = QWidget()
        row = QHBoxLayout(self.where)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        self.address = ElidedLabel("", "code")
        self.token = ElidedLabel(HIDDEN, "code")
        self.copy_address, self.copy_token = PlainButton("Copy address"), PlainButton("Copy token")
        self.copy_address.clicked.connect(lambda: self._copy(self._server.url, self.copy_address))
        self.copy_token.clicked.connect(lambda: self._copy(self._server.token, self.copy_token))
        for name, value, button in (
            ("Address", self.address, self.copy_address),
            ("Token", self.token, self.copy_token),
        ):
            row.addWidget(label(name, "label"))
            row.addWidget(value, 1)
            row.addWidget(button)
        self.line = rule()
        card.column.addWidget(self.line)
        card.column.addWidget(self.where)
        return card

    def _setup_card(self) -> Card:
        self.setup = card = Card("Set up your editor", spacing=10)
        self.editor = Segmented([(each.key, each.editor) for each in snippets("", "")], "Editor")
        self.editor.set_value("vim")
        self.editor.chosen.connect(self.show_snippet)
        self.copy_snippet = PlainButton("Copy")
        self.copy_snippet.clicked.connect(lambda: self._copy(self._snippet().text, self.copy_snippet))
        row = QHBoxLayout()
        row.addWidget(self.editor, 0, Qt.AlignmentFlag.AlignLeft)
        row.addStretch(1)
        row.addWidget(self.copy_snippet)
        card.column.addLayout(row)
        self.snippet_place = label("", "text", wrap=True)
        card.column.addWidget(self.snippet_place)
        self.snippet = QPlainTextEdit()
        self.snippet.setObjectName("code")
        self.snippet.setReadOnly(True)
        self.snippet.setAccessibleName("What to paste")
        self.snippet.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.snippet.setTabChangesFocus(True)
        card.column.addWidget(self.snippet)
        return card

    @Slot()
    def refresh(self) -> None:
        """Show whether the server listens, and where."""
        server = self._server
        if server.problem:
            self.problem.say(server.problem, kind="warn")
        else:
            self.problem.put_away()
        for part in (self.line, self.where):
            part.setVisible(server.is_on)
        self.setup.setVisible(server.is_on)
        self.requests.setVisible(server.is_on)
        self.address.set_words(server.url)
        if server.is_on:
            self.show_snippet(self.editor.value)

    @Slot(str)
    def show_snippet(self, key: str) -> None:
        """What to paste into one editor; the token is shown only here, where it must be."""
        self.editor.set_value(key)
        found = self._snippet()
        self.snippet_place.setText(f"{found.where}.")
        self.snippet.setPlainText(found.text)
        lines = min(SNIPPET_LINES, found.text.count("\n") + 1)
        self.snippet.setFixedHeight(lines * self.snippet.fontMetrics().lineSpacing() + 30)

    def _snippet(self):
        return next(each for each in self._server.snippets if each.key == self.editor.value)

    def _copy(self, text: str, button: PlainButton) -> None:
        QGuiApplication.clipboard().setText(text)
        for each in (self.copy_address, self.copy_token, self.copy_snippet):
            each.setText(each.text().removesuffix(" ✓"))
        button.setText(f"{button.text()} ✓")
