"""A few real training steps, to know how fast the machine is now: other programs may be using it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from engine.devices import Device
from engine.model.architectures.architecture import Architecture
from engine.model.model import create_model
from engine.model.modes import ADAPTER_MODES
from engine.model.step import AdamW

MOST_STEPS = 12


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
    """Tokens per second of training steps of `rows` windows, with random weights, for about so many seconds.

    One more step comes first and is not counted: it prepares kernels. `check` is called before each step and may raise.
    """
    tokens = np.random.default_rng(0).integers(0, config.vocab_size, (rows, length + 1)).astype(np.int32)
    model = create_model(config, seed=0, device=device)
    try:
        if mode in ADAPTER_MODES:
            model.attach_adapters()
        token_ids = np.unique(tokens) if mode == "vocabulary" else None
        training = model.training_step(mode, rows, length, token_ids=token_ids)
        try:
            training.run(tokens, AdamW(1e-4), 1)()
            began = time.perf_counter()
            for step in range(1, MOST_STEPS + 1):
                check()
                training.run(tokens, AdamW(1e-4), step + 1)()
                spent = time.perf_counter() - began
                if step >= least_steps and spent >= seconds:
                    break
        finally:
            training.close()
    finally:
        model.close()
    return step * rows * length / max(spent, 1e-9)
