"""The precisions by name: what each stores for a matrix, and which parameters get which.

Only matrices are packed: `A_log`, `D`, norms, biases and the convolution are few and sensitive, and stay float32. A
matrix whose rows are not whole blocks (dt_proj, most often) becomes float16, as llama.cpp has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from engine.checkpoints.combining import block_formats, group_formats, scalar_formats
from engine.errors import CheckpointError
from engine.model.config import stays_float32 as small_and_sensitive
from engine.tensor_file import as_float32

Shape = tuple[int, ...]
Parts = dict[str, np.ndarray]  # "" for the codes, "scale" for the scales
FALLBACK = "float16"


@dataclass(frozen=True)
class Precision:
    """One way to store a matrix.  `block`: how many weights of a row are stored together."""

    name: str
    words: str
    pack: Callable[[np.ndarray], Parts]
    unpack: Callable[[Parts], np.ndarray]
    stored: Callable[[Shape], dict[str, tuple[Any, Shape]]]  # type and shape of each part
    block: int = 1
    experimental: bool = False


def _plain(name: str, words: str, dtype: Any, pack: Callable[[np.ndarray], np.ndarray]) -> Precision:
    return Precision(
        name, words, lambda x: {"": pack(x)}, lambda p: as_float32(p[""]), lambda shape: {"": (dtype, shape)}
    )


def _scaled(name: str, words: str, dtype: Any, pack: Any, unpack: Any, scales: Any, experimental: bool) -> Precision:
    return Precision(
        name,
        words,
        lambda x: dict(zip(("", "scale"), pack(x), strict=True)),
        lambda p: unpack(p[""], p["scale"]),
        lambda shape: {"": (dtype, shape), "scale": (np.float32, scales(shape))},
        experimental=experimental,
    )


def _blocks(name: str, words: str, pack: Any, unpack: Any, nbytes: int) -> Precision:
    block = block_formats.BLOCK
    return Precision(
        name,
        words,
        lambda x: {"": pack(x)},
        lambda p: unpack(p[""]),
        lambda shape: {"": (np.uint8, (shape[0], shape[1] // block * nbytes))},
        block,
    )


def _groups(name: str, words: str, codes: group_formats.Codes) -> Precision:
    group = group_formats.GROUP
    return Precision(
        name,
        words,
        lambda x: dict(zip(("", "scale"), group_formats.pack_groups(x, codes), strict=True)),
        lambda p: group_formats.unpack_groups(p[""], p["scale"], codes),
        lambda shape: {
            "": (np.uint8, (shape[0], shape[1] * codes.bits // 8)),
            "scale": (np.float16, (shape[0], shape[1] // group)),
        },
        group,
        experimental=True,
    )


_s, _b, _g = scalar_formats, block_formats, group_formats
PRECISIONS: dict[str, Precision] = {
    precision.name: precision
    for precision in (
        _plain("float32", "32 bits: as trained", np.float32, lambda x: x),
        _plain("bfloat16", "16 bits, the range of float32", ml_dtypes.bfloat16, _s.pack_bfloat16),
        _plain("float16", "16 bits, up to 65504", np.float16, _s.pack_float16),
        _scaled("int8", "8 bits, a scale a row", np.int8, _s.pack_int8, _s.unpack_int8, lambda s: s[:1], False),
        _blocks("q8_0", "8.5 bits, as llama.cpp", _b.pack_q8_0, _b.unpack_q8_0, _b.Q8_0_BYTES),
        _blocks("q4_0", "4.5 bits, as llama.cpp", _b.pack_q4_0, _b.unpack_q4_0, _b.Q4_0_BYTES),
        *(
            _scaled(name, words, np.uint8, pack, unpack, lambda s: (1,), True)
            for name, words, pack, unpack in (
                ("fp8_e4m3", "8 bits, 3 of them mantissa", _s.pack_fp8_e4m3, _s.unpack_fp8_e4m3),
                ("fp8_e5m2", "8 bits, 2 of them mantissa", _s.pack_fp8_e5m2, _s.unpack_fp8_e5m2),
            )
        ),
        _groups("int4", "4.5 bits, least-squares scales", _g.INT4),
        _groups("fp4", "4.5 bits (E2M1), least-squares scales", _g.FP4),
        _groups("ternary", "2.5 bits: -1, 0 and 1 times a scale", _g.TERNARY),
        _groups("binary", "1.5 bits: -1 and 1 times a scale", _g.BINARY),
    )
}


def precision_named(name: Any) -> Precision:
    """A precision by name, or a complaint that lists them."""
    if not isinstance(name, str) or name not in PRECISIONS:
        raise CheckpointError(f"There is no precision {ascii(name)[:40]}.", f"Choose one of: {', '.join(PRECISIONS)}.")
    return PRECISIONS[name]


def stays_float32(name: str, shape: Shape) -> bool:
    """Whether a parameter is never packed: the few sensitive ones, and whatever is not a matrix."""
    return small_and_sensitive(name) or len(shape) != 2 or 0 in shape


def precision_of(name: str, shape: Shape, wanted: str) -> str:
    """The precision that a parameter gets in a model of precision `wanted`."""
    precision = precision_named(wanted)
    if wanted == "float32" or stays_float32(name, shape):
        return "float32"
    return FALLBACK if shape[1] % precision.block else wanted


def packed_bytes(shapes: Mapping[str, Shape], wanted: str) -> int:
    """Exactly what the tensors of a model take in a file (its header comes on top)."""
    total = 0
    for name, shape in shapes.items():
        parts = PRECISIONS[precision_of(name, shape, wanted)].stored(shape)
        total += sum(np.dtype(dtype).itemsize * math.prod(of_part) for dtype, of_part in parts.values())
    return total
