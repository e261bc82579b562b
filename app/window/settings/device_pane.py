"""Where Codecoil can compute, which device it uses and why, the race between devices, the benchmark, and a check."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout

from app.data.settings_file import AUTOMATIC
from app.state.application import Application
from app.values.events import CheckEnded, Failure, KernelChecked
from app.values.words import device_words, small_number
from app.window.parts import Card, ErrorCard, PageColumn, PlainButton, Switch, label, tip
from app.window.settings.benchmark_card import BenchmarkCard
from app.window.settings.check_card import CheckCard
from app.window.settings.device_card import DeviceCards
from app.window.settings.kernel_table import KernelView
from app.window.settings.race_card import RaceCard

TABLE_HEIGHT = 230  # the least; it takes all the height that is left


class DevicePane(PageColumn):
    def __init__(self, application: Application) -> None:
        super().__init__()
        self._controller = controller = application.engine
        self.column.setContentsMargins(20, 0, 20, 18)
        row = QHBoxLayout()
        row.setSpacing(10)
        self.subtitle = label("Looking for devices…", "text", wrap=True)
        self.look_button = PlainButton("Find devices", "Looks for devices again, for example after installing a driver")
        self.look_button.clicked.connect(controller.look_again)
        self.automatic = Switch("Choose the device automatically")
        self.automatic.changed.connect(self.on_automatic_switched)
        row.addWidget(self.subtitle, 1)
        row.addWidget(label("Automatic", "text"))
        row.addWidget(self.automatic)
        row.addWidget(self.look_button)
        self.column.addLayout(row)
        self.devices = DeviceCards(controller)
        self.race_card = RaceCard(application)
        self.benchmark_card = BenchmarkCard(application)
        self.check_card = CheckCard(controller)
        self.error_card = ErrorCard()
        self.kernels = KernelView()
        self._table = Card(margins=(4, 4, 4, 6), spacing=0)  # there is one once kernels were checked
        self._table.setMinimumHeight(TABLE_HEIGHT)
        self._table.column.addWidget(self.kernels)
        for widget in (self.devices, self.error_card, self.race_card, self.benchmark_card, self.check_card):
            self.column.addWidget(widget)
        self.column.addWidget(self._table, 100)
        self._table.hide()
        self.column.addStretch(1)  # takes the height while there is no table
        self.error_card.action_wanted.connect(self.on_cpu_wanted)
        controller.state_changed.connect(self.on_state_changed)
        controller.devices_changed.connect(self.on_devices_changed)
        controller.check_started.connect(self.on_check_started)
        controller.kernel_checked.connect(self.on_kernel_checked)
        controller.check_ended.connect(self.on_check_ended)
        controller.failed.connect(self.on_failed)
        if controller.found is not None:
            self.devices.on_devices_changed()
            self.on_devices_changed()
        self.on_state_changed()
        if controller.failure is not None:
            self._show_failure(controller.failure)

    @Slot()
    def on_state_changed(self) -> None:
        controller = self._controller
        self.look_button.setEnabled(controller.phase in ("ready", "failed"))
        self.automatic.setEnabled(controller.found is not None)
        self.automatic.set_value(controller.preferred == AUTOMATIC)
        if controller.in_use is None:
            starting = controller.phase == "starting"
            self.subtitle.setText("Looking for devices…" if starting else "No device is available.")
            return
        tip(self.automatic, f"Chooses {device_words(controller.automatic.name)}: {controller.automatic_reason}")
        self.subtitle.setText(f"Codecoil computes on {device_words(controller.in_use.name)}, {controller.reason}.")
        if not controller.busy:
            last = controller.checks.get(controller.in_use.name)
            self.kernels.table.show_checks(last.checks if last else ())
            self._table.setVisible(last is not None)

    @Slot()
    def on_devices_changed(self) -> None:
        self.error_card.put_away()
        self.kernels.table.show_kernels(self._controller.found.kernels)
        self.on_state_changed()

    @Slot()
    def on_check_started(self) -> None:
        self.error_card.put_away()
        self.kernels.table.show_checks((), waiting=True)
        self._table.show()
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

    @Slot(bool)
    def on_automatic_switched(self, on: bool) -> None:
        """Off: the device in use stays, whatever the result of a race."""
        self._controller.choose(AUTOMATIC if on else self._controller.in_use.name)

    @Slot()
    def on_cpu_wanted(self) -> None:
        self.error_card.put_away()
        self._controller.choose("cpu")

    def _show_failure(self, failure: Failure) -> None:
        found, in_use = self._controller.found, self._controller.in_use
        offer_cpu = found is not None and found.device("cpu") is not None and in_use.name != "cpu"
        self.error_card.show_failure(failure, "Use the CPU" if offer_cpu else "", "Switches to the CPU device")
        self.ensureWidgetVisible(self.error_card)


def wrong_numbers(event: CheckEnded) -> Failure:
    """A check that found wrong numbers, for the error card."""
    names = ", ".join(check.kernel for check in event.wrong)
    details = "\n".join(
        f"{check.kernel}: error {small_number(check.error)}, limit {small_number(check.limit)} {check.problem}".rstrip()
        for check in event.wrong
    )
    return Failure(
        f"{event.device} gives wrong numbers in {names}.",
        "A model trained on it would be wrong. Update the driver and check again, or use another device.",
        details,
        event.device,
    )
