"""Adapting to changes automatically: only if the user has switched it on, the machine is idle and on mains power.

The user counts as active after using the keyboard or pointer in the window, editing the repository in any editor, or
typing in an editor that asks for completions.
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
    """Checks periodically whether an adaptation may start; `on_began` reports that one did."""

    may_adapt = Signal()
    user_active = Signal()  # during a run that was started automatically

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._touched = time.monotonic()
        self._changes = ChangesSince()
        self._tried = ChangesSince()  # already adapted to automatically: not again until something else changes
        self._unattended = False  # a run was started automatically, and the user has not been active since
        self._load = 0.0  # of the processor, since the last check
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_EVERY)
        self._timer.timeout.connect(self.on_look)

    def start(self) -> None:
        load()  # the first call starts the measurement
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def watch(self, window: QObject) -> None:
        """Count keys and pointer in this native window as activity.

        Not those of the whole application: Python would be called for every event of every object in it.
        """
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in TOUCHES:
            self._touch()
        return False

    def seconds_untouched(self) -> float:
        """Since the last key press, pointer move or edit."""
        return time.monotonic() - self._touched

    @Slot(object)
    def on_changes(self, changes: ChangesSince) -> None:
        """Changes were counted again; if they differ from before, the user is editing."""
        before, self._changes = self._changes, changes
        if replace(before, seconds=0.0) != replace(changes, seconds=0.0):
            self._touch()

    @Slot()
    def on_editor_asked(self) -> None:
        """Somebody types in an editor that asks the server."""
        self._touch()

    @Slot()
    def on_began(self) -> None:
        """A run was started automatically."""
        self._tried, self._unattended = self._changes, True

    @Slot()
    def on_look(self) -> None:
        self._load = load()  # at every check: it is the load since the one before
        if not self.reason_to_wait():
            self.may_adapt.emit()

    def _touch(self) -> None:
        self._touched = time.monotonic()
        if self._unattended:
            self._tried, self._unattended = ChangesSince(), False  # the run stops, so some may be left to learn
            self.user_active.emit()

    def reason_to_wait(self) -> str:
        """Why no adaptation starts now; "" if one may."""
        settings = self._settings
        if not settings.auto_adapt:
            return "Automatic adaptation is switched off."
        if self._changes.files < settings.auto_adapt_files or self._changes == self._tried:
            return "Too few files have changed."
        if self.seconds_untouched() < 60 * settings.idle_minutes:
            return f"The computer was in use within the last {settings.idle_minutes} minutes."
        if settings.mains_only and on_battery():
            return "The computer is running on battery."
        if self._load > settings.idle_load:
            return "The computer is busy."
        return ""


def on_battery() -> bool:
    """False if there is no battery."""
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
