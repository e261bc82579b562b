"""The devices of this machine as cards: what each is, which one is in use, and the result of its last check."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.state.engine import EngineController
from app.values.events import CheckEnded
from app.values.words import kind_words, limit_words
from app.window.parts import LayoutButton, keyboard_focus, label, set_tone

CARD_WIDTH = 248  # the least; a row takes as many as fit
GAP = 14


class DeviceCard(LayoutButton):
    """One device; a click uses it."""

    def __init__(self, info) -> None:
        super().__init__("device")
        self.info = info
        self.setCheckable(True)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # all cards of a row alike
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 13, 14, 13)
        column.setSpacing(3)
        top = QHBoxLayout()
        top.setSpacing(8)
        self._badge = label("in use", "badge", "good")
        self._automatic = label("automatic", "badge")
        title = label(info.description, "heading", wrap=True)
        title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        title.setMinimumHeight(self._badge.sizeHint().height())  # the same lines on cards without a badge
        top.addWidget(title, 1)
        top.addWidget(self._automatic, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(top)
        facts = f"{info.name} · {info.backend} · {kind_words(info.kind)}"
        column.addWidget(label(facts, "label", wrap=True))
        self._verdict = label("not checked yet", "label", wrap=True)
        column.addWidget(self._verdict)
        column.addStretch(1)
        self.pass_clicks()
        self.setToolTip(tool_tip(info))
        self.show_in_use(False)
        self.show_automatic(False)

    def show_in_use(self, in_use: bool) -> None:
        """Mark the card, by a word and a border."""
        self.setChecked(in_use)
        self._badge.setVisible(in_use)

    def show_automatic(self, is_automatic: bool) -> None:
        """Mark the device that Codecoil chooses automatically."""
        self._automatic.setVisible(is_automatic)
        automatically = ", the automatic choice" if is_automatic else ""
        what = f"Use {self.info.description}, {self.info.backend}, {kind_words(self.info.kind)}"
        self.setAccessibleName(what + automatically)

    def show_check(self, check: CheckEnded | None) -> None:
        """The result of the last check of this device."""
        if check is None:
            words, tone = "not checked yet", ""
        elif check.wrong:
            words, tone = f"✕ wrong numbers: {', '.join(each.kernel for each in check.wrong)}", "bad"
        elif check.cancelled:
            words, tone = f"check cancelled after {len(check.checks)} kernels", ""
        else:
            words, tone = f"✓ {len(check.checks)} kernels within their limits", "good"
        self._verdict.setText(words)
        set_tone(self._verdict, tone)
        self.setAccessibleDescription(words)


class DeviceCards(QWidget):
    """All cards, in as many columns as there is room for."""

    def __init__(self, controller: EngineController) -> None:
        super().__init__()
        self._controller = controller
        self.cards: list[DeviceCard] = []
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(GAP)
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(self.on_card_clicked)
        controller.devices_changed.connect(self.on_devices_changed)
        controller.state_changed.connect(self.on_state_changed)

    @Slot()
    def on_devices_changed(self) -> None:
        """A card for each device."""
        for old in self.cards:
            self._group.removeButton(old)
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.cards = [DeviceCard(info) for info in self._controller.found.devices]
        for each in self.cards:
            self._group.addButton(each)
        keyboard_focus(self)
        self._columns = 0
        self._arrange()
        self.on_state_changed()

    @Slot()
    def on_state_changed(self) -> None:
        in_use, automatic = self._controller.in_use, self._controller.automatic
        for each in self.cards:
            each.show_in_use(each.info.name == in_use.name)
            each.show_automatic(each.info.name == automatic.name)
            each.show_check(self._controller.checks.get(each.info.name))

    @Slot(object)
    def on_card_clicked(self, chosen: DeviceCard) -> None:
        self._controller.choose(chosen.info.name)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        fitting = max(1, (self.width() + GAP) // (CARD_WIDTH + GAP))
        columns = max(1, min(len(self.cards), fitting))
        if columns == self._columns:
            return
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._columns = columns
        for i, each in enumerate(self.cards):
            self._grid.addWidget(each, i // columns, i % columns)


def tool_tip(info) -> str:
    """Everything that is known about a device."""
    lines = [f"{info.name}: {info.description}"]
    if info.driver:
        lines.append(f"driver: {info.driver}")
    lines += [limit_words(name, value) for name, value in info.limits.items()]
    if info.features:
        lines.append("features: " + ", ".join(info.features))
    return "\n".join(lines)
