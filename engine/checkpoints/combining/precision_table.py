"""What each precision costs: bytes, the largest error of a weight, and the held-out loss that was measured with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from engine.checkpoints.combining.packed_models import (
    PRECISIONS,
    PackedModel,
    pack_tensor,
    packed_bytes,
    precision_named,
    precisions_of,
)
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.tensor_file import as_float32

Evaluate = Callable[[Mapping[str, np.ndarray]], float]


@dataclass(frozen=True)
class PrecisionRow:
    """One precision of one model.  `problem`: why the model cannot have it; errors and loss are then None."""

    precision: str
    words: str
    experimental: bool
    nbytes: int
    share: float  # of the bytes in float32
    largest_error: float | None = None
    relative_error: float | None = None  # squared errors of all weights over the squares of all weights, rooted
    held_out_loss: float | None = None
    problem: str = ""


def precision_table(
    parameters: Mapping[str, np.ndarray],
    config: Architecture,
    precisions: Iterable[str] = tuple(PRECISIONS),
    evaluate: Evaluate | None = None,
) -> Iterator[PrecisionRow]:
    """One row for each precision, as soon as it is measured.

    `evaluate` gets float32 parameters by name, unpacked when they are asked for, and gives their held-out loss.
    """
    whole = packed_bytes(config, "float32")
    for precision in [precision_named(name) for name in precisions]:
        nbytes = packed_bytes(config, precision.name)
        given = precisions_of(config, precision.name)
        known = (precision.name, precision.words, precision.experimental, nbytes, nbytes / max(whole, 1))
        packed, largest, squares, errors = {}, 0.0, 0.0, 0.0
        try:
            for name, array in parameters.items():
                packed[name] = pack_tensor(name, array, given[name])
                exact = as_float32(array).astype(np.float64)
                error = packed[name].unpack() - exact
                squares, errors = squares + float(np.vdot(exact, exact)), errors + float(np.vdot(error, error))
                largest = max(largest, float(np.abs(error).max(initial=0.0)))
        except CheckpointError as refused:
            yield PrecisionRow(*known, problem=refused.message)
            continue
        loss = None if evaluate is None else float(evaluate(PackedModel(precision.name, packed)))
        relative = (errors / squares) ** 0.5 if squares else 0.0
        yield PrecisionRow(*known, largest, relative, loss)
