"""Which draws the kernels of a device make, and what they are given for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.generate.options import Sampling
from engine.generate.sampling import uniform
from engine.graph.kernels import FEW_TOKENS, TOP

LONGEST_WINDOW = 256  # tokens that a penalty of the device looks back on
SETTINGS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty")


def is_drawn_by_device(sampling: Sampling) -> bool:
    """Whether `penalise_recent` and `choose_token` choose in this way."""
    shortest = FEW_TOKENS  # what is drawn in one submit is all in the window
    return sampling.top_k <= TOP and (
        not sampling.penalises or shortest <= sampling.repetition_window <= LONGEST_WINDOW
    )


def inputs_of(sampling: Sampling, count: int, recent: Sequence[int], drawn: int) -> dict[str, np.ndarray]:
    """For `count` tokens after `recent`, of which `drawn` were chosen."""
    inputs = {
        "settings": np.array([getattr(sampling, name) for name in SETTINGS], np.float32),
        "chances": np.array([uniform(sampling.seed, drawn + number) for number in range(count)], np.float32),
    }
    if sampling.penalises:
        window = recent[-sampling.repetition_window :]
        inputs["recent"] = np.full(sampling.repetition_window, -1, np.int32)
        inputs["recent"][sampling.repetition_window - len(window) :] = window
    return inputs
