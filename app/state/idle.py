"""Adapting to changes by itself: only where the user switched it on, the machine is idle and on mains power.

Somebody is there who uses keys or pointer in the window, or edits the repository in whatever editor.
"""

from __future__ import annotations

import time
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, Slot

from app.state.settings import Settings
from app.values.repository import ChangesSince

LOOK_EVERY = 20_000  # milliseconds
TOUCHES = frozenset(
    {
        QEvent.Type.KeyPress,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseMove,
        QEvent.Type.Wheel,
        QEvent.Type.TouchBegin,
    }
)


class IdleRules(QObject):
    """Looks every now and then whether an adaptation may begin; whoever begins one says so by `on_began`."""

    may_adapt = Signal()
    user_active = Signal()  # somebody is there again while a run that began by itself goes on

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._touched = time.monotonic()
        self._changes = ChangesSince()
        self._tried = ChangesSince()  # what was adapted to by itself: not again before something else changes
        self._by_itself = False  # since a run began by itself nobody has come back
        self._load = 0.0  # of the processor, since the look before
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY)
        self._timer.timeout.connect(self.on_look)

    def start(self) -> None:
        load()  # from here on it is known
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def watch(self, window: QObject) -> None:
        """Keys and pointer in this native window count as work.

        Not those of the whole application: Python would be called for every event of every object in it.
        """
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in TOUCHES:
            self._touch()
        return False

    def seconds_untouched(self) -> float:
        """Since the last key, move of the pointer or edit."""
        return time.monotonic() - self._touched

    @Slot(object)
    def on_changes(self, changes: ChangesSince) -> None:
        """Counted anew; where something else has changed than before, somebody edits."""
        before, self._changes = self._changes, changes
        if replace(before, seconds=0.0) != replace(changes, seconds=0.0):
            self._touch()

    @Slot()
    def on_began(self) -> None:
        """A run began by itself."""
        self._tried, self._by_itself = self._changes, True

    @Slot()
    def on_look(self) -> None:
        self._load = load()  # at every look: it tells of the time since the one before
        if not self.reason_to_wait():
            self.may_adapt.emit()

    def _touch(self) -> None:
        self._touched = time.monotonic()
        if self._by_itself:
            self._tried, self._by_itself = ChangesSince(), False  # what it is stopped at may be left to learn
            self.user_active.emit()

    def reason_to_wait(self) -> str:
        """Why nothing begins by itself now, in words; "" if it may."""
        settings = self._settings
        if not settings.auto_adapt:
            return "Adapting by itself is switched off."
        if self._changes.files < settings.auto_adapt_files or self._changes == self._tried:
            return "Too little has changed."
        if self.seconds_untouched() < 60 * settings.idle_minutes:
            return f"Somebody worked here within the last {settings.idle_minutes} minutes."
        if settings.mains_only and on_battery():
            return "The machine runs on its battery."
        if self._load > settings.idle_load:
            return "The machine is busy."
        return ""


def on_battery() -> bool:
    """False also where there is no battery."""
    import psutil

    try:
        battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    except (OSError, NotImplementedError):
        return False
    return battery is not None and battery.power_plugged is False


def load() -> float:
    """The processor's load since the last call, 0 to 1."""
    import psutil

    return psutil.cpu_percent(interval=None) / 100
