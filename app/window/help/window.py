"""The help window: pages on the left, the text on the right, and a field that searches all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QKeySequence, QShortcut, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from app.state.settings import Settings
from app.theme import Theme, Tokens
from app.window.help.dressing import dress
from app.window.help.keys import ghost_keys, keys_of, table
from app.window.help.pages import HelpPage, load_pages, search
from app.window.pages import COMPLETE
from app.window.parts import PlainButton, label

KEY = Qt.ItemDataRole.UserRole
PLACE = "help"


class HelpWindow(QDialog):
    """Stays open beside the main window.

    `window` is the main window, whose keys work everywhere; `made` are its pages by title, as far as they exist.
    """

    def __init__(self, window: QWidget, made: Mapping[str, QWidget], settings: Settings) -> None:
        super().__init__(window)
        self.setWindowTitle("Codecoil help")
        self._window, self._made, self._settings = window, made, settings
        self.pages = {page.key: page for page in load_pages()}
        self.find = QLineEdit()
        self.find.setPlaceholderText("Search help")
        self.find.setAccessibleName("Search help")
        self.find.setClearButtonEnabled(True)
        self.list = QListWidget()
        self.list.setAccessibleName("Help pages")
        self.list.setWordWrap(True)
        self.list.setSpacing(3)
        self.list.setProperty("card", "plain")  # on a panel, the selected page stands out
        self.text = QTextBrowser()
        self.text.setAccessibleName("Help text")
        self.text.setOpenLinks(False)  # links lead to other pages, never out of the program
        self.nothing = label("No page contains all of these words.", "text", wrap=True)
        self.close_button = PlainButton("Close")
        self.key = ""
        self._build()
        self.find.textChanged.connect(self.on_find_changed)
        self.find.returnPressed.connect(self.list.setFocus)
        self.list.currentItemChanged.connect(self.on_item_changed)
        self.text.anchorClicked.connect(self.on_link)
        self.close_button.clicked.connect(self.close)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.find.setFocus)
        find.setWhatsThis("Search help")
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self._fill("")
        if not (settings.place(PLACE) and self.restoreGeometry(settings.place(PLACE))):
            self.resize(860, 620)

    def _build(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(10)
        for widget in (self.find, self.nothing, self.list):
            left.addWidget(widget)
        left.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignLeft)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 16, 16, 16)
        row.setSpacing(16)
        row.addLayout(left, 2)
        row.addWidget(self.text, 5)
        self.nothing.hide()

    def open_at(self, title: str) -> None:
        """Show the help of the page with this title, and raise the window."""
        self.find.clear()
        self.show_page(next((page.key for page in self.pages.values() if page.title == title), "repository"))
        self.show()
        self.raise_()
        self.activateWindow()
        self.list.setFocus()

    def show_page(self, key: str) -> None:
        """Show a page by its key, and select it in the list if it is there."""
        for place in range(self.list.count()):
            if self.list.item(place).data(KEY) == key:
                self.list.setCurrentRow(place)
        self._show(key)

    def markdown(self, page: HelpPage) -> str:
        """A page as it is shown."""
        return page.text + self.keys(page)

    def keys(self, page: HelpPage) -> str:
        """The keys of the page and of the whole program, as they are now."""
        if page.key == "command_line":
            return ""
        pane = self._made.get(page.title)
        own = (ghost_keys(self._settings) if page.title == COMPLETE else []) + (keys_of(pane) if pane else [])
        everywhere = keys_of(self._window, [*self._made.values()])
        return "".join(
            (
                table("Keys on this page", own),
                table("Keys everywhere", everywhere),
                table("Keys in help", keys_of(self)),
            )
        )

    def _show(self, key: str) -> None:
        self.key = key
        self.text.setMarkdown(self.markdown(self.pages[key]))
        dress(self.text.document(), Theme.current().tokens)
        words = self.find.text().split()
        if words:
            self.text.find(words[0], QTextDocument.FindFlag(0))

    def _fill(self, words: str) -> None:
        """List all pages, or those found, with a line of each."""
        self.list.blockSignals(True)
        self.list.clear()
        shown = [replace(page, keys=self.keys(page)) for page in self.pages.values()] if words.strip() else []
        found = [(hit.page, hit.line) for hit in search(shown, words)]
        for page, line in found if words.strip() else [(page, "") for page in self.pages.values()]:
            item = QListWidgetItem(f"{page.title}\n{line}" if line else page.title)
            item.setData(KEY, page.key)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self.nothing.setVisible(self.list.count() == 0)

    @Slot(str)
    def on_find_changed(self, words: str) -> None:
        self._fill(words)
        keys = [self.list.item(place).data(KEY) for place in range(self.list.count())]
        if words.strip() and keys:
            self.list.setCurrentRow(0)
        elif self.key in keys:
            self.list.setCurrentRow(keys.index(self.key))

    @Slot(QListWidgetItem, QListWidgetItem)
    def on_item_changed(self, item: QListWidgetItem | None, _before: QListWidgetItem | None) -> None:
        if item is not None:
            self._show(item.data(KEY))

    @Slot(QUrl)
    def on_link(self, link: QUrl) -> None:
        key = link.toString().removesuffix(".md")
        if key in self.pages:
            self.find.clear()
            self.show_page(key)

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        """The colours of links and tables are part of the document."""
        if self.key:
            self._show(self.key)

    def hideEvent(self, event) -> None:
        super().hideEvent(event)
        self._settings.keep_place(PLACE, self.saveGeometry())
