"""The mean held-out loss of weights that are no checkpoint: a blend of two, or one in another precision.

It is the number that a run measures itself by: the same windows of the same validation code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.reading.scan_progress import ScanCancelledError
from engine.corpus.repository import Repository
from engine.devices import Device
from engine.errors import CorpusError
from engine.model.model import Model
from engine.session.bases import tokenizer_of
from engine.session.batches import measured_windows
from engine.train.evaluation import Evaluation
from engine.train.options import TrainingOptions

Progress = Callable[[int, int, str], None]


class HeldOutLoss:
    """Reads a repository once; a call gives the loss of any weights of one checkpoint's configuration.

    `cancelled` is asked while files are read and between batches; then ScanCancelledError is raised.
    """

    def __init__(
        self,
        store: CheckpointStore,
        checkpoint: str,
        repository: Path,
        data_folder: Path,
        device: Device,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        tokenizer = tokenizer_of(store, store.get(checkpoint))
        corpus = Repository(repository, data_folder, tokenizer).scan(progress, cancelled)
        self._windows = measured_windows(corpus, corpus.validation_code, TrainingOptions())
        self._batches = sum(1 for _ in self._windows)
        if not self._batches:
            raise CorpusError(f"{repository} has no code to hold out.", "Choose a larger folder of source code.")
        self._progress, self._cancelled = progress, cancelled
        self._model = Model(store.config(checkpoint), device)
        self._model.document_end = tokenizer.special.end_of_text

    def __call__(self, parameters: Mapping[str, np.ndarray]) -> float:
        self._model.parameters.fill(parameters)
        evaluation = Evaluation(self._model, [self._windows])
        while not evaluation.advance():
            if self._cancelled():
                raise ScanCancelledError
            if self._progress is not None:
                self._progress(len(evaluation.measured[0].counts), self._batches, "Measuring held-out code")
        return evaluation.measured[0].loss

    def __enter__(self) -> HeldOutLoss:
        return self

    def __exit__(self, *_: object) -> None:
        self._model.close()
