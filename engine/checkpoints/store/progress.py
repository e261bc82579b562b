"""How far a long job over a checkpoint's bytes is.  Whoever is told may end the job by raising."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

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


class Counted(Mapping[str, np.ndarray]):
    """Parameters that report when they are fetched."""

    def __init__(self, parameters: Mapping[str, np.ndarray], tally: Tally) -> None:
        self._parameters, self._tally = parameters, tally

    def __getitem__(self, name: str) -> np.ndarray:
        array = self._parameters[name]
        self._tally.add(array.nbytes)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)
