"""How fast this machine is with models that were measured before: one small JSON file in the data folder.

A speed belongs to a device, a version of Codecoil and the shapes of a model; another version measures again.  A file
that is damaged counts as empty: what it held is measured again.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from app import VERSION
from engine.atomic_file import replace_file

if TYPE_CHECKING:
    from engine.devices import DeviceInfo
    from engine.session.machine_speed import MachineSpeed

FILE_NAME = "machine_speeds.json"
MOST = 400  # entries


def device_key(info: DeviceInfo) -> str:
    """The same device with another driver, or fewer of its threads, is measured again."""
    threads = f"{info.limits['threads']} threads" if "threads" in info.limits else ""
    return ", ".join(filter(None, (info.description, info.backend, info.driver, threads)))


class MachineSpeeds:
    """Reads the file when asked, so that two threads need not share it."""

    def __init__(self, data_folder: Path) -> None:
        self._path = data_folder / FILE_NAME

    def known(self, device: str) -> dict[str, MachineSpeed]:
        """What was measured on this device by this version, by the model's key."""
        from engine.session.machine_speed import MachineSpeed

        found = {}
        for entry in self._entries():
            if entry.get("device") == device and entry.get("version") == VERSION:
                with contextlib.suppress(KeyError, TypeError, ValueError):  # of another version after all
                    decode, adapt = float(entry["decode"]), float(entry["adapt"])
                    layers = int(entry["layers"]), int(entry["of_layers"])
                    found[str(entry["model"])] = MachineSpeed(decode, adapt, *layers)
        return found

    def keep(self, device: str, model: str, speed: MachineSpeed) -> None:
        """Remember it; it replaces an earlier one of the same device and model, of whatever version."""
        key = {"device": device, "model": model}
        rest = [entry for entry in self._entries() if {name: entry.get(name) for name in key} != key]
        content = [*rest, {**key, "version": VERSION, **vars(speed)}][-MOST:]
        with contextlib.suppress(OSError):  # a speed that cannot be kept is measured again
            replace_file(self._path, json.dumps(content, indent=1), durable=False)

    def _entries(self) -> list[dict]:
        try:
            content = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        return [entry for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []
