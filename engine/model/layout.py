"""Parameters laid out in slabs.

Parameters that decay and those that do not have slabs of their own, each small enough to be bound at once.
"""

from __future__ import annotations

from engine.graph.parameters import Parameter
from engine.graph.tensor import Kind, Slab, aligned


class ParameterLayout:
    """Where each parameter of `shapes` lives on a device with a given largest binding; `still`: what does not decay."""

    def __init__(
        self,
        shapes: dict[str, tuple[int, ...]],
        max_binding_bytes: int,
        label: str = "parameters",
        still: frozenset[str] = frozenset(),
    ) -> None:
        self.slabs: list[Slab] = []
        self.parameters: dict[str, Parameter] = {}
        self.names_in: dict[Slab, list[str]] = {}
        for decaying in (True, False):
            current = None
            for name, shape in shapes.items():
                if (name not in still) is not decaying:
                    continue
                blocks = []
                for rows in _row_blocks(shape, max_binding_bytes):
                    nbytes = aligned(4 * rows * (_size(shape) // shape[0]))
                    if current is None or current.nbytes + nbytes > max_binding_bytes:
                        current = Slab(f"{label} {len(self.slabs)}", Kind.WEIGHTS)
                        self.slabs.append(current)
                        self.names_in[current] = []
                    blocks.append(current.add(name, (rows, *shape[1:])))
                    self.names_in[current].append(name)
                self.parameters[name] = Parameter(name, shape, tuple(blocks), decaying)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def _row_blocks(shape: tuple[int, ...], max_binding_bytes: int) -> list[int]:
    """How many rows each block of a parameter has: one block, unless it is larger than a binding."""
    row_bytes = 4 * _size(shape) // shape[0]
    most = max_binding_bytes // row_bytes
    return [min(most, shape[0] - start) for start in range(0, shape[0], most)]
