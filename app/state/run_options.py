"""The options of the next run: mode, preset, and what the user has changed of the preset.  Kept in the settings."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from app.state.settings import Settings

if TYPE_CHECKING:
    from engine.train.options import TrainingOptions

CUSTOM = "custom"  # the preset's name once an option was changed
USUAL = "balanced"
ELSEWHERE = ("mode", "duty_cycle")  # settings of their own


class RunOptions:
    """Read when they are first asked for: the engine's table takes a moment to load."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._values: TrainingOptions | None = None
        self.preset = CUSTOM if settings.training_options else settings.preset

    @property
    def values(self) -> TrainingOptions:
        if self._values is None:
            self._values, self.preset = self._remembered()
        return self._values

    def set(self, name: str, value: Any) -> tuple[bool, str]:
        """Change one option: whether that changed anything, and why the value is not possible ("" if it is)."""
        from engine.errors import ConfigError

        before = self.values
        try:
            self._values = before.changed(**{name: value})
        except ConfigError as error:
            return False, " ".join(filter(None, (error.message, error.remedy)))
        if self._values == before:
            return False, ""
        if name == "mode":
            self._settings.training_mode = value
        elif name != "duty_cycle":
            self.preset = CUSTOM
            self._keep()
        return True, ""

    def choose_preset(self, name: str) -> None:
        """Take all options of a preset, but keep the mode."""
        from engine.train.options import preset

        self._values = preset(name).changed(mode=self.values.mode, duty_cycle=self._settings.duty_cycle)
        self.preset = self._settings.preset = name
        self._settings.training_options = {}

    def _remembered(self) -> tuple[TrainingOptions, str]:
        """The options of the last time, and the name of their preset.  What is no longer possible is ignored."""
        from engine.errors import ConfigError
        from engine.model.selection import MODES
        from engine.train.options import PRESETS

        settings = self._settings
        name = settings.preset if settings.preset in PRESETS else USUAL
        usual, mode = PRESETS[name], settings.training_mode
        usual = replace(usual, mode=mode if mode in MODES else usual.mode, duty_cycle=settings.duty_cycle)
        own = settings.training_options
        if not own:
            return usual, name
        try:
            return usual.changed(**{key: json.loads(words) for key, words in own.items()}), CUSTOM
        except (ConfigError, TypeError, ValueError):
            return usual, name

    def _keep(self) -> None:
        """Remember what differs from the preset that was chosen last."""
        from engine.train.options import PRESETS

        usual = asdict(PRESETS.get(self._settings.preset, PRESETS[USUAL]))
        self._settings.training_options = {
            name: json.dumps(value)
            for name, value in asdict(self.values).items()
            if value != usual[name] and name not in ELSEWHERE
        }
