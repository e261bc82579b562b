"""How fast this machine has trained before, so that a plan can say how long a run will take.

One small JSON file in the data folder: tokens a second by device, mode and size of the model.  A guess from another
size scales by the number of weights, which is what a step's time follows.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from engine.train.options import PASSES_OVER_CHANGES

FILE_NAME = "speeds.json"
MOST = 200  # entries
REPLAY = 2  # tokens read for each changed one: half of a batch is older code
OVERHEAD = 8.0  # seconds to read, to load and to measure
RELATIVE = {"full": 1.0, "lora": 1.3, "vocabulary": 1.1, "wsla": 1.4}  # measured with the starter on the CPU
FORWARD = 3.0  # tokens measured in the time of one that is learned
MEASUREMENTS, MOST_MEASURED = 11, 64 * 256  # of a run to changes: how often, and tokens of each kind at most


@dataclass(frozen=True)
class Speed:
    """What was measured."""

    device: str
    mode: str
    parameters: int
    tokens_per_second: float


class Speeds:
    """Reads the file when asked, so that two threads need not share it."""

    def __init__(self, data_folder: Path) -> None:
        self._path = data_folder / FILE_NAME

    def keep(self, speed: Speed) -> None:
        """Remember; a later measurement of the same replaces an earlier one."""
        rest = [each for each in self._all() if _key(each) != _key(speed)]
        content = [vars(each) for each in [*rest, speed][-MOST:]]
        partial = self._path.with_suffix(f".{os.getpid()}.part")
        with contextlib.suppress(OSError):  # a speed that cannot be kept is measured again
            partial.write_text(json.dumps(content, indent=1), encoding="utf-8")
            os.replace(partial, self._path)

    def guess(self, device: str, mode: str, parameters: int) -> float:
        """Tokens a second; 0.0 where nothing was measured on this device."""
        best: tuple[float, float] | None = None
        for each in self._all():
            if each.device != device or each.parameters <= 0:
                continue
            scale = each.parameters / max(parameters, 1)
            relation = RELATIVE.get(mode, 1.0) / RELATIVE.get(each.mode, 1.0)
            distance = abs(scale - 1) + (0.5 if each.mode != mode else 0.0)
            if best is None or distance <= best[0]:  # of equals the latest
                best = (distance, each.tokens_per_second * scale * relation)
        return best[1] if best else 0.0

    def seconds_for_changes(self, tokens: int, mode: str, held_out: int = 0) -> float:
        """About how long an adaptation to so many changed tokens takes, by the latest run of that mode; 0: unknown.

        `held_out`: tokens of held-out code, which is measured along the run, as is what changed.
        """
        known = [each for each in self._all() if each.mode == mode] or self._all()
        measured = MEASUREMENTS * (min(held_out, MOST_MEASURED) + min(tokens, MOST_MEASURED))
        worked = tokens * PASSES_OVER_CHANGES * REPLAY + measured / FORWARD
        return OVERHEAD + worked / known[-1].tokens_per_second if known else 0.0

    def _all(self) -> list[Speed]:
        try:
            content = json.loads(self._path.read_bytes())
            found = [Speed(str(e["device"]), str(e["mode"]), int(e["parameters"]), float(e["tokens_per_second"]))
                     for e in content]  # fmt: skip
        except (OSError, ValueError, TypeError, KeyError):
            return []
        return [each for each in found if each.tokens_per_second > 0]


def _key(speed: Speed) -> tuple:
    return speed.device, speed.mode, speed.parameters
