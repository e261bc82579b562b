"""The device of a command, with the memory ceiling of the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.devices import Device


def open_chosen_device(name: str, progress: Callable[[int, int, str], None] = lambda *_: None) -> Device:
    """`name`: as `codecoil devices` lists it, or "auto".  `progress`: of what takes long the first time."""
    from app.data.settings_file import setting
    from engine.devices import open_device

    return open_device(name, ceiling=setting(data_folder(), "memory_ceiling"), progress=progress)
