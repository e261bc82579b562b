"""One card for anything that went wrong: the cause, what to do about it, and the details folded away."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
)

from app.events import Failure
from app.theme import Theme, Tokens
from app.theme.icons import icon, pixmap
from app.window.parts import label

DETAILS_HEIGHT = 150


class ErrorCard(QFrame):
    """Hidden until something fails; the user puts it away."""

    cpu_wanted = Signal()
    dismissed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", "error")
        self._theme = theme
        self.failure: Failure | None = None
        self._build()
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
        self.fold.setCheckable(True)
        self.fold.setAccessibleName("Show the details of the error")
        self.fold.toggled.connect(self.on_fold_toggled)
        self.copy_button = QPushButton("Copy details")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.cpu_button = QPushButton("Use the CPU")
        self.cpu_button.setToolTip("Puts the CPU device to use")
        self.cpu_button.clicked.connect(self.on_cpu_clicked)
        self.dismiss_button = QPushButton("Dismiss")
        self.dismiss_button.clicked.connect(self.on_dismiss_clicked)
        row.addWidget(self.fold)
        row.addStretch(1)
        for button in (self.copy_button, self.cpu_button, self.dismiss_button):
            row.addWidget(button)
        column.addLayout(row)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setFixedHeight(DETAILS_HEIGHT)
        self.details.setAccessibleName("Details of the error")
        column.addWidget(self.details)

    def show_failure(self, failure: Failure, offer_cpu: bool) -> None:
        """Fill the card and bring it up."""
        self.failure = failure
        self.cause.setText(failure.cause)
        self.remedy.setText(failure.remedy)
        self.remedy.setVisible(bool(failure.remedy))
        self.details.setPlainText(failure.details)
        self.fold.setChecked(False)
        self.details.hide()
        self.fold.setVisible(bool(failure.details))
        self.copy_button.setVisible(bool(failure.details))
        self.cpu_button.setVisible(offer_cpu)
        self.setAccessibleName(f"Error: {failure.cause} {failure.remedy}")
        self.show()

    def put_away(self) -> None:
        """Hide the card; what it said no longer holds."""
        self.failure = None
        self.hide()

    @Slot(bool)
    def on_fold_toggled(self, is_open: bool) -> None:
        self.details.setVisible(is_open)
        self.on_restyled(self._theme.tokens)

    @Slot()
    def on_copy_clicked(self) -> None:
        failure = self.failure
        QGuiApplication.clipboard().setText("\n\n".join(filter(None, (failure.cause, failure.remedy, failure.details))))

    @Slot()
    def on_cpu_clicked(self) -> None:
        self.cpu_wanted.emit()

    @Slot()
    def on_dismiss_clicked(self) -> None:
        self.put_away()
        self.dismissed.emit()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._sign.setPixmap(pixmap("warning", tokens.bad, 18, self.devicePixelRatioF()))
        self.fold.setIcon(icon("chevron_down" if self.fold.isChecked() else "chevron_right", tokens.mute, 14))
        self.fold.setToolButtonStyle(self.fold.toolButtonStyle().ToolButtonTextBesideIcon)
