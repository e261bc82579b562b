"""The rail: one word for each page there is."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QButtonGroup, QFrame, QPushButton, QVBoxLayout

from app.window.header import RAIL_WIDTH


class Rail(QFrame):
    """Choosing a word shows its page."""

    page_chosen = Signal(int)

    def __init__(self, pages: tuple[str, ...]) -> None:
        super().__init__()
        self.setObjectName("rail")
        self.setFixedWidth(RAIL_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 12, 10, 12)
        column.setSpacing(4)
        self._group = QButtonGroup(self)
        for i, name in enumerate(pages):
            button = QPushButton(name)
            button.setProperty("role", "rail")
            button.setCheckable(True)
            button.setChecked(i == 0)
            button.setAccessibleName(f"Page {name}")
            self._group.addButton(button, i)
            column.addWidget(button)
        column.addStretch(1)
        self._group.idClicked.connect(self.on_clicked)

    def choose(self, page: int) -> None:
        """Show a page as if its word had been clicked."""
        self._group.button(page).click()

    @Slot(int)
    def on_clicked(self, page: int) -> None:
        self.page_chosen.emit(page)
