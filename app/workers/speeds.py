"""How fast this machine trains, so that a plan can say how long a run will take.

A plan measures a step now (`now`): the machine may be busy. Where the model is too large for that, earlier runs say it:
one small JSON file in the data folder has tokens per second by device, mode and size of the model. From another size it
is scaled by the number of weights, which is what a step's time follows. Without earlier runs, a few of its layers are
measured.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.values.training import SpeedBasis
from engine.atomic_file import replace_file
from engine.train.options import PASSES_OVER_CHANGES

FILE_NAME = "speeds.json"
MOST = 200  # entries
REPLAY = 2  # tokens read for each changed one: half of a batch is older code
OVERHEAD = 8.0  # seconds to read, to load and to measure
# Measured on the CPU with the starter; qk with a llama model of that size, roughly, on a busy machine
RELATIVE = {"full": 1.0, "lora": 1.3, "vocabulary": 1.1, "wsla": 1.4, "qk": 1.4}
FORWARD = 3.0  # tokens measured in the time of one that is learned
LARGEST_TRIAL = 50_000_000  # weights of a model that a plan trains for a moment
TRIAL_TOKENS, TRIAL_SECONDS, TRIAL_LASTS = 2048, 0.2, 300.0  # in a step, at least, and until it is measured again
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
        self._trials: dict[tuple, tuple[float, float]] = {}  # when and how fast, by what was measured

    def now(self, config, device, mode: str, rows: int, length: int) -> tuple[float, SpeedBasis]:
        """Tokens per second of a training step, and how that is known; 0.0 where it is not.

        `rows`: windows computed at once.
        """
        if config.parameter_count <= LARGEST_TRIAL and (speed := self._trial(config, device, mode, rows, length)):
            return speed, SpeedBasis.MEASURED
        if speed := self.guess(device.description, mode, config.parameter_count):
            return speed, SpeedBasis.EARLIER_RUNS
        speed = self._layered_trial(config, device, mode)
        return speed, SpeedBasis.FEW_LAYERS if speed else SpeedBasis.UNKNOWN

    def _trial(self, config, device, mode: str, rows: int, length: int) -> float:
        """Of the whole model; 0.0 where there is no memory for it."""
        from engine.train.trial import trial_speed

        length = min(length, TRIAL_TOKENS)
        rows = max(1, min(rows, TRIAL_TOKENS // length))
        key = (device.description, str(config), mode, rows, length)
        return self._kept(key, lambda: trial_speed(config, device, mode, rows, length, seconds=TRIAL_SECONDS))

    def _layered_trial(self, config, device, mode: str) -> float:
        """Of a few of its layers, for all of them."""
        from engine.train.trial import layered_speed

        key = (device.description, str(config), mode)
        return self._kept(key, lambda: layered_speed(config, device, mode, seconds=TRIAL_SECONDS, least_steps=1))

    def _kept(self, key: tuple, trial: Callable[[], float]) -> float:
        """What was measured a moment ago, or the trial."""
        from engine.errors import MemoryCeilingError

        when, speed = self._trials.get(key, (-TRIAL_LASTS, 0.0))
        if time.monotonic() - when >= TRIAL_LASTS:
            try:
                speed = trial()
            except (MemoryCeilingError, MemoryError):
                speed = 0.0
            self._trials[key] = (time.monotonic(), speed)
        return speed

    def keep(self, speed: Speed) -> None:
        """Remember a run's speed; it replaces an earlier one of the same device, mode and size."""
        rest = [each for each in self._all() if _key(each) != _key(speed)]
        content = [vars(each) for each in [*rest, speed][-MOST:]]
        with contextlib.suppress(OSError):  # a speed that cannot be kept is measured again
            replace_file(self._path, json.dumps(content, indent=1), durable=False)

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
