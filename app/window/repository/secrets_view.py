"""The secrets that were found: where, of which kind, and what is done about them.  Never what they say."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPoint, Qt, Signal, Slot
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
from app.window.parts import PlainButton, Segmented, label
from app.window.repository.file_model import Index

FILE, LINE, KIND, SAYS, DONE = range(5)
HEADINGS = ("File", "Line", "Kind", "It says", "What is done")
MASK = "••••••••••"
ROW = 30
POLICIES = (
    ("mask", "Empty the line", "The line is learned as an empty one, the rest of the file as it is"),
    ("leave_out", "Leave the file out", "No line of a file with a secret is learned"),
)


class SecretModel(QAbstractTableModel):
    """Rows are findings."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: tuple[SecretRow, ...] = ()
        self.policy = "mask"

    def show_secrets(self, secrets: tuple[SecretRow, ...], policy: str) -> None:
        """Other findings."""
        self.beginResetModel()
        self.secrets, self.policy = secrets, policy
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.secrets)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return len(HEADINGS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole):
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section == LINE else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole):
        words = self._words(self.secrets[index.row()], index.column())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return words
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{HEADINGS[index.column()]}: {'hidden' if index.column() == SAYS else words}"
        return None

    def _words(self, secret: SecretRow, column: int) -> str:
        if column == FILE:
            return secret.path
        if column == LINE:
            return f"{secret.line:,}" if secret.line else "all"
        if column == KIND:
            return secret.kind
        if column == SAYS:
            return MASK
        if not secret.masked:
            return "learned: no secret, you said"
        return "the line is emptied" if self.policy == "mask" and secret.line else "the file is left out"


class SecretDelegate(QStyledItemDelegate):
    """Draws a cell in the colours of the theme."""

    def __init__(self, parent) -> None:
        super().__init__(parent)
        self._fonts = {FILE: code_font(LABEL), SAYS: code_font(LABEL)}
        self._body = interface_font(BODY)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        tokens, column = Theme.current().tokens, index.column()
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, QColor(tokens.raised))
        painter.setPen(QPen(QColor(tokens.line), 1))
        painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight())
        secret = index.model().secrets[index.row()]
        colour = tokens.mute if column == SAYS else tokens.ink
        if column == DONE:
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
    """The findings; the Delete key and the menu say that one is no secret."""

    marked = Signal(str, bool)  # fingerprint, is no secret
    help_keys = (("Say of a finding that it is no secret, or take that back", "Space, Delete"),)

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
        Theme.current().restyled.connect(self.on_restyled)

    @property
    def current(self) -> SecretRow | None:
        """The finding that is chosen."""
        row = self.currentIndex().row()
        return self.findings.secrets[row] if 0 <= row < len(self.findings.secrets) else None

    def mark_current(self) -> None:
        """Say that the chosen finding is no secret, or take that back."""
        secret = self.current
        if secret is not None and secret.fingerprint:
            self.marked.emit(secret.fingerprint, secret.masked)

    @Slot(QPoint)
    def on_menu_wanted(self, where: QPoint) -> None:
        secret = self.current
        if secret is not None:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            action = menu.addAction("This is no secret" if secret.masked else "It is a secret after all")
            action.setEnabled(bool(secret.fingerprint))
            action.triggered.connect(self.mark_current)
            menu.popup(self.viewport().mapToGlobal(where))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Space):
            self.mark_current()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.viewport().width()
        widths = {LINE: 64, KIND: 190, SAYS: 110, DONE: 200}
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        self.setColumnWidth(FILE, max(120, room - sum(widths.values())))

    @Slot(object)
    def on_restyled(self, _tokens: Tokens) -> None:
        self.viewport().update()


class SecretsView(QWidget):
    """The table, what is done with what it lists, and the button for a false alarm."""

    policy_wanted = Signal(str)
    marked = Signal(str, bool)

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.table = SecretTable()
        self.table.marked.connect(self.marked)
        self.table.selectionModel().currentChanged.connect(self.on_current_changed)
        self.nothing = label("No keys, tokens or passwords were found in the files.", "text")
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        row = QHBoxLayout()
        row.setContentsMargins(10, 4, 10, 4)
        row.setSpacing(10)
        self.policy = Segmented(POLICIES, "What is done with secrets")
        self.policy.chosen.connect(self.policy_wanted)
        self.mark_button = PlainButton("This is no secret", "The chosen line is learned as it is", "Del")
        self.mark_button.clicked.connect(self.table.mark_current)
        row.addWidget(label("When a line holds a secret", "label"))
        row.addWidget(self.policy)
        row.addStretch(1)
        row.addWidget(self.mark_button)
        column.addWidget(self.table, 1)
        column.addWidget(self.nothing, 1)
        column.addLayout(row)

    def show_secrets(self, secrets: tuple[SecretRow, ...], policy: str) -> None:
        """Other findings."""
        self.table.findings.show_secrets(secrets, policy)
        self.table.setVisible(bool(secrets))
        self.nothing.setVisible(not secrets)
        self.policy.set_value(policy)
        self.on_current_changed()

    @Slot()
    def on_current_changed(self) -> None:
        secret = self.table.current
        self.mark_button.setEnabled(secret is not None and bool(secret.fingerprint))
        self.mark_button.setText("It is a secret" if secret is not None and not secret.masked else "This is no secret")
