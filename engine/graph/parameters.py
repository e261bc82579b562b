"""Parameters and the parts of them that are trained, as descriptions.

A parameter is one tensor, or, where it is larger than the device binds at once, several blocks of rows (the embedding
of a large vocabulary). What is not trained may be kept packed, in fewer bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.tensor import Tensor


@dataclass(frozen=True, eq=False)
class PackedMatrix:
    """A matrix (rows, columns) in fewer bits: float16 numbers, or 8-bit words with scales (see `narrow_int8`).

    Those of a mixture's experts lie below each other in one.
    """

    rows: int
    columns: int
    numbers: Tensor
    scales: Tensor | None

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def precision(self) -> str:
        return "float16" if self.scales is None else "int8"


Matrix = Tensor | PackedMatrix


@dataclass(frozen=True, eq=False)
class Parameter:
    """A weight by its Hugging Face name; `decays`: weight decay applies to it."""

    name: str
    shape: tuple[int, ...]
    blocks: tuple[Matrix, ...]
    decays: bool

    @property
    def matrix(self) -> Matrix:
        """The only block: for everything but tables of the vocabulary."""
        (block,) = self.blocks
        return block

    @property
    def tensor(self) -> Tensor:
        """The only block of what is never packed, or of what is trained."""
        block = self.matrix
        if isinstance(block, PackedMatrix):
            raise TypeError(f"{self.name} is kept in {block.precision}")
        return block

    @property
    def first_rows(self) -> tuple[int, ...]:
        """The row at which each block starts."""
        starts = [0]
        for block in self.blocks[:-1]:
            starts.append(starts[-1] + block.shape[0])
        return tuple(starts)


@dataclass(frozen=True, eq=False)
class TrainedRows:
    """Rows `first`..`last`-1 of a parameter and, block by block, where their gradient goes."""

    parameter: Parameter
    first: int
    last: int
    gradients: tuple[Tensor, ...]

    @property
    def gradient(self) -> Tensor:
        (gradient,) = self.gradients
        return gradient

    @property
    def whole(self) -> bool:
        return (self.first, self.last) == (0, self.parameter.shape[0])

    @property
    def starts(self) -> tuple[int, ...]:
        """The number of the first row of each gradient, as an embedding counts them."""
        return self.parameter.first_rows


@dataclass(frozen=True, eq=False)
class IndexedBlock:
    """Trained rows of one block of a table.

    `table` (rows, m) begins with row `first_row`; `ids` (k,) are the trained ones, in order, on the device; `gradient`
    (k, m) is theirs. `start`: the place of the first of them among all trained rows of the table.
    """

    table: Tensor
    first_row: int
    ids: Tensor
    start: int
    gradient: Tensor


@dataclass(frozen=True, eq=False)
class IndexedRows:
    """Single rows of a table of the vocabulary. Their gradient is compact: one row for each, and nothing between."""

    parameter: Parameter
    blocks: tuple[IndexedBlock, ...]

    @property
    def gradients(self) -> tuple[Tensor, ...]:
        return tuple(block.gradient for block in self.blocks)

    @property
    def starts(self) -> tuple[int, ...]:
        """The place of the first row of each gradient among all trained rows."""
        return tuple(block.start for block in self.blocks)


@dataclass(frozen=True, eq=False)
class LowRankPair:
    """An adapter: weight + scale * up @ down, with down (r, in) and up (out, r)."""

    down: Parameter
    up: Parameter
    scale: float
