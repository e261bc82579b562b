"""Every shader as the launches use it, for a compiler to look at: source, header and constants, without a device.

The launch functions are called with sample operands of every kernel in the table, so a new shader or header turns up
here by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.devices.webgpu.launch import AdapterTraits, Launch
from engine.devices.webgpu.launches import LAUNCHES, decoding, fused, matmul, mixture, scratch_elements
from engine.devices.webgpu.launches.scan import (
    BACKWARD_VARIANTS,
    VARIANTS,
    backward_variant,
    selective_scan,
    selective_scan_backward,
)
from engine.devices.webgpu.shaders import shader_source
from engine.graph.fused_kernels import FORMATS, FUSED, SCAN_GATED, SSD_GATED
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Tensor, View

STATE_SIZES = (16, 8)
TAPS = (4, 3)
LARGER = {"length": 256, "head_dim": 32}  # numbers of kernels that are not 1


@dataclass(frozen=True)
class ShaderVariant:
    """One module as it is compiled; `constants` are the values of its overrides."""

    name: str
    source: str
    constants: dict[str, float] = field(default_factory=dict)


def all_variants() -> list[ShaderVariant]:
    """Each shader with each header and set of constants that the launches use, once, by name."""
    found: dict[str, ShaderVariant] = {}
    for launch in sample_launches():
        header = tuple(launch.header.items())
        values = [f"{key}={value:g}" for key, value in (*header, *launch.constants.items())]
        name = " ".join([launch.shader, *values])
        found.setdefault(name, ShaderVariant(name, shader_source(launch.shader, header), dict(launch.constants)))
    return [found[name] for name in sorted(found)]


def sample_launches(software: bool = True) -> Iterator[Launch]:
    """Launches of every kernel, some of them equal; `software`: with those for software adapters."""
    adapters = (False, True) if software else (False,)
    yield from _products(adapters)
    x, y = (Tensor(name, (4,)).view() for name in ("x", "y"))
    yield from (Launch("peak_copy", (x, y), b"", (1, 1, 1)), Launch("peak_fma", (y,), b"", (1, 1, 1)))
    for n in STATE_SIZES:
        for k in TAPS:
            for name, kernel in KERNELS.items():
                if name in matmul.LAUNCHES:
                    continue
                views = _sample_operands(name, n, k)
                numbers = dict.fromkeys(kernel.numbers, 1) | {n: v for n, v in LARGER.items() if n in kernel.numbers}
                # Absent optional operands may choose another shader, and so may the adapter.
                required = tuple(None if o.optional else v for o, v in zip(kernel.operands, views, strict=True))
                needs_workspace = name == "selective_scan_backward"
                for operands in (views,) if needs_workspace else (views, required):
                    for each in adapters:
                        yield from launches_with_scratch(name, operands, numbers, AdapterTraits(software=each))
        numbers = {"length": 256, "rank": 3, "carry": 0, "want_inputs": 1, "want_coefficients": 1}
        for variant in VARIANTS:
            if variant == "wide" and not software:
                continue
            yield from selective_scan(_sample_operands("selective_scan", n, 4), numbers, AdapterTraits(), variant)
        for variant in BACKWARD_VARIANTS if software else (backward_variant(n, software=False),):
            views = _sample_operands("selective_scan_backward", n, 4)
            yield from selective_scan_backward(views, numbers, AdapterTraits(), variant)
    for d in (96, 90):  # heads of 16 channels, and of 15, which are not read by fours
        for name in ("ssd", "ssd_backward"):
            views = _sample_operands(name, 16, 4, d=d)
            yield from launches_with_scratch(name, views, {"length": 256, "carry": 1}, AdapterTraits())
    for each, rows in itertools.product(adapters, (1, 2, 4)):  # products of a few rows, without a norm
        a, c, scales = (Tensor(*named).view() for named in (("a", (rows, 128)), ("c", (rows, 8)), ("scales", (8, 4))))
        for end, shape, dtype in (
            ("", (8, 128), "float32"),
            ("_float16", (8, 128), "float16"),
            ("_int8", (8, 32), "int32"),
        ):
            operands = (a, Tensor("b", shape, dtype).view(), c, None, None, *([scales] if end == "_int8" else []))
            yield from LAUNCHES[f"matmul_nt{end}"](operands, {"alpha": 1}, AdapterTraits(software=each))
    for end, lanes in itertools.product(FORMATS, fused.LANES):
        yield from fused.sample_rows(end, 8, 8192, normed=True, lanes=lanes, nbytes=0)
    for few in (1, 8):
        views = _sample_operands("ssd_tokens", 16, 4, few=few)
        yield from LAUNCHES["ssd_tokens"](views, {"lowest": 0, "highest": 1}, AdapterTraits())


def launches_with_scratch(
    kernel: str, operands: tuple, numbers: dict[str, float], traits: AdapterTraits
) -> list[Launch]:
    """The launches of a call, with the scratch memory that they ask for."""
    elements = scratch_elements(KernelCall(kernel, operands, numbers), traits)
    scratch = (Tensor("scratch", (elements,)).view(),) if elements else ()
    return LAUNCHES[kernel]((*operands, *scratch), numbers, traits)


def _products(adapters: tuple[bool, ...]) -> Iterator[Launch]:
    """Every pair of shader and constants that a matrix product can need."""
    for software in adapters:
        yield matmul.sample_product("nt", 4, 128, 128, "rows", software=software)
    for layout in matmul.LAYOUTS:
        for variant in matmul.VARIANTS if True in adapters else matmul.TILES:
            yield matmul.sample_product(layout, 128, 128, 128, variant)
            if variant in matmul.TILES:
                yield matmul.sample_product(layout, 128, 128, 128, variant, pad=1)
    few = matmul.sample_product("nt", 64, 64, 4096, "tiled_64").bindings[:3]
    scratch = Tensor("scratch", (64 * 64 * 32,)).view()
    yield from LAUNCHES["matmul_nt"]((*few, None, None, scratch), {}, AdapterTraits())


def _sample_operands(
    kernel: str, n: int, k: int, b: int = 2, length: int = 256, d: int = 96, m: int = 48, few: int = 4
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
    if kernel in ("penalise_recent", "choose_token"):
        shapes |= {"logits": (1, v), "best": (1, 129), "settings": (5,), "chances": (1,), "chosen": (1, 2)}
    if kernel.startswith("ssd"):
        heads, e = 6, d // 6
        t = {"ssd_tokens": few, "ssd_gated": 1}.get(kernel, t)
        shapes |= {"x": (t, d + 4 * n), "d_x": (t, d + 4 * n), "steps": (t, 2 * heads), "d_steps": (t, 3 * heads)}
        shapes |= {"coefficients": (3, heads), "dt": (t, heads), "d_dt": (t, heads), "d_coefficients": (8, 3, heads)}
        shapes |= {"states": (b, chunks + 1, heads * n, e), "state": (heads * n, e)}
    if kernel in mixture.LAUNCHES:
        shapes |= {
            "starts": (9,),
            "chosen": (t, 2),
            "gates": (t, 2),
            "d_gates": (t, 2),
            "logits": (t, 8),
            "targets": (t,),
        }
        shapes |= {"places": (t, 2), "rows": (2 * t, d), "y": (t, d)} if kernel == "combine" else {}
        if kernel.startswith("expert_rows"):
            shapes |= {"chosen": (4, 2), "inputs": (4, d), "c": (8, v), "b": (8 * v, d), "scales": (8 * v, d // 32)}
    if kernel in FUSED:
        shapes |= {"x": (1, d), "u": (1, d), "z": (1, d), "x_dbl": (1, 4 + 2 * n), "scale": (d,), "history": (k - 1, d)}
        shapes |= {"c": (1, v), "addend": (1, v), "bias": (v,), "g": (1, d if kernel in (SCAN_GATED, SSD_GATED) else v)}
        shapes |= {name: (v, d // 4 if kernel.endswith("int8") else d) for name in ("b", "gate", "up")}
        shapes |= dict.fromkeys(("scales", "gate_scales", "up_scales"), (v, d // 32))
        shapes |= {"weight": (d, 4)} if kernel == SCAN_GATED else {}
        shapes |= {"q": (1, 64), "k": (1, 32), "v": (1, 32), "reach": (1, 3), "keys": (8, 32), "values": (8, 32)}
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
