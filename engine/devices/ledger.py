"""The memory ledger: every byte the engine has allocated on a device, by kind, against the ceiling.

Drivers do not report how much memory is free, and some hand out more than there is; so the engine keeps its own
account. The memory plot shows it, the ceiling is enforced by it, and estimates are checked against it.
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
    """Bytes in use by kind, the highest total so far, and the ceiling."""

    by_kind: dict[Kind, int]
    peak: int
    ceiling: int

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())


class Ledger:
    """Counts allocations and refuses what would exceed the ceiling, before it is allocated."""

    def __init__(self, ceiling: int = DEFAULT_CEILING) -> None:
        self.ceiling = ceiling
        self._by_kind = dict.fromkeys(Kind, 0)
        self._peak = 0

    @property
    def total(self) -> int:
        return sum(self._by_kind.values())

    def reserve(self, nbytes_by_kind: dict[Kind, int], what: str) -> None:
        """Record an allocation, or raise with the numbers."""
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
        """Remove an allocation from the account."""
        for kind, nbytes in nbytes_by_kind.items():
            self._by_kind[kind] -= nbytes

    def snapshot(self) -> MemoryUse:
        """The current account, as a value that may cross threads."""
        return MemoryUse({kind: n for kind, n in self._by_kind.items() if n}, self._peak, self.ceiling)
