"""What kernel samples are made of: sizes, operands and random numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Sizes:
    """The dimensions of a sample; the letters are those of engine.graph.kernels."""

    b: int = 2
    l: int = 67
    m: int = 33
    d: int = 70
    n: int = 16
    r: int = 3
    k: int = 4
    v: int = 131

    @property
    def t(self) -> int:
        return self.b * self.l


@dataclass(frozen=True)
class Sample:
    """One kernel's operands and numbers.

    `beside` gives strided operands columns to their left and right that must stay untouched.
    """

    kernel: str
    operands: dict[str, np.ndarray | None]
    numbers: dict[str, float]
    beside: dict[str, tuple[int, int]] = field(default_factory=dict)
    sizes: Sizes = Sizes()


def normal(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normally distributed float32."""
    return (random.standard_normal(shape) * scale).astype(np.float32)


def sample(
    kernel: str, sizes: Sizes, given: dict[str, float], usual: dict[str, float], beside=None, **operands
) -> Sample:
    """A sample with the `usual` numbers, except those `given`."""
    return Sample(kernel, operands, {**usual, **given}, beside or {}, sizes)
