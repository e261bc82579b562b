"""The race between devices: the same few training steps of a small model on each, measured.

Guessing from a name is often wrong: a small integrated GPU can lose to the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from app.values.engine import RaceLine
from app.workers.failures import Cancelled, failure_from

VOCABULARY, BATCH, LENGTH = 2048, 4, 128
LEAST_STEPS, MOST_STEPS, LEAST_SECONDS = 2, 12, 1.0


def race_one(name: str, look: Callable[[], None]) -> RaceLine:
    """Train on this device for about a second, after one step that is not counted; `look` raises Cancelled to stop.

    Whatever else goes wrong is this device's own: the others still race.
    """
    from engine.devices import choose_device, open_device
    from engine.errors import CodecoilError

    description = name
    try:
        description = choose_device(name).info.description
        device = open_device(name)
        try:
            rate, took = _measured(device, look)
        finally:
            device.close()
    except Cancelled:
        raise
    except CodecoilError as error:
        return RaceLine(name, description, problem=error.message)
    except Exception as error:
        return RaceLine(name, description, problem=failure_from(error, name).cause)
    return RaceLine(name, description, rate, took)


def _measured(device, look: Callable[[], None]) -> tuple[float, float]:
    """Tokens a second, and the seconds that this took to find out."""
    import numpy as np

    from engine.model.config import preset
    from engine.model.model import create_model
    from engine.model.step import AdamW

    began = time.perf_counter()
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype(np.int32)
    model = create_model(preset("nano", VOCABULARY), seed=0, device=device)
    try:
        training = model.training_step("full", BATCH, LENGTH)
        try:
            training.run(tokens, AdamW(1e-4), 1)()
            first = time.perf_counter()
            for step in range(1, MOST_STEPS + 1):
                look()
                training.run(tokens, AdamW(1e-4), step + 1)()
                spent = time.perf_counter() - first
                if step >= LEAST_STEPS and spent >= LEAST_SECONDS:
                    break
        finally:
            training.close()
    finally:
        model.close()
    return step * BATCH * LENGTH / spent, time.perf_counter() - began
