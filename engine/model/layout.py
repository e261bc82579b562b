"""Parameters laid out in slabs.

Parameters that decay and those that do not have slabs of their own, each small enough to be bound at once; so have
packed matrices, which are not trained.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from engine.graph.kernels import SCALE_BLOCK
from engine.graph.parameters import PackedMatrix, Parameter
from engine.graph.tensor import Kind, Slab, Tensor, aligned

WIDENED_BYTES = 32 * 2**20  # of a packed table that are widened at once: it is cut into blocks of rows for that


class ParameterLayout:
    """Where each parameter of `shapes` lives on a device with a given largest binding.

    `still`: what does not decay.  `packed`: the matrices that are kept in `precision`; of these, `tables` may be cut
    into blocks of rows.
    """

    def __init__(
        self,
        shapes: dict[str, tuple[int, ...]],
        max_binding_bytes: int,
        label: str = "parameters",
        still: Collection[str] = (),
        packed: Collection[str] = (),
        precision: str = "float32",
        tables: Collection[str] = (),
    ) -> None:
        self.slabs: list[Slab] = []  # of float32, packed ones apart
        self.parameters: dict[str, Parameter] = {}
        narrow = PackedSlabs(f"packed {label}", Kind.WEIGHTS, precision, max_binding_bytes)
        for decaying in (True, False):
            current = None
            for name, shape in shapes.items():
                if (name not in still) is not decaying:
                    continue
                if name in packed:
                    most = min(max_binding_bytes, WIDENED_BYTES) if name in tables else max_binding_bytes
                    inner = math.prod(shape[1:-1])  # rows of the matrix of each expert, in a stack of them
                    own = [narrow.add(name, rows * inner, shape[-1]) for rows in _row_blocks(shape, most)]
                    self.parameters[name] = Parameter(name, shape, tuple(own), decaying)
                    continue
                blocks = []
                for rows in _row_blocks(shape, max_binding_bytes):
                    nbytes = aligned(4 * rows * (math.prod(shape) // shape[0]))
                    if current is None or current.nbytes + nbytes > max_binding_bytes:
                        current = Slab(f"{label} {len(self.slabs)}", Kind.WEIGHTS)
                        self.slabs.append(current)
                    blocks.append(current.add(name, (rows, *shape[1:])))
                self.parameters[name] = Parameter(name, shape, tuple(blocks), decaying)
        self.packed_slabs = narrow.slabs


class PackedSlabs:
    """Packed matrices one after another, in slabs none of which is larger than the device binds at once."""

    def __init__(self, label: str, kind: Kind, precision: str, max_binding_bytes: int) -> None:
        self.slabs: list[Slab] = []
        self._label, self._kind, self._precision, self._most = label, kind, precision, max_binding_bytes

    def add(self, name: str, rows: int, columns: int) -> PackedMatrix:
        if self._precision == "float16":
            return PackedMatrix(rows, columns, self._add(name, (rows, columns), "float16"), None)
        blocks = -(-columns // SCALE_BLOCK)
        words = self._add(name, (rows, blocks * SCALE_BLOCK // 4), "int32")
        return PackedMatrix(rows, columns, words, self._add(f"scales of {name}", (rows, blocks), "float32"))

    def _add(self, name: str, shape: tuple[int, ...], dtype: str) -> Tensor:
        """Room in the last slab, or in a new one."""
        if not self.slabs or self.slabs[-1].nbytes + Tensor(name, shape, dtype).footprint > self._most:
            self.slabs.append(Slab(f"{self._label} in {self._precision}, {len(self.slabs)}", self._kind))
        return self.slabs[-1].add(name, shape, dtype)


def _row_blocks(shape: tuple[int, ...], most_bytes: int) -> list[int]:
    """How many rows each block of a parameter has: one block, unless it is larger than `most_bytes` in float32."""
    row_bytes = 4 * math.prod(shape) // shape[0]
    most = max(1, most_bytes // row_bytes)
    return [min(most, shape[0] - start) for start in range(0, shape[0], most)]
