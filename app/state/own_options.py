"""Options of a run as they are remembered: mode and preset, and what the user has changed of the preset by hand."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from app.state.settings import Settings

if TYPE_CHECKING:
    from engine.train.options import TrainingOptions

CUSTOM = "custom"  # the preset's name once an option was changed by hand
USUAL = "balanced"
ELSEWHERE = ("mode", "duty_cycle")  # settings of their own


def remembered_preset(settings: Settings) -> str:
    """The preset of the last time; CUSTOM where something of it was changed."""
    return CUSTOM if settings.training_options else settings.preset


def remembered_options(settings: Settings) -> tuple[TrainingOptions, str]:
    """All options of the last time, and the name of their preset.  What can no longer be is as if never set."""
    from engine.errors import ConfigError
    from engine.model.modes import MODES
    from engine.train.options import PRESETS

    name = settings.preset if settings.preset in PRESETS else USUAL
    usual, mode = PRESETS[name], settings.training_mode
    usual = replace(usual, mode=mode if mode in MODES else usual.mode, duty_cycle=settings.duty_cycle)
    own = settings.training_options
    try:
        return (
            (usual.changed(**{key: json.loads(words) for key, words in own.items()}), CUSTOM) if own else (usual, name)
        )
    except (ConfigError, TypeError, ValueError):
        return usual, name


def keep_options(settings: Settings, options: TrainingOptions) -> None:
    """Remember what differs from the preset that was chosen last."""
    from engine.train.options import PRESETS

    usual = asdict(PRESETS.get(settings.preset, PRESETS[USUAL]))
    settings.training_options = {
        name: json.dumps(value)
        for name, value in asdict(options).items()
        if value != usual[name] and name not in ELSEWHERE
    }
