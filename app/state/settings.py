"""What the user has set and what the window remembers: one JSON file in the data folder, replaced as a whole.

A value that is missing, damaged or out of range counts as never set; values that this version does not know are kept.
Lives in the GUI thread.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QObject, QTimer, Signal, Slot

from app.data.settings_file import FIELDS, FILE_NAME, read_settings_file
from engine.atomic_file import replace_file
from engine.errors import ConfigError

SAVE_DELAY = 500  # milliseconds: a slider that is dragged writes once


def _property(name: str) -> property:
    def get(self: Settings) -> Any:
        return self.value(name)

    def put(self: Settings, value: Any) -> None:
        problem = self.set(name, value)
        if problem:
            raise ConfigError(problem)

    return property(get, put)


class Settings(QObject):
    """Settings by name, as attributes (`settings.theme`); `set` returns why a value is not possible.

    Assigning an impossible value raises ConfigError.
    """

    changed = Signal(str)  # name

    MOST_RECENT = 10

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path = folder / FILE_NAME
        self.problem = ""  # why the file could not be read or written, in words
        self._values: dict[str, Any] = {}
        self._unknown: dict[str, Any] = {}
        self._load()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SAVE_DELAY)
        self._timer.timeout.connect(self.on_save_due)

    def value(self, name: str) -> Any:
        """The value of a setting; lists and dicts are copies."""
        value = self._values.get(name, FIELDS[name].default)
        return type(value)(value) if isinstance(value, list | dict) else value

    def set(self, name: str, value: Any) -> str:
        """Change a setting, effective at once; returns why the value is not possible, or ""."""
        if name not in FIELDS:
            return f"There is no setting {name!r}."
        problem = FIELDS[name].limit.problem(name, value) or self._conflict(name, value)
        if problem or value == self.value(name):
            return problem
        self._values[name] = value
        self._timer.start()
        self.changed.emit(name)
        return ""

    def reset(self, name: str) -> None:
        """Back to the default."""
        self.set(name, FIELDS[name].default)

    # ---- windows and splitters

    def place(self, name: str) -> QByteArray:
        """Where a window, splitter or header was, as `saveState` gave it; empty if it is not known."""
        return QByteArray.fromBase64(QByteArray(self.value("places").get(name, "").encode("ascii", "ignore")))

    def keep_place(self, name: str, state: QByteArray) -> None:
        """Remember where a window, splitter or header is."""
        self.set("places", self.value("places") | {name: bytes(state.toBase64().data()).decode("ascii")})

    @property
    def geometry(self) -> QByteArray:
        """Of the main window."""
        return self.place("window")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self.keep_place("window", value)

    # ---- the file

    @Slot()
    def on_save_due(self) -> None:
        self._write(flush=False)  # waiting for the disk would be noticeable

    def save(self) -> None:
        """Write the file now, and wait for the disk."""
        if self._timer.isActive():
            self._timer.stop()
            self._write(flush=True)

    def _load(self) -> None:
        try:
            content = read_settings_file(self.path)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self.problem = f"The settings in {self.path} cannot be read: {error}. The defaults are used."
            return
        for name, value in content.items():
            field = FIELDS.get(name)
            if field is None:
                self._unknown[name] = value
            elif not field.limit.problem(name, value):
                self._values[name] = value
        if self._conflict("completion_delay_least", self.value("completion_delay_least")):
            self._values.pop("completion_delay_least", None)
            self._values.pop("completion_delay_most", None)

    def _write(self, flush: bool) -> None:
        content = json.dumps(self._unknown | self._values, indent=1, sort_keys=True)
        try:
            replace_file(self.path, content, durable=flush)
            self.problem = ""
        except OSError as error:
            self.problem = f"The settings cannot be saved in {self.path}: {error.strerror or error}."

    def _conflict(self, name: str, value: Any) -> str:
        """Why a value conflicts with the others."""
        least = value if name == "completion_delay_least" else self.value("completion_delay_least")
        most = value if name == "completion_delay_most" else self.value("completion_delay_most")
        if name.startswith("completion_delay") and least > most:
            return "The shortest delay must not be longer than the longest."
        keys = [each for each in FIELDS if each.startswith("key_") and each != name]
        if name.startswith("key_") and value and value in [self.value(each) for each in keys]:
            return f"{value} is already in use."
        return ""


for _name in FIELDS:
    setattr(Settings, _name, _property(_name))
