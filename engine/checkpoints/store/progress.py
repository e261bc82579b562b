"""Progress of a long job over a checkpoint's bytes.  A callback may end the job by raising."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from engine.tensor_file import TensorSource, pieces_of

Report = Callable[[int, int], None]  # bytes done, bytes in all; what it raises ends the job, and nothing half stays


class Tally:
    """Adds bytes up and reports them."""

    def __init__(self, total: int, report: Report | None) -> None:
        self._total, self._done, self._report = total, 0, report

    def add(self, nbytes: int) -> None:
        """So many more are done."""
        self._done = min(self._total, self._done + nbytes)
        if self._report is not None:
            self._report(self._done, self._total)


class Counted(TensorSource):
    """Parameters that report how many bytes have been fetched."""

    def __init__(self, parameters: Mapping[str, np.ndarray], tally: Tally) -> None:
        self._parameters, self._tally = parameters, tally

    def __getitem__(self, name: str) -> np.ndarray:
        array = self._parameters[name]
        self._tally.add(array.nbytes)
        return array

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        for piece in pieces_of(self._parameters, name):
            self._tally.add(piece.nbytes)
            yield piece

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)
