"""Batches of token windows for the trainer, from the documents of a corpus (`documents.DocumentSource`).

Being written: the signatures below are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.corpus.documents import Document, DocumentSource


@dataclass(frozen=True)
class Batch:
    """tokens (b, l + 1) int32: inputs are [:, :-1], targets [:, 1:]; `starts[row]`: where in the row documents begin;
    `counted` (b,) int32: how many targets of each row, from the left, count (less than l only in held-out windows)."""

    tokens: np.ndarray
    starts: tuple[np.ndarray, ...]
    counted: np.ndarray


class Windows:
    """Training windows without end."""

    def __init__(
        self,
        source: DocumentSource,
        seq_len: int,
        batch: int,
        seed: int,
        fim_share: float = 0.5,
        *,
        documents: Sequence[Document] | None = None,
    ) -> None: ...

    def take(self, rows: int | None = None) -> Batch: ...
    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> str:
        """"" where the cursor fits exactly, else a note for people (the corpus changed: starts at the next epoch)."""


class HeldOutWindows:
    """Held-out windows in path order, without FIM; each held-out token is a counted target exactly once."""

    def __init__(self, source: DocumentSource, seq_len: int, batch: int, *, limit: int | None = None) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Batch]: ...
