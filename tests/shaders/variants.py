"""Every shader as the launches use it, for a compiler to look at: source, header and constants, without a device.

The launch functions are called with sample operands of every kernel in the table, so a new shader or header turns up
here by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.devices.webgpu.launch import AdapterTraits, Launch
from engine.devices.webgpu.launches import LAUNCHES, decoding, matmul
from engine.devices.webgpu.launches.scan import VARIANTS, selective_scan, selective_scan_backward
from engine.devices.webgpu.shaders import shader_source
from engine.graph.kernels import KERNELS
from engine.graph.tensor import Tensor, View

STATE_SIZES = (16, 8)
TAPS = (4, 3)


@dataclass(frozen=True)
class ShaderVariant:
    """One module as it is compiled; `constants` are the values of its overrides."""

    name: str
    source: str
    constants: dict[str, float] = field(default_factory=dict)


def all_variants() -> list[ShaderVariant]:
    """Each shader with each header and set of constants that the launches use, once, by name."""
    found: dict[str, ShaderVariant] = {}
    for launch in _sample_launches():
        header = tuple(launch.header.items())
        values = [f"{key}={value:g}" for key, value in (*header, *launch.constants.items())]
        name = " ".join([launch.shader, *values])
        found.setdefault(name, ShaderVariant(name, shader_source(launch.shader, header), dict(launch.constants)))
    return [found[name] for name in sorted(found)]


def _sample_launches() -> Iterator[Launch]:
    yield from _products()
    x, y = (Tensor(name, (4,)).view() for name in ("x", "y"))
    yield from (Launch("peak_copy", (x, y), b"", (1, 1, 1)), Launch("peak_fma", (y,), b"", (1, 1, 1)))
    for n in STATE_SIZES:
        for k in TAPS:
            for name, kernel in KERNELS.items():
                if name in matmul.LAUNCHES:
                    continue
                views = _sample_operands(name, n, k)
                numbers = dict.fromkeys(kernel.numbers, 1) | ({"length": 256} if "length" in kernel.numbers else {})
                # Absent optional operands may choose another shader, and so may the adapter.
                required = tuple(None if o.optional else v for o, v in zip(kernel.operands, views, strict=True))
                needs_workspace = name == "selective_scan_backward"
                for operands in (views,) if needs_workspace else (views, required):
                    for software in (False, True):
                        yield from LAUNCHES[name](operands, numbers, AdapterTraits(software=software))
        numbers = {"length": 256, "rank": 3, "carry": 0, "want_inputs": 1, "want_coefficients": 1}
        for variant in VARIANTS:
            yield from selective_scan(_sample_operands("selective_scan", n, 4), numbers, AdapterTraits(), variant)
        for variant in ("lanes", "wide"):
            views = _sample_operands("selective_scan_backward", n, 4)
            yield from selective_scan_backward(views, numbers, AdapterTraits(), variant)


def _products() -> Iterator[Launch]:
    """Every pair of shader and constants that a matrix product can need."""
    for software in (False, True):
        yield matmul.sample_product("nt", 4, 128, 128, "rows", software=software)
    for layout in matmul.LAYOUTS:
        for variant in matmul.VARIANTS:
            yield matmul.sample_product(layout, 128, 128, 128, variant)
            if variant in matmul.TILES:
                yield matmul.sample_product(layout, 128, 128, 128, variant, pad=1)


def _sample_operands(
    kernel: str, n: int, k: int, b: int = 2, length: int = 256, d: int = 96, m: int = 48
) -> tuple[View, ...]:
    """Operands of fitting shapes; what is in none of these tables is a matrix or vector of the model width."""
    t, r, v = b * length, 3, 512
    chunks, blocks = length // 64, 2
    shapes: dict[str, tuple[int, ...]] = {
        "ids": (t,),
        "order": (t,),
        "table": (v, m),
        "d_table": (v, m),
        "weight": (d, k),
        "history": (b, k - 1, d),
        "d_weight": (b, d, k),
        "A_log": (d, n),
        "d_A_log": (d, n),
        "coefficients": (n + 2, d),
        "d_coefficients": (b, n + 2, d),
        "x_dbl": (t, r + 2 * n),
        "states": (b, chunks + 1, n, d),
        "logits": (t, v),
        "workspace": (1 << 20,),
        "kept": (3, n, d),
        "state": (n, d),
    }
    if kernel in decoding.LAUNCHES:
        shapes |= {"history": (k - 1, d), "best": (4, 11), "b": (v, d), "c": (4, v), "addend": (4, v), "bias": (v,)}
        if kernel.startswith("causal_conv"):
            shapes["bias"] = (d,)
        t = 4
        shapes |= {"logits": (t, v), "x_dbl": (t, r + 2 * n), "scales": (v, d // 32), "words": (t, d // 4)}
    if kernel == "selective_scan_backward":
        shapes["partials"] = (blocks * t * 2 * n + b * (n + 2) * d,)
    if kernel == "sum_rows":
        shapes |= {"x": (b, d * m), "y": (d, m)}
    by_rank = {1: (m,), 2: (t, m)} if "norm" in kernel or "embedding" in kernel else {1: (d,), 2: (t, d)}
    if kernel in ("cross_entropy", "causal_conv_silu_backward"):
        shapes |= {"targets": (t,), "losses": (t,), "d_bias": (b, d)}
    return tuple(
        Tensor(operand.name, shapes.get(operand.name, by_rank.get(operand.rank, (d,))), operand.dtype).view()
        for operand in KERNELS[kernel].operands
    )
