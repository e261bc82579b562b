"""The page "Engine": where Codecoil can compute, which device it uses and why, and a check of its numbers."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.controller import EngineController
from app.events import CheckEnded, Failure, KernelChecked
from app.theme import Theme
from app.window.check_card import CheckCard
from app.window.device_card import DeviceCards
from app.window.error_card import ErrorCard
from app.window.kernel_table import KernelView
from app.window.parts import card, label
from app.words import small_number

TABLE_HEIGHT = 230  # the least; it takes all the height that is left


class EnginePane(QScrollArea):
    """Scrolls when the window is too low for all of it."""

    def __init__(self, controller: EngineController, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page_view")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._controller = controller
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(20, 18, 20, 18)
        column.setSpacing(14)
        heading = QVBoxLayout()
        heading.setSpacing(4)
        self.subtitle = label("Looking for devices…", "text", wrap=True)
        heading.addWidget(label("Engine", "title"))
        heading.addWidget(self.subtitle)
        column.addLayout(heading)
        self.devices = DeviceCards(controller)
        self.check_card = CheckCard(controller)
        self.error_card = ErrorCard(theme)
        self.kernels = KernelView(theme)
        table, inner = card(margins=(4, 4, 4, 6), spacing=0)
        table.setMinimumHeight(TABLE_HEIGHT)
        inner.addWidget(self.kernels)
        for widget in (self.devices, self.error_card, self.check_card):
            column.addWidget(widget)
        column.addWidget(table, 1)
        self.setWidget(page)
        self.error_card.cpu_wanted.connect(self.on_cpu_wanted)
        controller.state_changed.connect(self.on_state_changed)
        controller.devices_changed.connect(self.on_devices_changed)
        controller.check_started.connect(self.on_check_started)
        controller.kernel_checked.connect(self.on_kernel_checked)
        controller.check_ended.connect(self.on_check_ended)
        controller.failed.connect(self.on_failed)

    @Slot()
    def on_state_changed(self) -> None:
        controller = self._controller
        if controller.in_use is None:
            starting = controller.phase == "starting"
            self.subtitle.setText("Looking for devices…" if starting else "No device is available.")
            return
        self.subtitle.setText(f"Codecoil computes on {controller.in_use.name}, {controller.reason}.")
        if not controller.busy:
            last = controller.checks.get(controller.in_use.name)
            self.kernels.table.show_checks(last.checks if last else ())

    @Slot()
    def on_devices_changed(self) -> None:
        self.error_card.put_away()
        self.kernels.table.show_kernels(self._controller.found.kernels)
        self.on_state_changed()

    @Slot()
    def on_check_started(self) -> None:
        self.error_card.put_away()
        self.kernels.table.show_checks((), waiting=True)
        self.kernels.scrollToTop()

    @Slot(object)
    def on_kernel_checked(self, event: KernelChecked) -> None:
        self.kernels.add_check(event.check)

    @Slot(object)
    def on_check_ended(self, event: CheckEnded) -> None:
        if event.wrong:
            self._show_failure(wrong_numbers(event))
        self.kernels.show_row(event.wrong[0].kernel if event.wrong else "")

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self._show_failure(failure)

    @Slot()
    def on_cpu_wanted(self) -> None:
        self.error_card.put_away()
        self._controller.choose("cpu")

    def _show_failure(self, failure: Failure) -> None:
        found, in_use = self._controller.found, self._controller.in_use
        offer_cpu = found is not None and found.device("cpu") is not None and in_use.name != "cpu"
        self.error_card.show_failure(failure, offer_cpu)
        self.ensureWidgetVisible(self.error_card)


def wrong_numbers(event: CheckEnded) -> Failure:
    """A check that found wrong numbers, as a failure for the card."""
    names = ", ".join(check.kernel for check in event.wrong)
    details = "\n".join(
        f"{check.kernel}: error {small_number(check.error)}, limit {small_number(check.limit)} {check.problem}".rstrip()
        for check in event.wrong
    )
    return Failure(
        f"{event.device} gives wrong numbers in {names}.",
        "A model trained on it would be wrong.  Update the driver and check again, or use another device.",
        details,
        event.device,
    )
