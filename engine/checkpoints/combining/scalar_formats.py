"""Number formats that need at most one scale a row or a tensor: float16, bfloat16, int8 and the two kinds of fp8.

All round to nearest, ties to even.  A scale is chosen so that packing what was unpacked finds the same scale again:
for int8 by one more rounding, for fp8 by taking a power of two.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from engine.checkpoints.store.spans import by_rows

INT8_MOST = np.float32(127)
# What a number may be at most, once scaled, to round to the largest finite number of the format.
E4M3_LIMIT = 464.0  # itself included: the tie goes to 448, whose last bit is even
E5M2_LIMIT = 61440.0  # itself not: the tie would go to infinity
SMALLEST_EXPONENT = -126  # of a scale; also that of a tensor of zeros


def pack_float16(array: np.ndarray) -> np.ndarray:
    """float16 of a float32 array of any shape; too large a number becomes infinite, and the caller looks for that."""
    with np.errstate(over="ignore"):
        return array.astype(np.float16)


def pack_bfloat16(array: np.ndarray) -> np.ndarray:
    """bfloat16 of a float32 array of any shape; as above."""
    with np.errstate(over="ignore"):
        return array.astype(ml_dtypes.bfloat16)


# ---- int8: one scale a row


def pack_int8(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 (rows, n) and float32 scale (rows,) of float32 (rows, n): scale = largest / 127."""
    return by_rows(_pack_int8_rows, array)


def _pack_int8_rows(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = np.abs(array).max(axis=1) / INT8_MOST
    with np.errstate(over="ignore"):
        largest = scale * INT8_MOST
    # largest / 127 is what the next packing finds: for 0.8 % of all scales it is the neighbour, which is then kept
    scale = np.where(np.isinf(largest), np.nextafter(scale, np.float32(0)), largest / INT8_MOST)
    divisor = np.where(scale == 0, np.float32(np.inf), scale)[:, None]
    return np.clip(np.rint(array / divisor), -INT8_MOST, INT8_MOST).astype(np.int8), scale


def unpack_int8(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """float32 (rows, n)."""
    return by_rows(lambda q, s: (q.astype(np.float32) * s[:, None],), codes, scale)[0]


# ---- fp8: one scale a tensor


def pack_fp8_e4m3(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (rows, n) of E4M3 without infinities, and float32 scale (1,)."""
    share, exponent = math.frexp(float(np.abs(array).max()) / E4M3_LIMIT)
    return _pack_fp8(array, ml_dtypes.float8_e4m3fn, exponent - (share == 0.5))


def pack_fp8_e5m2(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (rows, n) of E5M2, and float32 scale (1,)."""
    _, exponent = math.frexp(float(np.abs(array).max()) / E5M2_LIMIT)
    return _pack_fp8(array, ml_dtypes.float8_e5m2, exponent)


def _pack_fp8(array: np.ndarray, dtype: type, exponent: int) -> tuple[np.ndarray, np.ndarray]:
    """A power of two costs a floating format nothing, and dividing by it is exact."""
    exponent = max(exponent, SMALLEST_EXPONENT) if array.any() else SMALLEST_EXPONENT
    scale = np.float32(math.ldexp(1.0, exponent))
    codes = by_rows(lambda rows: ((rows / scale).astype(dtype).view(np.uint8),), array)[0]
    return codes, np.array([scale], np.float32)


def unpack_fp8_e4m3(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return _unpack_fp8(codes, scale, ml_dtypes.float8_e4m3fn)


def unpack_fp8_e5m2(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return _unpack_fp8(codes, scale, ml_dtypes.float8_e5m2)


def _unpack_fp8(codes: np.ndarray, scale: np.ndarray, dtype: type) -> np.ndarray:
    """float32 (rows, n): a table of all 256 codes."""
    with np.errstate(over="ignore", invalid="ignore"):
        table = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32) * scale[0]
    return by_rows(lambda rows: (table[rows],), codes)[0]
