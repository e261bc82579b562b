"""Held-out loss of models on a repository, for commands that have to say which of two is better."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from app.command_line.chosen_device import open_chosen_device
from app.data.data_folder import data_folder

WINDOW, ROWS, MOST_WINDOWS = 256, 4, 64


class HeldOutMeasure:
    """Scans once, then gives the mean loss of any weights of one configuration on the same held-out text."""

    def __init__(self, repository: str, tokenizer: Path, config, device: str = "auto") -> None:
        from engine.corpus.batches.windows import HeldOutWindows
        from engine.corpus.repository import Repository
        from engine.corpus.tokens.tokenizer import Tokenizer
        from engine.errors import CorpusError
        from engine.model.model import Model

        corpus = Repository(repository, data_folder(), Tokenizer.load(tokenizer)).scan()
        documents = corpus.validation_code  # as a run measures itself: what is chosen by it is not scored on it
        self._batches = list(HeldOutWindows(corpus, WINDOW, ROWS, limit=MOST_WINDOWS, documents=documents))
        self.tokens = int(sum(batch.counted.sum() for batch in self._batches))
        if not self.tokens:
            raise CorpusError(f"{repository} has no text to hold out.", "Choose a larger folder of source code.")
        self._device = open_chosen_device(device)
        self._model = Model(config, self._device)

    def __call__(self, parameters: Mapping[str, np.ndarray]) -> float:
        for name, array in parameters.items():
            self._model.parameters[name] = array
        total = sum(self._model.losses(b.tokens, b.counted).sum(dtype=np.float64) for b in self._batches)
        return float(total / self.tokens)

    def close(self) -> None:
        """Give the device's memory back."""
        self._model.close()
        self._device.close()
