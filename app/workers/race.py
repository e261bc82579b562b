"""The race between devices: the same few training steps of a small model on each, measured.

Guessing from a name is often wrong: a small integrated GPU can lose to the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from app.values.engine import RaceLine
from app.values.failures import Cancelled, failure_from

VOCABULARY, BATCH, LENGTH = 2048, 4, 128
LEAST_STEPS, LEAST_SECONDS = 2, 1.0


def race_one(name: str, look: Callable[[], None]) -> RaceLine:
    """Train on this device for about a second, after one step that is not counted; `look` raises Cancelled to stop.

    Any other error belongs to this device: the others still race.
    """
    from engine.devices import choose_device, open_device
    from engine.errors import CodecoilError
    from engine.model.config import preset
    from engine.train.trial import trial_speed

    description = name
    try:
        description = choose_device(name).info.description
        device = open_device(name)
        try:
            began = time.perf_counter()
            more = {"seconds": LEAST_SECONDS, "least_steps": LEAST_STEPS, "check": look}
            rate = trial_speed(preset("nano", VOCABULARY), device, "full", BATCH, LENGTH, **more)
            took = time.perf_counter() - began
        finally:
            device.close()
    except Cancelled:
        raise
    except CodecoilError as error:
        return RaceLine(name, description, problem=error.message)
    except Exception as error:
        return RaceLine(name, description, problem=failure_from(error, name).cause)
    return RaceLine(name, description, rate, took)
