"""What the user has set and what the window remembers: one JSON file in the data folder, replaced as a whole.

A value that is missing, damaged or out of its range is as if it had never been set; values that this version does not
know are kept.  Lives in the GUI thread.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QObject, QTimer, Signal, Slot

from app.key_check import key_problem
from app.values.limits import EngineOption, Limit, Number, OneOf, Text, Texts, Truth
from engine.errors import ConfigError
from engine.generate.options import OPTIONS, SUGGESTION_STOPS, Sampling
from engine.shipped import usual_least_chance

AUTOMATIC = "auto"
FILE_NAME = "settings.json"
MOST_BYTES = 1 << 20
SAVE_DELAY = 500  # milliseconds: a slider that is dragged writes once
GIB = 2**30
USUAL_LEAST_CHANCE = usual_least_chance()  # of a suggestion being taken as it is
USUAL_COMPLETION = asdict(Sampling()) | asdict(SUGGESTION_STOPS)


@dataclass(frozen=True)
class Field:
    """One setting: what it is at first, and what it may be."""

    default: Any
    limit: Limit


FIELDS: dict[str, Field] = {
    "theme": Field("system", OneOf(("system", "dark", "light"))),
    "device": Field(AUTOMATIC, Text(64)),
    "memory_ceiling": Field(3 * GIB, Number(GIB // 8, 1024 * GIB, whole=True)),  # bytes
    "duty_cycle": Field(1.0, Number(0.1, 1.0)),  # share of the time that training computes
    "watch": Field(True, Truth()),
    "auto_adapt": Field(False, Truth()),  # adapt to changes by itself, by the rules that follow
    "idle_minutes": Field(5, Number(1, 240, whole=True)),  # with no key and no mouse in the window, and no edit
    "idle_load": Field(0.3, Number(0.05, 1.0)),  # of the processor, at most, by others
    "mains_only": Field(True, Truth()),
    "auto_adapt_files": Field(3, Number(1, 10_000, whole=True)),  # changed files, at least
    "secret_policy": Field("mask", OneOf(("mask", "leave_out"))),
    "completion_enabled": Field(True, Truth()),
    "completion_context": Field(True, Truth()),  # look at files of the repository that were edited just now
    "completion_delay_least": Field(75, Number(0, 2000, whole=True)),  # milliseconds; adapts between the two
    "completion_delay_most": Field(400, Number(0, 5000, whole=True)),
    "least_chance": Field(USUAL_LEAST_CHANCE, Number(0.0, 1.0)),  # below it a suggestion is not shown
    "memory_on": Field(True, Truth()),  # suggestions use the memory of the repository
    "ligatures": Field(False, Truth()),  # in the editor: != as one sign
    "unfolded": Field([], Texts(16)),  # the parts of the Complete page that are open, by name
    "key_accept": Field("Tab", Text(64, key_problem)),
    "key_accept_word": Field("Ctrl+Right", Text(64, key_problem)),
    "key_accept_line": Field("Ctrl+Down", Text(64, key_problem)),
    "key_dismiss": Field("Esc", Text(64, key_problem)),
    "key_next": Field("Alt+]", Text(64, key_problem)),
    "key_previous": Field("Alt+[", Text(64, key_problem)),
    "preset": Field("balanced", Text(32)),
    "training_mode": Field("", Text(32)),  # "": the preset's
    "training_options": Field({}, Texts(64, named=True)),  # what was changed of the preset by hand, as JSON
    "model": Field("starter", Text(64)),  # that completes
    "reopen": Field(True, Truth()),  # the last repository at start
    "race": Field({}, Texts(16, named=True)),  # tokens a second by the description of a device, as it was measured
    "recent_folders": Field([], Texts(20)),
    "page": Field("", Text(64)),
    "places": Field({}, Texts(64, named=True)),  # windows and splitters by name, base64
    **{
        f"sampling_{name}": Field(USUAL_COMPLETION[name], EngineOption(info))
        for name, info in OPTIONS.items()
        if not info.advanced
    },
}


def _property(name: str) -> property:
    def get(self: Settings) -> Any:
        return self.value(name)

    def put(self: Settings, value: Any) -> None:
        problem = self.set(name, value)
        if problem:
            raise ConfigError(problem)

    return property(get, put)


class Settings(QObject):
    """Settings by name, as attributes (`settings.theme`); `set` says in words why a value cannot be.

    Assigning a value that cannot be raises ConfigError.
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
        """Change a setting; "" or, in words, why that value cannot be.  Applies at once."""
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
        """Back to what it is at first."""
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
        self._write(flush=False)  # waiting for the disk would be felt in the window

    def save(self) -> None:
        """Write the file now, and wait for the disk."""
        if self._timer.isActive():
            self._timer.stop()
            self._write(flush=True)

    def _load(self) -> None:
        try:
            with open(self.path, "rb") as file:
                content = json.loads(file.read(MOST_BYTES))
            if not isinstance(content, dict):
                raise ValueError("it holds no settings")
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            self.problem = f"The settings in {self.path} cannot be read: {error}. Everything is as at first."
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
        partial = self.path.with_name(f"{FILE_NAME}.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(partial, "w", encoding="utf-8") as file:
                json.dump(self._unknown | self._values, file, indent=1, sort_keys=True)
                if flush:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(partial, self.path)
            self.problem = ""
        except OSError as error:
            self.problem = f"The settings cannot be kept in {self.path}: {error.strerror or error}."
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)

    def _conflict(self, name: str, value: Any) -> str:
        """Why a value does not go with the others, in words."""
        least = value if name == "completion_delay_least" else self.value("completion_delay_least")
        most = value if name == "completion_delay_most" else self.value("completion_delay_most")
        if name.startswith("completion_delay") and least > most:
            return "The shortest delay must not be above the longest."
        keys = [each for each in FIELDS if each.startswith("key_") and each != name]
        if name.startswith("key_") and value and value in [self.value(each) for each in keys]:
            return f"{value} is in use for something else."
        return ""


for _name in FIELDS:
    setattr(Settings, _name, _property(_name))
