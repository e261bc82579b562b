"""The header: the mark, the device chip and the menu."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QToolButton

from app.controller import AUTOMATIC, EngineController
from app.theme import Theme, Tokens
from app.theme.icons import icon, pixmap
from app.window.parts import LayoutButton, label

RAIL_WIDTH = 184


class DeviceChip(LayoutButton):
    """Says which device is in use, and opens the list of those that could be."""

    def __init__(self, controller: EngineController) -> None:
        super().__init__("chip")
        self._controller = controller
        row = QHBoxLayout(self)
        row.setContentsMargins(11, 7, 8, 7)
        row.setSpacing(6)
        self._name = label("looking…", "heading")
        self.chevron = label()
        row.addWidget(label("Device"))
        row.addWidget(self._name)
        row.addWidget(self.chevron)
        self.pass_clicks()
        self._menu = QMenu(self)
        self.setMenu(self._menu)
        self.setEnabled(False)
        self._group: QActionGroup | None = None
        controller.devices_changed.connect(self.on_devices_changed)
        controller.state_changed.connect(self.on_state_changed)
        self.on_state_changed()

    @Slot()
    def on_devices_changed(self) -> None:
        """Fill the list anew."""
        found = self._controller.found
        self._menu.clear()
        self._group = QActionGroup(self)
        entries = [(AUTOMATIC, f"Automatic: {found.automatic.info.name}")]
        entries += [(info.name, f"{info.description} · {info.backend}") for info in found.devices]
        for name, words in entries:
            action = self._group.addAction(words.replace("&", "&&"))
            action.setCheckable(True)
            action.setData(name)
            action.setChecked(name == self._controller.preferred)
            self._menu.addAction(action)
            if name == AUTOMATIC:
                self._menu.addSeparator()
        self._group.triggered.connect(self.on_device_picked)
        self.on_state_changed()

    @Slot(object)
    def on_device_picked(self, action) -> None:
        self._controller.choose(action.data())

    @Slot()
    def on_state_changed(self) -> None:
        info = self._controller.in_use
        self.setEnabled(info is not None)
        if info is None:
            words = "looking…" if self._controller.phase == "starting" else "none"
        else:
            words = f"{short(info.description)} · {info.backend}"
            self.setToolTip(f"{info.name}: {info.description}\n{self._controller.reason}")
        self._name.setText(words)
        self.setAccessibleName(f"Device in use: {words}")
        for action in self._group.actions() if self._group else ():
            action.setChecked(action.data() == self._controller.preferred)


def short(description: str, characters: int = 34) -> str:
    """A device's name cut at a word for narrow places; the tool tip has it whole."""
    if len(description) <= characters:
        return description
    return description[:characters].rsplit(" ", 1)[0].rstrip(" ,(-") + "…"


class Header(QFrame):
    """The strip on top of every page."""

    def __init__(self, controller: EngineController, theme: Theme, menu: QMenu) -> None:
        super().__init__()
        self.setObjectName("header")
        self.setFixedHeight(52)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 12, 0)
        row.setSpacing(10)
        self._mark = label()
        row.addWidget(self._mark)
        brand = label("Codecoil", "brand")
        brand.setFixedWidth(RAIL_WIDTH - 16 - 20)
        row.addWidget(brand)
        self.device_chip = DeviceChip(controller)
        row.addWidget(self.device_chip)
        row.addStretch(1)
        self.menu_button = QToolButton()
        self.menu_button.setProperty("role", "plain")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(menu)
        self.menu_button.setAccessibleName("Menu")
        self.menu_button.setToolTip("Menu (F10)")
        row.addWidget(self.menu_button)
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        ratio = self.devicePixelRatioF()
        self._mark.setPixmap(pixmap("codecoil", tokens.accent, 20, ratio))
        self.device_chip.chevron.setPixmap(pixmap("chevron_down", tokens.mute, 14, ratio))
        self.menu_button.setIcon(icon("menu", tokens.ink, 20))
