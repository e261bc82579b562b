"""Progress: what is being done, how far it has got, and a button to cancel it."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.window.parts.buttons import PlainButton
from app.window.parts.labels import ElidedLabel, label


class ProgressLine(QWidget):
    """Words and a count above a bar, and Cancel.  Hidden until something runs."""

    cancelled = Signal()

    def __init__(self, name: str = "Progress", cancel_words: str = "Cancel") -> None:
        super().__init__()
        self._cancel_words = cancel_words
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        row = QHBoxLayout()
        row.setSpacing(10)
        self.words = ElidedLabel("", "body")
        self.count = label("", "label")
        self.cancel_button = PlainButton(cancel_words)
        self.cancel_button.clicked.connect(self.on_cancel_clicked)
        row.addWidget(self.words, 1)
        row.addWidget(self.count)
        row.addWidget(self.cancel_button)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(name)
        column.addLayout(row)
        column.addWidget(self.bar)
        self.hide()

    def show_progress(self, done: int, total: int, words: str, cancellable: bool = True) -> None:
        """How far it has got; a `total` of 0 means that it is not known."""
        self.words.set_words(words)
        self.bar.setRange(0, max(0, total))
        self.bar.setValue(min(done, total))
        self.count.setText(f"{done:,} of {total:,}" if total else f"{done:,}" if done else "")
        self.cancel_button.setVisible(cancellable)
        if not self.isVisibleTo(self.parentWidget()):
            self.cancel_button.setEnabled(True)
            self.cancel_button.setText(self._cancel_words)
            self.show()

    def put_away(self) -> None:
        self.hide()

    @Slot()
    def on_cancel_clicked(self) -> None:
        self.cancel_button.setEnabled(False)
        self.cancel_button.setText("Cancelling…")
        self.cancelled.emit()
