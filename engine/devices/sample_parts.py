"""What samples of kernels are made of: their sizes, their operands, and random numbers for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Sizes:
    """The dimensions that a sample is made with; the letters of engine.graph.kernels."""

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
    """A sample whose numbers are the `usual` ones where none are `given`."""
    return Sample(kernel, operands, {**usual, **given}, beside or {}, sizes)
