"""int4, fp4 (E2M1), ternary and binary: 32 weights of a row share one float16 scale.  Experimental.

The scale is the one with the least squared error: by formula for binary (the mean size) and ternary (the best of the
32 ways to call the largest k weights ±1), for int4 and fp4 the best of many that are tried, each fitted to the codes
it gives.

Packing what was unpacked gives the same bytes: weights that are exact multiples of a scale already are recognised
(`_exact`, the smallest such scale first), and a fitted group is written as it would be recognised.
A float16 scale times a code is exact in float32, so nothing is lost on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.checkpoints.store.spans import by_rows
from engine.compiling import compiled

GROUP = 32
FITS = 3  # rounds of: fit the scale to the codes, then the codes to the scale


@dataclass(frozen=True)
class Codes:
    """A set of codes: the numbers they stand for, and how many bits each takes."""

    bits: int
    sizes: tuple[float, ...]  # what |weight / scale| of the largest weight may be
    nearest: Callable[[np.ndarray], np.ndarray]  # weights / scale -> the nearest number that has a code
    encode: Callable[[np.ndarray], np.ndarray]  # such numbers -> codes, uint8
    table: tuple[float, ...]  # code -> number; NaN where a code stands for nothing
    tried: tuple[float, ...] = ()  # where the search begins: largest weight / scale
    lopsided: bool = False  # more negative numbers than positive ones: the scale takes the largest weight's sign
    zero: int = 0  # the code in a group whose scale is 0


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
    tried=tuple(np.arange(4.5, 11, 0.25)),
    lopsided=True,
)
FP4 = Codes(
    bits=4,
    sizes=FP4_SIZES[:0:-1],
    nearest=_nearest_fp4,
    encode=lambda q: FP4_CODES[(2 * np.abs(q)).astype(np.uint8)] | (np.signbit(q).astype(np.uint8) << np.uint8(3)),
    table=(*FP4_SIZES, *(-size for size in FP4_SIZES)),
    tried=tuple(np.arange(3.5, 9, 0.25)),
)
TERNARY = Codes(
    bits=2,
    sizes=(1.0,),
    nearest=lambda x: np.clip(np.rint(x), -1, 1),
    encode=lambda q: (q + 1).astype(np.uint8),
    table=(-1.0, 0.0, 1.0, float("nan")),
    zero=1,
)
BINARY = Codes(
    bits=1,
    sizes=(1.0,),
    nearest=lambda x: np.where(x < 0, np.float32(-1), np.float32(1)),
    encode=lambda q: (q < 0).astype(np.uint8),
    table=(1.0, -1.0),
)


def pack_groups(array: np.ndarray, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (rows, n * bits / 8), the first weight in the lowest bits, and float16 scales (rows, n / 32)."""
    packed, scale = by_rows(lambda x: _pack(x, codes), array.reshape(-1, GROUP))
    return packed.reshape(len(array), -1), scale.reshape(len(array), -1)


def unpack_groups(packed: np.ndarray, scale: np.ndarray, codes: Codes) -> np.ndarray:
    """float32 (rows, n); NaN where a code stands for nothing."""
    per_byte = 8 // codes.bits
    shifts = np.arange(0, 8, codes.bits)
    byte = (np.arange(256)[:, None] >> shifts) & ((1 << codes.bits) - 1)
    table = np.array(codes.table, np.float32)[byte]  # (256, per_byte): what each byte stands for

    def work(rows: np.ndarray, s: np.ndarray) -> tuple[np.ndarray]:
        return (table[rows].reshape(len(rows), GROUP) * s.astype(np.float32),)

    return by_rows(work, packed.reshape(-1, GROUP // per_byte), scale.reshape(-1, 1))[0].reshape(len(packed), -1)


def _pack(x: np.ndarray, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
    """x: (groups, 32)."""
    numbers, scale, done = _exact(x, codes)
    todo = np.flatnonzero(~done)
    if len(todo):
        rest = x[todo]
        with np.errstate(over="ignore"):
            s = _fit(rest, codes).astype(np.float16).astype(np.float32)
        infinite = np.isinf(s)
        s[infinite] = 0
        fitted = codes.nearest(rest / np.where(s == 0, np.float32(np.inf), s)[:, None]) * s[:, None]
        numbers[todo], scale[todo], _ = _exact(fitted, codes)
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
    for size in codes.sizes:
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


def _fit(x: np.ndarray, codes: Codes) -> np.ndarray:
    """The scale (groups,) with the least squared error.  x has no group of zeros."""
    if codes is BINARY:
        return np.abs(x).mean(axis=1, dtype=np.float64)
    if codes is TERNARY:
        sums = np.cumsum(-np.sort(-np.abs(x), axis=1), axis=1, dtype=np.float64)
        count = np.arange(1, GROUP + 1)
        best = (sums * sums / count).argmax(axis=1, keepdims=True)
        return (np.take_along_axis(sums, best, axis=1) / (best + 1))[:, 0]
    signed, largest = _signed_largest(x, codes)
    tried = np.sign(signed)[:, None] / np.array(codes.tried, np.float32)
    # as shares of the largest weight, so that squares neither overflow nor vanish
    return _search(x / largest[:, None], tried, codes is FP4).astype(np.float64) * largest


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
