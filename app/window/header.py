"""The header: the logo, three chips, the one primary action, and the menu."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton

from app.state.application import Application
from app.theme import Theme, Tokens
from app.theme.icons import icon, pixmap
from app.values.words import about, counted
from app.window.actions import Actions
from app.window.choosers import DeviceChip, ModelChip, RepositoryChip
from app.window.pages import ADAPT, REPOSITORY
from app.window.parts import PrimaryButton, label, tip
from app.window.rail import RAIL_WIDTH


class Header(QFrame):
    """The strip on top of every page."""

    page_wanted = Signal(str)
    adapt_wanted = Signal()
    changes_wanted = Signal()

    def __init__(self, application: Application, actions: Actions, menu: QMenu) -> None:
        super().__init__()
        self.setObjectName("header")
        self.setFixedHeight(52)
        self._training, self._repository = application.training, application.repository
        self._page = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 12, 0)
        row.setSpacing(10)
        self._mark = label()
        row.addWidget(self._mark)
        brand = label("Codecoil", "brand")
        brand.setFixedWidth(RAIL_WIDTH - 16 - 20)
        row.addWidget(brand)
        self.repository_chip = RepositoryChip(application, actions.folder, actions.all_folders)
        self.model_chip = ModelChip(application)
        self.device_chip = DeviceChip(application)
        for chip in (self.repository_chip, self.model_chip, self.device_chip):
            row.addWidget(chip)
        self.model_chip.page_wanted.connect(self.page_wanted)
        row.addStretch(1)
        self.adapt_button = PrimaryButton("Adapt")
        self.adapt_button.clicked.connect(self.on_adapt_clicked)
        row.addWidget(self.adapt_button)
        self.menu_button = QToolButton()
        self.menu_button.setProperty("role", "plain")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(menu)
        self.menu_button.setAccessibleName("Menu")
        tip(self.menu_button, "Menu", "F10")
        row.addWidget(self.menu_button)
        self._training.changed.connect(self.on_changed)
        self._repository.changed.connect(self.on_changed)
        self._repository.changes_counted.connect(self.on_changes_counted)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)
        self.on_changed()

    def show_for(self, page: str) -> None:
        """Hide the action on a page that offers it itself."""
        self._page = page
        self.on_changed()

    @property
    def _offers_changes(self) -> bool:
        return self._repository.offered_changes.any and self._page != REPOSITORY

    @Slot()
    def on_changed(self) -> None:
        """Adapt, or adapt to changes; nothing during a run."""
        changes = self._repository.offered_changes
        self.adapt_button.setVisible(not self._training.active and self._page != ADAPT)
        self.adapt_button.setEnabled(bool(self._repository.root) and self._repository.phase in ("ready", "reading"))
        words = "Adapt to changes" if self._offers_changes else "Adapt"
        self.adapt_button.setText(words)
        self.adapt_button.setAccessibleName(words)
        if not self.adapt_button.isEnabled():
            here = self._repository.root and self._repository.phase in ("failed", "gone")
            tip(self.adapt_button, "The folder could not be read" if here else "Choose a folder first")
        elif self._offers_changes:
            time = f", about {about(changes.seconds)}" if changes.seconds else ""
            amount = f"{counted(changes.files, 'file')}, {counted(changes.lines, 'line')}"
            tip(self.adapt_button, f"{amount}{time}", "Ctrl+Shift+C")
        else:
            tip(self.adapt_button, "Train the model on this repository", "Ctrl+Shift+A")

    @Slot(object)
    def on_changes_counted(self, _changes) -> None:
        self.on_changed()

    @Slot()
    def on_adapt_clicked(self) -> None:
        if self._offers_changes:
            self.changes_wanted.emit()
        else:
            self.adapt_wanted.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.on_restyled(Theme.current().tokens)  # the screen's pixel ratio is known only now

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._mark.setPixmap(pixmap("codecoil", tokens.accent, 20, self.devicePixelRatioF()))
        self.menu_button.setIcon(icon("menu", tokens.ink, 20))
