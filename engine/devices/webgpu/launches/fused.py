"""Launches of the kernels that do the work of several for one token, and of any product of a few rows.

A matrix is read 16 bytes at a time, so it and the rows must lie on a grid of as many; `takes` says whether they do.

A workgroup takes eight lines, and its lanes share out their length. Short matrices make few workgroups: more lanes of
each then have more loads in flight, while long ones pay for them with more sums to add up. `AdapterTraits.row_lanes`
says how many a class of matrices takes (see autotune.py); a class without an entry goes by rule of thumb. Fewer lines
for a workgroup would win nothing beside more lanes: each lane would take as many turns, and wait as long in each.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.graph.fused_kernels import (
    FORMATS,
    KEPT_KEYS,
    NORM_GATED,
    NORM_MATMUL,
    NORM_MATMUL_CONV,
    SCAN_GATED,
    SSD_GATED,
)
from engine.graph.kernels import SCALE_BLOCK
from engine.graph.tensor import KernelCall, Tensor, View

LINES = 8  # of a matrix that a workgroup takes
MOST_ROWS = {"": 4, "_float16": 4, "_int8": 2}  # that it multiplies them with: more would not stay in registers
LANES = (64, 32, 128, 256)  # of a workgroup, the usual number first; 256 is the portable limit
CPU_LANES = 8  # of one for CPU drivers: a 256-bit vector
BUSY_WAVES = 256  # of 64 lanes, that keep a GPU busy
# Lines up to which a matrix is of a class: what makes a step's size, keys and values; projections back to the hidden
# state; projections from it.  A head has more.
CLASSES = {"narrow": 256, "few": 1024, "many": 16_383}
CHUNKS = {"": (4, 4), "_float16": (8, 8), "_int8": (16, 4)}  # numbers and elements of 16 bytes, by format
HAS_ADDEND, HAS_BIAS, ACCUMULATE = 1, 2, 4  # flags of lib/row.wgsl
CHANNELS = 16  # of a workgroup of scan_gated
MOST_SAMPLES = 64  # products of a sample


def takes(call: KernelCall) -> bool:
    """Whether there is a shader for such operands."""
    if call.kernel == SSD_GATED:
        return True
    if call.kernel == KEPT_KEYS:
        return call.numbers["head_dim"] % 4 == 0 and all(view.offset % 2 == 0 for view in call.operands[-2:])
    if call.kernel == SCAN_GATED:
        weight = call.operands[2]
        return weight.shape[1] % 4 == 0 and _is_on(weight, 4)
    stem, end = _name(call.kernel)
    x, scale, *others = call.operands
    matrices = others[:2] if stem == NORM_GATED else others[:1]
    return x.shape[0] == 1 and all(is_readable(x, matrix, end) for matrix in matrices) and _is_on(scale, 4)


def is_readable(x: View, matrix: View, end: str) -> bool:
    """Whether a few rows and the lines of a matrix can be read in chunks."""
    numbers, elements = CHUNKS[end]
    return 1 <= x.shape[0] <= MOST_ROWS[end] and x.shape[1] % numbers == 0 and _is_on(x, 4) and _is_on(matrix, elements)


def _is_on(view: View, elements: int) -> bool:
    """Whether it can be bound in pieces of so many: the tensor's end counts, because a shader sees only whole ones."""
    distances = (view.offset, view.tensor.size, *((view.stride,) if view.shape[0] > 1 and len(view.shape) > 1 else ()))
    return all(distance % elements == 0 for distance in distances)


def _name(kernel: str) -> tuple[str, str]:
    """What a kernel does, and the format of its matrix."""
    return next((kernel.removesuffix(end), end) for end in reversed(FORMATS) if kernel.endswith(end))


@dataclass(frozen=True)
class _Lines:
    """A matrix with its scales, as lib/row.wgsl reads its lines: places and distances in pieces of 16 bytes."""

    matrix: View
    end: str
    scales: View | None = None

    @property
    def parameters(self) -> tuple[int, int]:
        elements = CHUNKS[self.end][1]
        return self.matrix.offset // elements, self.matrix.stride // elements

    @property
    def of_scales(self) -> tuple[int, int]:
        return (self.scales.offset, self.scales.stride) if self.scales else (0, 0)


def row_class(end: str, lines: int) -> str:
    """The class of matrices that shares one tuned number of lanes, such as "float16_few"."""
    kind = next((kind for kind, most in CLASSES.items() if lines <= most), "head")
    return f"{end.removeprefix('_') or 'float32'}_{kind}"


def row_lanes(end: str, lines: int, chunks: int, traits: AdapterTraits) -> int:
    """Lanes of a workgroup: as many for one row as for several, so that both are added up in the same order."""
    if traits.software:
        return CPU_LANES
    lanes = traits.row_lanes.get(row_class(end, lines)) or _default_lanes(lines)
    while lanes > LANES[0] and lanes // 2 >= chunks:  # more would have nothing to do
        lanes //= 2
    return lanes


def _default_lanes(lines: int) -> int:
    """Without tuning: as many as it takes to keep a GPU busy."""
    lanes = LANES[0]
    while lanes < max(LANES) and ceil_div(lines, LINES) * lanes < BUSY_WAVES * LANES[0]:
        lanes *= 2
    return lanes


def _launch(
    kernel: str,
    bindings: Views,
    lines: tuple[_Lines, ...],
    numbers: dict[str, float],
    traits: AdapterTraits,
    c: View,
    flags: int = 0,
    alphas: tuple[float, float] = (1.0, 1.0),
    terms: tuple[View | None, View | None] = (None, None),
    convolved: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0),
) -> Launch:
    """`bindings` begin with x and the norm's scale (None: x as it is); `lines`: of one matrix, or of two in turns."""
    x, scale, *_ = bindings
    low, high = lines[0], lines[-1]
    n, chunks, (addend, bias) = c.shape[1], x.shape[1] // CHUNKS[low.end][0], terms
    parameters = pack(
        *(n, chunks, float(x.shape[1]), float(numbers.get("epsilon", 0.0))),
        *(float(alpha) for alpha in alphas),
        *(flags, x.shape[0], x.offset // 4, x.stride // 4, start(scale) // 4),
        *(*low.parameters, *high.parameters, *low.of_scales, *high.of_scales),
        *(c.offset, c.stride, start(addend), addend.stride if addend else 0, start(bias)),
        *convolved,
    )
    lanes = row_lanes(low.end, n, chunks, traits)
    constants = {"lanes": lanes, "slots": lanes * (LINES + 1), "normed": scale is not None}
    constants = {name: float(value) for name, value in constants.items()}
    header = {"ROWS": next(rows for rows in (1, 2, 4) if rows >= x.shape[0])}
    return Launch(kernel, bindings, parameters, flat_grid(ceil_div(n * len(lines), LINES)), constants, header)


def rows_product(end: str, views: Views, numbers: dict[str, float], traits: AdapterTraits) -> Launch:
    """A product of a few rows without a norm, by the same shaders."""
    a, *others = views
    return _product(end, (a, None, *others), numbers, traits)


def _product(end: str, views: Views, numbers: dict[str, float], traits: AdapterTraits) -> Launch:
    _, _, b, c, addend, bias, *scales = views
    flags = HAS_ADDEND * (addend is not None) | HAS_BIAS * (bias is not None)
    flags |= ACCUMULATE * bool(numbers.get("accumulate", 0))
    return _launch(
        *(NORM_MATMUL + end, views, (_Lines(b, end, *scales),), numbers, traits, c, flags),
        *((numbers.get("alpha", 1.0), 1.0), (addend, bias)),
    )


def _convolution(end: str, views: Views, numbers: dict[str, float], traits: AdapterTraits) -> Launch:
    _, _, b, c, weight, bias, history, *scales = views
    flags = HAS_BIAS * (bias is not None)
    convolved = (int(numbers["first"]), *weight.shape, whole(weight), whole(history))
    return _launch(
        *(NORM_MATMUL_CONV + end, views, (_Lines(b, end, *scales),), numbers, traits, c, flags),
        *((numbers["alpha"], 1.0), (None, bias), convolved),
    )


def _gated(end: str, views: Views, numbers: dict[str, float], traits: AdapterTraits) -> Launch:
    _, _, gate, up, g, *scales = views
    lines = (_Lines(gate, end, *scales[:1]), _Lines(up, end, *scales[1:]))
    alphas = (numbers["gate_alpha"], numbers["up_alpha"])
    return _launch(NORM_GATED + end, views, lines, numbers, traits, g, 0, alphas)


def sample_rows(end: str, n: int, k: int, normed: bool, lanes: int, nbytes: int) -> list[Launch]:
    """Products of unplaced tensors by so many lanes, for tuning: of one row with several matrices (n, k), so many that
    they have `nbytes` where that is within reason, as the matrices of a token are not in a cache either.
    """
    numbers, elements = CHUNKS[end]
    count = min(max(1, nbytes * numbers // (16 * n * k)), MOST_SAMPLES)
    dtype = {"": "float32", "_float16": "float16", "_int8": "int32"}[end]
    matrices = Tensor("b", (count * n, k // numbers * elements), dtype)
    scales = [Tensor("scales", (count * n, k // SCALE_BLOCK))] if end == "_int8" else []
    x, scale, c = Tensor("x", (1, k)).view(), Tensor("scale", (k,)).view(), Tensor("c", (1, n)).view()
    traits = AdapterTraits(row_lanes={row_class(end, n): lanes})
    launches = []
    for first in range(0, count * n, n):
        b, *of_lines = (each.rows(first, first + n) for each in (matrices, *scales))
        operands = (x, scale if normed else None, b, c, None, None, *of_lines)
        launches.append(_product(end, operands, {"epsilon": 1e-5}, traits))
    return launches


def scan_gated(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    u, x_dbl, weight, coefficients, state, z, g = views
    d, n = u.shape[1], coefficients.shape[0] - 2
    parameters = pack(
        *(d, n, int(numbers["rank"]), start(u), start(x_dbl), weight.offset // 4),
        *(whole(coefficients), whole(state), start(z), whole(g)),
    )
    return [Launch(SCAN_GATED, views, parameters, flat_grid(ceil_div(d, CHANNELS)))]


def _function(make, end: str):
    return lambda views, numbers, traits: [make(end, views, numbers, traits)]


_MAKERS = {NORM_MATMUL: _product, NORM_MATMUL_CONV: _convolution, NORM_GATED: _gated}
LAUNCHES = {stem + end: _function(make, end) for stem, make in _MAKERS.items() for end in FORMATS}
LAUNCHES[SCAN_GATED] = scan_gated
assert 2 * CHUNKS["_int8"][0] == SCALE_BLOCK
