"""One card for every error: the cause, what to do about it, and the details folded away."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QSizePolicy, QToolButton, QVBoxLayout

from app.theme import Theme, Tokens
from app.theme.icons import icon, pixmap
from app.values.events import Failure
from app.window.parts.buttons import PlainButton
from app.window.parts.labels import label

DETAILS_HEIGHT = 150


class ErrorCard(QFrame):
    """Hidden until something fails; stays until it is dismissed.

    `action` is the text of a button that may fix it ("Use the CPU", "Try again"); a click emits `action_wanted`.
    """

    action_wanted = Signal()
    dismissed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("card", "error")
        self.failure: Failure | None = None
        self._build()
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self.hide()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 12)
        column.setSpacing(6)
        top = QHBoxLayout()
        top.setSpacing(10)
        self._sign = QLabel()
        self._sign.setAccessibleName("Error")
        self.cause = label("", "heading", wrap=True)
        self.cause.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        top.addWidget(self._sign)
        top.addWidget(self.cause, 1)
        self.remedy = label("", "text", wrap=True)
        column.addLayout(top)
        column.addWidget(self.remedy)
        row = QHBoxLayout()
        row.setSpacing(10)
        self.fold = QToolButton()
        self.fold.setText("Details")
        self.fold.setProperty("role", "fold")
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.fold.setCheckable(True)
        self.fold.setAccessibleName("Show the details of the error")
        self.fold.toggled.connect(self.on_fold_toggled)
        self.copy_button = PlainButton("Copy details")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.action_button = PlainButton("")
        self.action_button.clicked.connect(self.on_action_clicked)
        self.dismiss_button = PlainButton("Dismiss")
        self.dismiss_button.clicked.connect(self.on_dismiss_clicked)
        row.addWidget(self.fold)
        row.addStretch(1)
        for button in (self.copy_button, self.action_button, self.dismiss_button):
            row.addWidget(button)
        column.addLayout(row)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFixedHeight(DETAILS_HEIGHT)
        self.details.setAccessibleName("Details of the error")
        column.addWidget(self.details)

    def show_failure(self, failure: Failure, action: str = "", action_help: str = "") -> None:
        """Fill the card and show it."""
        self.failure = failure
        self.cause.setText(failure.cause)
        self.remedy.setText(failure.remedy)
        self.remedy.setVisible(bool(failure.remedy))
        self.details.setPlainText(failure.details)
        self.fold.setChecked(False)
        self.details.hide()
        self.fold.setVisible(bool(failure.details))
        self.copy_button.setVisible(bool(failure.details))
        self.action_button.setText(action)
        self.action_button.setAccessibleName(action)
        self.action_button.setToolTip(action_help)
        self.action_button.setVisible(bool(action))
        self.setAccessibleName(f"Error: {failure.cause} {failure.remedy}")
        self.show()

    def put_away(self) -> None:
        """Hide the card: the error is over."""
        self.failure = None
        self.hide()

    @Slot(bool)
    def on_fold_toggled(self, is_open: bool) -> None:
        self.details.setVisible(is_open)
        self.on_restyled(Theme.current().tokens)

    @Slot()
    def on_copy_clicked(self) -> None:
        failure = self.failure
        QGuiApplication.clipboard().setText("\n\n".join(filter(None, (failure.cause, failure.remedy, failure.details))))

    @Slot()
    def on_action_clicked(self) -> None:
        self.action_wanted.emit()

    @Slot()
    def on_dismiss_clicked(self) -> None:
        self.put_away()
        self.dismissed.emit()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._sign.setPixmap(pixmap("warning", tokens.bad, 18, self.devicePixelRatioF()))
        self.fold.setIcon(icon("chevron_down" if self.fold.isChecked() else "chevron_right", tokens.mute, 14))
