"""The check of the device in use: the button that starts it, figures while it runs, one line for the result."""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout

from app.state.engine import EngineController
from app.values.events import CheckEnded, KernelChecked
from app.values.words import device_words, duration, percent, share
from app.window.parts import NOTHING, FigureLabel, label, set_tone

TICK = 100  # milliseconds between two readings of the clock


class CheckCard(QFrame):
    def __init__(self, controller: EngineController) -> None:
        super().__init__()
        self.setProperty("card", "plain")
        self._controller = controller
        self._done: list = []
        self._total = 0
        self._started = 0.0
        self._clock = QTimer(self)
        self._clock.setInterval(TICK)
        self._clock.timeout.connect(self.on_tick)
        self._build()
        controller.state_changed.connect(self.on_state_changed)
        controller.check_started.connect(self.on_check_started)
        controller.kernel_checked.connect(self.on_kernel_checked)
        controller.check_ended.connect(self.on_check_ended)
        controller.failed.connect(self.on_failed)
        self.on_state_changed()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(12)
        row = QHBoxLayout()
        row.setSpacing(24)
        self.kernels = FigureLabel("Kernels checked", 112)
        self.wrong = FigureLabel("Wrong", 56)
        self.closest = FigureLabel("Closest to its limit", 170, "kernel", 190)
        self.elapsed = FigureLabel("Time", 64)
        for figure in (self.kernels, self.wrong, self.elapsed, self.closest):
            row.addWidget(figure)
        row.addStretch(1)
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("Stops the check after the current kernel")
        self.cancel_button.setAccessibleName("Cancel the check")
        self.cancel_button.clicked.connect(self._controller.cancel)
        self.check_button = QPushButton("Check this device")
        self.check_button.setToolTip("Runs every kernel on the device in use and compares the numbers (Ctrl+Shift+D)")
        self.check_button.setAccessibleName("Check this device")
        self.check_button.clicked.connect(self.on_check_clicked)
        row.addWidget(self.cancel_button)
        row.addWidget(self.check_button)
        column.addLayout(row)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress of the check")
        column.addWidget(self.bar)
        self.summary = label("", "text", wrap=True)
        column.addWidget(self.summary)

    # ---- what the user does

    @Slot()
    def on_check_clicked(self) -> None:
        self._controller.check()

    # ---- what the controller says

    @Slot()
    def on_state_changed(self) -> None:
        phase = self._controller.phase
        running = phase in ("checking", "cancelling")
        had_focus = self.check_button.hasFocus() or self.cancel_button.hasFocus()
        self.cancel_button.setVisible(running)
        self.cancel_button.setEnabled(phase == "checking")
        self.check_button.setVisible(not running)
        self.check_button.setEnabled(phase == "ready" and self._controller.in_use is not None)
        if had_focus:  # the button that was pressed is hidden: the focus would jump to some other control
            (self.cancel_button if running else self.check_button).setFocus()
        if not running and self._controller.in_use is not None:
            self._show_last()

    @Slot()
    def on_check_started(self) -> None:
        self._done = []
        self._total = len(self._controller.found.kernels)
        self._started = time.monotonic()
        self._clock.start()
        self._say(f"Opening {self._controller.checking}…")
        self._show_figures(0.0)

    @Slot(object)
    def on_kernel_checked(self, event: KernelChecked) -> None:
        self._done.append(event.check)
        self._say(f"Checking {event.device}…")
        self._show_figures(time.monotonic() - self._started)

    @Slot(object)
    def on_check_ended(self, _event: CheckEnded) -> None:
        self._clock.stop()

    @Slot(object)
    def on_failed(self, _failure) -> None:
        self._clock.stop()
        if self._controller.found is None:
            self._say("The engine could not be loaded.", "bad")

    @Slot()
    def on_tick(self) -> None:
        self.elapsed.say(duration(time.monotonic() - self._started))

    # ---- what is shown

    def _show_last(self) -> None:
        """Show the last check of the device in use, or that there was none."""
        last = self._controller.checks.get(self._controller.in_use.name)
        self._total = len(self._controller.found.kernels)
        self._done = list(last.checks) if last else []
        self._show_figures(last.seconds if last else None)
        if last is None:
            self._say(
                f"Runs all {self._total} kernels, the small programs that compute a model, on "
                f"{device_words(self._controller.in_use.name)} {self._against()}."
            )
        elif last.wrong:
            names = ", ".join(check.kernel for check in last.wrong)
            self._say(f"✕ {len(last.wrong)} of {len(last.checks)} kernels give wrong numbers: {names}.", "bad")
        elif last.cancelled:
            count = f"{len(last.checks)} of {self._total} kernels"
            self._say(f"Cancelled after {count}, all within their limits.", "warn")
        else:
            self._say(f"✓ All {len(last.checks)} kernels are within their limits.", "good")

    def _against(self) -> str:
        """What a check compares with: the CPU device, and for that one a reference."""
        other = "a float64 reference" if self._controller.in_use.kind == "cpu" else "the CPU device"
        return f"and compares every number with {other}"

    def _show_figures(self, seconds: float | None) -> None:
        wrong = sum(not check.passed for check in self._done)
        self.bar.setRange(0, max(1, self._total))
        self.bar.setValue(min(len(self._done), self._total))
        set_tone(self.bar, "bad" if wrong else "")
        if seconds is None:
            for figure in (self.kernels, self.wrong, self.closest, self.elapsed):
                figure.say()
            self.kernels.say("0", f"of {self._total}")
            return
        self.kernels.say(str(len(self._done)), f"of {self._total}")
        self.wrong.say(str(wrong))
        set_tone(self.wrong.number, "bad" if wrong else "")
        self.elapsed.say(duration(seconds))
        closest = max(self._done, key=lambda check: share(check.error, check.limit), default=None)
        self.closest.say(*(percent(share(closest.error, closest.limit)), closest.kernel) if closest else (NOTHING,))

    def _say(self, words: str, tone: str = "") -> None:
        self.summary.setText(words)
        set_tone(self.summary, tone)
