"""The number formats that weights can be kept in: one table, `PRECISIONS`.

    float32, bfloat16, float16           one number for each weight
    int8                                 a float32 scale for each row
    fp8_e4m3, fp8_e5m2                   a float32 scale, a power of two, for the tensor
    q8_0, q4_0                           blocks of 32 with a float16 scale, packed by the `gguf` library
    int4, fp4, ternary, binary           groups of 32 with a float16 scale of the least squared error

All round to nearest. Packing what was unpacked gives the same bytes: a scale is chosen so that it is found again.
Only matrices are packed; parameters that are few and sensitive stay float32 (`ParameterSpec.packs`). A
matrix whose rows are not whole blocks becomes float16, as in llama.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from engine.checkpoints.combining.spans import by_rows
from engine.compiling import compiled
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.blocks.block import ParameterSpec
from engine.tensor_file import as_float32

Shape = tuple[int, ...]
Parts = dict[str, np.ndarray]  # "" for the codes, "scale" for the scales
FALLBACK = "float16"
GROUP = 32  # weights of a row that share a scale
FITS = 3  # rounds of: fit the scale to the codes, then the codes to the scale
INT8_MOST = np.float32(127)
SMALLEST_EXPONENT = -126  # of an fp8 scale; also that of a tensor of zeros


@dataclass(frozen=True)
class Precision:
    """One way to store a matrix, or one for each expert.  `block`: how many weights of a row are stored together."""

    name: str
    words: str
    pack: Callable[[np.ndarray], Parts]
    unpack: Callable[[Parts], np.ndarray]
    stored: Callable[[Shape], dict[str, tuple[Any, Shape]]]  # type and shape of each part
    block: int = 1
    experimental: bool = False


# ---- one number for each weight


def _plain(name: str, words: str, dtype: Any) -> Precision:
    def pack(x: np.ndarray) -> Parts:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and the caller looks for that
            return {"": x.astype(dtype, copy=False)}

    return Precision(name, words, pack, lambda parts: as_float32(parts[""]), lambda shape: {"": (dtype, shape)})


# ---- int8: a scale for each row


def _pack_int8(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 (..., n) and float32 scale (...) = largest / 127."""
    scale = np.abs(x).max(axis=-1) / INT8_MOST
    with np.errstate(over="ignore"):
        largest = scale * INT8_MOST
    # largest / 127 is what the next packing finds: for 0.8 % of all scales it is the neighbour, which is then kept
    scale = np.where(np.isinf(largest), np.nextafter(scale, np.float32(0)), largest / INT8_MOST)
    divisor = np.where(scale == 0, np.float32(np.inf), scale)[..., None]
    return np.clip(np.rint(x / divisor), -INT8_MOST, INT8_MOST).astype(np.int8), scale


INT8 = Precision(
    "int8",
    "8 bits, one scale per row",
    lambda x: dict(zip(("", "scale"), by_rows(_pack_int8, x), strict=True)),
    lambda p: by_rows(lambda q, s: (q.astype(np.float32) * s[..., None],), p[""], p["scale"])[0],
    lambda shape: {"": (np.int8, shape), "scale": (np.float32, shape[:-1])},
)


# ---- fp8: a scale for the tensor


def _fp8(name: str, words: str, dtype: Any, exponent: Callable[[float], int]) -> Precision:
    """`exponent`: that of the scale, from the largest weight.  A power of two costs a floating format nothing."""

    def pack(x: np.ndarray) -> Parts:
        largest = float(np.abs(x).max())
        power = max(exponent(largest), SMALLEST_EXPONENT) if largest else SMALLEST_EXPONENT
        scale = np.float32(math.ldexp(1.0, power))
        codes = by_rows(lambda rows: ((rows / scale).astype(dtype).view(np.uint8),), x)[0]
        return {"": codes, "scale": np.array([scale], np.float32)}

    def unpack(parts: Parts) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            table = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32) * parts["scale"][0]
        return by_rows(lambda rows: (table[rows],), parts[""])[0]

    def stored(shape: Shape) -> dict[str, tuple[Any, Shape]]:
        return {"": (np.uint8, shape), "scale": (np.float32, (1,))}

    return Precision(name, words, pack, unpack, stored, experimental=True)


def _e4m3_exponent(largest: float) -> int:
    """The largest weight may be 464 times the scale, itself included: the tie goes to 448, whose last bit is even."""
    mantissa, exponent = math.frexp(largest / 464.0)
    return exponent - 1 if mantissa == 0.5 else exponent


def _e5m2_exponent(largest: float) -> int:
    """The largest weight must stay below 61440 times the scale: the tie would go to infinity."""
    return math.frexp(largest / 61440.0)[1]


# ---- q8_0 and q4_0: the blocks of llama.cpp


def _gguf(name: str, words: str, nbytes: int, divisor: int) -> Precision:
    """`nbytes` of a block of 32 weights; `divisor`: what the largest of them is divided by to give the scale."""

    def pack(x: np.ndarray) -> Parts:
        from gguf import GGMLQuantizationType, quants

        blocks = x.reshape(-1, GROUP)
        scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(divisor)
        with np.errstate(over="ignore"):
            lost = scale.astype(np.float16) == 0  # it unpacks to zeros; the library would give it codes all the same
            blocks = np.where(lost, np.float32(0), blocks)
            return {"": quants.quantize(blocks.reshape(x.shape), GGMLQuantizationType[name.upper()])}

    def unpack(parts: Parts) -> np.ndarray:
        from gguf import GGMLQuantizationType, quants

        return quants.dequantize(parts[""], GGMLQuantizationType[name.upper()])

    def stored(shape: Shape) -> dict[str, tuple[Any, Shape]]:
        return {"": (np.uint8, (*shape[:-1], shape[-1] // GROUP * nbytes))}

    return Precision(name, words, pack, unpack, stored, GROUP)


# ---- int4, fp4, ternary and binary: groups with fitted scales


@dataclass(frozen=True)
class Codes:
    """A set of codes: the numbers they stand for, how many bits each takes, and how a scale is fitted to a group."""

    bits: int
    sizes: tuple[float, ...]  # what |weight / scale| of the largest weight may be
    nearest: Callable[[np.ndarray], np.ndarray]  # weights / scale -> the nearest number that has a code
    encode: Callable[[np.ndarray], np.ndarray]  # such numbers -> codes, uint8
    table: tuple[float, ...]  # code -> number; NaN where a code stands for nothing
    fit: Callable[[np.ndarray, Codes], np.ndarray]  # (groups, 32), none of them all zero -> scales (groups,)
    tried: tuple[float, ...] = ()  # where the search begins: largest weight / scale
    lopsided: bool = False  # more negative numbers than positive ones: the scale takes the largest weight's sign
    zero: int = 0  # the code in a group whose scale is 0


def _groups(name: str, words: str, codes: Codes) -> Precision:
    """Bytes (rows, n * bits / 8), the first weight in the lowest bits, and float16 scales (rows, n / 32)."""
    shifts = np.arange(0, 8, codes.bits)
    byte = (np.arange(256)[:, None] >> shifts) & ((1 << codes.bits) - 1)
    table = np.array(codes.table, np.float32)[byte]  # (256, codes in a byte): what each byte stands for

    def pack(x: np.ndarray) -> Parts:
        packed, scale = by_rows(lambda groups: _pack_groups(groups, codes), x.reshape(-1, GROUP))
        return {"": packed.reshape(*x.shape[:-1], -1), "scale": scale.reshape(*x.shape[:-1], -1)}

    def unpack(parts: Parts) -> np.ndarray:
        def work(rows: np.ndarray, s: np.ndarray) -> tuple[np.ndarray]:
            return (table[rows].reshape(len(rows), GROUP) * s.astype(np.float32),)

        packed, scale = parts[""], parts["scale"]
        groups = by_rows(work, packed.reshape(-1, GROUP * codes.bits // 8), scale.reshape(-1, 1))[0]
        return groups.reshape(*packed.shape[:-1], -1)

    def stored(shape: Shape) -> dict[str, tuple[Any, Shape]]:
        scales = (np.float16, (*shape[:-1], shape[-1] // GROUP))
        return {"": (np.uint8, (*shape[:-1], shape[-1] * codes.bits // 8)), "scale": scales}

    return Precision(name, words, pack, unpack, stored, GROUP, experimental=True)


def _pack_groups(x: np.ndarray, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """x: (groups, 32).  Weights that are exact multiples of a scale already keep it; for the others one is fitted."""
    numbers, scale, done = _exact(x, codes)
    todo = np.flatnonzero(~done)
    if len(todo):
        rest = x[todo]
        with np.errstate(over="ignore"):
            s = codes.fit(rest, codes).astype(np.float16).astype(np.float32)
        infinite = np.isinf(s)
        s[infinite] = 0
        fitted = codes.nearest(rest / np.where(s == 0, np.float32(np.inf), s)[:, None]) * s[:, None]
        numbers[todo], scale[todo], _ = _exact(fitted, codes)  # written as it will be recognised
        scale[todo[infinite]] = np.inf  # too large for float16: seen by the caller as an overflow
    values = np.where((scale == 0)[:, None], np.uint8(codes.zero), codes.encode(numbers))
    per_byte = 8 // codes.bits
    packed = values[:, ::per_byte].copy()
    for place in range(1, per_byte):
        packed |= values[:, place::per_byte] << np.uint8(place * codes.bits)
    return packed, scale.astype(np.float16)


def _exact(x: np.ndarray, codes: Codes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers (groups, 32), scales (groups,), and which groups are these numbers times a float16 exactly."""
    signed, largest = _signed_largest(x, codes)
    numbers, scale, done = np.zeros_like(x), np.zeros_like(largest), largest == 0
    for size in codes.sizes:  # the smallest such scale first
        with np.errstate(over="ignore"):
            s = signed / np.float32(size)
            half = s.astype(np.float16)
        open_ = np.flatnonzero(~done & (half == s) & (half != 0) & np.isfinite(half))
        if len(open_):
            q = codes.nearest(x[open_] / s[open_, None])
            same = (q * s[open_, None] == x[open_]).all(axis=1)
            found = open_[same]
            numbers[found], scale[found], done[found] = q[same], s[found], True
    return numbers, scale, done


def _signed_largest(x: np.ndarray, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """The largest size of each group with the sign of its scale, and without."""
    if not codes.lopsided:
        largest = np.abs(x).max(axis=1)
        return largest, largest
    low, high = x.min(axis=1), x.max(axis=1)
    largest = np.maximum(-low, high)
    return np.where(high > -low, -largest, largest), largest


def _mean_size(x: np.ndarray, _: Codes) -> np.ndarray:
    return np.abs(x).mean(axis=1, dtype=np.float64)


def _best_count(x: np.ndarray, _: Codes) -> np.ndarray:
    """The best of the 32 ways to call the largest k weights ±1."""
    sums = np.cumsum(-np.sort(-np.abs(x), axis=1), axis=1, dtype=np.float64)
    count = np.arange(1, GROUP + 1)
    best = (sums * sums / count).argmax(axis=1, keepdims=True)
    return (np.take_along_axis(sums, best, axis=1) / (best + 1))[:, 0]


def _searched(x: np.ndarray, codes: Codes) -> np.ndarray:
    """The best of many scales that are tried, each fitted to the codes it gives."""
    signed, largest = _signed_largest(x, codes)
    tried = np.sign(signed)[:, None] / np.array(codes.tried, np.float32)
    # as shares of the largest weight, so that squares neither overflow nor vanish
    return _search(x / largest[:, None], tried, not codes.lopsided).astype(np.float64) * largest


@compiled(nogil=True, error_model="numpy")
def _search(y: np.ndarray, tried: np.ndarray, is_fp4: bool) -> np.ndarray:
    """For each row of y (groups, 32) the scale that explains most of it, of those `tried` (groups, k)."""
    scales = np.empty(len(y), np.float32)
    for group in range(len(y)):
        best, scale = np.float32(0), tried[group, 0]
        for number in range(tried.shape[1]):
            gain, fitted = _fitted(y[group], tried[group, number], is_fp4)
            if gain > best:
                best, scale = gain, fitted
        for _ in range(FITS):
            gain, fitted = _fitted(y[group], scale, is_fp4)
            if gain > best:
                best, scale = gain, fitted
        scales[group] = scale
    return scales


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _fitted(y: np.ndarray, scale: np.float32, is_fp4: bool) -> tuple[np.float32, np.float32]:
    """How much of the squared size a scale explains, once fitted to the codes that it gives; and the fitted scale."""
    together, squares, inverse = np.float32(0), np.float32(0), np.float32(1) / scale
    for i in range(GROUP):
        q = y[i] * inverse
        if is_fp4:
            size = min(abs(q), np.float32(6))
            step = np.float32(0.5) if size < 2 else (np.float32(1) if size < 4 else np.float32(2))
            q = np.copysign(np.rint(size / step) * step, q)
        else:
            q = min(max(np.rint(q), np.float32(-8)), np.float32(7))
        together += y[i] * q
        squares += q * q
    if squares == 0:
        return np.float32(0), scale
    return together * together / squares, together / squares


def _nearest_fp4(x: np.ndarray) -> np.ndarray:
    """Steps of 0.5 up to 2, 1 up to 4, 2 up to 6; ties to the even code; the sign also of zero."""
    size = np.minimum(np.abs(x), np.float32(6))
    step = np.where(size < 2, np.float32(0.5), np.where(size < 4, np.float32(1), np.float32(2)))
    return np.copysign(np.rint(size / step) * step, x)


FP4_SIZES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
FP4_CODES = np.array([0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7], np.uint8)  # by twice the size
INT4 = Codes(
    bits=4,
    sizes=tuple(map(float, range(8, 0, -1))),
    nearest=lambda x: np.clip(np.rint(x), -8, 7),
    encode=lambda q: q.astype(np.int8).view(np.uint8) & np.uint8(15),
    table=(*map(float, range(8)), *map(float, range(-8, 0))),
    fit=_searched,
    tried=tuple(np.arange(4.5, 11, 0.25)),
    lopsided=True,
)
FP4 = Codes(
    bits=4,
    sizes=FP4_SIZES[:0:-1],
    nearest=_nearest_fp4,
    encode=lambda q: FP4_CODES[(2 * np.abs(q)).astype(np.uint8)] | (np.signbit(q).astype(np.uint8) << np.uint8(3)),
    table=(*FP4_SIZES, *(-size for size in FP4_SIZES)),
    fit=_searched,
    tried=tuple(np.arange(3.5, 9, 0.25)),
)
TERNARY = Codes(
    bits=2,
    sizes=(1.0,),
    nearest=lambda x: np.clip(np.rint(x), -1, 1),
    encode=lambda q: (q + 1).astype(np.uint8),
    table=(-1.0, 0.0, 1.0, float("nan")),
    fit=_best_count,
    zero=1,
)
BINARY = Codes(
    bits=1,
    sizes=(1.0,),
    nearest=lambda x: np.where(x < 0, np.float32(-1), np.float32(1)),
    encode=lambda q: (q < 0).astype(np.uint8),
    table=(1.0, -1.0),
    fit=_mean_size,
)

# ---- the table

PRECISIONS: dict[str, Precision] = {
    precision.name: precision
    for precision in (
        _plain("float32", "32 bits: as trained", np.float32),
        _plain("bfloat16", "16 bits, the range of float32", ml_dtypes.bfloat16),
        _plain("float16", "16 bits, up to 65504", np.float16),
        INT8,
        _gguf("q8_0", "8.5 bits, as in llama.cpp", 34, 127),
        _gguf("q4_0", "4.5 bits, as in llama.cpp", 18, 8),
        _fp8("fp8_e4m3", "8 bits, 3 of them mantissa", ml_dtypes.float8_e4m3fn, _e4m3_exponent),
        _fp8("fp8_e5m2", "8 bits, 2 of them mantissa", ml_dtypes.float8_e5m2, _e5m2_exponent),
        _groups("int4", "4.5 bits, least-squares scales", INT4),
        _groups("fp4", "4.5 bits (E2M1), least-squares scales", FP4),
        _groups("ternary", "2.5 bits: -1, 0 and 1 times a scale", TERNARY),
        _groups("binary", "1.5 bits: -1 and 1 times a scale", BINARY),
    )
}


def precision_named(name: Any) -> Precision:
    """A precision by name, or an error that lists them."""
    if not isinstance(name, str) or name not in PRECISIONS:
        raise CheckpointError(f"There is no precision {ascii(name)[:40]}.", f"Choose one of: {', '.join(PRECISIONS)}.")
    return PRECISIONS[name]


def precision_of(spec: ParameterSpec, wanted: str) -> str:
    """The precision that a parameter gets in a model of precision `wanted`."""
    precision = precision_named(wanted)
    if wanted == "float32" or not spec.packs:
        return "float32"
    return FALLBACK if spec.shape[-1] % precision.block else wanted


def packed_bytes(config: Architecture, wanted: str) -> int:
    """Exactly what the tensors of a model take in a file (its header comes on top)."""
    total = 0
    for spec in config.specs.values():
        parts = PRECISIONS[precision_of(spec, wanted)].stored(spec.shape)
        total += sum(np.dtype(dtype).itemsize * math.prod(of_part) for dtype, of_part in parts.values())
    return total
