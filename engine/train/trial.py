"""A few real training steps, to know how fast the machine is now: other programs may be using it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from engine.devices import Device
from engine.model.architectures.architecture import Architecture
from engine.model.modes import ADAPTER_MODES
from engine.model.shallow import cuts_of, stand_in_model
from engine.model.step import AdamW

MOST_STEPS = 12
LAYERED_LENGTH = 128  # tokens of a step of few layers; in a longer one, each takes as long
LAYERED_STEPS = 3


def trial_speed(
    config: Architecture,
    device: Device,
    mode: str,
    rows: int,
    length: int,
    *,
    seconds: float,
    least_steps: int = 1,
    check: Callable[[], None] = lambda: None,
) -> float:
    """Tokens per second of training steps of `rows` windows, with stand-in weights, for about so many seconds.

    One more step comes first and is not counted: it prepares kernels. `check` is called before each step and may raise.
    """
    times = _step_times(config, device, mode, rows, length, seconds, least_steps, check)
    return len(times) * rows * length / max(sum(times), 1e-9)


def layered_speed(
    config: Architecture,
    device: Device,
    mode: str,
    length: int = LAYERED_LENGTH,
    *,
    seconds: float,
    least_steps: int = LAYERED_STEPS,
    check: Callable[[], None] = lambda: None,
) -> float:
    """Tokens per second of training steps of a model that is too large to be tried, from a few of its layers.

    The shortest step of each of the small models counts: a disturbance would be multiplied.
    """

    def seconds_of(cut: Architecture) -> float:
        return min(_step_times(cut, device, mode, 1, length, seconds, least_steps, check))

    return length / max(cuts_of(config, device.ledger.ceiling).whole_seconds(seconds_of), 1e-9)


def _step_times(
    config: Architecture,
    device: Device,
    mode: str,
    rows: int,
    length: int,
    seconds: float,
    least_steps: int,
    check: Callable[[], None],
) -> list[float]:
    """Seconds of each step."""
    tokens = np.random.default_rng(0).integers(0, config.vocab_size, (rows, length + 1)).astype(np.int32)
    model = stand_in_model(config, device)
    times: list[float] = []
    try:
        if mode in ADAPTER_MODES:
            model.attach_adapters()
        token_ids = np.unique(tokens) if mode == "vocabulary" else None
        training = model.training_step(mode, rows, length, token_ids=token_ids)
        try:
            check()
            training.run(tokens, AdamW(1e-4), 1)()
            while len(times) < MOST_STEPS and (len(times) < least_steps or sum(times) < seconds):
                check()
                began = time.perf_counter()
                training.run(tokens, AdamW(1e-4), len(times) + 2)()
                times.append(time.perf_counter() - began)
        finally:
            training.close()
    finally:
        model.close()
    return times
