"""The settings on disk: one JSON file in the data folder.  No Qt: the command line reads them, too.

`app.state.settings.Settings` is what the window uses; `setting` reads a single value.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.values.limits import EngineOption, Limit, Number, OneOf, Text, Texts, Truth
from engine.generate.options import OPTIONS, PRECISION, SUGGESTION_STOPS, Sampling
from engine.shipped import usual_least_chance

AUTOMATIC = "auto"
FILE_NAME = "settings.json"
MOST_BYTES = 1 << 20
GIB = 2**30
MOST_FOLDERS = 256  # whose models are remembered
FIRST_NAMED = 0x01000000  # Qt's key codes below it are characters
USUAL_LEAST_CHANCE = usual_least_chance()  # of a suggestion being accepted unchanged
USUAL_COMPLETION = asdict(Sampling()) | asdict(SUGGESTION_STOPS)


def key_problem(keys: str) -> str:
    """Why these keys cannot be a shortcut; "" if they can.  An empty text means no shortcut."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QKeySequence

    if not keys:
        return ""
    known = QKeySequence(keys)
    if known.count() != 1 or known[0].key() in (Qt.Key.Key_unknown, Qt.Key(0)):
        return f"{keys} is not a known key."
    plain = not known[0].keyboardModifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    if plain and known[0].key() < FIRST_NAMED:
        return f"{keys} is needed for typing. Add Ctrl or Alt, or choose another key."
    return ""


@dataclass(frozen=True)
class Field:
    """One setting: its default, and what it may be."""

    default: Any
    limit: Limit


FIELDS: dict[str, Field] = {
    "theme": Field("system", OneOf(("system", "dark", "light"))),
    "device": Field(AUTOMATIC, Text(64)),
    "memory_ceiling": Field(3 * GIB, Number(GIB // 8, 1024 * GIB, whole=True)),  # bytes
    "duty_cycle": Field(1.0, Number(0.1, 1.0)),  # share of the time that training computes
    "watch": Field(True, Truth()),
    "auto_adapt": Field(False, Truth()),  # adapt to changes automatically, under the conditions that follow
    "idle_minutes": Field(5, Number(1, 240, whole=True)),  # without input in the window and without an edit
    "idle_load": Field(0.3, Number(0.05, 1.0)),  # of the processor, at most
    "mains_only": Field(True, Truth()),
    "auto_adapt_files": Field(3, Number(1, 10_000, whole=True)),  # changed files, at least
    "secret_policy": Field("mask", OneOf(("mask", "leave_out"))),
    "completion_enabled": Field(True, Truth()),
    "completion_context": Field(True, Truth()),  # may use recently edited files of the repository
    "completion_delay_least": Field(75, Number(0, 2000, whole=True)),  # milliseconds; adapts between the two
    "completion_delay_most": Field(400, Number(0, 5000, whole=True)),
    "least_chance": Field(USUAL_LEAST_CHANCE, Number(0.0, 1.0)),  # below it, a suggestion is not shown
    "precision": Field(PRECISION.default, EngineOption(PRECISION)),  # that completions are decoded in
    "memory_on": Field(True, Truth()),  # suggestions use the memory of the repository
    "server_enabled": Field(False, Truth()),  # editors on this machine may ask for completions
    "ligatures": Field(False, Truth()),  # in the editor: != as one character
    "unfolded": Field([], Texts(16)),  # the parts of the Complete page that are open, by name
    "key_accept": Field("Tab", Text(64, key_problem)),
    "key_accept_word": Field("Ctrl+Right", Text(64, key_problem)),
    "key_accept_line": Field("Ctrl+Down", Text(64, key_problem)),
    "key_dismiss": Field("Esc", Text(64, key_problem)),
    "key_next": Field("Alt+]", Text(64, key_problem)),
    "key_previous": Field("Alt+[", Text(64, key_problem)),
    "preset": Field("balanced", Text(32)),
    "training_mode": Field("", Text(32)),  # "": the preset's
    "training_options": Field({}, Texts(64, named=True)),  # what the user changed of the preset, as JSON
    "model": Field("starter", Text(64)),  # used for completions, chosen last
    "folder_models": Field({}, Texts(MOST_FOLDERS, named=True)),  # the same by folder, the one chosen last at the end
    "base": Field("", Text(64)),  # what training starts from; "": the built-in model
    "base_offer": Field("", OneOf(("", "accepted", "declined"))),  # the answer to the offer of a stronger base
    "reopen": Field(True, Truth()),  # reopen the last repository at the start
    "race": Field({}, Texts(16, named=True)),  # measured tokens per second, by description of the device
    "recent_folders": Field([], Texts(20)),
    "page": Field("", Text(64)),
    "places": Field({}, Texts(64, named=True)),  # windows and splitters by name, base64
    **{
        f"sampling_{name}": Field(USUAL_COMPLETION[name], EngineOption(info))
        for name, info in OPTIONS.items()
        if not info.advanced
    },
}


def read_settings_file(path: Path) -> dict[str, Any]:
    """The content of the file, unchecked."""
    with open(path, "rb") as file:
        content = json.loads(file.read(MOST_BYTES))
    if not isinstance(content, dict):
        raise ValueError("it does not contain settings")
    return content


def setting(folder: Path, name: str) -> Any:
    """One setting as stored in the data folder; its default if it is missing, damaged or out of range."""
    field = FIELDS[name]
    try:
        value = read_settings_file(folder / FILE_NAME).get(name, field.default)
    except (OSError, ValueError, RecursionError):
        return field.default
    return field.default if field.limit.problem(name, value) else value
