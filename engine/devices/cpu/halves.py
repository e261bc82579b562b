"""Rows of float16 and float32, from one to the other, by address."""

from __future__ import annotations

import numpy as np
from numba import njit

from engine.devices.cpu.memory import (
    float_at,
    half_at,
    half_lanes_at,
    has_float16,
    int_at,
    lanes_at,
    put_half_lanes,
    put_short,
)
from engine.devices.cpu.simd import LANES, store

_plain = njit(error_model="numpy")


@njit(inline="always", error_model="numpy")  # rows are short: a call costs more than reading one
def read_floats(source, size, count, target, at):
    """target[at : at + count] = the numbers of `size` bytes at an address: float32, or float16."""
    whole = count - count % LANES
    for d in range(0, whole, LANES):
        store(target, at + d, lanes_at(source + 4 * d) if size == 4 else half_lanes_at(source + 2 * d))
    for d in range(whole, count):
        target[at + d] = float_at(source + 4 * d) if size == 4 else half_at(source + 2 * d)


@_plain
def half_of(bits):
    """The bits of a float32 as those of a float16, to the nearest, ties to even."""
    sign, size = (bits >> 16) & 0x8000, bits & 0x7FFFFFFF
    if size > 0x7F800000:
        return sign | 0x7E00
    if size >= 0x47800000:
        return sign | 0x7C00
    if size >= 0x38800000:  # a normal number: another bias, thirteen bits fewer
        return sign | ((size + 0xFFF + ((size >> 13) & 1) - 0x38000000) >> 13)
    shift = 126 - (size >> 23)  # below 2^-14: the mantissa counts in steps of 2^-24
    if shift > 25:
        return sign
    mantissa = (size & 0x7FFFFF) | 0x800000
    kept, rest, middle = mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)
    return sign | (kept + (1 if rest > middle or (rest == middle and kept & 1) else 0))


@_plain
def _narrow_by_bits(source, target, count):
    """`count` float32 at an address as float16 at another."""
    for j in range(count):
        put_short(target + 2 * j, np.uint16(half_of(np.int64(int_at(source + 4 * j)))))


@_plain
def _narrow_by_itself(source, target, count):
    """The same by the processor's own instruction, and the rest by bits."""
    whole = count - count % LANES
    for j in range(0, whole, LANES):
        put_half_lanes(target + 2 * j, lanes_at(source + 4 * j))
    _narrow_by_bits(source + 4 * whole, target + 2 * whole, count - whole)


narrow_row = _narrow_by_itself if has_float16() else _narrow_by_bits
