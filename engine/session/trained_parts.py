"""What a run trains besides what its mode says, and the precision of the rest: decided before the model is open.

A resumed run keeps what was decided when it began.
"""

from __future__ import annotations

import numpy as np

from engine.devices import Device
from engine.model.architectures.architecture import Architecture
from engine.model.storage import AUTO
from engine.session.batches import HELD_OUT_BATCH, occurring_tokens
from engine.session.fim_teaching import FimTeaching
from engine.train.memory_fitting import Estimate, base_precision, run_estimate
from engine.train.options import TrainingOptions
from engine.train.saved_run import SavedRun

TOKEN_IDS = "token_ids"  # in what is saved of a run


def tokens_to_train(
    saved: SavedRun | None, options: TrainingOptions, config: Architecture, fim: FimTeaching
) -> np.ndarray | None:
    """The tokens whose embedding rows are trained besides what the mode trains."""
    if saved is not None:
        return saved.state.arrays.get(TOKEN_IDS)
    fills_in = options.fim_share > 0  # otherwise the rows of its tokens would only drift
    if options.mode == "vocabulary":
        return occurring_tokens(fim.corpus, config.vocab_size, fills_in)
    return fim.ids if fim.is_active and fills_in and options.mode != "full" else None


def with_base_precision(
    saved: SavedRun | None,
    options: TrainingOptions,
    config: Architecture,
    device: Device,
    token_ids: np.ndarray | None,
) -> TrainingOptions:
    """`options` with the precision of the base, if none was chosen."""
    if options.base_precision != AUTO:
        return options
    if saved is not None:  # by a version that had float32 only
        return options.changed(base_precision="float32")

    def estimates(precision: str) -> Estimate:
        return run_estimate(config, device, options, precision, token_ids, HELD_OUT_BATCH)

    room = device.ledger.ceiling - device.ledger.total
    return options.changed(base_precision=base_precision(options, config.num_hidden_layers, estimates, room))
