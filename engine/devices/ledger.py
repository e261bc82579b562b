"""The memory ledger: every byte that the engine holds on a device, by kind, against the ceiling.

Drivers do not tell how much memory is free, and some hand out more than there is; so the engine keeps its own
account. It is what the memory plot shows, what the ceiling is held against and what an estimate is checked by.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import MemoryCeilingError
from engine.graph.tensor import Kind

DEFAULT_CEILING = 3 * 2**30


def _mib(nbytes: int) -> str:
    return f"{nbytes / 2**20:.1f} MiB"


@dataclass(frozen=True)
class MemoryUse:
    """Bytes held now by kind, the highest total so far, and the ceiling."""

    by_kind: dict[Kind, int]
    peak: int
    ceiling: int

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())


class Ledger:
    """Counts bytes in and out; refuses what would pass the ceiling, before it is allocated."""

    def __init__(self, ceiling: int = DEFAULT_CEILING) -> None:
        self.ceiling = ceiling
        self._by_kind = dict.fromkeys(Kind, 0)
        self._peak = 0

    @property
    def total(self) -> int:
        return sum(self._by_kind.values())

    def reserve(self, nbytes_by_kind: dict[Kind, int], what: str) -> None:
        """Account for an allocation, or refuse it with the numbers."""
        wanted = sum(nbytes_by_kind.values())
        if self.total + wanted > self.ceiling:
            raise MemoryCeilingError(
                f"{what} needs {_mib(wanted)}; {_mib(self.total)} of {_mib(self.ceiling)} are in use.",
                "Raise the memory ceiling, or use a smaller micro-batch, a shorter sequence or a smaller model.",
            )
        for kind, nbytes in nbytes_by_kind.items():
            self._by_kind[kind] += nbytes
        self._peak = max(self._peak, self.total)

    def release(self, nbytes_by_kind: dict[Kind, int]) -> None:
        """Take an allocation off the account."""
        for kind, nbytes in nbytes_by_kind.items():
            self._by_kind[kind] -= nbytes

    def snapshot(self) -> MemoryUse:
        """The account as a value that may cross threads."""
        return MemoryUse({kind: n for kind, n in self._by_kind.items() if n}, self._peak, self.ceiling)
