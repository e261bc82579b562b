"""Held-out loss of models on a repository, for commands that have to say which of two is better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from app.command_line.chosen_device import open_chosen_device
from app.data.data_folder import data_folder

if TYPE_CHECKING:
    from engine.checkpoints.store.store import CheckpointStore
    from engine.session.held_out_loss import HeldOutLoss


@contextmanager
def held_out_loss(
    store: CheckpointStore, checkpoint: str, repository: str, device: str = "auto"
) -> Iterator[HeldOutLoss]:
    """The engine's measure for weights of this checkpoint's configuration."""
    from engine.session.held_out_loss import HeldOutLoss

    opened = open_chosen_device(device)
    try:
        with HeldOutLoss(store, checkpoint, Path(repository), data_folder(), opened) as measure:
            yield measure
    finally:
        opened.close()
