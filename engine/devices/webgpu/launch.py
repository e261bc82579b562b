"""How a kernel call becomes dispatches: shader, bindings, parameters and grid, as plain values. No wgpu here.

A launch function takes the views and numbers of a `KernelCall` and returns one or more `Launch`. Every shader has the
same frame: binding 0 is the uniform parameter struct, bindings 1.. are the launch's views in order, all `read_write`
(the arena is one buffer, and WebGPU allows one buffer to be bound twice in a dispatch only where both uses are of the
same kind).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.errors import InputError
from engine.graph.tensor import View

MAX_GROUPS = 65_535  # workgroups a dimension, portable
Views = tuple[View | None, ...]
PARAMETER_BYTES = 256  # one slot of the parameter arena: the alignment of a dynamic offset


@dataclass(frozen=True)
class AdapterTraits:
    """What a launch may depend on: nothing here is read from a live device."""

    software: bool = False
    matmul_variants: dict[str, str] = field(default_factory=dict)
    few_lanes: int = 4096  # channels of all sequences: below, one lane a channel leaves most of a GPU idle
    row_lanes: dict[str, int] = field(default_factory=dict)  # of a workgroup, by class of products of a few rows


@dataclass(frozen=True)
class Launch:
    """One dispatch. `header` gives `const` lines put in front of the shader, `constants` the values of its
    `override`s.
    """

    shader: str
    bindings: Views
    parameters: bytes
    groups: tuple[int, int, int]
    constants: dict[str, float] = field(default_factory=dict)
    header: dict[str, int] = field(default_factory=dict)


LaunchFunction = Callable[[Views, dict[str, float], AdapterTraits], list[Launch]]
# Elements of scratch memory that the launches of a call want between them, as one more view behind the operands.
ScratchFunction = Callable[[Views, dict[str, float], AdapterTraits], int]


def pack(*values: float | int | bool) -> bytes:
    """Parameters in order: a Python float becomes f32, an int or bool u32; padded to a multiple of 16 bytes."""
    parts = [struct.pack("<f", v) if isinstance(v, float) else struct.pack("<I", int(v)) for v in values]
    packed = b"".join(parts)
    return packed + b"\0" * (-len(packed) % 16)


def flat_grid(groups: int) -> tuple[int, int, int]:
    """`groups` workgroups as a grid within the portable limit; a shader numbers them by `flat_group`."""
    if groups <= MAX_GROUPS:
        return (max(groups, 1), 1, 1)
    columns = -(-groups // -(-groups // MAX_GROUPS))
    return (columns, -(-groups // columns), 1)


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def start(view: View | None) -> int:
    """The first element of a view in its tensor; 0 for an absent operand."""
    return 0 if view is None else view.offset


def whole(view: View | None) -> int:
    """The same, for a shader that takes it for granted that rows follow one another without a gap."""
    if view is not None and not view.contiguous:
        raise InputError(f"{view!r} has gaps between its rows.", "Copy it into a tensor of its own.")
    return start(view)
