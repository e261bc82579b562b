"""Launches of the matrix products `matmul_nt`, `matmul_nn`, `matmul_tn`.  No wgpu here.

The three layouts differ only in the distances between the numbers of an operand, so they share their shaders:

    registers_16, registers_32   a lane keeps 16 x 16 or 32 x 32 sums and reads storage directly: for CPU drivers, where
                                 a load costs a hundred multiply-adds and workgroup memory is no cheaper than storage
    tiled_32, tiled_64           a workgroup shares 32 x 32 or 64 x 64 tiles through workgroup memory: for GPUs; with
                                 vec4 reads and stores where the views allow it, else with single ones
    rows                         for the few rows of decoding, where b should be read once; they go through
                                 `fused`, where it can be read 16 bytes at a time

Where the tiles of c are too few for a GPU, k is shared out among workgroups as well. Their sums go to scratch memory,
and a second pass adds them up, always in the same order. A product that would keep a slow GPU busy for longer than a
submit may (`submits`) is cut into rows of c, a dispatch each.

`AdapterTraits.matmul_variants` says which variant a class of shapes takes (see autotune.py); a class without an entry
goes by rule of thumb.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.devices.webgpu.launch import (
    AdapterTraits,
    Launch,
    LaunchFunction,
    ScratchFunction,
    Views,
    ceil_div,
    flat_grid,
    pack,
    start,
)
from engine.devices.webgpu.launches.fused import is_readable, rows_product
from engine.devices.webgpu.submits import AIM, LONGEST_SUBMIT, SLOW_FLOPS
from engine.graph.tensor import Tensor, View

LAYOUTS = ("nt", "nn", "tn")
REGISTER_BLOCKS = {"registers_16": 16, "registers_32": 32}
TILES = {"tiled_32": 32, "tiled_64": 64}
VARIANTS = (*REGISTER_BLOCKS, *TILES)
ROWS_OF_A_SLICE = 64  # whole tiles of either size
FEW_ROWS, ROWS_COLUMNS = 4, 8  # most rows that matmul_rows takes, columns a workgroup of it computes
LONG = 4096  # terms of a sum that is shared out among workgroups wherever that helps
LONGEST_SUM = 32_768  # terms that a software adapter adds up in one dispatch
TILE_SHARES = {"tiled_32": 0.5, "tiled_64": 0.75}  # of the peak, on paper (tests/benchmarks/paper_model.py)
BUSY_GROUPS = 256  # workgroups that keep a GPU busy
# Workgroups that sums are shared out among, and the terms of a sum for which each of so many is worth starting.
SHARED_OUT = ((300, 128), (600, 512))
LONGEST_PRODUCT = AIM * LONGEST_SUBMIT * SLOW_FLOPS  # operations of a dispatch
MOST_SCRATCH = 16 * 2**20  # bytes of sums of parts
CPU_LANES = 8  # lanes of a workgroup for CPU drivers: one 256-bit vector
HAS_ADDEND, HAS_BIAS, ACCUMULATE = 1, 2, 4  # flags of lib/matmul_params.wgsl
OPERANDS = 5  # behind them, scratch memory where the launch has asked for some


@dataclass(frozen=True)
class Product:
    """A product as its shaders see it: c (m, n) from a (i, k) and b (j, k), by distances of two lines and of two k."""

    layout: str
    m: int
    n: int
    k: int
    a_row: int
    a_step: int
    b_row: int
    b_step: int

    @classmethod
    def of(cls, layout: str, a: View, b: View, c: View) -> Product:
        a_row, a_step = (1, a.stride) if layout == "tn" else (a.stride, 1)
        b_row, b_step = (b.stride, 1) if layout == "nt" else (1, b.stride)
        k = a.shape[0] if layout == "tn" else a.shape[1]
        return cls(layout, c.shape[0], c.shape[1], k, a_row, a_step, b_row, b_step)


def shape_class(layout: str, m: int, n: int, k: int) -> str:
    """The class of shapes that shares one tuned variant, such as "nt_narrow"."""
    if min(m, n) <= 64:
        kind = "narrow"
    elif k <= 64:
        kind = "short"
    elif k >= LONG:
        kind = "long"
    elif max(m, n) >= 4096:
        kind = "head"
    else:
        kind = "square"
    return f"{layout}_{kind}"


def default_variant(m: int, n: int, k: int, software: bool) -> str:
    """The variant without tuning: by the costs measured on llvmpipe; on a GPU by what its tiles issue in vain."""
    if software:
        return min(REGISTER_BLOCKS, key=lambda name: _register_cost(m, n, REGISTER_BLOCKS[name]))
    return min(TILES, key=lambda name: _tile_cost(m, n, k, name))


def _tile_cost(m: int, n: int, k: int, variant: str) -> float:
    """Outputs of all tiles, over the share of multiply-adds and of the GPU that is busy."""
    size = TILES[variant]
    tiles = ceil_div(m, size) * ceil_div(n, size)
    busy = min(1.0, tiles * parts_of(m, n, k, variant) / BUSY_GROUPS)
    return tiles * size * size / (TILE_SHARES[variant] * busy)


def parts_of(m: int, n: int, k: int, variant: str) -> int:
    """Among how many workgroups each sum is shared out."""
    if variant not in TILES:
        return 1
    size = TILES[variant]
    tiles = max(1, ceil_div(m, size) * ceil_div(n, size))
    wanted = max(min(groups // tiles, k // terms) for groups, terms in SHARED_OUT)
    return max(1, min(wanted, MOST_SCRATCH // max(4 * m * n, 1)))


def _register_cost(m: int, n: int, size: int) -> float:
    """Nanoseconds a k on four cores: 63 a load, 1.3 a multiply-add, whole rounds of tiles."""
    rows, columns = _register_tile(m, n, size)
    tiles = ceil_div(m, rows) * ceil_div(n, columns)
    return ceil_div(tiles, 4) * (2 * size * 63 + size * size * 1.3)


def _register_tile(m: int, n: int, size: int) -> tuple[int, int]:
    """Rows and columns that the lanes of a workgroup cover: arranged for the fewest tiles, and the widest of these."""
    arrangements = [(size * CPU_LANES // across, size * across) for across in (8, 4, 2, 1)]
    return min(arrangements, key=lambda tile: ceil_div(m, tile[0]) * ceil_div(n, tile[1]))


def product_launch(
    variant: str, product: Product, views: Views, numbers: dict[str, float], software: bool = False, parts: int = 1
) -> Launch:
    """The one dispatch of a product by a given variant; with `parts`, their sums one behind the other in c."""
    p = product
    lanes_across = 0
    if variant == "rows":
        rows, columns = FEW_ROWS, ROWS_COLUMNS
        # One vector of a CPU: fewer lanes leave fewer sums to add up at the end.
        lanes = CPU_LANES if software else 64
        shader, constants = "matmul_rows", {"lanes": float(lanes), "slots": float(lanes * (ROWS_COLUMNS + 1))}
    elif variant in REGISTER_BLOCKS:
        size = REGISTER_BLOCKS[variant]
        rows, columns = _register_tile(p.m, p.n, size)
        lanes_across = columns // size
        shader, constants = f"matmul_{variant}", {}
    else:
        rows = columns = TILES[variant]
        shader = f"matmul_{variant}_{'vec4' if all(map(_on_grid, views)) else 'scalar'}"
        constants = {"a_along_k": float(p.layout != "tn"), "b_along_k": float(p.layout == "nt")}
    tiles_across = ceil_div(p.n, columns)
    tiles = ceil_div(p.m, rows) * tiles_across
    parameters = _parameters(p, views, numbers, tiles_across, lanes_across, tiles, _part_terms(p.k, parts))
    return Launch(shader, views, parameters, flat_grid(tiles * parts), constants)


def _parameters(product: Product, views: Views, numbers: dict[str, float], *tiling: int) -> bytes:
    """The struct of lib/matmul_params.wgsl; `tiling` are its last members but one."""
    p = product
    a, b, c, addend, bias = views
    flags = (
        HAS_ADDEND * (addend is not None)
        | HAS_BIAS * (bias is not None)
        | ACCUMULATE * bool(numbers.get("accumulate", 0))
    )
    return pack(
        *(p.m, p.n, p.k, flags),
        *(a.offset, p.a_row, p.a_step),
        *(start(b), p.b_row, p.b_step),
        *(c.offset, c.stride),
        *((addend.offset, addend.stride) if addend else (0, 0)),
        start(bias),
        float(numbers.get("alpha", 1.0)),
        *tiling,
        p.m * p.n,
    )


def _part_terms(k: int, parts: int) -> int:
    """Terms of a sum that a workgroup takes, of which the last may take fewer: whole steps of either tile."""
    return k if parts == 1 else 16 * ceil_div(k, 16 * parts)


def shared_product(
    variant: str, product: Product, views: Views, numbers: dict[str, float], scratch: View, parts: int
) -> list[Launch]:
    """A product whose k is shared out: the sums of the parts, then their sum."""
    a, b, c, addend, bias = views
    p = product
    parts = ceil_div(p.k, _part_terms(p.k, parts))
    sums = View(scratch.tensor, scratch.offset, (p.m, p.n), p.n)
    first = product_launch(variant, product, (a, b, sums, None, None), {}, parts=parts)
    views = (scratch, None, c, addend, bias)
    parameters = _parameters(replace(p, k=parts, a_row=p.m * p.n), views, numbers, 0, 0, 0, 0)
    return [first, Launch("matmul_add_parts", views, parameters, flat_grid(ceil_div(p.m * p.n, 64)))]


def _on_grid(view: View | None) -> bool:
    """Whether the operand can be bound as vec4: the tensor's end counts because a shader sees only whole vec4 of it."""
    if view is None:
        return True
    distances = (view.offset, view.tensor.size, *((view.stride,) if len(view.shape) > 1 else ()))
    return all(distance % 4 == 0 for distance in distances)


def choose_variant(product: Product, traits: AdapterTraits) -> str:
    """Few rows along k have a kernel of their own; else the tuned variant of the class, else the rule of thumb."""
    if product.layout == "nt" and product.m <= FEW_ROWS:
        return "rows"
    chosen = traits.matmul_variants.get(shape_class(product.layout, product.m, product.n, product.k))
    return chosen or default_variant(product.m, product.n, product.k, traits.software)


def _pieces(layout: str, views: Views, k: int) -> Iterator[tuple[Views, dict[str, float]]]:
    """A long sum in parts that add up in c: llvmpipe ends all loops of a lane after 65,535 turns, silently."""
    a, b, c, addend, bias = views
    for first in range(0, k, LONGEST_SUM):
        last = min(first + LONGEST_SUM, k)
        part_a = _rows(a, first, last) if layout == "tn" else _columns(a, first, last)
        part_b = _columns(b, first, last) if layout == "nt" else _rows(b, first, last)
        if first == 0:
            yield (part_a, part_b, c, addend, bias), {}
        else:
            yield (part_a, part_b, c, None, None), {"accumulate": 1}


def _slices(layout: str, views: Views) -> Iterator[Views]:
    """Rows of c, so many that no product of them is too long; of a bias or of b all."""
    a, b, c, addend, bias = views
    m, n, k = c.shape[0], c.shape[1], a.shape[0] if layout == "tn" else a.shape[1]
    count = max(1, math.ceil(2 * m * n * k / LONGEST_PRODUCT))
    step = max(ROWS_OF_A_SLICE, ROWS_OF_A_SLICE * math.ceil(m / count / ROWS_OF_A_SLICE))
    for first in range(0, m, step):
        last = min(first + step, m)
        part_a = _columns(a, first, last) if layout == "tn" else _rows(a, first, last)
        yield part_a, b, _rows(c, first, last), addend and _rows(addend, first, last), bias


def _rows(view: View, first: int, last: int) -> View:
    return View(view.tensor, view.offset + first * view.stride, (last - first, view.shape[1]), view.stride)


def _columns(view: View, first: int, last: int) -> View:
    return View(view.tensor, view.offset + first, (view.shape[0], last - first), view.stride)


def _on_a_gpu(
    layout: str, views: Views, numbers: dict[str, float], traits: AdapterTraits, scratch: View | None
) -> list[Launch]:
    product = Product.of(layout, *views[:3])
    variant = choose_variant(product, traits)
    parts = parts_of(product.m, product.n, product.k, variant)
    if parts == 1 or scratch is None:
        return [product_launch(variant, product, views, numbers)]
    return shared_product(variant, product, views, numbers, scratch, parts)


def _launcher(layout: str) -> LaunchFunction:
    def launch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
        *views, scratch = views if len(views) > OPERANDS else (*views, None)
        views, product = tuple(views), Product.of(layout, *views[:3])
        if product.m == 0 or product.n == 0:
            return []
        if layout == "nt" and product.k <= LONGEST_SUM and is_readable(*views[:2], ""):
            return [rows_product("", views, numbers, traits)]
        if not traits.software:
            slices = _slices(layout, views)
            return [one for part in slices for one in _on_a_gpu(layout, part, numbers, traits, scratch)]
        variant = choose_variant(product, traits)
        if product.k <= LONGEST_SUM:
            return [product_launch(variant, product, views, numbers, traits.software)]
        return [
            product_launch(variant, Product.of(layout, *piece[:3]), piece, numbers | later, traits.software)
            for piece, later in _pieces(layout, views, product.k)
        ]

    launch.__name__ = f"matmul_{layout}"
    return launch


def _scratch(layout: str) -> ScratchFunction:
    def elements(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> int:
        if traits.software:
            return 0
        most = 0
        for part in _slices(layout, views):
            product = Product.of(layout, *part[:3])
            parts = parts_of(product.m, product.n, product.k, choose_variant(product, traits))
            most = max(most, 0 if parts == 1 else parts * product.m * product.n)
        return most

    return elements


SCRATCH: dict[str, ScratchFunction] = {f"matmul_{layout}": _scratch(layout) for layout in LAYOUTS}
LAUNCHES: dict[str, LaunchFunction] = {f"matmul_{layout}": _launcher(layout) for layout in LAYOUTS}


def sample_launches(layout: str, m: int, n: int, k: int, variant: str, software: bool = False) -> list[Launch]:
    """The same as it runs in a program: on a GPU, long sums are shared out among workgroups."""
    whole = sample_product(layout, m, n, k, variant, software=software)
    parts = 1 if software else parts_of(m, n, k, variant)
    if parts == 1:
        return [whole]
    product = Product.of(layout, *whole.bindings[:3])
    scratch = Tensor("scratch", (parts * m * n,)).view()
    return shared_product(variant, product, whole.bindings, {"alpha": 1.0, "accumulate": 0}, scratch, parts)


def sample_product(layout: str, m: int, n: int, k: int, variant: str, pad: int = 0, software: bool = False) -> Launch:
    """A product of unplaced tensors by a given variant: for tuning; `pad` widens the rows."""
    a_shape = (k, m) if layout == "tn" else (m, k)
    b_shape = (n, k) if layout == "nt" else (k, n)
    a = Tensor("a", (a_shape[0], a_shape[1] + pad)).columns(0, a_shape[1])
    b = Tensor("b", (b_shape[0], b_shape[1] + pad)).columns(0, b_shape[1])
    c = Tensor("c", (m, n)).view()
    return product_launch(
        variant, Product.of(layout, a, b, c), (a, b, c, None, None), {"alpha": 1.0, "accumulate": 0}, software
    )
