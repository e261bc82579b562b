"""Mamba-2's scan (SSD): its sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SsdShape:
    """Sizes of Mamba-2's scan: `heads` of `head_dim` channels and `state` states; B and C are shared in a group."""

    sequences: int
    length: int
    heads: int
    head_dim: int
    groups: int
    state: int

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def width(self) -> int:
        """Columns of x: channels, B and C."""
        return self.inner + 2 * self.groups * self.state
