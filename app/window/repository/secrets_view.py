"""The secrets that were found: where, of which kind, and what is done about them.  Never the secrets themselves."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.theme import Theme, Tokens
from app.theme.fonts import BODY, LABEL, code_font, interface_font
from app.values.repository import SecretRow
from app.window.parts import HeadedTable, PlainButton, Segmented, label
from app.window.parts.headed_table import Index

FILE, LINE, KIND, VALUE, ACTION = range(5)
HEADINGS = ("File", "Line", "Kind", "Value", "Action")
MASK = "••••••••••"
ROW = 30
POLICIES = (
    ("mask", "Mask the line", "The line is learned as an empty line, the rest of the file as it is"),
    ("leave_out", "Leave the file out", "Nothing in a file with a secret is learned"),
)


class SecretModel(HeadedTable):
    """Rows are findings."""

    headings = HEADINGS
    numbers = (LINE,)

    def __init__(self) -> None:
        super().__init__()
        self.secrets: tuple[SecretRow, ...] = ()
        self.policy = "mask"

    def show_secrets(self, secrets: tuple[SecretRow, ...], policy: str) -> None:
        self.beginResetModel()
        self.secrets, self.policy = secrets, policy
        self.endResetModel()

    def count(self) -> int:
        return len(self.secrets)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole):
        words = self._words(self.secrets[index.row()], index.column())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return words
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{HEADINGS[index.column()]}: {'hidden' if index.column() == VALUE else words}"
        return None

    def _words(self, secret: SecretRow, column: int) -> str:
        if column == FILE:
            return secret.path
        if column == LINE:
            return f"{secret.line:,}" if secret.line else "whole file"
        if column == KIND:
            return secret.kind
        if column == VALUE:
            return MASK
        if not secret.masked:
            return "learned: not a secret"
        return "line masked" if self.policy == "mask" and secret.line else "file left out"


class SecretDelegate(QStyledItemDelegate):
    """Draws a cell in the colours of the theme."""

    def __init__(self, parent) -> None:
        super().__init__(parent)
        self._fonts = {FILE: code_font(LABEL), VALUE: code_font(LABEL)}
        self._body = interface_font(BODY)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, column = Theme.current().tokens, index.column()
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, QColor(tokens.raised))
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        secret = index.model().secrets[index.row()]
        colour = tokens.mute if column == VALUE else tokens.ink
        if column == ACTION:
            colour = tokens.accent_text if secret.masked else tokens.warn_text
        painter.setPen(QColor(colour))
        painter.setFont(self._fonts.get(column, self._body))
        cell = option.rect.adjusted(10, 0, -10, 0)
        mode = Qt.TextElideMode.ElideMiddle if column == FILE else Qt.TextElideMode.ElideRight
        side = Qt.AlignmentFlag.AlignRight if column == LINE else Qt.AlignmentFlag.AlignLeft
        words = painter.fontMetrics().elidedText(index.data(), mode, cell.width())
        painter.drawText(cell, int(side | Qt.AlignmentFlag.AlignVCenter), words)
        painter.restore()


class SecretTable(QTableView):
    """The findings.  Enter or a double click opens the line; Delete, Space or the menu marks it as not a secret."""

    marked = Signal(str, bool)  # fingerprint, is not a secret
    opened = Signal(str, int)  # path, line
    help_keys = (
        ("Open the line of a secret in the editor", "Enter"),
        ("Mark a finding as not a secret, or undo that", "Space, Delete"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.findings = SecretModel()
        self.findings.setParent(self)
        self.setModel(self.findings)
        self.setItemDelegate(SecretDelegate(self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setAccessibleName("Secrets found")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionsClickable(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self.on_menu_wanted)
        self.doubleClicked.connect(self.open_current)
        Theme.current().restyled.connect(self.on_restyled)

    @property
    def current(self) -> SecretRow | None:
        """The selected finding."""
        row = self.currentIndex().row()
        return self.findings.secrets[row] if 0 <= row < len(self.findings.secrets) else None

    @Slot()
    def open_current(self) -> None:
        """Show the line of the selected finding in the editor."""
        secret = self.current
        if secret is not None:
            self.opened.emit(secret.path, max(1, secret.line))

    def mark_current(self) -> None:
        """Mark the selected finding as not a secret, or undo that."""
        secret = self.current
        if secret is not None and secret.fingerprint:
            self.marked.emit(secret.fingerprint, secret.masked)

    @Slot(QPoint)
    def on_menu_wanted(self, where: QPoint) -> None:
        secret = self.current
        if secret is not None:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addAction(open_words(secret), self.open_current)
            action = menu.addAction(mark_words(secret))
            action.setEnabled(bool(secret.fingerprint))
            action.triggered.connect(self.mark_current)
            menu.popup(self.viewport().mapToGlobal(where))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Space):
            self.mark_current()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_current()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.viewport().width()
        widths = {LINE: 90, KIND: 220, VALUE: 110, ACTION: 190}
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        self.setColumnWidth(FILE, max(120, room - sum(widths.values())))

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.viewport().update()


class SecretsView(QWidget):
    """The table, what to do with secrets, and the buttons for the selected one."""

    policy_wanted = Signal(str)
    marked = Signal(str, bool)
    opened = Signal(str, int)  # path, line

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.table = SecretTable()
        self.table.marked.connect(self.marked)
        self.table.opened.connect(self.opened)
        self.table.selectionModel().currentChanged.connect(self.on_current_changed)
        self.nothing = label("No keys, tokens or passwords were found in the files.", "text")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        row = QHBoxLayout()
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(10)
        self.policy = Segmented(POLICIES, "Lines with a secret")
        self.policy.chosen.connect(self.policy_wanted)
        self.open_button = PlainButton("Open the line", "Shows it in the editor of the Complete page", "Return")
        self.open_button.clicked.connect(self.table.open_current)
        self.mark_button = PlainButton("Not a secret", "Learn the selected line as it is", "Del")
        self.mark_button.clicked.connect(self.table.mark_current)
        row.addWidget(label("When a line holds a secret", "label"))
        row.addWidget(self.policy)
        row.addStretch(1)
        row.addWidget(self.open_button)
        row.addWidget(self.mark_button)
        column.addWidget(self.table, 1)
        column.addWidget(self.nothing, 1)
        column.addLayout(row)

    def show_secrets(self, secrets: tuple[SecretRow, ...], policy: str) -> None:
        self.table.findings.show_secrets(secrets, policy)
        self.table.setVisible(bool(secrets))
        self.nothing.setVisible(not secrets)
        self.policy.set_value(policy)
        self.on_current_changed()

    @Slot()
    def on_current_changed(self) -> None:
        secret = self.table.current
        self.open_button.setEnabled(secret is not None)
        self.open_button.setText(open_words(secret))
        self.mark_button.setEnabled(secret is not None and bool(secret.fingerprint))
        self.mark_button.setText(mark_words(secret))


def open_words(secret: SecretRow | None) -> str:
    """Of the button and the menu."""
    return "Open the file" if secret is not None and not secret.line else "Open the line"


def mark_words(secret: SecretRow | None) -> str:
    """Of the button and the menu."""
    return "Mark as a secret" if secret is not None and not secret.masked else "Not a secret"
